"""The same mechanism in Drake: a `MultibodyPlant` of revolute joints in continuous time; absent where not installed."""

from __future__ import annotations

import numpy as np

import linkwork as lw

from .peers import Peer, bodies_of

# The time to build a plant grows with the square of the joints of a chain: 2.3 s at 4,000, minutes at 30,000.
DRAKE_MOST_JOINTS = 10_000


def drake_peer(model: lw.Model, state: lw.State, effort: np.ndarray) -> Peer | None:
    """Time derivatives of the plant after its state was set anew, so that nothing comes from its cache."""
    try:
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, RotationalInertia, SpatialInertia
    except ImportError:
        return None
    if model.n_bodies > DRAKE_MOST_JOINTS:
        return None
    plant = MultibodyPlant(0.0)  # continuous: accelerations by its articulated-body algorithm
    plant.mutable_gravity_field().set_gravity_vector(np.array(model.gravity))
    twins, joints = [], []
    for body in bodies_of(model):
        M = body.moments
        central = RotationalInertia(M[0, 0], M[1, 1], M[2, 2], M[0, 1], M[0, 2], M[1, 2])
        twin = plant.AddRigidBody(body.name, SpatialInertia.MakeFromCentralInertia(body.mass, body.com, central))
        parent = twins[body.parent] if body.parent >= 0 else plant.world_body()
        place = RigidTransform(RotationMatrix(body.rotation), body.position)
        frame = plant.AddFrame(FixedOffsetFrame(f"{body.name}_zero", parent.body_frame(), place))
        joints.append(plant.AddJoint(RevoluteJoint(body.name, frame, twin.body_frame(), np.array(body.axis))))
        twins.append(twin)
    plant.Finalize()
    order = np.array([joint.velocity_start() for joint in joints])
    context = plant.CreateDefaultContext()
    values, tau = np.empty(2 * model.nv), np.empty(model.nv)
    values[order], values[model.nv + order], tau[order] = state.q, state.v, effort
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)

    def forward() -> object:
        plant.SetPositionsAndVelocities(context, values)
        return plant.EvalTimeDerivatives(context)

    def acceleration() -> np.ndarray:
        return np.array(plant.EvalTimeDerivatives(context).CopyToVector())[model.nv + order]

    return Peer("drake", forward, acceleration)
