"""What acted on the joints in the last step: given efforts, motors, springs, dampers and limits, each by itself.

Where the integrator takes joint forces implicitly, they act as they are at the end of the step (docs/integrators.md):

    spring  -k (q + h v⁺ - q₀)    damper  -d v⁺    with v⁺ = v + h q̈,    motors likewise                         (1)

so that M q̈ + bias(q, v) is their sum with everything on bodies. The implicit midpoint rule and the variational integrator
take them at the middle of the step; explicit methods of several stages have no one moment, and (1) is given for the state
they reached, with h = 0. Each integrator notes its own (`stepping.integrator`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import Float1, Float2, Int2, describe, reader
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import joint_passive_effort
from linkwork.model.layout import COMPOUND, DAMPING, DOF, HELICAL, KIND, STIFFNESS, Q, V
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.simulation.moving import EFFORT_PARTS, moving_of

FloatArray = NDArray[np.float64]

BY_GIVEN, BY_MOTOR, BY_SPRING, BY_DAMPER, BY_LIMIT = range(EFFORT_PARTS)


class JointForces(NamedTuple):
    """The arrays of a linkage from which the efforts on its joints follow; names and shapes as in `Moving`."""

    tree: Int2
    dof: Float2
    rest: Float1
    effort: Float1
    motor: Float2
    effort_limit: Float1
    velocity_limit: Float1
    q: Float1
    v: Float1
    qdd: Float1
    joint_effort: Float1
    applied_efforts: Float2


_forces_of = reader(JointForces)


@inlined
def record_joint(s, i, q, v, h, saturation_velocity):
    """Parts of the efforts on joint i by equation (1), into `applied_efforts`; uses `joint_effort`."""
    kind = s.tree[i, KIND]
    first = s.tree[i, V]
    for j in range(first, first + s.tree[i, DOF]):
        s.joint_effort[j] = 0.0
    joint_passive_effort(s.tree, s.dof, s.rest, i, q, v, s.joint_effort)
    for d in range(s.tree[i, DOF]):
        j = first + d
        faster = h * s.qdd[j]
        farther = h * (v[j] + faster)
        damper = -s.dof[j, DAMPING] * v[j]
        effort, stiffness, damping = 0.0, 0.0, 0.0
        if kind == HELICAL or kind == COMPOUND:
            effort, stiffness, damping = motor_law(
                s.motor, s.effort_limit, s.velocity_limit, j, q[s.tree[i, Q] + d], v[j], h, saturation_velocity[j]
            )
        s.applied_efforts[j, BY_GIVEN] = s.effort[j]
        s.applied_efforts[j, BY_MOTOR] = effort - stiffness * farther - damping * faster
        s.applied_efforts[j, BY_SPRING] = s.joint_effort[j] - damper - s.dof[j, STIFFNESS] * farther
        s.applied_efforts[j, BY_DAMPER] = damper - s.dof[j, DAMPING] * faster
        s.applied_efforts[j, BY_LIMIT] = 0.0


@routine
def record_joints(table, q, v, h, saturation_velocity):
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        record_joint(s, i, q, v, h, saturation_velocity)


@routine
def record_efforts_at_end(table, h):
    """What acted on the joints in the last step, by (1) at the state where it ended; for methods of several stages."""
    s = moving_of(table)
    record_joints(table, s.q, s.v, 0.0, s.v)


@kernel
def efforts_now(table):
    """Parts of the efforts on all joints of `JointForces` as they are at (q, v)."""
    s = _forces_of(table)
    for i in range(s.tree.shape[0]):
        record_joint(s, i, s.q, s.v, 0.0, s.v)


@kernel
def motor_laws(table, h, out):
    """Effort of each motor at (q, v), its stiffness and its damping within the limits, (nv, 3), taken h [s] ahead."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            effort, stiffness, damping = 0.0, 0.0, 0.0
            if kind == HELICAL or kind == COMPOUND:
                effort, stiffness, damping = motor_law(
                    s.motor, s.effort_limit, s.velocity_limit, j, s.q[s.tree[i, Q] + d], s.v[j], h, s.v[j]
                )
            out[j, 0], out[j, 1], out[j, 2] = effort, stiffness, damping


def present_efforts(forces: JointForces) -> FloatArray:
    """Parts of the efforts as they are at (q, v), columns as of `applied_efforts`, shape (nv, 5)."""
    efforts_now(describe(forces))
    return forces.applied_efforts
