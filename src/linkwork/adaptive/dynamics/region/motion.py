"""Velocities on the assembly tree: of joints, of clusters, of the bodies their nodes begin with."""

from linkwork.adaptive.nodes import carries_joint, lower_pose, refresh_joint, sum_helical_effort
from linkwork.adaptive.workspace import ACTIVE_COUNT, P_P, P_R, RATE, RATE_BIAS, mechanism_of
from linkwork.assembly.node_table import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import routine
from linkwork.dynamics.dca.nodes import H_C, H_P, H_R
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import HELICAL, KIND, V
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.vectors import add6, compose_pose, cross_motion, scale6, twist_to_child


@routine
def refresh_joint_motion(table, run, i):
    """Pose, motion subspace, velocity and efforts of a joint at its present state."""
    VJ, cJ = refresh_joint(table, i)
    store6(run.rate, i, RATE, VJ)
    store6(run.rate, i, RATE_BIAS, cJ)


@routine
def refresh_active(table, plan, c, run):
    """Joints of active nodes at the present state, and how their clusters move."""
    for k in range(run.counts[ACTIVE_COUNT]):
        if carries_joint(plan, run.active[k]):
            refresh_joint_motion(table, run, plan.nodes[run.active[k], INDEX])
    relative_motion_leaf_to_root(plan, c, run)


@routine
def refresh_velocities(table, plan, c, run):
    """The same where velocities alone are others."""
    mechanism = mechanism_of(table)
    tree = mechanism.model_tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if not carries_joint(plan, run.active[k]):
            continue
        i = plan.nodes[run.active[k], INDEX]
        if tree[i, KIND] == HELICAL:
            store6(run.rate, i, RATE, scale6(run.v[tree[i, V]], helical_twist(mechanism.body, i)))
            sum_helical_effort(mechanism, c, run, i)
        else:
            refresh_joint_motion(table, run, i)
    relative_motion_leaf_to_root(plan, c, run)


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
