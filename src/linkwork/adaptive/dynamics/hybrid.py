"""One step of the hybrid linkage: active joints move, everything below them is rigid. Cost: O(active nodes).

Velocities come from the root to the leaves over the active nodes; rigid nodes below are single bodies; then the same
assembly and substitution as in `dca`, on the active nodes alone. Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive.dynamics.rigid_nodes import front_wrench, set_front_bias
from linkwork.adaptive.nodes import lower_pose, place_in_world, refresh_joint
from linkwork.adaptive.workspace import ACTIVE_COUNT, FRONT_COUNT, LOAD_COUNT, P_P, P_R, RATE, RATE_BIAS
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_C, H_F, H_P, H_R
from linkwork.dynamics.dca.sweeps import IN_1, INPUT_COLUMNS, assemble_node, substitute_node
from linkwork.model.joint_kernels import joint_integrate
from linkwork.model.layout import COMPOUND, DOF, HELICAL, INERTIA, KIND, Q, V
from linkwork.simulation.loads import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE
from linkwork.simulation.motors import M_DAMPING, M_POSITION, M_STIFFNESS, M_VELOCITY
from linkwork.spatial.inertia import gyroscopic_wrench
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import add3, cross3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.simd import lane_vector, vstore
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    compose_pose,
    cross_motion,
    join,
    sub6,
    twist_to_child,
)

# ------------------------------------------------------------------------------------------------------------------ joints


@routine
def refresh_joint_motion(mechanism, c, run, i):
    """Pose, motion subspace, velocity and efforts of a joint at its present state, its motor's included."""
    VJ, cJ = refresh_joint(mechanism, c, run, i)
    store6(run.rate, i, RATE, VJ)
    store6(run.rate, i, RATE_BIAS, cJ)
    tree = mechanism.whole_tree
    j = tree[i, V]
    k = tree[i, Q]
    if tree[i, KIND] == HELICAL or tree[i, KIND] == COMPOUND:
        for d in range(tree[i, DOF]):
            c.effort_sum[j + d] += run.motor[j + d, M_STIFFNESS] * (run.motor[j + d, M_POSITION] - run.q[k + d])
            c.effort_sum[j + d] += run.motor[j + d, M_DAMPING] * (run.motor[j + d, M_VELOCITY] - run.v[j + d])


# -------------------------------------------------------------------------------------------------------------- velocities


@routine
def relative_motion_leaf_to_root(plan, c, run):
    """Pose and velocity of each active cluster's last body relative to its first."""
    nodes = plan.nodes
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if nodes[node, NODE_KIND] != JOIN or nodes[node, ROLE] == TOP:
            continue
        i = nodes[node, INDEX]
        right = nodes[node, RIGHT]
        R, p = lower_pose(nodes, node, c.joint_data, c.composite)
        Rb = load9(c.composite, right, P_R)
        pb = load3(c.composite, right, P_P)
        upper = load6(run.relative, nodes[node, LEFT], 0)
        moved = add6(
            twist_to_child(load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), upper), load6(run.rate, i, RATE)
        )
        store6(run.relative, node, 0, add6(twist_to_child(Rb, pb, moved), load6(run.relative, right, 0)))
        R, p = compose_pose(R, p, Rb, pb)
        store9(c.composite, node, P_R, R)
        store3(c.composite, node, P_P, p)


@routine
def twists_root_to_leaf(plan, c, run, members, count):
    """Velocities of the first bodies of all children of `members` (ascending, closed upward); biases of joints."""
    nodes = plan.nodes
    for k in range(count - 1, -1, -1):
        node = members[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT]
        twist = load6(run.twist, node, 0)
        if kind == JOIN or kind == HANG:
            i = nodes[node, INDEX]
            upper = twist
            if kind == JOIN:
                store6(run.twist, left, 0, twist)
                upper = twist_to_child(load9(c.composite, left, P_R), load3(c.composite, left, P_P), twist)
                upper = add6(upper, load6(run.relative, left, 0))
            rate = load6(run.rate, i, RATE)
            lower = add6(twist_to_child(load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), upper), rate)
            store6(run.twist, right if kind == JOIN else left, 0, lower)
            store6(c.joint_data, i, H_C, add6(load6(run.rate, i, RATE_BIAS), cross_motion(lower, rate)))
        else:
            if left >= 0:
                store6(run.twist, left, 0, twist)
            if right >= 0:
                store6(run.twist, right, 0, twist)


# ------------------------------------------------------------------------------------------------------------------- loads


