"""Contacts between two bodies of the linkage, and loops: their part of the eliminated matrix, and their own responses.

A row with the wrenches f_a and f_b of a unit impulse on its bodies responds to velocities u = f_a·v_a + f_b·v_b by
impulses -G u. So it adds f G fᵀ to the block of each body, and couples the two by f_a G f_bᵀ
(`dynamics.tree_couplings`). Its own response is that between its two bodies (`dynamics.tree_elimination`)."""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_couplings import add_coupling, couple
from linkwork.dynamics.tree_elimination import response_between
from linkwork.dynamics.tree_factor import BLOCK, ROW, add_numbers
from linkwork.simulation.contact_step.sweeps.points import push_of_row
from linkwork.spatial.inertia import block_plus_outer
from linkwork.spatial.memory import load9
from linkwork.spatial.simd import add_outer, flat6, load_rows, store_rows, vload
from linkwork.spatial.vectors import ZERO6, scale6

SIDE, CONTACT = 3 * ROW, 6 * ROW  # numbers of the wrenches of one side of a contact, and of both
NONE = (ZERO6, ZERO6, ZERO6, ZERO6, ZERO6, ZERO6)


@inlined
def wrenches_of(w, c, side):
    """Unit impulses along the axes of a contact as wrenches on the body of one side."""
    f = push_of_row(w, c, 0, side), push_of_row(w, c, 1, side), push_of_row(w, c, 2, side)
    return f if side == 0 else (scale6(-1.0, f[0]), scale6(-1.0, f[1]), scale6(-1.0, f[2]))


@routine
def note_pushes(w, count):
    """Writes down the wrenches of all contacts: rows of eight, three of side a and three of side b."""
    for c in range(count):
        for side in range(2):
            f = wrenches_of(w, c, side)
            o = CONTACT * c + SIDE * side
            for e in range(6):
                w.push[o + e], w.push[o + ROW + e], w.push[o + 2 * ROW + e] = f[0][e], f[1][e], f[2][e]


@inlined
def mix(f, x, y, z):
    return x * f[0] + y * f[1] + z * f[2]


@inlined
def stiffness_rows(f, G):
    """Rows of G fᵀ"""
    return mix(f, G[0], G[1], G[2]), mix(f, G[3], G[4], G[5]), mix(f, G[6], G[7], G[8])


@inlined
def transposed_rows(f, G):
    """Rows of Gᵀ fᵀ"""
    return mix(f, G[0], G[3], G[6]), mix(f, G[1], G[4], G[7]), mix(f, G[2], G[5], G[8])


@inlined
def add_products(out, at, push, o, h):
    """Adds Σ f_e h_eᵀ to the block at out[at], f: the three rows at push[o]."""
    X = add_outer(load_rows(out, at), flat6(push, o), h[0])
    X = add_outer(X, flat6(push, o + ROW), h[1])
    store_rows(out, at, add_outer(X, flat6(push, o + 2 * ROW), h[2]))


@routine
def add_contact(w, F, c, a, b):
    """The stiffness of contact c on its bodies a and b, -1: the world."""
    G = load9(w.stiff, c, 0)
    o = CONTACT * c
    f = vload(w.push, o), vload(w.push, o + ROW), vload(w.push, o + 2 * ROW)
    o += SIDE
    g = vload(w.push, o), vload(w.push, o + ROW), vload(w.push, o + 2 * ROW)
    if a >= 0:
        add_products(F.block, BLOCK * a, w.push, o - SIDE, stiffness_rows(f, G))
    if b >= 0:
        add_products(F.block, BLOCK * b, w.push, o, stiffness_rows(g, G))
    if a >= 0 and b >= 0:
        k = couple(F, a, b)
        if k >= 0 and F.ends[k, 0] == a:
            add_products(F.coupling, 2 * BLOCK * k, w.push, o - SIDE, stiffness_rows(g, G))
            add_products(F.coupling, 2 * BLOCK * k + BLOCK, w.push, o - SIDE, transposed_rows(g, G))
        elif k >= 0:
            add_products(F.coupling, 2 * BLOCK * k, w.push, o, stiffness_rows(f, G))
            add_products(F.coupling, 2 * BLOCK * k + BLOCK, w.push, o, transposed_rows(f, G))


@routine
def add_loop_row(F, stiff, a, f, b, g):
    """The same of a row of a loop."""
    f_stiff, g_stiff = scale6(stiff, f), scale6(stiff, g)
    if a >= 0:
        add_numbers(F.block, a, block_plus_outer(NONE, f_stiff, f))
    if b >= 0:
        add_numbers(F.block, b, block_plus_outer(NONE, g_stiff, g))
    if a >= 0 and b >= 0:
        add_coupling(F, a, b, block_plus_outer(NONE, f_stiff, g), block_plus_outer(NONE, g_stiff, f))


@routine
def contact_response(tree, F, w, c, a, b):
    """Response of a contact between the bodies a and b to its own impulses: nn, n1, n2, 11, 12, 22."""
    f, g = wrenches_of(w, c, 0), wrenches_of(w, c, 1)
    return (
        response_between(tree, F, a, f[0], f[0], b, g[0], g[0]),
        response_between(tree, F, a, f[0], f[1], b, g[0], g[1]),
        response_between(tree, F, a, f[0], f[2], b, g[0], g[2]),
        response_between(tree, F, a, f[1], f[1], b, g[1], g[1]),
        response_between(tree, F, a, f[1], f[2], b, g[1], g[2]),
        response_between(tree, F, a, f[2], f[2], b, g[2], g[2]),
    )
