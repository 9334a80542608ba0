"""Haptics from outside: devices, loops by the clock, the lock between them, and what is refused."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import StateError
from linkwork.haptics.devices import udp
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import new_shared_memory, open_shared_memory
from linkwork.haptics.sharing.seqlock import publish_message, read_in_series, read_message, set_flag, write_in_series

READS = 100_000  # in the suite; `linkwork haptics --check-lock 10000000` does more


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(joints=30).compile()


def wait_for(condition, seconds=60.0):
    """Waits until something is so; how long that takes says nothing."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(1e-3)


@pytest.mark.parametrize("room", [3, 64])
def test_messages_are_never_torn(room):
    memory, stop, result = np.zeros(8 + 2 * room), np.zeros(1), np.zeros(4)
    publish_message(memory, 0, room, np.zeros(room))
    writer = threading.Thread(target=write_in_series, args=(memory, room, np.zeros(room), stop))
    writer.start()
    try:
        read_in_series(memory, room, np.zeros(room), READS, result)
    finally:
        set_flag(stop)
        writer.join()
    torn, older, _, gave_up = result.tolist()
    assert (torn, older) == (0, 0)
    assert gave_up < READS // 100  # nothing is taken where the writer, which never rests here, was faster too often


def test_a_message_half_written_is_not_taken():
    """The buffer under the pen has an odd number; the one before it stays readable."""
    room = 4
    memory, words = np.zeros(8 + 2 * room), np.zeros(room)
    publish_message(memory, 0, room, np.full(room, 1.0))
    numbers = memory.view(np.int64)
    other = 1 - numbers[at.P_LATEST]
    numbers[at.P_SEQUENCE + other] += 1
    memory[at.P_BUFFERS + other * room] = 9.0
    assert read_message(memory, 0, room, words) == 0
    assert words.tolist() == [1.0] * room
    numbers[at.P_LATEST] = other  # a writer that died here: readers give up, and do not take it
    assert read_message(memory, 0, room, words) == -1


# ---------------------------------------------------------------------------------------------------------------- devices


def test_scripted_and_recorded_motions_follow_the_session(model):
    sim = lw.FullDynamics(model, model.neutral())
    scripted = lw.haptics.ScriptedMotion(lambda t: (0.1 * t, 0.0, 0.0))
    recorded = lw.haptics.RecordedMotion([0.0, 0.5, 1.0], [[0, 0, 0], [0, 0.1, 0], [0, 0.1, 0.2]])
    grasps = [lw.haptics.grasp(sim, 10, scripted), lw.haptics.grasp(sim, 20, recorded)]
    trace = grasps[0].session.run(0.5, h=1e-2, rate=100.0)
    moved = trace.hand[-1] - trace.hand[0]
    assert moved[0] == pytest.approx([0.049, 0, 0], abs=1e-9)  # 49 of 50 ticks: the first is at time zero
    assert moved[1] == pytest.approx([0, 0.098, 0], abs=1e-9)
    assert trace.times.shape == (50,)
    assert trace.felt.shape == (50, 2, 6)


def test_runs_in_virtual_time_repeat_themselves(model):
    traces = []
    for _ in range(2):
        sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-2)
        hand = lw.haptics.HumanHand(lambda t: (0.05 * np.sin(5 * t), 0.0, 0.0))
        grasp = lw.haptics.grasp(sim, 29, hand)
        traces.append(grasp.session.run(0.3, h=1e-3, rate=1000.0))
    assert np.array_equal(traces[0].felt, traces[1].felt)
    assert np.abs(traces[0].felt).max() > 0.0


def test_human_hand_settles_where_forces_balance():
    hand = lw.haptics.HumanHand(lambda t: (0.1, 0.0, 0.0), stiffness=200.0, delay=0.0)
    now = [0.0]
    hand.follow(lambda: now[0])
    hand.write(np.array([-4.0, 0.0, 0.0]), np.zeros(3))
    for _ in range(500):
        hand.read()
        now[0] += 0.01
    assert hand.read().position == pytest.approx((0.1 - 4.0 / 200.0, 0.0, 0.0), abs=1e-9)


