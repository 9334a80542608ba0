"""Stopping joints by impulses: momentum stays, energy can only fall.

The impulsive form of the equations of `aba`: joints that stop have a given change of velocity, -q̇, all others are free, and
nothing else acts. What is solved for is the change Δv of the other joints' velocities:

    velocities       c = -S q̇ where a joint stops, else 0;  p = 0
    inertias         as in `aba`; a joint that stops has no freedom
    accelerations    of a world at rest, in the place of which stand changes of velocity
"""

from linkwork.algebra.spatial import ZERO_WRENCH, Twist
from linkwork.core.jit import routine
from linkwork.dynamics.aba import (
    EFFORT_D,
    P_,
    R_,
    S_D,
    U_SMALL,
    accelerations_root_to_leaf,
    begin_body,
    inertias_leaf_to_root,
)
from linkwork.model.kernels.joint_kernels import body_motion
from linkwork.model.layout import DOF, FIXED, KIND, V
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import store3, store9
from linkwork.spatial.vectors import ZERO6, scale6


@routine
def stop_joints(table, stops, at_rest):
    """Stops the joints of bodies where `stops` (n,) is not zero; returns OK (-1) or a body that failed.

    at_rest: three zeros. Joints that stop are left fixed in the linkage's tree, with zero velocities.
    """
    s = moving_of(table)
    S = s.dof_work[:, S_D : S_D + 6]
    for i in range(s.tree.shape[0]):
        R, p, VJ, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.v, S)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)
        begin_body(s.tree, s.body, s.work, i, Twist(scale6(-1.0, VJ) if stops[i] != 0 else ZERO6), ZERO_WRENCH)
        s.work[i, U_SMALL] = 0.0
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.dof_work[d, EFFORT_D] = 0.0
            s.u[d] = -s.v[d] if stops[i] != 0 else 0.0
        if stops[i] != 0:
            s.tree[i, KIND] = FIXED
            s.tree[i, DOF] = 0
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.dof, s.work, s.dof_work)
    if bad >= 0:
        return bad
    accelerations_root_to_leaf(s.tree, s.body, at_rest, s.work, s.dof_work, s.u)
    for k in range(s.v.shape[0]):
        s.v[k] += s.u[k]
    return -1
