"""A step of fourth order for the hybrid linkage: Runge-Kutta on the manifold of its active joints.

Within a step coordinates are q = q0 ⊕ u with u̇ = dexp⁻¹(u) v, which for joints with a coordinate for each velocity is just
u̇ = v; u and v run in a vector space, where the classical method applies (Runge-Kutta-Munthe-Kaas).
"""

from linkwork.adaptive.dynamics.hybrid import (
    accelerate,
    refresh_joint_motion,
    relative_motion_leaf_to_root,
    twists_root_to_leaf,
)
from linkwork.adaptive.nodes import carries_joint, copy_joint
from linkwork.adaptive.workspace import ACTIVE_COUNT
from linkwork.assembly.plan import INDEX
from linkwork.core.jit import inlined, routine
from linkwork.model.joint_kernels import joint_integrate
from linkwork.model.layout import DOF, FREE, KIND, SPHERICAL, V
from linkwork.spatial.vectors import add6, cross_motion, scale6

STAGES = 4


@inlined
def stage_weight(stage):
    return 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0


@inlined
def rate_of_chart(u, v):
    """u̇ for which q0 ⊕ u moves with the twist v: v + ½ [u, v] + 1/12 [u, [u, v]] - 1/720 [u, [u, [u, [u, v]]]]."""
    one = cross_motion(u, v)
    two = cross_motion(u, one)
    four = cross_motion(u, cross_motion(u, two))
    return add6(add6(v, scale6(0.5, one)), add6(scale6(1.0 / 12.0, two), scale6(-1.0 / 720.0, four)))


@inlined
def twist_at(a, j, kind):
    """Six numbers of a spherical (no translation) or free joint."""
    if kind == SPHERICAL:
        return (a[j], a[j + 1], a[j + 2], 0.0, 0.0, 0.0)
    return (a[j], a[j + 1], a[j + 2], a[j + 3], a[j + 4], a[j + 5])


@routine
def clear_sums(plan, mechanism, run, stages):
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if carries_joint(plan, run.active[k]):
            i = plan.nodes[run.active[k], INDEX]
            for d in range(tree[i, DOF]):
                j = tree[i, V] + d
                stages.u[j] = 0.0
                stages.sum_u[j] = 0.0
                stages.sum_v[j] = 0.0


@routine
def add_stage(plan, mechanism, run, stages, weight):
    """Rates of u and v at a stage: kept for the next one, and added to the sums."""
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if not carries_joint(plan, run.active[k]):
            continue
        i = plan.nodes[run.active[k], INDEX]
        j = tree[i, V]
        n = tree[i, DOF]
        kind = tree[i, KIND]
        if kind == SPHERICAL or kind == FREE:
            rate = rate_of_chart(twist_at(stages.u, j, kind), twist_at(run.v, j, kind))
            for d in range(n):
                stages.rate[j + d] = rate[d]
        else:
            for d in range(n):
                stages.rate[j + d] = run.v[j + d]
        for d in range(n):
            stages.sum_u[j + d] += weight * stages.rate[j + d]
            stages.sum_v[j + d] += weight * run.qdd[j + d]


@routine
def move_to(plan, mechanism, c, run, stages, rate_u, rate_v, h):
    """q ← q0 ⊕ h rate_u, v ← v0 + h rate_v."""
    tree = mechanism.tree
    for k in range(run.counts[ACTIVE_COUNT]):
        if not carries_joint(plan, run.active[k]):
            continue
        i = plan.nodes[run.active[k], INDEX]
        j = tree[i, V]
        if tree[i, DOF] == 0:
            continue
        for d in range(tree[i, DOF]):
            stages.u[j + d] = h * rate_u[j + d]
            run.v[j + d] = stages.v[j + d] + h * rate_v[j + d]
        copy_joint(tree, i, stages.q, run.q)
        joint_integrate(tree, i, run.q, stages.u, 1.0, run.q)
        refresh_joint_motion(mechanism, c, run, i)
    relative_motion_leaf_to_root(plan, c, run)
    twists_root_to_leaf(plan, c, run, run.active, run.counts[ACTIVE_COUNT])


@routine
def runge_kutta_step(plan, mechanism, c, hybrid, run, h):
    """One step of h [s] with the region as it is; returns a body that failed, or -1."""
    stages = hybrid.stages
    clear_sums(plan, mechanism, run, stages)
    for stage in range(STAGES):
        bad = accelerate(plan, mechanism, c, hybrid, run)
        if bad >= 0:
            return bad
        add_stage(plan, mechanism, run, stages, stage_weight(stage))
        if stage == STAGES - 1:
            move_to(plan, mechanism, c, run, stages, stages.sum_u, stages.sum_v, h)
        else:
            move_to(plan, mechanism, c, run, stages, stages.rate, run.qdd, h if stage == 2 else 0.5 * h)
    return -1
