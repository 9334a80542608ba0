"""A run that was stopped, at any moment and in any way, and resumed ends in the same bits as one that never stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.dca.nodes import H_C
from linkwork.record import Recorder, Recording
from linkwork.simulation.run import RunInterrupted, resume_run, run_simulation

pytest.importorskip("zarr", reason="the extra `record` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")

H = 1e-2
MODELS = {
    "molecule": lambda: lw.library.molecule(joints=150, seed=3),
    "all joints": lambda: lw.library.random_tree(
        joints=60, branching=0.3, kinds=lw.library.JOINT_KINDS, options=True, seed=2
    ),
    "millipede": lambda: lw.library.millipede(segments=6, leg_links=4, spine=13),
}
MEASURED = {"molecule": {"tolerance": 1e-2}, "all joints": {"max_joints": 20}, "millipede": {"tolerance": 0.05}}


def bits(values):
    return np.ascontiguousarray(values).view(np.uint64)


def same_bits(a, b):
    return a.shape == b.shape and bool((bits(a) == bits(b)).all())


class Loaded:
    """A simulation with loads of every kind, which change while it runs."""

    def __init__(self, name, loads=True):
        self.model = MODELS[name]().compile()
        self.sim = lw.QuasiStatics(self.model, self.model.neutral(), **MEASURED[name])
        if not loads:
            return
        sim, n = self.sim, self.model.n_bodies
        gone = sim.apply_wrench(n - 2, force=(0.0, 1.0, 0.0), frame="world")
        self.pull = sim.apply_wrench(n - 1, force=(0.0, 0.2, 1.0), frame="world", at=(0.0, 0.0, 0.1))
        self.spring = sim.apply_spring(n // 2, target=(0.2, 0.1, 0.3), stiffness=20.0)
        self.push = sim.apply_wrench(n // 3, force=(0.3, 0.0, 0.1), torque=(0.01, 0.0, 0.02), frame="body")
        sim.clear(gone)  # so that rows of the table stand in another order than the loads
        helical = [i for i, joint in enumerate(self.model.joints) if joint.nv == 1]
        sim.set_effort(self.model.joint_names[helical[len(helical) // 2]], 0.02)

    def change(self, k):
        """What happens to the loads before step k."""
        if k % 17 == 0:
            self.sim.change_wrench(self.pull, force=(0.1 * np.sin(k), 0.2, 1.0))
        if k % 23 == 0:
            self.sim.move_target(self.spring, (0.2, 0.1 * np.cos(k), 0.3))
        if k % 31 == 0:
            self.sim.change_wrench(self.push, torque=(0.0, 0.01 * k, 0.0))


def assert_same_course(a, b, first, steps):
    for k in range(first, first + steps):
        a.change(k)
        b.change(k)
        n = 1 + k % 3
        assert a.sim.step(H, n) == b.sim.step(H, n), k
        assert same_bits(a.sim.state.q, b.sim.state.q), k
        assert same_bits(a.sim.acceleration, b.sim.acceleration), k
        assert (a.sim.time, a.sim.steps_done) == (b.sim.time, b.sim.steps_done)
        if k % 10 == 0:
            assert a.sim.scalars() == b.sim.scalars()
            assert a.sim.computed_joints == b.sim.computed_joints


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("when", [0, 1, 40, 97])
def test_restored_simulation_takes_the_same_course(name, when):
    """Hundreds of steps after the checkpoint, with loads that change on both sides, nodes that open and close."""
    first = Loaded(name)
    for k in range(when):
        first.change(k)
        first.sim.step(H)
    saved = first.sim.checkpoint()
    second = Loaded(name)
    second.sim.step(H, 3)  # a past of its own that must leave nothing behind
    second.sim.restore(saved)
    assert same_bits(second.sim.state.q, first.sim.state.q)
    assert_same_course(first, second, when, 300 if when == 40 else 60)


def differing_nodes(a, b, name, first):
    """Nodes whose part of a table of coefficients differs in any bit. first: where each node's part begins."""
    different = np.flatnonzero(bits(getattr(a._coefficients, name)) != bits(getattr(b._coefficients, name)))
    order = np.argsort(first, kind="stable")
    return np.unique(order[np.searchsorted(first[order], different, side="right") - 1])