def test_udp_device_takes_poses_and_answers_with_forces():
    device = lw.haptics.UdpDevice()
    driver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    driver.settimeout(20.0)
    try:
        driver.sendto(b"nonsense", device.address)
        driver.sendto(udp.POSE.pack(udp.MAGIC, 2.0, 0.1, 0.2, 0.3, 2.0, 0.0, 0.0, 0.0, 5), device.address)
        driver.sendto(udp.POSE.pack(udp.MAGIC, 1.0, 9.0, 9.0, 9.0, 1.0, 0.0, 0.0, 0.0, 0), device.address)  # late
        driver.sendto(udp.POSE.pack(udp.MAGIC, 3.0, np.nan, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0), device.address)
        wait_for(lambda: (device.read(), device.refused == 2)[1])
        assert device.read() == ((0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 0.0), 5)
        device.write(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
        assert udp.FORCE.unpack(driver.recv(100)) == (udp.MAGIC, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    finally:
        driver.close()
        device.close()


def test_grasp_begins_without_a_force_wherever_the_device_is(model):
    sim = lw.FullDynamics(model, model.random_state(np.random.default_rng(1), speed=0.0))
    device = lw.haptics.Pointer((3.0, 2.0, 1.0), (0.5, 0.5, -0.5, 0.5))
    grasp = lw.haptics.grasp(sim, 12, device, (0.1, 0.2, 0.3), torque=10.0)
    grasp.session.tick()
    assert np.abs(grasp.wrench).max() <= 1e-12 * 200.0 * 10.0  # ε of positions of some metres, times the stiffness
    free = lw.haptics.grasp(sim, 12, lw.haptics.Pointer((0.0, 0.0, 0.0)), align=False, damping=0.0, force_limit=1e9)
    free.session.tick()
    place = lw.body_poses(model, sim.state)[12, :3, 3]
    assert free.wrench[3:] == pytest.approx(-200.0 * place, rel=1e-9)


# ------------------------------------------------------------------------------------------------------------- by the clock


@pytest.mark.parametrize("in_process", [False, True])
def test_loops_run_by_the_clock(model, in_process):
    """All three loops tick, forces arrive, and everything ends on request; how fast is for the benchmark."""
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-2)
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 25, device, watchdog=60.0)
    session = grasp.session
    with session.start(h=1e-3, rate=500.0, sim_rate=50.0, device_rate=100.0, in_process=in_process, spins=False):
        assert session.is_running
        assert (session.memory_file is not None) == in_process
        device.move((0.05, 0.0, 0.0))
        wait_for(lambda: np.abs(grasp.wrench).max() > 0.5 and np.abs(device.force).max() > 0.0)
        wait_for(lambda: all(loop.ticks > 5 for loop in session.statistics()))
        second = lw.haptics.grasp(sim, 10, lw.haptics.Pointer(), watchdog=60.0)  # while all runs
        wait_for(lambda: second.state == "held")
        second.release()
        steps = sim.steps_done
        wait_for(lambda: sim.steps_done > steps)
    assert not session.is_running
    assert {loop.name for loop in session.statistics()} == {"coupling", "simulation", "devices"}
    coupling = session.statistics()[0]
    assert coupling.ticks > 5
    assert 0.0 < coupling.busy[0] <= coupling.busy[1] <= coupling.busy[2] <= coupling.busy[3]
    assert not device.force.any()


def test_the_rate_of_a_loop_counts_the_ticks_it_made(model):
    """A device that stalls in every tenth reading: the median interval knows nothing of it."""
    times = []

    class Stalling(lw.haptics.Pointer):
        def read(self):
            times.append(time.monotonic())
            if len(times) % 10 == 0:
                time.sleep(0.05)
            return super().read()

    sim = lw.FullDynamics(model, model.neutral())
    session = lw.haptics.grasp(sim, 25, Stalling(), watchdog=60.0).session
    with session.start(h=1e-3, rate=100.0, sim_rate=20.0, device_rate=200.0, spins=False):
        times.clear()
        wait_for(lambda: len(times) >= 100)
    devices = session.statistics()[2]
    counted = (len(times) - 1) / (times[-1] - times[0])
    assert devices.rate == pytest.approx(counted, rel=0.2)  # the two end at different moments
    assert devices.missed > 30
    assert 1.0 / devices.interval[0] > 1.3 * counted  # what was said before


def test_a_simulation_that_fails_lets_the_hand_go_and_is_reported(model):
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 25, device, watchdog=0.05, fade=0.05)
    session = grasp.session
    session.start(h=1e-3, rate=500.0, sim_rate=100.0, spins=False)

    def fail(h, n=1):
        raise StateError("the simulation fell over")

    sim.advance = fail
    wait_for(lambda: grasp.state == "released")
    wait_for(lambda: not device.force.any())
    with pytest.raises(StateError, match="fell over"):
        session.stop()


