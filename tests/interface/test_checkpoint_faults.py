"""Checkpoints that are damaged in one number: refused, and nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.workspace import LOAD_COUNT


def simulation(kind: str) -> lw.FullDynamics | lw.AdaptiveDynamics | lw.QuasiStatics:
    model = lw.library.chain(joints=8).compile()
    make = {"full": lw.FullDynamics, "adaptive": lw.AdaptiveDynamics, "quasi-static": lw.QuasiStatics}[kind]
    sim = make(model, model.neutral())
    sim.apply_wrench(3, force=(0.0, 0.0, 1.0))
    sim.step(1e-3, 3)
    return sim


@pytest.mark.parametrize("kind", ["full", "adaptive", "quasi-static"])
@pytest.mark.parametrize("counter", ["time", "steps_done"])
def test_counters_that_are_nothing_are_refused(kind, counter):
    sim = simulation(kind)
    with pytest.raises(lw.StateError, match=f"{counter} is None"):
        sim.restore({**sim.checkpoint(), counter: None})
    sim.step(1e-3)


@pytest.mark.parametrize("kind", ["adaptive", "quasi-static"])
def test_a_count_of_loads_that_do_not_exist_is_refused(kind):
    sim = simulation(kind)
    saved = sim.checkpoint()
    counts = saved["counts"].copy()
    counts[LOAD_COUNT] = 10**6
    with pytest.raises(lw.StateError, match="the checkpoint is damaged"):
        sim.restore({**saved, "counts": counts})
    sim.step(1e-3)


@pytest.mark.parametrize("kind", ["adaptive", "quasi-static"])
def test_a_restore_that_fails_on_the_way_changes_nothing(kind):
    """Each number is sound by itself; with efforts like these no coefficients can be formed."""
    sim = simulation(kind)
    saved, before = sim.checkpoint(), np.concatenate(sim.state).tobytes()
    with pytest.raises(lw.StateError):
        sim.restore({**saved, "effort": np.full_like(saved["effort"], 1e308)})
    assert np.concatenate(sim.state).tobytes() == before
    sim.step(1e-3, 2)
    other = simulation(kind)
    other.restore(saved)
    other.step(1e-3, 2)
    assert np.concatenate(sim.state).tobytes() == np.concatenate(other.state).tobytes()
