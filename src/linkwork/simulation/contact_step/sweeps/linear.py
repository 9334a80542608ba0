"""One sweep: the velocities and impulses of a linkage whose contacts and limits are springs of a moment.

Each contact has impulses γ(u) of its velocity, to first order γ - G (u' - u). With x the change of velocities,

    M x = Jᵀ η,   η = f - G J x,   f = γ + G (u - u_free)        (M + JᵀGJ) x = Jᵀ f                                (19)

JᵀGJ of a contact with the world stands on one body, beside its inertia. Contacts between two bodies and loops couple them
(`between`). Limits add to the diagonal of their freedoms. One elimination of the tree solves it, whatever their number.
"""

from linkwork.contact.solver.problem import SIGN
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_couplings import clear_couplings
from linkwork.dynamics.tree_elimination import factor_leaf_to_root, solve_tree
from linkwork.dynamics.tree_factor import BLOCK, ROW
from linkwork.simulation.contact_step.arrays import contact_arrays_of, factor_of, problem_of, sweeps_of
from linkwork.simulation.contact_step.sweeps.between import add_contact, add_loop_row
from linkwork.simulation.contact_step.sweeps.memory import ALONE, IS_SINGULAR, LOOP_ROWS
from linkwork.simulation.contact_step.sweeps.points import all_rows, is_acting, loop_wrench
from linkwork.simulation.moving import moving_of
from linkwork.spatial.lane_moves import load_row, store_row
from linkwork.spatial.memory import add_to6, load3, load6
from linkwork.spatial.rotations import add3, cross3, dot3, scale3
from linkwork.spatial.simd import splat, vload, vstore
from linkwork.spatial.vectors import dot6, join, scale6


@routine
def sweep(table, count, limits):
    """(19): from `stiff` and `right` to `u_new`, `eta_new` and the twists that they make."""
    s = moving_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    load_tree(table, count, limits)
    if not factor_leaf_to_root(s.tree, F):
        w.counts[IS_SINGULAR] = 1
    respond_to_impulses(table, count, limits, w.right, w.u_new)
    for c in range(count):
        for e in range(3):
            eta = w.right[3 * c + e]
            for d in range(3):
                eta -= w.stiff[c, 3 * e + d] * (w.u_new[3 * c + d] - w.free[3 * c + d] - w.bias[3 * c + d])
            w.eta_new[3 * c + e] = eta
    for r in range(3 * count, all_rows(w, count, limits)):
        w.eta_new[r] = w.right[r] - w.stiff[r - 2 * count, 0] * (w.u_new[r] - w.free[r] - w.bias[r])


@routine
def respond_to_impulses(table, count, limits, impulse, out):
    """out = free + bias + J M⁻¹ Jᵀ impulse, with M as it was eliminated: alone, or with the stiffness of contacts."""
    s = moving_of(table)
    t = contact_arrays_of(table)
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
    read_velocities(table, count, limits, out)


@routine
def load_tree(table, count, limits):
    """Inertias of bodies and armatures of freedoms with the stiffness of contacts, loops and limits."""
    t = contact_arrays_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    load_alone(table)
    for c in range(count):
        if is_acting(w, c):
            add_contact(w, F, c, t.moving_body[c, 0], t.moving_body[c, 1])
    for k in range(w.counts[LOOP_ROWS]):
        a, f = loop_wrench(problem, w, k, 0)
        b, g = loop_wrench(problem, w, k, 1)
        add_loop_row(F, w.stiff[count + limits + k, 0], a, f, b, g)
    for k in range(limits):
        F.added_diagonal[t.bound[k, 1]] += w.stiff[count + k, 0]


@routine
def load_alone(table):
    """The linkage without contact."""
    s = moving_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    for k in range(0, BLOCK * s.tree.shape[0], ROW):
        vstore(F.block, k, vload(w.rigid, k))
    for j in range(s.v.shape[0]):
        F.added_diagonal[j] = w.armature[j]
    clear_couplings(F)


@routine
def eliminate_alone(table):
    """The linkage without contact, eliminated: responses to impulses are those of M."""
    s = moving_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    load_alone(table)
    if not factor_leaf_to_root(s.tree, F):
        w.counts[IS_SINGULAR] = 1
    for j in range(s.v.shape[0]):
        vstore(w.alone, ALONE * j, load_row(F.U, j))
        vstore(w.alone, ALONE * j + ROW, load_row(F.Y, j))
        w.alone_inverse[j] = F.Dinv[j]


@routine
def return_alone(table):
    """The same again, as it was eliminated before contacts were added."""
    F = factor_of(table)
    w = sweeps_of(table)
    for j in range(moving_of(table).v.shape[0]):
        store_row(F.U, j, vload(w.alone, ALONE * j))
        store_row(F.Y, j, vload(w.alone, ALONE * j + ROW))
        F.Dinv[j] = w.alone_inverse[j]
    clear_couplings(F)


@inlined
def clear_right_side(s, F):
    for i in range(s.tree.shape[0]):
        store_row(F.wrench, i, splat(0.0))
    for j in range(s.v.shape[0]):
        F.effort[j] = 0.0


@inlined
def push_contact(t, w, F, c, impulse):
    """Takes the impulses of a contact off the bias wrenches of its bodies."""
    x, y, z = impulse[3 * c], impulse[3 * c + 1], impulse[3 * c + 2]
    if x != 0.0 or y != 0.0 or z != 0.0:
        f = add3(scale3(x, load3(w.axes, c, 0)), add3(scale3(y, load3(w.axes, c, 3)), scale3(z, load3(w.axes, c, 6))))
        for side in range(2):
            i = t.moving_body[c, side]
            if i >= 0:
                g = scale3(-1.0, f) if side == 0 else f
                add_to6(F.wrench, i, 0, join(cross3(load3(w.arm, c, 3 * side), g), g))


@inlined
def push_loops(problem, w, F, first, impulse):
    """The same of the rows of loops, which stand from row `first` on."""
    for k in range(w.counts[LOOP_ROWS]):
        for side in range(2):
            i, f = loop_wrench(problem, w, k, side)
            if i >= 0:
                add_to6(F.wrench, i, 0, scale6(-impulse[first + k], f))


@routine
def read_velocities(table, count, limits, out):
    """Velocities of all rows with the twists just found."""
    t = contact_arrays_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    for c in range(count):
        v = (0.0, 0.0, 0.0)
        for side in range(2):
            i = t.moving_body[c, side]
            if i >= 0:
                one = add3(load3(F.twist, i, 3), cross3(load3(F.twist, i, 0), load3(w.arm, c, 3 * side)))
                v = add3(v, one if side == 0 else scale3(-1.0, one))
        for e in range(3):
            r = 3 * c + e
            out[r] = w.free[r] + w.bias[r] + dot3(load3(w.axes, c, 3 * e), v)
    for k in range(limits):
        r = 3 * count + k
        out[r] = w.free[r] + w.bias[r] + problem.limit[k, SIGN] * F.x[t.bound[k, 1]]
    for k in range(w.counts[LOOP_ROWS]):
        r = 3 * count + limits + k
        out[r] = w.free[r] + w.bias[r]
        for side in range(2):
            i, f = loop_wrench(problem, w, k, side)
            if i >= 0:
                out[r] += dot6(f, load6(F.twist, i, 0))