@pytest.mark.parametrize("name", MODELS)
def test_coefficients_are_formed_again_in_the_same_bits(name):
    """Of closed nodes, which keep what was formed when they last moved; open ones are formed anew in every step."""
    first = Loaded(name)
    for k in range(100):
        first.change(k)
        first.sim.step(H)
        if k % 4 == 1:
            second = Loaded(name)
            second.sim.restore(first.sim.checkpoint())
            a, b = first.sim, second.sim
            closed = a._run.flag == 0
            assert closed.any()
            for table, begins in (("kept", a._plan.block), ("handed_up", a._plan.slot), ("factor", a._plan.factor_at)):
                assert not closed[differing_nodes(a, b, table, begins)].any(), (k, table)
            assert (a._coefficients.rows[closed] == b._coefficients.rows[closed]).all()
            assert same_bits(a._coefficients.composite[closed], b._coefficients.composite[closed])
            assert same_bits(
                a._coefficients.joint_data[:, :H_C], b._coefficients.joint_data[:, :H_C]
            )  # poses of all joints
            assert same_bits(a._coefficients.effort_sum, b._coefficients.effort_sum)
            assert same_bits(a._coefficients.S, b._coefficients.S)


def test_open_region_moved_while_it_was_watched():
    """The law above would be empty if nothing opened and closed on the way."""
    watched = Loaded("molecule")
    regions = set()
    for k in range(100):
        watched.change(k)
        watched.sim.step(H)
        regions.add(tuple(watched.sim.computed_joints))
    assert len(regions) > 5
    assert max(map(len, regions)) < watched.model.n_bodies


@pytest.mark.parametrize("name", MODELS)
def test_loads_come_from_the_checkpoint_when_none_are_applied(name):
    first = Loaded(name)
    first.sim.step(H, 20)
    second = Loaded(name, loads=False)
    second.sim.restore(first.sim.checkpoint())
    second.pull, second.spring, second.push = second.sim.loads
    assert_same_course(first, second, 20, 60)


@pytest.mark.parametrize("before", ["solve", "change"])
def test_checkpoints_between_steps(before):
    """After a solve, and with a change of loads not yet looked at."""
    first, second = Loaded("molecule"), Loaded("molecule")
    first.sim.step(H, 30)
    if before == "solve":
        first.sim.solve()
    else:
        first.change(17 * 23 * 31)
    second.sim.restore(first.sim.checkpoint())
    assert_same_course(first, second, 1, 60)


def test_checkpoint_does_not_disturb():
    watched, plain = Loaded("molecule"), Loaded("molecule")
    for _ in range(50):
        watched.sim.checkpoint()
        watched.sim.scalars()
        assert watched.sim.step(H) == plain.sim.step(H)
    assert same_bits(watched.sim.state.q, plain.sim.state.q)


def test_checkpoint_of_another_model_is_refused():
    saved = Loaded("molecule").sim.checkpoint()
    with pytest.raises(lw.StateError, match="another model"):
        Loaded("millipede").sim.restore(saved)
    with pytest.raises(lw.StateError, match="checkpoint of 'Other'"):
        Loaded("molecule").sim.restore({**saved, "simulation": "Other"})
    model = MODELS["molecule"]().compile()
    for options, message in (
        ({"tolerance": 2e-2}, r"made with another tolerance \(0\.01, not 0\.02\)"),
        ({"tolerance": 1e-2, "weights": np.full(model.nv, 2.0)}, "made with other weights"),
    ):
        with pytest.raises(lw.StateError, match=message):
            lw.QuasiStatics(model, model.neutral(), **options).restore(saved)
    fewer = Loaded("molecule")
    fewer.sim.clear(fewer.push)
    with pytest.raises(lw.StateError, match="has 3 loads, the simulation 2"):
        fewer.sim.restore(saved)


