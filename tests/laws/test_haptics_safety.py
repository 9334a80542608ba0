"""A hold ends gently when simulation, device or loop die, and leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.hands import SIMULATIONS

import linkwork as lw
from linkwork.errors import StateError
from linkwork.haptics.sharing import layout as at


def held_chain(**settings):
    model = lw.library.chain(joints=20).compile()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 15, device, watchdog=0.1, fade=0.2, damping=0.0, passive=False, **settings)
    device.move((0.1, 0.0, 0.05))
    return grasp


def test_when_the_simulation_dies_the_force_fades_out():
    """No more snapshots: the force stays until the watchdog sees it, then falls steadily to nothing, for good."""
    grasp = held_chain()
    session = grasp.session
    session.virtual_time = start = session.now()
    session.publish()
    session.tick()
    full = np.linalg.norm(grasp.felt[3:])
    sizes = []
    for millisecond in range(0, 400, 5):
        session.virtual_time = start + millisecond * 1_000_000
        session.tick()
        sizes.append(np.linalg.norm(grasp.felt[3:]))
        state = "held" if millisecond <= 100 else "fading" if millisecond < 300 else "released"
        assert grasp.state == state
    assert sizes[:21] == pytest.approx([full] * 21, rel=1e-12)
    assert (np.diff(sizes[20:61]) < 0.0).all()
    assert np.abs(np.diff(sizes)).max() <= full * 5e-3 / 0.2 * (1 + 1e-9)  # no jump: 5 ms of the time to fade
    assert sizes[60:] == [0.0] * 20
    session.publish()  # a simulation that comes back does not take hold of the hand by itself
    session.tick()
    assert grasp.state == "released"
    assert not grasp.felt.any()
    assert not grasp.wrench.any()


def test_when_a_device_dies_the_body_is_let_go():
    grasp = held_chain()
    session = grasp.session
    session.virtual_time = start = session.now()
    session.tick()
    session.virtual_time = start + 400_000_000
    session.publish()
    from linkwork.haptics.tick.coupling import couple_once

    couple_once(session.memory, session.scratch, session.now())  # a tick without a reading
    assert grasp.state == "released"
    session.take_forces()
    assert not grasp.load.force.any()


def test_when_the_coupling_loop_dies_the_simulation_goes_on_without_it():
    grasp = held_chain()
    session = grasp.session
    session.virtual_time = start = session.now()
    session.tick()
    session.take_forces()
    assert grasp.load.force.any()
    session.virtual_time = start + 200_000_000
    session.step(1e-3)
    assert not grasp.load.force.any()
    session.virtual_time = start + 700_000_000
    session.write_devices()
    assert not grasp.device.force.any()


def test_a_driver_that_writes_nonsense_does_nothing():
    """Not a number in the memory of a driver in another language: the hand is let go."""
    grasp = held_chain()
    session = grasp.session
    session.tick()
    message = np.zeros(at.READING_WORDS)
    message.view(np.int64)[at.D_TIME] = session.now()
    message[at.D_QUATERNION], message[at.D_POSITION] = 1.0, np.nan
    from linkwork.haptics.sharing.memory import publish_reading
    from linkwork.haptics.tick.coupling import couple_once

    publish_reading(session.memory, grasp.slot, message)
    couple_once(session.memory, session.scratch, session.now())
    assert grasp.state == "released"
    assert not grasp.felt.any()
    assert not grasp.wrench.any()


def test_a_release_leaves_nothing_behind(rng):
    model = lw.library.molecule(joints=200, seed=1).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-2)
    before = sim.checkpoint()
    grasp = lw.haptics.grasp(sim, 100, lw.haptics.Pointer())
    grasp.device.move((0.1, 0.0, 0.0))
    grasp.session.tick()
    grasp.session.take_forces()
    grasp.release()
    assert sim.loads == ()
    assert np.array_equal(sim.checkpoint()["q"], before["q"])
    assert not grasp.device.force.any()
    with pytest.raises(StateError, match="holds nothing"):
        grasp.release()


@pytest.mark.parametrize("simulation", ["full", "adaptive"])
def test_looking_changes_nothing(simulation, rng):
    """A simulation whose snapshots are taken goes the same way, bit for bit, as one that only carries the load."""
    model = lw.library.molecule(joints=150, seed=2).compile()
    state = model.random_state(rng, speed=0.2)
    looked_at, alone = (SIMULATIONS[simulation](model, state) for _ in range(2))
    grasp = lw.haptics.grasp(looked_at, 70, lw.haptics.Pointer(), stiffness=0.0, damping=0.0)
    alone.apply_wrenches([70], np.zeros((1, 6)))
    for _ in range(25):
        grasp.session.step(1e-4)
        grasp.session.tick()
        alone.advance(1e-4)
    assert np.abs(grasp.felt).max() > 0.0
    assert np.array_equal(looked_at.state.q, alone.state.q)
    assert np.array_equal(looked_at.state.v, alone.state.v)
