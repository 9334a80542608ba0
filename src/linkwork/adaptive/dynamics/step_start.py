"""Where a step began, so that one that overflows can be taken back: nothing is lost but the step. O(active joints)."""

from linkwork.adaptive.dynamics.hybrid import refresh_joint_motion
from linkwork.adaptive.dynamics.locking import carries_joint
from linkwork.adaptive.dynamics.workspace import ACTIVE_COUNT
from linkwork.adaptive.quasi_statics.update import copy_joint
from linkwork.assembly.plan import INDEX
from linkwork.core.jit import routine
from linkwork.model.layout import DOF, FREE, KIND, SPHERICAL, Q, V
from linkwork.spatial.memory import load6, store6


@routine
def keep_start(plan, mechanism, live, stages):
    """Remembers the state of the active joints and the momentum of the floating figures."""
    tree = mechanism.tree
    for k in range(live.tally[ACTIVE_COUNT]):
        if carries_joint(plan, live.active[k]):
            i = plan.nodes[live.active[k], INDEX]
            copy_joint(tree, i, live.q, stages.q)
            for d in range(tree[i, DOF]):
                stages.v[tree[i, V] + d] = live.v[tree[i, V] + d]
    for k in range(live.figures.shape[0]):
        store6(stages.figures, k, 0, load6(live.figures, k, 0))


@routine
def go_back(plan, mechanism, c, live, stages):
    """Back to where the step began; poses and velocities of nodes are the caller's to refresh."""
    tree = mechanism.tree
    for k in range(live.tally[ACTIVE_COUNT]):
        if carries_joint(plan, live.active[k]):
            i = plan.nodes[live.active[k], INDEX]
            copy_joint(tree, i, stages.q, live.q)
            for d in range(tree[i, DOF]):
                live.v[tree[i, V] + d] = stages.v[tree[i, V] + d]
                live.qdd[tree[i, V] + d] = 0.0
            refresh_joint_motion(mechanism, c, live, i)
    for k in range(live.figures.shape[0]):
        store6(live.figures, k, 0, load6(stages.figures, k, 0))


@routine
def is_finite(plan, mechanism, live):
    """Whether all coordinates and velocities of active joints are finite."""
    tree = mechanism.tree
    x = 0.0
    for k in range(live.tally[ACTIVE_COUNT]):
        if carries_joint(plan, live.active[k]):
            i = plan.nodes[live.active[k], INDEX]
            n = tree[i, DOF]
            for d in range(n):
                x += 0.0 * (live.v[tree[i, V] + d] + live.q[tree[i, Q] + d])
            if n > 0 and (tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE):
                x += 0.0 * live.q[tree[i, Q] + n]
    return x == 0.0
