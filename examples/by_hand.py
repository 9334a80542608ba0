"""An arm built by hand: bodies, joints, inertias; then its mass matrix and the accelerations of letting go."""

import numpy as np

import linkwork as lw

arm = lw.Linkage("arm")
link = lw.Inertia(mass=2.0, com=(0, 0, -0.25), moments=(0.042, 0.042, 0.001))
arm.add_body("upper", joint=lw.Revolute((0, 1, 0), damping=0.05), placement=lw.Pose(xyz=(0, 0, 1.0)), inertia=link)
arm.add_body("lower", "upper", lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, -0.5)), link)
arm.add_body("hand", "lower", lw.Spherical(), lw.Pose(xyz=(0, 0, -0.5)), lw.Inertia.sphere(mass=0.5, radius=0.05))

model = arm.compile()
state = model.neutral()
state.q[model.q_slice("upper")] = np.radians(60)

print(model)
print("the hand is at", lw.body_poses(model, state)[model.body("hand"), :3, 3].round(3), "m")
print("mass matrix of the two hinges:")
print(lw.mass_matrix(model, state)[:2, :2].round(4))

falling = lw.forward_dynamics(model, state)
print("accelerations on letting go:", falling.round(3))

# The efforts that hold the arm still are those of inverse dynamics at zero acceleration.
holding = lw.inverse_dynamics(model, state, np.zeros(model.nv))
still = lw.forward_dynamics(model, state, effort=holding)
print("efforts to hold it:", holding.round(3), "→ largest acceleration left:", f"{np.abs(still).max():.1e}")
