"""One sweep: the velocities and impulses of a linkage whose contacts and limits are springs of a moment.

Each contact answers its velocity by impulses γ(u), to first order γ - G (u' - u). With x the change of velocities,

    M x = Jᵀ η,   η = f - G J x,   f = γ + G (u - u_free)        (M + JᵀGJ) x = Jᵀ f                                (27)

For contacts with the world JᵀGJ stands on single bodies, beside their inertia, so that one elimination of the tree solves
it, whatever their number. Limits add to the resistance of their freedoms. Contacts between two bodies and loops: `between`.
"""

from linkwork.contact.solver.problem import SIGN
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_factor import factor_leaf_to_root, solve_tree
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import factor_of, problem_of, sweeps_of, touch_of
from linkwork.simulation.touching.sweeps.between import solve_between
from linkwork.simulation.touching.sweeps.memory import BETWEEN, IS_SINGULAR, LOOP_ROWS
from linkwork.simulation.touching.sweeps.points import all_rows, is_acting, push_of_row
from linkwork.spatial.memory import add_to6, add_to_block, load3, load6, load9, load_block, store6, store_block
from linkwork.spatial.rotations import add3, cross3, dot3, scale3
from linkwork.spatial.vectors import ZERO6, dot6, join, scale6


@routine
def sweep(table, count, limits):
    """(27): from `stiff` and `right` to `u_new`, `eta_new` and the twists that they make."""
    s = moving_of(table)
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    load_tree(table, count, limits)
    if not factor_leaf_to_root(s.tree, F):
        w.counts[IS_SINGULAR] = 1
    if w.counts[BETWEEN] + w.counts[LOOP_ROWS] > 0:
        push_with_the_world(table, count, limits)
        solve_tree(s.tree, F)
        solve_between(table, count, limits)
    push_with_the_world(table, count, limits)
    for k in range(w.counts[BETWEEN]):
        push_contact(t, w, F, w.between[k], w.eta_new)
    push_loops(problem_of(table), w, F, 3 * count + limits, w.eta_new)
    solve_tree(s.tree, F)
    read_velocities(table, count, limits)
    for c in range(count):
        if t.carrier[c, 0] < 0 or t.carrier[c, 1] < 0:
            for e in range(3):
                eta = w.right[3 * c + e]
                for d in range(3):
                    eta -= w.stiff[c, 3 * e + d] * (w.u_new[3 * c + d] - w.free[3 * c + d] - w.bias[3 * c + d])
                w.eta_new[3 * c + e] = eta
    for k in range(limits):
        r = 3 * count + k
        w.eta_new[r] = w.right[r] - w.stiff[count + k, 0] * (w.u_new[r] - w.free[r] - w.bias[r])


@routine
def answer_impulses(table, count, limits, impulse, out):
    """out = free + bias + J M⁻¹ Jᵀ impulse. Needs the linkage eliminated without contact."""
    s = moving_of(table)
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    clear_right_side(s, F)
    for c in range(count):
        push_contact(t, w, F, c, impulse)
    for k in range(limits):
        F.effort[t.bound[k, 1]] += problem.limit[k, SIGN] * impulse[3 * count + k]
    push_loops(problem, w, F, 3 * count + limits, impulse)
    solve_tree(s.tree, F)
    read_velocities(table, count, limits)
    for r in range(all_rows(w, count, limits)):
        out[r] = w.u_new[r]


@routine
def load_tree(table, count, limits):
    """Inertias of bodies with the stiffness of their contacts with the world; armatures with that of limits."""
    s = moving_of(table)
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    for i in range(s.tree.shape[0]):
        store_block(F.block, i, 0, load_block(w.rigid, i, 0))
    for j in range(s.v.shape[0]):
        F.resistance[j] = w.armature[j]
    for c in range(count):
        if is_acting(w, c):
            if t.carrier[c, 1] < 0:
                add_stiffness(w, F, c, 0, t.carrier[c, 0])
            elif t.carrier[c, 0] < 0:
                add_stiffness(w, F, c, 1, t.carrier[c, 1])
    for k in range(limits):
        F.resistance[t.bound[k, 1]] += w.stiff[count + k, 0]


