"""Responses of touched bodies and joints at their limits against the plainest form, J M⁻¹ Jᵀ with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.simulation.touching import arrays as ta

FLOOR = -0.9  # [m] only bodies near it are touched: between them and the world there are others


def bush(seed, floating):
    """A tree of balls on hinges with random axes and parents; every third hinge stands at its lower limit."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("bush")
    for i in range(16):
        limits = (-5e-4, 1.0) if i % 3 == 2 else None
        joint = lw.Free() if i == 0 and floating else lw.Revolute(tuple(rng.normal(size=3)), limits=limits)
        parent = "world" if i == 0 else f"ball_{rng.integers(max(0, i - 4), i)}"
        place = lw.Pose((*rng.normal(size=2), -0.2), rpy=tuple(rng.normal(size=3) * 0.3))
        linkage.add_body(
            f"ball_{i}", parent, joint, place, lw.Inertia.sphere(0.3 + rng.random(), 0.1), shapes=[lw.Sphere(0.1)]
        )
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, FLOOR)))
    return linkage.compile()


@pytest.mark.filterwarnings("ignore:model .bush. begins with bodies inside")
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_responses_are_those_of_the_dense_form(seed, floating):
    model = bush(seed, floating)
    state = model.neutral()
    sim = lw.FullDynamics(model, state, contact=lw.Contact(margin=0.5, self_contact=False, continuous=False))
    sim.advance(1e-9)
    touching = sim._touching
    m, limits = int(touching.touch.counts[ta.SLOTS]), int(touching.touch.counts[ta.LIMITS])
    assert limits > 0
    touched = touching.touch.reached[:m]
    assert len({point.body for point in sim.contacts}) > 0
    assert (np.diff(touched) > 0).all()
    s = 6 * m + limits
    found = touching.problem.Lambda.ravel()[: s * s].reshape(s, s)
    columns = [lw.body_twists(model, lw.State(state.q, e), frame="world") for e in np.eye(model.nv)]
    J = np.stack([twists[touched].ravel() for twists in columns], axis=1)
    J = np.vstack([J, np.eye(model.nv)[touching.touch.bound[:limits, 1]]])
    M = lw.mass_matrix(model, state)
    expected = J @ np.linalg.solve(M, J.T)
    tolerance = rounding(condition=float(np.linalg.cond(M)), scale=float(np.abs(expected).max()), steps=model.n_bodies)
    assert np.abs(found - expected).max() <= tolerance
