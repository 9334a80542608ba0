"""Bad input at the borders of the viewer: an error of Linkwork, no page is left open, and a simulation is not changed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("viser", reason="the extra `viewer` is not installed")

WRONG = {
    "nan": np.nan,
    "minus one": -1.0,
    "word": "no such thing",
    "list": [1, 2],
    "complex": 1 + 2j,
    "object": object(),
    "matrix": np.zeros((2, 2)),
    "bytes": b"3",
    "huge integer": 10**400,
}


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(3).compile()


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_a_page_is_opened_with(model, wrong):
    sim = lw.FullDynamics(model, model.neutral())
    before, threads = np.concatenate(sim.state).tobytes(), threading.active_count()
    calls = [
        lambda: lw.view(wrong, port=0),
        lambda: lw.view(sim, wrong, port=0),
        lambda: lw.view(model, state=wrong, port=0),
        lambda: lw.view(model, state=wrong, live=True, port=0),
        lambda: lw.view(sim, h=wrong, port=0),
        lambda: lw.view(model, live=wrong, port=0),
        lambda: lw.view(sim, play=wrong, port=0),
        lambda: lw.view(sim, browser=wrong, port=0),
        lambda: lw.view(sim, block=wrong, port=0),
        lambda: lw.view(sim, host=wrong, port=0),
        lambda: lw.view(sim, port=wrong),
    ]
    for call in calls:
        with pytest.raises(lw.LinkworkError):
            call()
    assert np.concatenate(sim.state).tobytes() == before
    assert threading.active_count() <= threads


def test_what_a_page_is_asked_to_do(model):
    sim = lw.FullDynamics(model, model.neutral())
    with lw.view(sim, h=1e-3, port=0) as viewer:
        for wrong in (*WRONG.values(), 0, -1, True):
            with pytest.raises(lw.LinkworkError):
                viewer.step(wrong)
        assert sim.steps_done == 0