# --------------------------------------------------------------------------------------------------------- runs that stop


def recorded(path):
    """Every recorded array, and the checkpoint, as bytes that can be compared."""
    with Recording(path) as recording:
        arrays = {"times": recording.times, "steps": recording.steps}
        arrays |= {f"scalar {name}": values for name, values in recording.scalars.items()}
        arrays |= {f"report {name}": values for name, values in recording.reports.items()}
        for k, state in enumerate(recording.states):
            arrays[f"q {k}"], arrays[f"v {k}"] = state
        saved, run = recording.checkpoint()
        arrays |= {f"saved {name}": np.asarray(value) for name, value in saved.items()}
        return {name: (str(array.dtype), array.shape, array.tobytes()) for name, array in arrays.items()} | run


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    simulate(path)
    return recorded(path)


STEPS, EVERY = 240, 6


class Driven(Loaded):
    """Adaptive dynamics of the same molecule, with motors and pins beside the loads; all of them change while it runs."""

    def __init__(self):
        self.model = MODELS["molecule"]().compile()
        start = self.model.neutral()
        self.sim = lw.AdaptiveDynamics(self.model, start, active_joints=25, update_every=4, horizon=1.0)
        sim, n = self.sim, self.model.n_bodies
        gone = sim.apply_wrench(n - 2, force=(0.0, 1.0, 0.0), frame="world")
        self.pull = sim.apply_wrench(n - 1, force=(0.0, 0.02, 0.1), frame="world", at=(0.0, 0.0, 0.1))
        self.spring = sim.apply_spring(n // 2, target=(0.2, 0.1, 0.3), stiffness=0.2)
        self.push = sim.apply_wrench(n // 3, force=(0.03, 0.0, 0.01), torque=(1e-3, 0.0, 2e-3), frame="body")
        sim.clear(gone)
        sim.set_effort(self.model.joint_names[n // 4], 1e-3)
        self.motor, self.pinned = self.model.joint_names[n // 5], self.model.joint_names[2 * n // 5]
        sim.set_motor(self.motor, position=0.3, stiffness=1e-3, damping=1e-4)

    def change(self, k):
        """Depends on the step alone, so that a resumed run meets the same. Two forces take turns: the region follows."""
        sim = self.sim
        if k % 16 == 0:
            pulled = 0.1 if k % 32 == 0 else 0.0
            sim.change_wrench(self.pull, force=(0.1 * pulled * np.sin(k), 0.2 * pulled, pulled))
            sim.change_wrench(self.push, force=(0.0, 0.1 - pulled, 0.0), torque=(0.0, 1e-5 * k, 0.0))
        if k % 20 == 0:
            sim.move_target(self.spring, (0.2, 0.1 * np.cos(k), 0.3))
        if k % 24 == 0:
            sim.set_motor(self.motor, position=0.3 * np.cos(k), stiffness=1e-3, damping=1e-4)
        if k in (60, 180):
            sim.pin_active(self.pinned)
        elif k == 120:
            sim.unpin(self.pinned)


KINDS = {"quasi_statics": lambda: Loaded("molecule"), "adaptive_dynamics": Driven}
STEP = {"quasi_statics": H, "adaptive_dynamics": 1e-3}  # [s]


def simulation(kind="quasi_statics"):
    return KINDS[kind]()


def wave(loaded):
    return lambda sim: loaded.change(sim.steps_done)


def simulate(path, checkpoint_every_s=0.05, callback=None, force=False, kind="quasi_statics"):
    loaded = simulation(kind)
    return run_simulation(
        loaded.sim, STEP[kind], STEPS, record=path, every=EVERY, on_step=wave(loaded), on_step_every=4, callback=callback,
        checkpoint_every_s=checkpoint_every_s, force=force,
    )  # fmt: skip


def go_on(path, checkpoint_every_s=0.05, callback=None, kind="quasi_statics"):
    loaded = simulation(kind)
    return resume_run(loaded.sim, path, on_step=wave(loaded), checkpoint_every_s=checkpoint_every_s, callback=callback)


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


KILLS, TORN = {"quasi_statics": 24, "adaptive_dynamics": 16}, 3  # at least so many, so many of them within a write


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
        [sys.executable, __file__, str(path), kind],
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


def _attempt(path, kind):
    """One life of the run: begins or goes on, saving as often as it can, until it is killed."""
    if path.exists():
        go_on(path, checkpoint_every_s=0.0, kind=kind)
    else:
        simulate(path, checkpoint_every_s=0.0, kind=kind)


FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.listdir", "os.scandir")


def _count_file_events(last=None):
    """Counts what this process asks of the file system from now on, and kills it at the event with number `last`."""
    counted = [0]

    def hook(event, arguments):
        if event in FILE_EVENTS:
            counted[0] += 1
            if counted[0] == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return counted


def _in_a_child(work, last_event=None, count_into=None):
    """Runs `work` in a forked process, which has everything compiled, and kills it at an event. True: it came to its end.

    No clock: a run dies at the same write on any machine. count_into: a file for the number of events.
    """
    child = os.fork()
    if child == 0:
        code = 1
        counted = _count_file_events(last_event)
        try:
            work()
            if count_into is not None:
                count_into.write_text(str(counted[0]))
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    if os.WEXITSTATUS(status):
        raise SystemExit("a run failed that nobody killed")
    return True


def _read_all(path):
    with Recording(path) as recording:
        for state in recording.states:
            assert np.isfinite(state.q).all()
        assert len(recording.steps) == len(recording)
        assert recording.steps.tolist() == list(range(0, EVERY * len(recording), EVERY))


def _is_torn(path):
    """Whether the kill struck within a write: a file under way, or arrays longer than what was committed."""
    committed = json.loads((path / "zarr.json").read_text())["attributes"]["committed"]["frames"]
    frames = [
        json.loads((path / name / "zarr.json").read_text())["shape"][0] for name in ("frames/time", "frames/step")
    ]
    reports = [json.loads(file.read_text())["shape"][0] for file in path.glob("reports/*/zarr.json")]
    return bool(list(path.rglob("*.partial"))) or max(frames + reports) > committed


def _nursery(path, kind):
    """Raises runs and kills them, KILLS times at least and until some kills struck within a write; prints how often."""
    kills = KILLS[kind]
    warm = simulation(kind)
    for k in (0, 60, 120):  # what is compiled here is compiled for all children
        warm.change(k)
        warm.sim.run(STEP[kind], 4)
    warm.sim.restore(warm.sim.checkpoint())
    rng = np.random.default_rng(8)
    count = path.with_name("events")
    _in_a_child(lambda: simulate(path.with_name("warm_up"), kind=kind), count_into=count)
    longest = int(count.read_text())  # events of a whole run: none lives longer
    killed, torn, finished = 0, 0, False
    while not finished:
        enough = killed >= kills and (torn >= TORN or killed >= 4 * kills)
        finished = _in_a_child(lambda: _attempt(path, kind), None if enough else int(rng.integers(1, longest + 1)))
        if finished and not enough:  # it came to its end before: once more, from the beginning
            shutil.rmtree(path)
            longest = max(1, 7 * longest // 10)
            finished = False
            continue
        killed += not finished
        if path.exists():
            _in_a_child(lambda: _read_all(path))
            torn += _is_torn(path)
        else:
            longest = 1 + 6 * longest // 5
    print(json.dumps({"kills": killed, "torn": torn}))


if __name__ == "__main__":
    _nursery(Path(sys.argv[1]), sys.argv[2])
