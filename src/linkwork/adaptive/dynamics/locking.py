"""Joints that leave the active region are stopped by impulses: momentum stays, energy can only fall.

The impulsive form of the same equations: joints that stop have a given change of velocity -q̇, all others are free, nothing
else acts. What is solved for is the change of the other joints' velocities. Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive.dynamics.hybrid import refresh_joint_motion, solve_hybrid
from linkwork.adaptive.dynamics.rigid_nodes import set_front_bias
from linkwork.adaptive.nodes import carries_joint
from linkwork.adaptive.workspace import ACTIVE_COUNT, CHOSEN, FRONT_COUNT, RATE
from linkwork.assembly.plan import BODY, INDEX, NODE_KIND
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_C, H_F
from linkwork.model.layout import DOF, FIXED, KIND, V
from linkwork.spatial.memory import load6, store6
from linkwork.spatial.vectors import ZERO6, sub6


@inlined
def stops(plan, run, node):
    return run.flag[node] & CHOSEN == 0 or run.frozen[plan.nodes[node, INDEX]] != 0


@routine
def lock_leaving(plan, mechanism, c, hybrid, run):
    """Stops the joints of active nodes that are not CHOSEN, or held by the user; returns a body that failed, or -1.

    Needs velocities and the hybrid coefficients of rigid nodes to be up to date.
    """
    tree = mechanism.tree
    moving = False
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if carries_joint(plan, node) and stops(plan, run, node):
            i = plan.nodes[node, INDEX]
            for d in range(mechanism.whole_tree[i, DOF]):
                moving = moving or run.v[tree[i, V] + d] != 0.0
    if not moving:
        return -1
    for k in range(run.counts[FRONT_COUNT]):
        set_front_bias(plan, c, hybrid, run.front[k], ZERO6)
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        i = plan.nodes[node, INDEX]
        if plan.nodes[node, NODE_KIND] == BODY:
            store6(c.joint_data, i, H_F, ZERO6)
        elif carries_joint(plan, node):
            store6(c.joint_data, i, H_C, ZERO6)
            if stops(plan, run, node):
                store6(c.joint_data, i, H_C, sub6(ZERO6, load6(run.rate, i, RATE)))
                tree[i, KIND] = FIXED
                tree[i, DOF] = 0
    bad = solve_hybrid(plan, mechanism, c, hybrid, run, tree, run.no_effort, (0.0, 0.0, 0.0), run.metric_qdd)
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if not carries_joint(plan, node):
            continue
        i = plan.nodes[node, INDEX]
        j = tree[i, V]
        whole = mechanism.whole_tree
        if not stops(plan, run, node):
            for d in range(tree[i, DOF]):
                run.v[j + d] += run.metric_qdd[j + d]
        else:
            for d in range(whole[i, DOF]):
                run.v[j + d] = 0.0
                run.qdd[j + d] = 0.0
            if run.frozen[i] == 0:
                tree[i, KIND] = whole[i, KIND]
                tree[i, DOF] = whole[i, DOF]
        refresh_joint_motion(mechanism, c, run, i)
    return bad
