"""A run that was stopped, at any moment and in any way, and resumed ends in the same bits as one that never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.helpers import killed_runs
from tests.helpers.killed_runs import KILLS, TORN
from tests.helpers.loaded_runs import EVERY, KINDS, H, go_on, recorded, simulate, simulation

import linkwork as lw
from linkwork.record import Recorder, Recording
from linkwork.simulation.run_loop import RunInterrupted

pytest.importorskip("zarr", reason="the extra `record` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    simulate(path)
    return recorded(path)


def test_interrupt_keeps_everything_and_resumes(tmp_path, uninterrupted):
    def press(sim, report):
        if sim.steps_done == 60:
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(RunInterrupted, match="stopped after step 60") as stop:
        simulate(tmp_path / "run", callback=press)
    assert signal.getsignal(signal.SIGINT) is handler
    assert stop.value.steps_done == 60
    assert stop.value.report is not None
    with Recording(tmp_path / "run") as recording:
        assert recording.status == "interrupted"
        assert recording.steps[-1] == 60
    go_on(tmp_path / "run")
    assert recorded(tmp_path / "run") == uninterrupted


def test_second_interrupt_is_hard(tmp_path):
    def press_twice(sim, report):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1.0)  # where the second one strikes
        raise AssertionError("the second Ctrl-C was not heard")

    with pytest.raises(KeyboardInterrupt) as stop:
        simulate(tmp_path / "run", callback=press_twice)
    assert not isinstance(stop.value, RunInterrupted)
    assert Recording(tmp_path / "run").status == "failed"


def test_errors_of_a_callback_keep_what_was_recorded(tmp_path, uninterrupted):
    def fail(sim, report):
        if sim.steps_done == 120:
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        simulate(tmp_path / "run", callback=fail, checkpoint_every_s=1e9)
    with Recording(tmp_path / "run") as recording:
        assert recording.status == "failed"
        assert recording.steps.tolist() == list(range(0, 121, EVERY))
    go_on(tmp_path / "run")  # from the checkpoint at the beginning: the frames after it are made again
    assert recorded(tmp_path / "run") == uninterrupted


def test_a_run_stopped_by_its_callback_goes_on(tmp_path, uninterrupted):
    simulate(tmp_path / "run", callback=lambda sim, report: sim.steps_done == 30)
    assert Recording(tmp_path / "run").status == "stopped"
    go_on(tmp_path / "run", callback=lambda sim, report: sim.steps_done == 90)
    assert Recording(tmp_path / "run").steps[-1] == 90
    go_on(tmp_path / "run")
    assert recorded(tmp_path / "run") == uninterrupted
    assert go_on(tmp_path / "run").steps == 0  # nothing is left to do, and nothing changes
    assert recorded(tmp_path / "run") == uninterrupted


def test_a_resumed_recorder_wants_a_restored_simulation(tmp_path):
    simulate(tmp_path / "run", callback=lambda sim, report: sim.steps_done == 30)
    with Recorder.resume(tmp_path / "run") as recorder:
        loaded = simulation()
        with pytest.raises(lw.StateError, match="ends at step 30, the simulation stands at step 0"):
            loaded.sim.run(H, 30, record=recorder)
        loaded.sim.restore(recorder.saved)
        loaded.sim.run(H, 30, record=recorder, every=10)
    assert Recording(tmp_path / "run").steps.tolist() == [0, 6, 12, 18, 24, 30, 40, 50, 60]


def test_runs_follow_each_other_in_one_recording(tmp_path):
    loaded = simulation()
    with Recorder(tmp_path / "run") as recorder:
        loaded.sim.run(H, 30, record=recorder, every=10)
        loaded.sim.run(H, 20, record=recorder, every=10)
    assert Recording(tmp_path / "run").steps.tolist() == [0, 10, 20, 30, 40, 50]


@pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(signal, "SIGKILL")), reason="this system has no fork or no SIGKILL"
)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_moment_ends_in_the_same_bits(tmp_path, kind):
    """SIGKILL at random accesses to files; each time what is there can be read, and the run goes on."""
    path, whole = tmp_path / "run", tmp_path / "whole"
    simulate(whole, kind=kind)
    with Recording(whole) as recording:
        if kind == "adaptive_dynamics":
            assert recording.reports["region_changes"][-1] > 20  # not one region all along
            assert recording.scalars["n_active"][1:].min() > 5
        assert recording.state(-1).q.any()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, killed_runs.__file__, str(path), kind],
        capture_output=True,
        text=True,
        timeout=1200,  # only so that a hanging run ends
        check=False,
        env=environment,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    story = json.loads(result.stdout.splitlines()[-1])
    assert story["kills"] >= KILLS[kind], story
    assert story["torn"] >= TORN, f"too few kills struck within a write to prove anything: {story}"
    assert recorded(path) == recorded(whole)
    assert Recording(path).status == "finished"
    assert not list(tmp_path.glob(".run*"))
    assert not list(path.rglob("*.partial")), "what kills left behind is cleaned up"
