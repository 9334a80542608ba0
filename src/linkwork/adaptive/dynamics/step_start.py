"""Where a step began, so that one that overflows can be taken back: nothing is lost but the step. O(active joints)."""

from linkwork.adaptive.dynamics.hybrid import refresh_joint_motion
from linkwork.adaptive.nodes import carries_joint, copy_joint
from linkwork.adaptive.workspace import ACTIVE_COUNT
from linkwork.assembly.plan import INDEX
from linkwork.core.jit import routine
from linkwork.model.layout import DOF, FREE, KIND, SPHERICAL, Q, V
from linkwork.spatial.memory import load6, store6


@routine
def keep_start(plan, mechanism, run, stages):
    """Remembers the state of the active joints and the momentum of the floating trees."""
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if carries_joint(plan, run.active[k]):
            i = plan.nodes[run.active[k], INDEX]
            copy_joint(tree, i, run.q, stages.q)
            for d in range(tree[i, DOF]):
                stages.v[tree[i, V] + d] = run.v[tree[i, V] + d]
    for k in range(run.kept_momentum.shape[0]):
        store6(stages.kept_momentum, k, 0, load6(run.kept_momentum, k, 0))


@routine
def go_back(plan, mechanism, c, run, stages):
    """Back to where the step began; poses and velocities of nodes are the caller's to refresh."""
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if carries_joint(plan, run.active[k]):
            i = plan.nodes[run.active[k], INDEX]
            copy_joint(tree, i, stages.q, run.q)
            for d in range(tree[i, DOF]):
                run.v[tree[i, V] + d] = stages.v[tree[i, V] + d]
                run.qdd[tree[i, V] + d] = 0.0
            refresh_joint_motion(mechanism, c, run, i)
    for k in range(run.kept_momentum.shape[0]):
        store6(run.kept_momentum, k, 0, load6(stages.kept_momentum, k, 0))


@routine
def is_finite(plan, mechanism, run):
    """Whether all coordinates and velocities of active joints are finite."""
    tree = mechanism.tree
    x = 0.0
    for k in range(run.counts[ACTIVE_COUNT]):
        if carries_joint(plan, run.active[k]):
            i = plan.nodes[run.active[k], INDEX]
            n = tree[i, DOF]
            for d in range(n):
                x += 0.0 * (run.v[tree[i, V] + d] + run.q[tree[i, Q] + d])
            if n > 0 and (tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE):
                x += 0.0 * run.q[tree[i, Q] + n]
    return x == 0.0