@inlined
def add_stiffness(w, F, c, side, i):
    """Adds B G Bᵀ to the block of body i, B: wrenches of unit impulses along the axes of contact c."""
    f0, f1, f2 = push_of_row(w, c, 0, side), push_of_row(w, c, 1, side), push_of_row(w, c, 2, side)
    G = load9(w.stiff, c, 0)
    g0, g1, g2 = (
        combine(f0, f1, f2, G[0], G[1], G[2]),
        combine(f0, f1, f2, G[3], G[4], G[5]),
        combine(f0, f1, f2, G[6], G[7], G[8]),
    )
    add_to_block(
        F.block,
        i,
        0,
        (
            combine(g0, g1, g2, f0[0], f1[0], f2[0]),
            combine(g0, g1, g2, f0[1], f1[1], f2[1]),
            combine(g0, g1, g2, f0[2], f1[2], f2[2]),
            combine(g0, g1, g2, f0[3], f1[3], f2[3]),
            combine(g0, g1, g2, f0[4], f1[4], f2[4]),
            combine(g0, g1, g2, f0[5], f1[5], f2[5]),
        ),
    )


@inlined
def combine(a, b, c, x, y, z):
    """x a + y b + z c"""
    return (
        x * a[0] + y * b[0] + z * c[0],
        x * a[1] + y * b[1] + z * c[1],
        x * a[2] + y * b[2] + z * c[2],
        x * a[3] + y * b[3] + z * c[3],
        x * a[4] + y * b[4] + z * c[4],
        x * a[5] + y * b[5] + z * c[5],
    )


@inlined
def clear_right_side(s, F):
    for i in range(s.tree.shape[0]):
        store6(F.wrench, i, 0, ZERO6)
    for j in range(s.v.shape[0]):
        F.effort[j] = 0.0


@routine
def push_with_the_world(table, count, limits):
    """The right side of contacts with the world and of limits."""
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    clear_right_side(moving_of(table), F)
    for c in range(count):
        if t.carrier[c, 0] < 0 or t.carrier[c, 1] < 0:
            push_contact(t, w, F, c, w.right)
    for k in range(limits):
        F.effort[t.bound[k, 1]] += problem.limit[k, SIGN] * w.right[3 * count + k]


@inlined
def push_contact(t, w, F, c, impulse):
    """Takes the impulses of a contact off the bias wrenches of its bodies."""
    x, y, z = impulse[3 * c], impulse[3 * c + 1], impulse[3 * c + 2]
    if x != 0.0 or y != 0.0 or z != 0.0:
        f = add3(scale3(x, load3(w.axes, c, 0)), add3(scale3(y, load3(w.axes, c, 3)), scale3(z, load3(w.axes, c, 6))))
        for side in range(2):
            i = t.carrier[c, side]
            if i >= 0:
                g = scale3(-1.0, f) if side == 0 else f
                add_to6(F.wrench, i, 0, join(cross3(load3(w.arm, c, 3 * side), g), g))


@inlined
def push_loops(problem, w, F, first, impulse):
    """The same of the rows of loops, which stand from row `first` on."""
    for k in range(w.counts[LOOP_ROWS]):
        for side in range(2):
            i = w.loop_body[k, side]
            if i >= 0:
                add_to6(F.wrench, i, 0, scale6(-impulse[first + k], load6(problem.loop_row, k, 6 * side)))


@routine
def read_velocities(table, count, limits):
    """Velocities of all rows with the twists just found."""
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    for c in range(count):
        v = (0.0, 0.0, 0.0)
        for side in range(2):
            i = t.carrier[c, side]
            if i >= 0:
                one = add3(load3(F.twist, i, 3), cross3(load3(F.twist, i, 0), load3(w.arm, c, 3 * side)))
                v = add3(v, one if side == 0 else scale3(-1.0, one))
        for e in range(3):
            r = 3 * c + e
            w.u_new[r] = w.free[r] + w.bias[r] + dot3(load3(w.axes, c, 3 * e), v)
    for k in range(limits):
        r = 3 * count + k
        w.u_new[r] = w.free[r] + w.bias[r] + problem.limit[k, SIGN] * F.x[t.bound[k, 1]]
    for k in range(w.counts[LOOP_ROWS]):
        r = 3 * count + limits + k
        w.u_new[r] = w.free[r] + w.bias[r]
        for side in range(2):
            i = w.loop_body[k, side]
            if i >= 0:
                w.u_new[r] += dot6(load6(problem.loop_row, k, 6 * side), load6(F.twist, i, 0))
