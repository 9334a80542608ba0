"""What a solve is about: rows of contacts, limits and loops, their own responses; of the tree its joints and inertias."""

import math

from linkwork.contact.solver.rows import NO_RESPONSE, TOGETHER, fill_delassus, fill_rows, own_responses
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, S_D
from linkwork.dynamics.tree_couplings import ASKED, ask_for, clear_couplings, couple, is_same_tree, order_least_coupled
from linkwork.dynamics.tree_elimination import own_responses_root_to_leaf, response_between
from linkwork.dynamics.tree_factor import load_numbers, store_numbers
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, FREE, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import (
    contact_arrays_of,
    contacts_of,
    factor_of,
    problem_of,
    sweeps_of,
    system_of,
)
from linkwork.simulation.contact_step.sweeps.between import contact_response, note_pushes
from linkwork.simulation.contact_step.sweeps.linear import eliminate_alone
from linkwork.simulation.contact_step.sweeps.memory import (
    HAS_MATRIX,
    IS_DENSE,
    IS_SINGULAR,
    LARGEST_SPEED,
    LOOP_ROWS,
    SWEEPS_MADE,
)
from linkwork.simulation.contact_step.sweeps.points import (
    all_rows,
    loop_wrench,
    place_contacts,
    push_of_row,
    set_softness,
)
from linkwork.simulation.moving import moving_of
from linkwork.spatial.lane_moves import store_row
from linkwork.spatial.memory import load3, load6, load9, load10, store3, store6
from linkwork.spatial.rotations import ZERO3, matvec3, rotate_symmetric
from linkwork.spatial.simd import unit_lane
from linkwork.spatial.vectors import ZERO6, add6, dot6, to_world


@routine
def assemble_rows(table, h, count, limits):
    """Fills in everything that stays the same while `count` contacts, the near limits and loops are solved for.

    Responses come from the matrix where it was asked for, otherwise from the tree itself.
    """
    t = contact_arrays_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    system = system_of(table)
    contacts = contacts_of(table)
    w.counts[SWEEPS_MADE], w.counts[IS_SINGULAR] = 0, 0
    w.counts[IS_DENSE], w.counts[LOOP_ROWS] = 1 if t.counts[ca.BY_SWEEPS] == 0 else 0, problem.loop_row.shape[0]
    w.counts[HAS_MATRIX] = 1 if t.counts[ca.BY_SWEEPS] != ca.BY_TREE else 0
    rows = fill_rows(contacts, count, problem, system, h, t.settings[ca.REST_SPEED], t.settings[ca.SLACK])
    w.scales[LARGEST_SPEED] = largest_speed(problem, system, rows)
    place_contacts(contacts, problem, w, count)
    if w.counts[IS_DENSE] != 0:
        fill_delassus(problem, system, count, rows)
        measure_by_matrix(table, count, limits)
    else:
        place_joints(table)
        place_loops(table)
        order_bodies(table, count)
        eliminate_alone(table)
        measure_by_tree(table, count, limits)
        note_pushes(w, count)
        if w.counts[HAS_MATRIX] != 0:
            fill_delassus(problem, system, count, rows)
    for r in range(rows):
        w.free[r], w.bias[r] = system.u_free[r], system.bias[r]


@inlined
def largest_speed(problem, system, rows):
    """Largest Σ |J v| of a row: velocities of contacts are differences of such, and rounding is a part of them."""
    top = 0.0
    for r in range(rows):
        speed = 0.0
        for side in range(2):
            first = system.column[r, side]
            if first >= 0:
                for k in range(system.width[r]):
                    speed += abs(system.J[r, 6 * side + k] * problem.v_free[first + k])
        top = max(top, speed)
    return top


@routine
def place_joints(table):
    """Columns of freedoms, ways between bodies, inertias and armatures of the linkage as it stands."""
    s = moving_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    for i in range(s.tree.shape[0]):
        R = load9(s.world, i, 0)
        parent, j = s.tree[i, PARENT], s.tree[i, V]
        r = matvec3(load9(s.world, parent, 0), load3(s.work, i, P_)) if parent >= 0 else ZERO3
        store3(F.r, i, 0, r)
        F.is_unit[i] = 0
        if s.tree[i, KIND] == HELICAL:
            store6(F.S, j, 0, to_world(R, helical_twist(s.body, i)))
        elif s.tree[i, KIND] == FREE and parent < 0 and has_no_armature(s, j):
            F.is_unit[i] = 1  # any six columns will do, and nothing asks for coordinates along them
            for d in range(6):
                store_row(F.S, j + d, unit_lane(d))
        else:
            for d in range(j, j + s.tree[i, DOF]):
                store6(F.S, d, 0, to_world(R, load6(s.dof_work, d, S_D)))
        store_numbers(w.rigid, i, rigid_block(R, load10(s.body, i, INERTIA)))
    for j in range(s.v.shape[0]):
        w.armature[j] = s.effective_armature[j, ARMATURE]


