"""The way back through steps agrees with complex steps to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reference import complex_runs, complex_steps

import linkwork as lw
from linkwork.model import layout

H, STEPS = 2e-3, 2
AGREES = 1e-10  # relative. Seen: 1e-15 by Euler's rule, 4e-12 by the variational one, solved to 1e-12 of displacements
KINDS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "compound", "fixed")
RULES = {
    "semi_implicit_euler": (complex_runs.euler_step, {"implicit_joints": False, "keep_momentum": False}),
    "variational": (complex_runs.variational_step, {}),
    "rk4": (complex_runs.rk4_step, {}),
    "kick_drift_kick": (complex_runs.kick_drift_kick_step, {}),
}
SHAPES = {
    "screws": {"branching": 0.5, "stiffness": True, "armature": True},
    "balls": {"branching": 0.5, "kinds": ("revolute", "spherical"), "armature": True},
}


PAIRS = [
    (rule, shape) for rule in RULES for shape in SHAPES if shape == "screws" or rule not in ("rk4", "kick_drift_kick")
]


@pytest.mark.parametrize(("rule", "shape"), PAIRS)  # the reference of the last two adds coordinates up
def test_against_complex_steps(rule, shape, make_tree, rng):
    step, options = RULES[rule]
    model = make_tree(**{"seed": 11, "bodies": 5, "kinds": KINDS, "damping": True, **SHAPES[shape]})
    q = model.integrate(model.neutral().q, 0.4 * rng.normal(size=model.nv))
    state, effort = lw.State(q, 0.5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    sim = lw.FullDynamics(model, state, integrator=rule, limits=False, **options)
    sim.set_efforts(effort)
    run = lw.run_with_gradients(sim, H, STEPS)
    by_q, by_v = rng.normal(size=(2, model.nv))
    found = run.backward(q=by_q, v=by_v)
    at = complex_steps.variables(model, state, effort)
    end, plain = complex_runs.run(step, model, state, at, H, STEPS)
    assert np.abs(model.difference(end, run.state.q)).max() <= 1e-10
    assert np.abs(plain.v.real - run.state.v).max() <= 1e-8
    present = model.arrays.dof[:, [layout.STIFFNESS, layout.DAMPING, layout.ARMATURE]] > 0.0
    masks = dict(zip(("stiffness", "damping", "armature"), present.T, strict=True))
    for name in ("q", "v", "forcing", "inertias", "gravity", "stiffness", "damping", "armature"):
        ours = getattr(found, "effort" if name == "forcing" else name)
        direction = rng.normal(size=ours.shape)
        if name in masks:
            direction = direction * masks[name]
        if name == "inertias":
            direction = direction * np.abs(model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]).max()
        stepped = at._replace(**{name: getattr(at, name) + 1j * complex_steps.STEP * direction})
        _, after = complex_runs.run(step, model, state, stepped, H, STEPS)
        expected = (by_q @ after.q.imag + by_v @ after.v.imag) / complex_steps.STEP
        scale = np.sum(np.abs(ours * direction)) + np.abs(by_v) @ np.abs(after.v.imag) / complex_steps.STEP
        assert abs(np.sum(ours * direction) - expected) <= AGREES * scale, name
