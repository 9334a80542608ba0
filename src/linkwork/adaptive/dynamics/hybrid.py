"""One step of the hybrid linkage: active joints move, everything below them is rigid. Cost: O(active nodes).

Velocities come from the root to the leaves over the active nodes; rigid nodes below are single bodies; then the same
assembly and substitution as in `dca`, on the active nodes alone. Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive.dynamics.rigid_nodes import front_wrench, lower_pose, set_front_bias
from linkwork.adaptive.dynamics.workspace import (
    ACTIVE,
    ACTIVE_COUNT,
    FRONT_COUNT,
    P_P,
    P_R,
    RATE,
    RATE_BIAS,
)
from linkwork.adaptive.quasi_statics.update import place_in_world
from linkwork.adaptive.quasi_statics.workspace import LOAD_COUNT
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_C, H_F, H_P, H_R
from linkwork.dynamics.dca.sweeps import IN_1, INPUT_COLUMNS, assemble_node, substitute_node
from linkwork.model.joint_kernels import body_motion, joint_integrate, joint_passive_effort
from linkwork.model.layout import COMPOUND, DAMPING, DOF, HELICAL, INERTIA, KIND, STIFFNESS, Q, V
from linkwork.simulation.loads import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE
from linkwork.simulation.motors import M_DAMPING, M_POSITION, M_STIFFNESS, M_VELOCITY
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import add3, cross3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.simd import lane_vector, vstore
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    compose_pose,
    cross_force,
    cross_motion,
    join,
    sub6,
    twist_to_child,
)

# ------------------------------------------------------------------------------------------------------------------ joints


@inlined
def refresh_effort(mechanism, c, live, i):
    """All efforts of a joint: as given, of its spring, damper and motor."""
    tree = mechanism.whole_tree
    j = tree[i, V]
    k = tree[i, Q]
    kind = tree[i, KIND]
    if kind == HELICAL:
        total = live.effort[j] - mechanism.dof[j, DAMPING] * live.v[j]
        total -= mechanism.dof[j, STIFFNESS] * (live.q[k] - mechanism.rest[k])
        c.total[j] = total
    else:
        for d in range(tree[i, DOF]):
            c.total[j + d] = live.effort[j + d]
        joint_passive_effort(tree, mechanism.dof, mechanism.rest, i, live.q, live.v, c.total)
    if kind == HELICAL or kind == COMPOUND:
        for d in range(tree[i, DOF]):
            c.total[j + d] += live.motor[j + d, M_STIFFNESS] * (live.motor[j + d, M_POSITION] - live.q[k + d])
            c.total[j + d] += live.motor[j + d, M_DAMPING] * (live.motor[j + d, M_VELOCITY] - live.v[j + d])


@routine
def refresh_joint_motion(mechanism, c, live, i):
    """Pose, motion subspace, velocity and efforts of a joint at its present state."""
    R, p, VJ, cJ = body_motion(mechanism.whole_tree, mechanism.body, mechanism.screws, i, live.q, live.v, c.S)
    store9(c.hinge, i, H_R, R)
    store3(c.hinge, i, H_P, p)
    store6(live.rate, i, RATE, VJ)
    store6(live.rate, i, RATE_BIAS, cJ)
    refresh_effort(mechanism, c, live, i)


# -------------------------------------------------------------------------------------------------------------- velocities


@routine
def relative_motion_leaf_to_root(plan, c, live):
    """Pose and velocity of each active cluster's last body relative to its first."""
    nodes = plan.nodes
    for k in range(live.tally[ACTIVE_COUNT]):
        node = live.active[k]
        if nodes[node, NODE_KIND] != JOIN or nodes[node, ROLE] == TOP:
            continue
        i = nodes[node, INDEX]
        right = nodes[node, RIGHT]
        R, p = lower_pose(nodes, node, c.hinge, c.place)
        Rb = load9(c.place, right, P_R)
        pb = load3(c.place, right, P_P)
        upper = load6(live.relative, nodes[node, LEFT], 0)
        moved = add6(twist_to_child(load9(c.hinge, i, H_R), load3(c.hinge, i, H_P), upper), load6(live.rate, i, RATE))
        store6(live.relative, node, 0, add6(twist_to_child(Rb, pb, moved), load6(live.relative, right, 0)))
        R, p = compose_pose(R, p, Rb, pb)
        store9(c.place, node, P_R, R)
        store3(c.place, node, P_P, p)


@routine
def twists_root_to_leaf(plan, c, live, members, count):
    """Velocities of the first bodies of all children of `members` (ascending, closed upward); biases of joints."""
    nodes = plan.nodes
    for k in range(count - 1, -1, -1):
        node = members[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT]
        twist = load6(live.twist, node, 0)
        if kind == JOIN or kind == HANG:
            i = nodes[node, INDEX]
            upper = twist
            if kind == JOIN:
                store6(live.twist, left, 0, twist)
                upper = twist_to_child(load9(c.place, left, P_R), load3(c.place, left, P_P), twist)
                upper = add6(upper, load6(live.relative, left, 0))
            rate = load6(live.rate, i, RATE)
            lower = add6(twist_to_child(load9(c.hinge, i, H_R), load3(c.hinge, i, H_P), upper), rate)
            store6(live.twist, right if kind == JOIN else left, 0, lower)
            store6(c.hinge, i, H_C, add6(load6(live.rate, i, RATE_BIAS), cross_motion(lower, rate)))
        else:
            if left >= 0:
                store6(live.twist, left, 0, twist)
            if right >= 0:
                store6(live.twist, right, 0, twist)