@inlined
def has_no_armature(s, j):
    """Whether none of six freedoms resists by itself, springs and dampers that are taken implicitly included."""
    none = True
    for d in range(j, j + 6):
        none = none and s.effective_armature[d, ARMATURE] == 0.0
    return none


@inlined
def rigid_block(R, inertia):
    """A rigid inertia as a 6x6 block in axes that R leads to."""
    m = inertia[0]
    x, y, z = matvec3(R, (inertia[1], inertia[2], inertia[3]))
    A = rotate_symmetric(R, (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9]))
    return (
        (A[0], A[1], A[2], 0.0, -z, y),
        (A[1], A[3], A[4], z, 0.0, -x),
        (A[2], A[4], A[5], -y, x, 0.0),
        (0.0, z, -y, m, 0.0, 0.0),
        (-z, 0.0, x, 0.0, m, 0.0),
        (y, -x, 0.0, 0.0, 0.0, m),
    )


@routine
def place_loops(table):
    """Which bodies each row of loops is between."""
    x = constraints_of(table)
    w = sweeps_of(table)
    for k in range(x.ends.shape[0]):
        for r in range(x.first_row[k], x.first_row[k + 1]):
            w.loop_body[r, 0], w.loop_body[r, 1] = x.ends[k, 0], x.ends[k, 1]


@routine
def order_bodies(table, count):
    """In which order bodies are eliminated, with all contacts between them and loops: that of the last solve where these
    are the same."""
    t = contact_arrays_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    same, asked = is_same_tree(moving_of(table).tree, F), 0
    for c in range(count):
        if t.moving_body[c, 0] >= 0 and t.moving_body[c, 1] >= 0:
            same = ask_for(F, asked, t.moving_body[c, 0], t.moving_body[c, 1]) and same
            asked += 1
    for k in range(w.counts[LOOP_ROWS]):
        if w.loop_body[k, 0] >= 0 and w.loop_body[k, 1] >= 0:
            same = ask_for(F, asked, w.loop_body[k, 0], w.loop_body[k, 1]) and same
            asked += 1
    clear_couplings(F)
    if same and asked == F.counts[ASKED]:
        return
    F.counts[ASKED] = asked
    for c in range(count):
        if t.moving_body[c, 0] >= 0 and t.moving_body[c, 1] >= 0:
            couple(F, t.moving_body[c, 0], t.moving_body[c, 1])
    for k in range(w.counts[LOOP_ROWS]):
        if w.loop_body[k, 0] >= 0 and w.loop_body[k, 1] >= 0:
            couple(F, w.loop_body[k, 0], w.loop_body[k, 1])
    order_least_coupled(moving_of(table).tree, F)


@routine
def measure_by_matrix(table, count, limits):
    """Response of each contact to its own impulses, from the matrix; its rows are turned with the tangents."""
    w = sweeps_of(table)
    problem = problem_of(table)
    system = system_of(table)
    G = system.G
    rows = all_rows(w, count, limits)
    for c in range(count):
        r = 3 * c
        K = (G[r, r], G[r, r + 1], G[r, r + 2], G[r + 1, r + 1], G[r + 1, r + 2], G[r + 2, r + 2])
        p, q = set_softness(w, c, K, own_responses(problem.Lambda, system, r))
        turn_rows(system, r, p, q, w.tangents[c])
        if w.tangents[c] < 2:
            turn_matrix(G, rows, r, p, q, w.tangents[c])
    most = 0.0
    for r in range(3 * count + limits, rows):
        most = max(most, G[r, r])
    for r in range(3 * count, rows):
        has_response = r < 3 * count + limits or responds(G[r, r], most, own_responses(problem.Lambda, system, r))
        w.response[r - 2 * count] = G[r, r] if has_response else 1.0
        w.soft[r - 2 * count] = G[r, r] if has_response else math.inf  # it carries nothing


@inlined
def responds(response, most, alone):
    """Whether a row of loops responds to impulses, or rounding is all there is: against other rows, whose most is
    given, and against its ends, each alone. Ends on one rigid group respond only together."""
    return response > NO_RESPONSE * most and response > TOGETHER * alone