@inlined
def load_wrench(run, k):
    """World load k as a wrench on the rigid node it acts on, in that node's frame."""
    node = run.load_front[k]
    R = load9(run.world, node, 0)
    at = add3(matvec3(load9(run.load_pose, k, 0), load3(run.load, k, LOAD_AT)), load3(run.load_pose, k, 9))
    force = load3(run.load, k, LOAD_FORCE)
    stiffness = run.load[k, LOAD_STIFFNESS]
    if stiffness != 0.0:
        point = add3(matvec3(R, at), load3(run.world, node, 9))
        force = add3(force, scale3(stiffness, sub3(load3(run.load, k, LOAD_TARGET), point)))
    f = tmatvec3(R, force)
    return join(add3(tmatvec3(R, load3(run.load, k, LOAD_TORQUE)), cross3(at, f)), f)


@routine
def express_world_loads(plan, c, run):
    """Sums the world loads on each rigid node (or active body) they act on."""
    count = run.counts[LOAD_COUNT]
    if count == 0:
        return
    place_in_world(plan.nodes, run.active, run.counts[ACTIVE_COUNT], c.joint_data, c.composite, run.world)
    for k in range(count):
        store6(run.force, run.load_front[k], 0, ZERO6)
    for k in range(count):
        add_to6(run.force, run.load_front[k], 0, load_wrench(run, k))


# -------------------------------------------------------------------------------------------------------------------- solve


@routine
def bias_forces(plan, mechanism, c, hybrid, run):
    """External and gyroscopic wrenches on active bodies and rigid nodes."""
    for k in range(run.counts[FRONT_COUNT]):
        node = run.front[k]
        set_front_bias(plan, c, hybrid, node, front_wrench(c, run, node))
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if plan.nodes[node, NODE_KIND] == BODY:
            i = plan.nodes[node, INDEX]
            f = add6(load6(run.wrench, i, 0), load6(run.force, node, 0))
            f = sub6(f, gyroscopic_wrench(load10(mechanism.body, i, INERTIA), load6(run.twist, node, 0)))
            store6(c.joint_data, i, H_F, f)


@routine
def solve_hybrid(plan, mechanism, c, hybrid, run, tree, total, base, qdd):
    """Accelerations (or, for locking, changes of velocity) of the active joints; returns a body that failed, or -1.

    base: acceleration of the world, three numbers. tree: may mark joints whose motion is given by their bias.
    """
    nodes = plan.nodes
    count = run.counts[ACTIVE_COUNT]
    for k in range(count):
        node = run.active[k]
        ok = assemble_node(
            nodes, plan.block, plan.slot, node, tree, mechanism.body, mechanism.dof, c.joint_data, c.S, total,
            hybrid.kept, hybrid.handed_up, hybrid.dof_rows, c.scratch,
        )  # fmt: skip
        if not ok:
            return nodes[node, INDEX]
    if count > 0:
        root = run.active[count - 1]
        vstore(run.inputs, root * INPUT_COLUMNS + IN_1, lane_vector((0.0, 0.0, 0.0, base[0], base[1], base[2]), 0.0))
    for k in range(count - 1, -1, -1):
        substitute_node(
            nodes, plan.block, run.active[k], tree, c.joint_data, total, hybrid.kept, hybrid.dof_rows, run.inputs, qdd
        )
    return -1


@routine
def accelerate(plan, mechanism, c, hybrid, run):
    """Accelerations of the active joints at the present state; returns a body that failed, or -1."""
    express_world_loads(plan, c, run)
    bias_forces(plan, mechanism, c, hybrid, run)
    g = mechanism.gravity
    return solve_hybrid(plan, mechanism, c, hybrid, run, mechanism.tree, c.effort_sum, (-g[0], -g[1], -g[2]), run.qdd)


@routine
def integrate(plan, mechanism, c, run, h):
    """Semi-implicit Euler for the active joints: v ← v + h q̈, q ← q ⊕ h v."""
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        kind = plan.nodes[node, NODE_KIND]
        if kind != JOIN and kind != HANG:
            continue
        i = plan.nodes[node, INDEX]
        n = tree[i, DOF]
        if n == 0:
            continue
        j = tree[i, V]
        for d in range(n):
            run.v[j + d] += h * run.qdd[j + d]
        if tree[i, KIND] == HELICAL:
            run.q[tree[i, Q]] += h * run.v[j]
        else:
            joint_integrate(tree, i, run.q, run.v, h, run.q)
        refresh_joint_motion(mechanism, c, run, i)