# ------------------------------------------------------------------------------------------------------------------- loads


@inlined
def load_wrench(live, k):
    """World load k as a wrench on the rigid node it acts on, in that node's frame."""
    node = live.load_front[k]
    R = load9(live.world, node, 0)
    at = add3(matvec3(load9(live.load_pose, k, 0), load3(live.load, k, LOAD_AT)), load3(live.load_pose, k, 9))
    force = load3(live.load, k, LOAD_FORCE)
    stiffness = live.load[k, LOAD_STIFFNESS]
    if stiffness != 0.0:
        point = add3(matvec3(R, at), load3(live.world, node, 9))
        force = add3(force, scale3(stiffness, sub3(load3(live.load, k, LOAD_TARGET), point)))
    f = tmatvec3(R, force)
    return join(add3(tmatvec3(R, load3(live.load, k, LOAD_TORQUE)), cross3(at, f)), f)


@routine
def express_world_loads(plan, c, live):
    """Sums the world loads on each rigid node (or active body) they act on."""
    count = live.tally[LOAD_COUNT]
    if count == 0:
        return
    place_in_world(plan.nodes, live.active, live.tally[ACTIVE_COUNT], c.hinge, c.place, live.world)
    for k in range(count):
        store6(live.force, live.load_front[k], 0, ZERO6)
    for k in range(count):
        add_to6(live.force, live.load_front[k], 0, load_wrench(live, k))


# -------------------------------------------------------------------------------------------------------------------- solve


@inlined
def gyroscopic_wrench(body, i, twist):
    return cross_force(twist, rigid_times_twist(load10(body, i, INERTIA), twist))


@routine
def bias_forces(plan, mechanism, c, hybrid, live):
    """External and gyroscopic wrenches on active bodies and rigid nodes."""
    for k in range(live.tally[FRONT_COUNT]):
        node = live.front[k]
        set_front_bias(plan, c, hybrid, node, front_wrench(c, live, node))
    for k in range(live.tally[ACTIVE_COUNT]):
        node = live.active[k]
        if plan.nodes[node, NODE_KIND] == BODY:
            i = plan.nodes[node, INDEX]
            f = add6(load6(live.wrench, i, 0), load6(live.force, node, 0))
            f = sub6(f, gyroscopic_wrench(mechanism.body, i, load6(live.twist, node, 0)))
            store6(c.hinge, i, H_F, f)


@routine
def solve_hybrid(plan, mechanism, c, hybrid, live, tree, total, base, qdd):
    """Accelerations (or, for locking, changes of velocity) of the active joints; returns a body that failed, or -1.

    base: acceleration of the world, three numbers. tree: may mark joints whose motion is given by their bias.
    """
    nodes = plan.nodes
    count = live.tally[ACTIVE_COUNT]
    for k in range(count):
        node = live.active[k]
        ok = assemble_node(
            nodes, plan.block, plan.slot, node, tree, mechanism.body, mechanism.dof, c.hinge, c.S, total,
            hybrid.coef, hybrid.phi, hybrid.freedom, c.scratch,
        )  # fmt: skip
        if not ok:
            return nodes[node, INDEX]
    if count > 0:
        root = live.active[count - 1]
        vstore(live.inputs, root * INPUT_COLUMNS + IN_1, lane_vector((0.0, 0.0, 0.0, base[0], base[1], base[2]), 0.0))
    for k in range(count - 1, -1, -1):
        substitute_node(
            nodes, plan.block, live.active[k], tree, c.hinge, total, hybrid.coef, hybrid.freedom, live.inputs, qdd
        )
    return -1


@routine
def accelerate(plan, mechanism, c, hybrid, live):
    """Accelerations of the active joints at the present state; returns a body that failed, or -1."""
    express_world_loads(plan, c, live)
    bias_forces(plan, mechanism, c, hybrid, live)
    g = mechanism.gravity
    return solve_hybrid(plan, mechanism, c, hybrid, live, mechanism.tree, c.total, (-g[0], -g[1], -g[2]), live.qdd)


@routine
def integrate(plan, mechanism, c, live, h):
    """Semi-implicit Euler for the active joints: v ← v + h q̈, q ← q ⊕ h v."""
    tree = mechanism.tree
    for k in range(live.tally[ACTIVE_COUNT]):
        node = live.active[k]
        kind = plan.nodes[node, NODE_KIND]
        if kind != JOIN and kind != HANG:
            continue
        i = plan.nodes[node, INDEX]
        n = tree[i, DOF]
        if n == 0:
            continue
        j = tree[i, V]
        for d in range(n):
            live.v[j + d] += h * live.qdd[j + d]
        if tree[i, KIND] == HELICAL:
            live.q[tree[i, Q]] += h * live.v[j]
        else:
            joint_integrate(tree, i, live.q, live.v, h, live.q)
        refresh_joint_motion(mechanism, c, live, i)


@inlined
def is_active(live, node):
    return live.flag[node] & ACTIVE != 0
