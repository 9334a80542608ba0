"""A snake arm of 20 joints swings a weight to a target: efforts over 500 steps, by L-BFGS. Needs SciPy."""

import numpy as np
from scipy.optimize import minimize

import linkwork as lw

JOINTS, LINK, H, STEPS = 20, 0.1, 2e-3, 500
TARGET = np.array([1.2, 0.5, -0.8])  # [m] where the weight is to be, at rest
EFFORT, STRONGEST = 1e-9, 30.0  # price of effort; what motors can do [N·m]


def arm() -> lw.FullDynamics:
    linkage = lw.Linkage("snake arm")
    for i in range(JOINTS):
        parent, place = (f"link_{i - 1}", lw.Pose((0, 0, -LINK))) if i else ("world", lw.Pose())
        axis = (0, 1, 0) if i % 2 else (1, 0, 0)
        inertia = lw.Inertia.box(0.1, (0.03, 0.03, LINK)).at(lw.Pose((0, 0, -LINK / 2)))
        if i == JOINTS - 1:
            inertia = inertia + lw.Inertia.sphere(1.0, 0.05).at(lw.Pose((0, 0, -LINK)))  # the weight
        linkage.add_body(f"link_{i}", parent, lw.Revolute(axis, damping=1.0, stiffness=2.0), place, inertia)
    model = linkage.compile()
    return lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")


def miss(model: lw.Model, state: lw.State) -> tuple[np.ndarray, np.ndarray]:
    """From the target to the weight [m], and the gradient of half its square with respect to q."""
    T, pull = lw.vjp(lw.body_poses, model, state)
    tip = np.array([0, 0, -LINK])
    gap = T[-1, :3, :3] @ tip + T[-1, :3, 3] - TARGET
    weights = np.zeros_like(T)
    weights[-1, :3, :3], weights[-1, :3, 3] = np.outer(gap, tip), gap
    return gap, pull(weights).q


def loss(efforts: np.ndarray) -> tuple[float, np.ndarray]:
    """½ |gap|² + ½ |0.1 v|² at the end, and the price of the efforts."""
    tau = efforts.reshape(STEPS, JOINTS)
    sim = arm()
    run = lw.run_with_gradients(sim, H, STEPS, tau)
    gap, by_q = miss(sim.model, run.state)
    by_v = 0.01 * run.state.v
    value = 0.5 * gap @ gap + 0.5 * by_v @ run.state.v + 0.5 * EFFORT * float(np.sum(tau**2))
    history.append(value)
    return value, (run.backward(q=by_q, v=by_v).effort + EFFORT * tau).ravel()


history: list[float] = []
bounds = [(-STRONGEST, STRONGEST)] * (STEPS * JOINTS)
answer = minimize(loss, np.zeros(STEPS * JOINTS), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
end = lw.run_with_gradients(arm(), H, STEPS, answer.x.reshape(STEPS, JOINTS)).state
gap, _ = miss(arm().model, end)
for k in sorted({0, 1, 2, 5, 10, 20, len(history) - 1}):
    if k < len(history):
        print(f"run {k:3d}: loss {history[k]:.6f}")
print(f"the weight ends {np.linalg.norm(gap) * 1e3:.2f} mm from its target, joints at {abs(end.v).max():.3f} rad/s")
assert np.linalg.norm(gap) < 0.03
