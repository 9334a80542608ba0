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


def test_snake_creeps_along_the_bridge_and_stays_wound_around_it():
    """A wave of slack passes in a second and moves what it has passed along the girder, towards the head.

    Were all joints to follow and nothing to slip, each would move the snake by the 35 mm by which it stretches the coil.
    With 70 joints 48 mm are seen in two seconds and 86 to 94 mm in four (friction changed in its ninth digit); 15 mm are
    asked for in two seconds, and some in each.
    """
    scene = lw.Scene.read("bridge")
    girder = dict(scene.model.obstacles)["girder"].radius
    sim = scene.build()
    begin = station = lw.body_poses(sim.model, sim.state)[:, 0, 3].mean()  # of the snake's middle along the girder [m]
    for _ in range(2):
        for _ in range(10):
            report = sim.step(scene.h, 100)
            x, y, z = lw.body_poses(sim.model, sim.state)[:, :3, 3].T
            assert np.hypot(y, z).min() > girder  # axes of the links are outside
            assert np.hypot(y, z).max() < 3.5 * girder  # and near: a wave lifts links by 67 mm, and the ends hang free
            turns = np.unwrap(np.arctan2(z, y)) / (2.0 * np.pi)
            assert abs(turns[-1] - turns[0]) > 12.0  # of 13.9; a wave takes up to half a turn
            assert report.contact.contacts > 0
            assert report.contact.deepest < 2e-3  # half the radius of a link; a tenth of this is seen
            assert report.n_active <= 70
        assert x.mean() < station
        station = x.mean()
    assert station < begin - 0.015


def test_solves_of_a_coil_with_all_joints_converge():
    """Some 60 contacts of links that hold each other stiffly: G has half its rank, and sets must be found one by one.

    One or two of 500 steps are seen to end above the tolerance, 45 without that.
    """
    scene = lw.Scene.read("bridge")
    built = scene.build()
    sim = lw.FullDynamics(scene.model, scene.state, contact=lw.Contact(friction=0.4, self_contact=False))
    built.sim = sim
    for acting in built.acting:
        acting.is_on, acting.load = False, None
        acting.set(sim, acting.value)
    reports = [built.step(scene.h).contact for _ in range(500)]
    assert max(report.contacts for report in reports) > 50
    assert sum(report.not_converged for report in reports) <= 20
    assert np.mean([report.sweeps for report in reports]) < 40  # 9 are seen, 83 without it
