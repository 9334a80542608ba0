"""Laws of the built-in scenes of contact."""

from __future__ import annotations

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


def test_snake_stays_on_the_bridge():
    scene = lw.Scene.read("bridge")
    sim = scene.build()
    for _ in range(6):
        report = sim.step(scene.h, 20)
        heights = lw.body_poses(sim.model, sim.state)[:, 2, 3]
        assert heights.min() > -0.05  # above the axes of the beams
        assert heights.max() < 0.3
    assert report.contact.contacts > 0
    assert report.contact.deepest < 1e-4
