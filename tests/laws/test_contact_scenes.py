"""Laws of the built-in scenes of contact."""

from __future__ import annotations

import numpy as np

import linkwork as lw

INTEGRATION = 0.02  # of the largest kinetic energy: first order in h; a twentieth of this is seen


def test_pendulum_among_pegs_gains_no_energy_and_its_solves_converge():
    scene = lw.Scene.read("pendulum_pegs")
    sim = scene.build()
    least, largest, steps, not_converged, lost = float("inf"), 0.0, 0, 0, 0.0
    for _ in range(40):
        report = sim.step(scene.h, 20)
        kinetic, potential = sim.energy[:2]
        largest = max(largest, kinetic)
        assert kinetic + potential <= least + INTEGRATION * largest
        least = min(least, kinetic + potential)
        steps += 20
        not_converged += report.contact.not_converged
        lost += report.contact.energy_lost
        assert report.contact.energy_lost >= 0.0
    assert lost > 0.0  # there was contact
    assert not_converged <= 0.01 * steps


def test_snake_stays_wound_around_the_bridge():
    scene = lw.Scene.read("bridge")
    girder = dict(scene.model.obstacles)["girder"].radius
    sim = scene.build()
    for _ in range(6):
        report = sim.step(scene.h, 20)
        y, z = lw.body_poses(sim.model, sim.state)[:, 1:3, 3].T
        assert np.hypot(y, z).min() > girder  # axes of the links are outside
        assert np.hypot(y, z).max() < 1.5 * girder  # and near
    assert report.contact.contacts > 0
    assert report.contact.deepest < 1e-4
