"""Loads of scenes that change: which calls a simulation gets, when, and that going on from a checkpoint changes no bit."""

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.errors import StateError
from linkwork.scene import Scene

METHODS = {
    "full": {"kind": "full", "integrator": "rk4"},
    "adaptive": {"kind": "adaptive", "max_active_joints": 6},
    "quasi-statics": {"kind": "quasi-statics", "tolerance": 1e-3},
}
H = 0.001


def pushed(method: str) -> Scene:
    """Pulses that begin and end in another order than that of the file, several on one body, among loads that stay."""
    return Scene({
        "model": {"library": "chain", "parameters": {"joints": 8}},
        "load": [
            {"body": "link_*", "pick": "all", "force": ["0.3 * pulse(t, 0.003 * (n - i), 0.011)", 0, 0]},
            {"body": "link_3", "force": ["0.7 * pulse(t, 0.002, 0.006)", 0, "0.1 * pulse(t, 0.015, 0.01)"]},
            {"body": "link_3", "force": [0, "0.9 * pulse(t, 0.004, 0.02)", 0]},
            {"body": "link_3", "frame": "body", "torque": [0, "0.01 * sin(900*t)", 0]},
            {"body": "link_6", "force": [0.0, 0.0, 0.0]},
        ],
        "spring": [{"body": "link_7", "stiffness": 2.0, "offset": ["0.1 * t", 0, 0]}],
        "motor": [{"joint": "link_1", "effort": "0.01 * step(t - 0.012)"}],
        "method": METHODS[method],
        "run": {"h": H, "steps": 30},
    })  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [1, 5, 9, 13, 18, 26])
def test_going_on_changes_no_bit(method, at):
    """From a checkpoint at any time, in a simulation made anew and in the same one later."""
    scene = pushed(method)
    whole, first, again = scene.build(), scene.build(), scene.build()
    whole.step(H, 30)
    first.step(H, at)
    saved = first.checkpoint()
    again.restore(saved)
    again.step(H, 30 - at)
    first.step(H, 30 - at)
    ends = [np.concatenate(sim.state).tobytes() for sim in (whole, first, again)]
    assert ends[0] == ends[1] == ends[2]
    first.restore(saved)
    first.step(H, 30 - at)
    assert np.concatenate(first.state).tobytes() == ends[0]


class Listener:
    """Stands before a simulation and lists the calls that it gets."""

    def __init__(self, sim):
        self.sim, self.calls = sim, []

    def __getattr__(self, name):
        found = getattr(self.sim, name)
        if name not in ("apply_wrench", "change_wrench", "clear", "set_effort", "move_target"):
            return found

        def call(*words, **more):
            self.calls.append(name)
            return found(*words, **more)

        return call


def test_only_changes_are_given_and_nothing_acts_that_is_zero():
    scene = Scene({
        "model": {"library": "chain", "parameters": {"joints": 4}},
        "load": [{"body": "link_*", "pick": "all", "force": ["pulse(t, 0.0031 * (i + 1), 0.003)", 0, 0]}],
        "motor": [{"joint": "link_0", "effort": "floor(100 * t)"}],
        "method": {"kind": "full"},
        "run": {"h": H, "steps": 25},
    })  # fmt: skip
    sim = scene.build()
    sim.sim = listener = Listener(sim.sim)
    assert not sim.loads
    counts = []
    for _ in range(25):
        sim.step(H)
        counts.append(len(sim.loads))
    assert max(counts) == 1
    assert counts[:3] == [0, 0, 0]
    assert counts[-3:] == [0, 0, 0]
    assert sorted(listener.calls) == sorted(["apply_wrench", "clear"] * 4 + ["set_effort"] * 2)


def test_a_load_that_comes_and_goes_is_the_same_as_one_that_stays():
    """The same pulses by hand, by a load that is there all the time."""
    scene = Scene({
        "model": {"library": "chain", "parameters": {"joints": 6}},
        "load": [{"body": "link_5", "force": ["2 * pulse(t, 0.004, 0.005)", 0, 0]}],
        "method": {"kind": "full"},
        "run": {"h": H, "steps": 20},
    })  # fmt: skip
    sim = scene.build()
    by_hand = lw.FullDynamics(scene.model, scene.state)
    load = by_hand.apply_wrench("link_5", frame="world")
    for k in range(20):
        by_hand.change_wrench(load, force=(2.0 * (0.004 <= (k + 0.5) * H < 0.009), 0.0, 0.0))
        by_hand.step(H)
        sim.step(H)
    assert np.abs(sim.state.v).max() > 0.0
    assert sim.state.q == pytest.approx(by_hand.state.q, rel=0, abs=rounding(condition=1e2, steps=20))


def test_loads_beside_the_scene_stay_or_are_refused():
    """A load that somebody else applied survives a checkpoint, unless the order of loads could not be kept."""
    sim = pushed("full").build()
    sim.apply_wrench("link_2", force=(0.0, 0.0, 1.0), frame="world")
    saved = sim.checkpoint()
    sim.restore(saved)
    assert -1 in saved["scene_loads"]
    with pytest.raises(StateError, match="loads that its scene does not have"):
        pushed("full").build().restore(saved)
    with pytest.raises(StateError, match="lacks scene_loads_at"):
        sim.restore(sim.sim.checkpoint())
