"""Fields and thermostats of closed linkages: noise that fits the loops, temperature, one call of the field per step."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from tests.laws.test_fields import Web, chain_linkage, simulations, start_of, thermal_columns

import linkwork as lw
from linkwork.loops.closing import loop_gaps


def closed_chain() -> tuple[lw.Model, lw.State]:
    """The floating chain with its last body tied to the first one by a joint about one axis, closed as it stands."""
    linkage = chain_linkage(gravity=0.0)
    tree = linkage.compile()
    start = start_of(tree)
    T = lw.body_poses(tree, start)
    at = lw.Pose(matrix=np.linalg.inv(T[0]) @ T[-1])
    linkage.add_loop(lw.Revolute((0, 0, 1)), "b0", "b7", (at, lw.Pose()))
    model = linkage.compile()
    return model, lw.close_loops(model, lw.State(start.q, np.zeros(model.nv)))


def test_noise_fits_loops():
    """White noise in, one unit at a time: W Wᵀ = kT N (Nᵀ M N)⁻¹ Nᵀ, with N the motions that keep the loop closed."""
    model, state = closed_chain()
    kT, n, nv = 0.7, model.n_bodies, model.nv
    slips = np.stack([loop_gaps(model, lw.State(state.q, e)).slip for e in np.eye(nv)], axis=1)  # J
    N = scipy.linalg.null_space(slips)
    assert N.shape[1] == nv - 5
    for sim in simulations(model, state, thermostat=lw.Langevin(kT, boltzmann=1.0)):
        if isinstance(sim, lw.AdaptiveDynamics):
            sim.update_region(0.1)
        W = thermal_columns(sim, n, nv)
        expected = kT * N @ np.linalg.solve(N.T @ lw.mass_matrix(model, state) @ N, N.T)
        assert np.abs(W.T @ W - expected).max() <= 1e-10 * np.abs(expected).max()
        assert np.abs(slips @ W.T).max() <= 1e-10 * np.abs(W).max() * np.abs(slips).max()


def test_a_thermostat_holds_its_temperature_in_loops():
    """Mean kinetic energy ½ (nv - 5) kT within six standard errors; loops stay closed."""
    model, state = closed_chain()
    temperature, friction, h, steps = 3.0, 20.0, 0.02, 800
    for sim in simulations(model, state, thermostat=lw.Langevin(temperature, friction, 2, 0.01)):
        seen = []
        for _ in range(steps):
            sim.advance(h)
            seen.append(sim.scalars()["temperature"])
        kept = np.exp(-2.0 * friction * h)
        error = temperature * np.sqrt(2.0 / (model.nv - 5) / steps * (1.0 + kept) / (1.0 - kept))
        assert abs(np.mean(seen[100:]) - temperature) < 6.0 * error
        gaps = loop_gaps(model, sim.state)
        assert max(gaps.worst_gap, gaps.worst_slip) <= 1e-9


def test_kick_drift_kick_asks_the_field_once_per_step_in_loops():
    """Loops are closed where the field is asked, so that the next step begins there; energy is kept to order 2."""
    model, state = closed_chain()
    v = lw.molecules.RandomVelocities(model, 1.0).draw(state.q, 0.05, np.random.default_rng(1))
    swing = []
    for h in (4e-3, 2e-3):
        sim = lw.FullDynamics(model, lw.State(state.q, v), field=Web(model), integrator="kick_drift_kick")
        start, web = sim.energy.total, sim.field
        asked = web.evaluations
        energies = []
        for _ in range(round(0.8 / h)):
            sim.advance(h)
            energies.append(sim.energy.total - start)
        assert web.evaluations - asked <= len(energies) + 1
        swing.append(np.abs(energies).max())
    assert swing[1] < 0.3 * swing[0]
