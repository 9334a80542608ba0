"""An arm that feels weightless, and then holds a point like a spring: gravity compensation and impedance control."""

import numpy as np

import linkwork as lw

linkage = lw.Linkage("arm")
for k, (axis, length) in enumerate([((0, 0, 1), 0.0), ((0, 1, 0), 0.3), ((0, 1, 0), 0.4), ((0, 1, 0), 0.3)]):
    part = lw.Inertia.box(1.5, (0.3, 0.08, 0.08)).at(lw.Pose((0.15, 0, 0)))
    hinge = lw.Revolute(axis, damping=0.05)
    linkage.add_body(f"link_{k}", f"link_{k - 1}" if k else "world", hinge, lw.Pose((length, 0, 0)), part)
linkage.add_frame("hand", "link_3", lw.Pose((0.3, 0, 0)))
model = linkage.compile()
start = model.state(q=[0.2, -0.4, 0.9, 0.3])

# 1. Gravity compensation: the efforts of gravity, given back at every step. The arm stays where it is.
sim = lw.FullDynamics(model, start)
for _ in range(1000):
    sim.set_efforts(lw.gravity_efforts(model, sim.state))
    sim.step(1e-3)
print(f"after 1 s without weight joints have moved by {np.abs(sim.state.q - start.q).max():.1e} rad")

# 2. Impedance: on top, the hand is drawn to a point by a spring and a damper, J transposed times their force.
goal = np.array([0.7, 0.3, -0.2])
stiffness, damping = 300.0, 40.0
push = sim.apply_wrench("hand", force=(0.0, 0.0, 0.0))
for k in range(4000):
    if k == 2000:
        sim.change_wrench(push, force=(0.0, 0.0, -15.0))
    state = sim.state
    J = lw.frame_jacobian(model, state, "hand", axes="world")[3:]
    hand = lw.frame_poses(model, state, "hand")[:3, 3]
    force = stiffness * (goal - hand) - damping * (J @ state.v)
    sim.set_efforts(lw.gravity_efforts(model, state) + J.T @ force)
    sim.step(1e-3)
    if k == 1999:
        print(f"the hand is {1e3 * np.linalg.norm(goal - hand):.2f} mm from its goal")
hand = lw.frame_poses(model, sim.state, "hand")[:3, 3]
print(f"a push of 15 N moves it by {1e3 * (goal - hand)[2]:.1f} mm")
print(f"the spring of {stiffness:g} N/m gives way by {15e3 / stiffness:.1f} mm")
