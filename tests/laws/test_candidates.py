"""How many joints an update of the region tries beside those that are active."""

from __future__ import annotations

import numpy as np

import linkwork as lw


def test_updates_try_more_joints_while_some_join():
    """A chain let go from the horizontal: 40 joints join at first, and others are tried beside them; then none joins, and
    fewer are tried. A floor that is hit makes it more again: other joints may matter there."""
    linkage = lw.library.chain(200)
    model = linkage.compile()
    state = model.state(q=[0.5 * np.pi, *[0.0] * 199])
    sim = lw.AdaptiveDynamics(model, state, max_active_joints=40, update_every=10, integrator="semi_implicit_euler")
    tried = [sim.step(1e-3, 10).n_computed - 40 for _ in range(12)]
    assert tried[0] == 0  # what a budget allows, and nothing was known before
    assert 0 < tried[-1] < tried[1]
    assert len(set(tried[2:])) == 1  # nothing joins any more
    few = tried[-1]
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose(xyz=(0.0, 0.0, -1.0)))
    model = linkage.compile()
    sim = lw.AdaptiveDynamics(
        model, state, max_active_joints=40, update_every=10, contact=lw.Contact(self_contact=False)
    )
    tried = []
    while not sim.contacts:
        tried.append(sim.step(1e-3).n_computed - 40)
    assert tried[-1] == few
    tried = [sim.step(1e-3).n_computed - 40 for _ in range(10)]
    assert max(tried) > few  # and bodies that touch are computed as well