@inlined
def turn_rows(system, r, p, q, tangents):
    """Rows of a contact with its tangents as `set_softness` turned them; those along which nothing moves are emptied."""
    if tangents > 1:
        return
    J, free = system.J, system.u_free
    for k in range(12):
        x, y = J[r + 1, k], J[r + 2, k]
        J[r + 1, k], J[r + 2, k] = p * x + q * y, p * y - q * x
    x, y = free[r + 1], free[r + 2]
    free[r + 1], free[r + 2] = p * x + q * y, p * y - q * x
    for e in range(r + max(tangents, -1) + 1, r + 3):
        for k in range(12):
            J[e, k] = 0.0
        free[e] = 0.0


@routine
def turn_matrix(G, rows, r, p, q, tangents):
    """The same of rows and columns of the matrix. A contact that cannot part is not pressed, and pushing moves nothing."""
    for k in range(rows):
        x, y = G[k, r + 1], G[k, r + 2]
        G[k, r + 1], G[k, r + 2] = p * x + q * y, p * y - q * x
    for k in range(rows):
        x, y = G[r + 1, k], G[r + 2, k]
        G[r + 1, k], G[r + 2, k] = p * x + q * y, p * y - q * x
    for e in range(r + max(tangents, -1) + 1, r + 3):
        for k in range(rows):
            G[e, k], G[k, e] = 0.0, 0.0
    if tangents < 0:
        G[r, r] = 1.0


@routine
def measure_by_tree(table, count, limits):
    """Response of each contact to its own impulses: softness, scale of residuals, and directions in which nothing moves."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    own_responses_root_to_leaf(s.tree, F)
    for c in range(count):
        a, b = t.moving_body[c, 0], t.moving_body[c, 1]
        K, alone = ZERO6, 0.0
        if a >= 0:
            K = add6(K, own_block(w, c, 0, load_numbers(F.block, a)))
        if b >= 0:
            K = add6(K, own_block(w, c, 1, load_numbers(F.block, b)))
        if a >= 0 and b >= 0:
            alone = K[0]
            if s.tree_of[a] < 0 or s.tree_of[a] == s.tree_of[b]:  # not two floating trees: one moves without the other
                K = contact_response(s.tree, F, w, c, a, b)
        p, q = set_softness(w, c, K, alone)
        turn_rows(system_of(table), 3 * c, p, q, w.tangents[c])
    for k in range(limits):
        w.response[count + k] = F.Dinv[t.bound[k, 1]]
        w.soft[count + k] = w.response[count + k]
    measure_loops(table, count + limits)


@inlined
def measure_loops(table, first):
    """The same of the rows of loops, of which `response` and `soft` stand from `first` on."""
    tree = moving_of(table).tree
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    most = 0.0
    for k in range(w.counts[LOOP_ROWS]):
        a, f = loop_wrench(problem, w, k, 0)
        b, g = loop_wrench(problem, w, k, 1)
        w.response[first + k] = response_between(tree, F, a, f, f, b, g, g)
        w.soft[first + k] = response_between(tree, F, a, f, f, -1, ZERO6, ZERO6)
        w.soft[first + k] += response_between(tree, F, b, g, g, -1, ZERO6, ZERO6)
        most = max(most, w.response[first + k])
    for k in range(first, first + w.counts[LOOP_ROWS]):
        has_response = responds(w.response[k], most, w.soft[k])
        w.soft[k] = w.response[k] if has_response else math.inf  # it carries nothing
        w.response[k] = w.response[k] if has_response else 1.0


@inlined
def own_block(w, c, side, X):
    """Velocities of a contact's point on one side per impulse there: nn, n1, n2, 11, 12, 22."""
    f0, f1, f2 = push_of_row(w, c, 0, side), push_of_row(w, c, 1, side), push_of_row(w, c, 2, side)
    x0 = (dot6(X[0], f0), dot6(X[1], f0), dot6(X[2], f0), dot6(X[3], f0), dot6(X[4], f0), dot6(X[5], f0))
    x1 = (dot6(X[0], f1), dot6(X[1], f1), dot6(X[2], f1), dot6(X[3], f1), dot6(X[4], f1), dot6(X[5], f1))
    x2 = (dot6(X[0], f2), dot6(X[1], f2), dot6(X[2], f2), dot6(X[3], f2), dot6(X[4], f2), dot6(X[5], f2))
    return dot6(f0, x0), dot6(f1, x0), dot6(f2, x0), dot6(f1, x1), dot6(f2, x1), dot6(f2, x2)
