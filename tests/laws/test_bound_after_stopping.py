"""The bound of an adaptive update belongs to the velocities that are left after it has stopped joints."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def test_a_stopped_fan_hides_its_drive():
    """At terminal speed its damper holds the drive: no acceleration. Stopped, it hides all of it: effort over inertia."""
    inertia, effort, damping = 0.01, 1.0, 1e6
    linkage = lw.Linkage("fan", gravity=(0, 0, 0))
    linkage.add_body(
        "fan", joint=lw.Revolute((0, 0, 1), damping=damping), inertia=lw.Inertia(1.0, (0, 0, 0), (inertia,) * 3)
    )
    model = linkage.compile()
    start = model.state([0.0], [effort / damping])
    sim = lw.AdaptiveDynamics(model, start, tolerance=1e-3, measure="absolute_joint", update_every=10)
    sim.set_effort("fan", effort)
    report = sim.update_region(horizon=0.01)
    assert report.n_active == 0
    hidden = float(np.abs(lw.forward_dynamics(model, sim.state, effort=[effort])).max())
    assert hidden == pytest.approx(effort / inertia, rel=1e-9)
    assert report.error_bound >= hidden * (1 - 1e-12)
    assert not report.reached
