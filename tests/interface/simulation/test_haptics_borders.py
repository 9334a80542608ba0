"""Bad input at the borders of haptics: an error of Linkwork, and nothing is changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import linkwork as lw
from linkwork.haptics import CouplingSettings, HumanHand, Pointer, RecordedMotion, ScriptedMotion, UdpDevice

WRONG = {
    "nan": np.nan,
    "infinity": np.inf,
    "minus one": -1.0,
    "word": "x",
    "none": None,
    "list": [1, 2],
    "complex": 1 + 2j,
    "object": object(),
    "matrix": np.zeros((2, 2)),
    "bytes": b"3",
    "huge integer": 10**400,
}
NUMBERS = tuple(f.name for f in dataclasses.fields(CouplingSettings) if f.name not in ("feel", "passive", "implicit"))


def still(t):
    return (0.0, 0.0, 0.0)


@pytest.fixture
def held():
    model = lw.library.chain(4).compile()
    sim = lw.FullDynamics(model, model.neutral())
    return sim, lw.haptics.grasp(sim, 2, Pointer())


def everything(sim, grasp):
    session = grasp.session
    settings = dataclasses.astuple(grasp.settings)
    published = session.memory.tobytes()  # what devices and the coupling are given
    return np.concatenate(sim.state).tobytes(), sim.time, len(sim.loads), len(session.grasps), settings, published


def refuses(sim, grasp, call):
    before = everything(sim, grasp)
    with pytest.raises(lw.LinkworkError):
        call()
    assert everything(sim, grasp) == before
    assert not grasp.session.is_running


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_settings_of_a_grasp(held, wrong):
    sim, grasp = held
    for name in (*NUMBERS, "feel", "passive", "implicit"):
        refuses(sim, grasp, lambda name=name: grasp.change(**{name: wrong}))
        refuses(sim, grasp, lambda name=name: lw.haptics.grasp(sim, 1, Pointer(), **{name: wrong}))


@pytest.mark.parametrize("value", [1e31, 1e308, 5e-324])
def test_sizes_that_nothing_can_be_computed_with(held, value):
    sim, grasp = held
    for name in NUMBERS:
        if value > 1.0 or name not in ("stiffness", "damping", "torque", "torque_damping", "allowance"):
            refuses(sim, grasp, lambda name=name: grasp.change(**{name: value}))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_held_and_with_what(held, wrong):
    sim, grasp = held
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, wrong, Pointer()))
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, Pointer(), wrong))
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, wrong))
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, Pointer(), align=wrong))
    refuses(sim, grasp, lambda: lw.haptics.grasp(wrong, 1, Pointer()))
    refuses(sim, grasp, lambda: lw.haptics.session_of(wrong))
    refuses(sim, grasp, lambda: grasp.session.release(wrong))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_times_and_rates(held, wrong):
    sim, grasp = held
    session = grasp.session
    good = {"duration": 0.01, "h": 1e-3, "rate": 100.0, "n": 1, "record_every": 1}
    for name in good:
        if name == "record_every" and isinstance(wrong, int):
            continue  # one row of a very long run is a wish like another
        refuses(sim, grasp, lambda name=name: session.run(**{**good, name: wrong}))
    for call in (session.move_on, session.step):
        refuses(sim, grasp, lambda call=call: call(wrong))
        refuses(sim, grasp, lambda call=call: call(1e-3, wrong))
    for name in ("h", "n", "rate", "device_rate"):
        refuses(sim, grasp, lambda name=name: session.start(**{"h": 1e-3, name: wrong}))
    if wrong is not None:
        refuses(sim, grasp, lambda: session.start(1e-3, sim_rate=wrong))
    refuses(sim, grasp, lambda: session.run(1e300, 1e-3, 1e300))
    refuses(sim, grasp, lambda: session.move_on(1e303, 1))  # nanoseconds of a clock would overflow
    refuses(sim, grasp, lambda: session.run(0.01, 1e-320))  # more steps than anybody waits for


@pytest.mark.parametrize("rate", [1e-300, 1e-4, 1e7, 1e308])
def test_rates_that_no_loop_can_keep(held, rate):
    sim, grasp = held
    for name in ("rate", "device_rate", "sim_rate"):
        refuses(sim, grasp, lambda name=name: grasp.session.start(1e-3, **{name: rate}))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_devices(held, wrong):
    sim, grasp = held
    pointer = Pointer((0.1, 0.2, 0.3))
    refuses(sim, grasp, lambda: Pointer(wrong))
    refuses(sim, grasp, lambda: pointer.move(wrong))
    if wrong is not None:
        refuses(sim, grasp, lambda: pointer.move((0, 0, 0), wrong))
    refuses(sim, grasp, lambda: pointer.move((0, 0, 0), buttons=wrong if not isinstance(wrong, int) else -1))
    assert pointer.read().position == (0.1, 0.2, 0.3)
    refuses(sim, grasp, lambda: ScriptedMotion(wrong))
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, ScriptedMotion(lambda t: wrong)))
    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, ScriptedMotion(still, lambda t: wrong)))
    refuses(sim, grasp, lambda: RecordedMotion(wrong, np.zeros((3, 3))))
    refuses(sim, grasp, lambda: RecordedMotion([0, 1], wrong))
    refuses(sim, grasp, lambda: HumanHand(wrong))
    refuses(sim, grasp, lambda: HumanHand(lambda t: wrong))
    for name in ("mass", "stiffness", "damping", "delay"):
        refuses(sim, grasp, lambda name=name: HumanHand(still, **{name: wrong}))
    refuses(sim, grasp, lambda: UdpDevice(wrong))
    refuses(sim, grasp, lambda: UdpDevice(("127.0.0.1", wrong)))
    refuses(sim, grasp, lambda: UdpDevice((wrong, 0)) if not isinstance(wrong, str) else UdpDevice(("x" * 300, 0)))
    refuses(sim, grasp, lambda: UdpDevice(("127.0.0.1", 70_000)))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_device_that_reads_nonsense(held, wrong):
    sim, grasp = held

    class Broken(Pointer):
        def read(self):
            return wrong

    refuses(sim, grasp, lambda: lw.haptics.grasp(sim, 1, Broken()))
