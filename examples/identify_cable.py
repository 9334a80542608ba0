"""A cable is shaken, and its joints are recorded with noise: masses, stiffness and damping are found from the recording.

The gradient of the misfit goes back through all steps of the simulation, for every parameter at once. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

import linkwork as lw

LINKS, PARTS, LINK, H, STEPS = 50, 5, 0.02, 1e-3, 400  # parts of the cable that differ in mass; length of a link [m]
NOISE = 1e-3  # [rad]
PUSH = (0.0, 0.15, 0.1)  # [N] a known force on the tip: without one, only ratios of parameters could be seen


def cable(masses: np.ndarray, stiffness: float, damping: float) -> lw.FullDynamics:
    linkage = lw.Linkage("cable")
    for i in range(LINKS):
        parent, place = (f"link_{i - 1}", lw.Pose((LINK, 0, 0))) if i else ("world", lw.Pose())
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        inertia = lw.Inertia.box(masses[i * PARTS // LINKS], (LINK, 0.01, 0.01)).at(lw.Pose((LINK / 2, 0, 0)))
        linkage.add_body(f"link_{i}", parent, lw.Revolute(axis, stiffness=stiffness, damping=damping), place, inertia)
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")
    sim.apply_wrench("link_49", force=PUSH, at=(LINK, 0, 0))
    return sim


def misfit(logarithms: np.ndarray, recorded: np.ndarray) -> tuple[float, np.ndarray]:
    """Half the sum of squared errors in units of the noise, and its gradient with respect to logarithms."""
    parameters = np.exp(logarithms)
    sim = cable(parameters[:PARTS], *parameters[PARTS:])
    run = lw.run_with_gradients(sim, H, STEPS)
    error = (run.states()[:, :LINKS] - recorded) / NOISE
    found = run.backward(q=error / NOISE)
    by_mass = np.sum(found.inertias * [ten_numbers(sim.model, i) for i in range(LINKS)], axis=1)
    parts = [by_mass[k * LINKS // PARTS : (k + 1) * LINKS // PARTS].sum() for k in range(PARTS)]
    by_joints = [found.stiffness.sum() * parameters[PARTS], found.damping.sum() * parameters[PARTS + 1]]
    return 0.5 * float(np.sum(error**2)), np.array([*parts, *by_joints])


def ten_numbers(model: lw.Model, body: int) -> np.ndarray:
    """The ten numbers of a body's inertia, all proportional to its mass."""
    return np.array(lw.Inertia.box(model.mass[body], (LINK, 0.01, 0.01)).at(lw.Pose((LINK / 2, 0, 0))).about_origin)


truth = np.array([0.010, 0.008, 0.012, 0.006, 0.009, 0.4, 0.004])
real = lw.run_with_gradients(cable(truth[:PARTS], *truth[PARTS:]), H, STEPS).states()[:, :LINKS]
recorded = real + NOISE * np.random.default_rng(1).normal(size=real.shape)
guess = np.log([0.015] * PARTS + [0.8, 0.01])
answer = minimize(misfit, guess, args=(recorded,), jac=True, method="L-BFGS-B", options={"maxiter": 60})
names = [f"mass of part {k} [kg]" for k in range(PARTS)] + ["stiffness [N·m]", "damping [N·m·s]"]
print(f"{answer.nit} iterations, {answer.nfev} runs there and back")
for name, true, first, found in zip(names, truth, np.exp(guess), np.exp(answer.x), strict=True):
    print(f"{name:20}  true {true:.4f}  guess {first:.4f}  found {found:.5f}  error {abs(found / true - 1):.2%}")
assert np.abs(np.exp(answer.x) / truth - 1).max() < 0.01