def test_the_memory_of_a_session_is_known_by_its_first_words(tmp_path):
    memory, path = new_shared_memory()
    try:
        assert open_shared_memory(path)[at.HEADER :].shape == memory[at.HEADER :].shape
        memory.view(np.int64)[at.H_LAYOUT] = 99
        with pytest.raises(StateError, match="not the memory"):
            open_shared_memory(path)
    finally:
        path.unlink()
    with pytest.raises(StateError, match="not the memory"):
        open_shared_memory(tmp_path / "none")
    command = [sys.executable, "-m", "linkwork.haptics.tick.process", str(tmp_path / "none")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert "not the memory" in result.stderr


# -------------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"stiffness": -1.0}, "stiffness"),
        ({"damping": np.nan}, "damping"),
        ({"force_limit": 0.0}, "force_limit"),
        ({"feel": "pain"}, "choose one of reactions"),
        ({"colour": 1}, "no colour"),
        ({"at": (1, 2)}, "at"),
        ({"body": 99}, "does not exist"),
        ({"device": object()}, "read and write"),
    ],
)
def test_a_grasp_that_cannot_be_changes_nothing(model, arguments, words):
    sim = lw.FullDynamics(model, model.neutral())
    given = {"body": 5, "device": lw.haptics.Pointer(), **arguments}
    with pytest.raises(StateError, match=words):
        lw.haptics.grasp(sim, **given)
    assert sim.loads == ()
    assert lw.haptics.session_of(sim).grasps == []


def test_a_device_that_reads_nonsense_is_refused(model):
    class Broken(lw.haptics.Pointer):
        def read(self):
            return lw.haptics.Reading((np.nan, 0.0, 0.0))

    sim = lw.FullDynamics(model, model.neutral())
    with pytest.raises(StateError, match="finite"):
        lw.haptics.grasp(sim, 5, Broken())
    assert sim.loads == ()
    assert lw.haptics.session_of(sim).grasps == []


def test_no_more_hands_than_there_is_room_for(model):
    sim = lw.FullDynamics(model, model.neutral())
    for k in range(at.GRASPS):
        lw.haptics.grasp(sim, k % model.n_bodies, lw.haptics.Pointer())
    with pytest.raises(StateError, match="hands hold this linkage already"):
        lw.haptics.grasp(sim, 20, lw.haptics.Pointer())
    assert len(sim.loads) == at.GRASPS


def test_changes_of_a_grasp(model):
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 5, device, damping=0.0)
    device.move((0.01, 0.0, 0.0))
    grasp.session.tick()
    before = grasp.wrench[3]
    grasp.change(stiffness=400.0)
    grasp.session.tick()
    assert grasp.wrench[3] == pytest.approx(2.0 * before, rel=1e-12)
    with pytest.raises(StateError, match="no strength"):
        grasp.change(strength=1.0)
    with pytest.raises(StateError, match="stiffness"):
        grasp.change(stiffness=-1.0)
    assert grasp.settings.stiffness == 400.0


def test_other_simulations_are_refused():
    with pytest.raises(StateError, match="not of str"):
        lw.haptics.grasp("simulation", 0, lw.haptics.Pointer())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lw.haptics.RecordedMotion([0.0, 0.0], np.zeros((2, 3))), "ascending"),
        (lambda: lw.haptics.RecordedMotion([0.0, 1.0], np.zeros((3, 3))), "shape"),
        (lambda: lw.haptics.HumanHand(lambda t: (0, 0, 0), mass=0.0), "mass"),
        (lambda: lw.haptics.Pointer((np.inf, 0, 0)), "finite"),
        (lambda: lw.haptics.Pointer((0, 0, 0), (0, 0, 0, 0)), "quaternion"),
    ],
)
def test_devices_refuse_nonsense(make, words):
    with pytest.raises(StateError, match=words):
        make()


def test_haptics_is_loaded_when_asked_for():
    code = "import sys, linkwork; assert 'linkwork.haptics' not in sys.modules; linkwork.haptics.grasp"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")


# ---------------------------------------------------------------------------------------------------------- from the shell


def shell(*arguments):
    command = [sys.executable, "-m", "linkwork", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_command_reports_how_the_loops_ran():
    result = shell("haptics", "--stats", "--joints", "50", "--seconds", "0.3", "--rate", "500", "--sleep")
    assert result.returncode == 0, result.stderr
    for word in ("50 joints", "coupling", "simulation", "devices", "99.9 %", "missed"):
        assert word in result.stdout


def test_command_proves_the_lock():
    result = shell("haptics", "--check-lock", "10000")
    assert result.returncode == 0, result.stderr
    assert "10,000 reads" in result.stdout
    assert "0 torn" in result.stdout
    refused = shell("haptics", "--check-lock", "0")
    assert refused.returncode == 1
    assert "--check-lock" in refused.stderr


def test_benchmark_runs():
    result = shell("bench", "haptics", "--quick")
    assert result.returncode == 0, result.stderr
    for word in ("tick", "by the path, anywhere", "snapshot", "largest passive stiffness"):
        assert word in result.stdout
