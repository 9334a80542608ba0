"""The one loop that runs simulations: chunks, interrupts, the bar and its note, notebooks, loads that are due."""

from __future__ import annotations

import copy
import signal
import sys
import types
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.layout import DOF
from linkwork.record import Recording
from linkwork.simulation.protocol import Report, RunReport
from linkwork.simulation.reporting.extremes import fastest
from linkwork.simulation.run import Runnable, resume_run, run_simulation
from linkwork.simulation.run_loop import CHUNK_JOINT_STEPS

zarr = pytest.importorskip("zarr", reason="the extra `record` is not installed")


def test_progress_off_the_terminal_does_not_spam(tmp_path, capfd):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    run_simulation(sim, 1e-3, 400, every=1, progress=True)
    shown = capfd.readouterr().err
    assert "steps/s" in shown
    assert "bound" in shown
    assert len(shown.splitlines()) <= 5
    run_simulation(sim, 1e-3, 400, every=1)
    assert capfd.readouterr().err == ""


@dataclass(frozen=True)
class Work(Report):
    joints: int
    error_bound: float = 2.5e-4

    def note(self):
        return f"{self.joints:,} active, bound {self.error_bound:.1e}"


@dataclass(frozen=True)
class Plain(Report):
    energy: float = 0.0


class Counter(Runnable):
    """Stands in for a simulation: counts its steps and the chunks they come in."""

    def __init__(self, joints, report):
        self.work_per_step = joints
        self.model = lw.library.chain(joints=3).compile() if joints == 3 else types.SimpleNamespace(n_bodies=joints)
        self.report, self.chunks = report, []
        self.time, self.steps_done = 0.0, 0

    @property
    def state(self):
        return lw.State(np.zeros(3), np.zeros(3))

    def scalars(self):
        return {}

    def settings(self):
        return {"simulation": "Counter"}

    def step(self, h, n=1):
        self.chunks.append(n)
        self.steps_done += n
        self.time = self.steps_done * h
        report = self.report(self.steps_done)
        if isinstance(report, Work):
            self.work_per_step = report.joints
        return report

    def checkpoint(self):
        return {"steps_done": self.steps_done}

    def restore(self, saved):
        self.steps_done = saved["steps_done"]


def test_chunks_are_short_where_steps_are_long():
    """A run looks at Ctrl-C after so many steps that they take about a second, however large the linkage is."""
    largest = []
    for joints in (100, 50_000, 1_000_000, 10_000_000):
        sim = Counter(joints, lambda k: Plain())
        run_simulation(sim, 1e-3, 1000, every=1000)
        assert sum(sim.chunks) == 1000
        largest.append(max(sim.chunks))
        assert largest[-1] == 1 or largest[-1] * joints <= CHUNK_JOINT_STEPS
    assert largest == sorted(largest, reverse=True)
    assert largest[0] > 100 > largest[-1]
    few = Counter(1_000_000, lambda k: Work(8000))  # as soon as it is known how few joints move
    run_simulation(few, 1e-3, 1000, every=1000)
    many = Counter(1_000_000, lambda k: Work(400_000))
    run_simulation(many, 1e-3, 1000, every=1000)
    assert sum(few.chunks) == sum(many.chunks) == 1000
    assert few.chunks[0] == many.chunks[0] == largest[2]
    assert few.chunks[1] > 10 * many.chunks[1] > 10 * largest[2]


def test_a_resumed_run_takes_the_same_chunks(tmp_path, monkeypatch):
    """Chunks follow the joints at work, which a run that resumes has not seen: they stand in its checkpoint."""
    monkeypatch.setattr("linkwork.simulation.run_loop.CHUNK_JOINT_STEPS", 60)

    def busy(k):
        return Work(12 + 4 * (k % 7))

    whole, first, second = (Counter(3, busy) for _ in range(3))
    run_simulation(whole, 1e-3, 60, every=20)
    run_simulation(
        first, 1e-3, 60, every=20, record=tmp_path / "run", callback=lambda sim, report: sim.steps_done == 20
    )
    resume_run(second, tmp_path / "run")
    assert len(set(whole.chunks)) > 2
    assert first.chunks + second.chunks == whole.chunks


def test_a_run_interrupted_in_its_last_chunk_is_complete(tmp_path):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)

    def press(sim, report):
        if sim.steps_done == 40:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    report = run_simulation(sim, 1e-3, 40, every=20, record=tmp_path / "run", callback=press)
    assert report.last.error_bound >= 0.0
    assert Recording(tmp_path / "run").status == "finished"
    assert Recording(tmp_path / "run").steps.tolist() == [0, 20, 40]
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_note_beside_the_bar(monkeypatch):
    """Steps per second, then what the report has to say."""
    notes = []

    @contextmanager
    def bar(total, label, show):
        yield lambda done, note: notes.append((done, total, label, note))

    clock = iter([100.0, 102.0, 104.0, *[104.0] * 9])
    monkeypatch.setattr("linkwork.simulation.run_loop.progress_bar", bar)
    monkeypatch.setattr("linkwork.simulation.run_loop.time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    run_simulation(Counter(3, lambda k: Work(1234)), 1e-3, 400, every=400, label="pull")
    assert notes[0] == (200, 400, "pull", "100 steps/s, 1,234 active, bound 2.5e-04")
    assert notes[1][3] == "100 steps/s, 1,234 active, bound 2.5e-04"
    notes.clear()
    clock = iter([0.0, 0.1, *[0.2] * 9])
    run_simulation(Counter(3, lambda k: Plain()), 1e-3, 200, every=200)
    assert notes == [(200, 200, "counter", "2,000 steps/s")]


class Notebook:
    """Stands in for an IPython kernel, and keeps what it was asked to display."""

    def __init__(self, monkeypatch, kernel=True):
        self.shown = []
        shell = types.SimpleNamespace(kernel=object()) if kernel else types.SimpleNamespace()
        ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython = lambda: shell
        display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, bundle, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(bundle["text/plain"])
        return self

    def update(self, bundle, raw):
        assert raw
        self.shown.append(bundle["text/plain"])


def test_a_notebook_shows_the_bar(monkeypatch, capfd):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr("linkwork.core.messages.progress.REFRESH", 0.0)
    run_simulation(Counter(3, lambda k: Work(7)), 1e-3, 400, every=100, label="pull")
    assert [line.split()[2] for line in notebook.shown] == [
        "0/400",
        "100/400",
        "200/400",
        "300/400",
        "400/400",
        "400/400",
    ]
    assert "7 active, bound 2.5e-04" in notebook.shown[-1]
    assert notebook.shown[0].count("█") == 0
    assert notebook.shown[2].count("█") == notebook.shown[2].count("░")
    assert notebook.shown[-1].count("░") == 0
    assert "0:00:00" in notebook.shown[-1]  # nothing remains
    notebook.shown.clear()
    run_simulation(Counter(3, lambda k: Work(7)), 1e-3, 400, progress=False)
    assert notebook.shown == []
    assert capfd.readouterr().err == ""


def test_a_notebook_is_not_flooded(monkeypatch):
    notebook = Notebook(monkeypatch)
    run_simulation(Counter(3, lambda k: Plain()), 1e-3, 2000, every=1)
    assert 2 <= len(notebook.shown) <= 20
    assert "2,000/2,000" in notebook.shown[-1]


def test_ipython_at_a_terminal_is_not_a_notebook(monkeypatch, capfd):
    notebook = Notebook(monkeypatch, kernel=False)
    run_simulation(Counter(3, lambda k: Plain()), 1e-3, 200)
    assert notebook.shown == []
    assert capfd.readouterr().err == ""


def test_a_run_says_what_it_did(tmp_path):
    """What was asked and done, how long it took, the reports of its ends."""
    sim = Counter(3, lambda k: Plain(energy=float(k)))
    report = run_simulation(sim, 1e-3, 60, every=20, record=tmp_path / "run")
    assert (report.status, report.h, report.steps_asked, report.steps) == ("finished", 1e-3, 60, 60)
    assert report.time == pytest.approx(0.06)
    assert 0.0 < report.wall_time < 60.0
    assert report.path == tmp_path / "run"
    assert (report.first, report.last) == (Plain(20.0), Plain(60.0))
    stopped = sim.run(1e-3, 60, every=20, callback=lambda sim, report: sim.steps_done >= 80)
    assert (stopped.status, stopped.steps_asked, stopped.steps, stopped.path) == ("stopped", 60, 20, None)
    assert isinstance(stopped, RunReport)
    assert copy.deepcopy(stopped) == stopped


@pytest.mark.parametrize("kind", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_run_knows_its_extremes(kind):
    """Energy and fastest joint of every step, from outside, against what the report says."""
    model = lw.library.chain(6).compile()
    start = model.random_state(3)
    options = {} if kind is lw.FullDynamics else {"max_active_joints": 3}
    sim, again = kind(model, start, **options), kind(model, start, **options)
    report = sim.run(2e-4, 40, every=1)
    energies, kinetic = [again.energy.total], [again.energy.kinetic]
    speeds = [np.abs(again.state.v)]
    for _ in range(40):
        again.step(2e-4)
        energies.append(again.energy.total)
        kinetic.append(again.energy.kinetic)
        speeds.append(np.abs(again.state.v))
    quickest = max(speeds, key=np.max)
    assert (report.lowest_energy, report.highest_energy) == (min(energies), max(energies))
    drift = max(abs(energy - energies[0]) for energy in energies)
    assert drift > 0.0
    assert report.energy_drift == pytest.approx(drift / max(kinetic))
    assert report.largest_speed == quickest.max()
    assert model.joint_names[int(quickest.argmax())] == report.fastest_joint  # one degree of freedom per joint
    assert f"fastest: {report.fastest_joint!r}" in repr(report)
    for word in ("energy_drift", "lowest_energy", "highest_energy", "largest_speed", "fastest_joint"):
        assert word in report._repr_html_()


def test_extremes_of_a_run_at_rest_and_of_one_that_has_none():
    model = lw.library.chain(3).compile()
    still = lw.FullDynamics(model, lw.settle(model, model.state()).state).run(1e-3, 2)
    assert still.largest_speed >= 0.0
    assert still.lowest_energy <= still.highest_energy
    assert lw.QuasiStatics(model, model.state()).run(1e-3, 2).energy_drift is None
    plain = run_simulation(Counter(3, lambda k: Plain()), 1e-3, 3)
    assert (plain.energy_drift, plain.lowest_energy, plain.largest_speed, plain.fastest_joint) == (None,) * 4


def test_the_fastest_joint_is_found_among_joints_of_any_kind():
    """Welds have no speed, and joints of several degrees of freedom several."""
    linkage = lw.Linkage("mixed")
    parent = "world"
    for k, joint in enumerate([lw.Fixed(), lw.Spherical(), lw.Fixed(), lw.Revolute((0, 0, 1)), lw.Free(), lw.Fixed()]):
        linkage.add_body(f"b{k}", parent, joint, lw.Pose((0.1, 0, 0)), lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        parent = f"b{k}"
    model = linkage.compile(merge_fixed=False)
    tree = model.arrays.tree
    owner = np.repeat(np.arange(model.n_bodies), tree[:, DOF])
    for d in range(model.nv):
        v = np.full(model.nv, 0.25)
        v[d] = -2.0
        assert fastest(tree, v) == (2.0, owner[d])
    assert fastest(tree, np.zeros(model.nv)) == (0.0, -1)
    assert fastest(tree[:0], np.zeros(0)) == (0.0, -1)


def test_a_run_with_nothing_left_to_do_says_so(tmp_path):
    run_simulation(Counter(3, lambda k: Plain()), 1e-3, 40, record=tmp_path / "run")
    report = resume_run(Counter(3, lambda k: Plain()), tmp_path / "run")
    assert (report.status, report.steps, report.first, report.last) == ("finished", 0, None, None)


def test_a_run_closes_the_recorder_it_is_given_if_asked(tmp_path):
    def broken(k):
        if k > 10:
            raise lw.StateError("too far")
        return Plain()

    for name, sim, callback, status in (
        ("finished", Counter(3, lambda k: Plain()), None, "finished"),
        ("stopped", Counter(3, lambda k: Plain()), lambda sim, report: True, "stopped"),
        ("failed", Counter(3, broken), None, "failed"),
    ):
        recorder = lw.Recorder(tmp_path / name)
        with pytest.raises(lw.StateError, match="too far") if status == "failed" else nullcontext():
            run_simulation(sim, 1e-3, 40, every=10, record=recorder, callback=callback, close=True)
        assert Recording(tmp_path / name).status == status
        with pytest.raises(lw.LinkworkError, match="closed"):
            recorder.flush()
    with lw.Recorder(tmp_path / "open") as recorder:
        run_simulation(Counter(3, lambda k: Plain()), 1e-3, 40, record=recorder)
        recorder.flush()  # still open


def test_a_recorder_that_stays_open_says_what_its_last_run_came_to(tmp_path):
    def broken(k):
        if k > 50:
            raise lw.StateError("too far")
        return Plain()

    recorder = lw.Recorder(tmp_path / "run")
    sim = Counter(3, broken)
    during = []

    def look(sim, report):
        recorder.flush()
        during.append(Recording(tmp_path / "run").status)
        return sim.steps_done == 20

    run_simulation(sim, 1e-3, 10, every=5, record=recorder)  # as in README: nobody closes it
    assert Recording(tmp_path / "run").status == "finished"
    run_simulation(sim, 1e-3, 30, every=5, record=recorder, callback=look)
    assert set(during) == {"running"}
    assert Recording(tmp_path / "run").status == "stopped"
    recorder.append(1.0, 21, sim.state)  # not of a run: it goes on
    recorder.flush()
    assert Recording(tmp_path / "run").status == "running"
    recorder.close()
    assert Recording(tmp_path / "run").status == "finished"

    def press(sim, report):
        signal.raise_signal(signal.SIGINT)

    for name, status, callback, error in (
        ("stopped", "stopped", lambda sim, report: True, None),
        ("interrupted", "interrupted", press, lw.RunInterrupted),
        ("failed", "failed", None, lw.StateError),
    ):
        with pytest.raises(error) if error else nullcontext(), lw.Recorder(tmp_path / name) as recorder:
            run_simulation(Counter(3, broken), 1e-3, 80, every=10, record=recorder, callback=callback)
        assert Recording(tmp_path / name).status == status


@pytest.mark.parametrize("kind", ["full", "adaptive", "quasi_statics"])
def test_advance_is_step_without_a_report(kind):
    model = lw.library.chain(joints=6).compile()
    classes = {"full": lw.FullDynamics, "adaptive": lw.AdaptiveDynamics, "quasi_statics": lw.QuasiStatics}
    stepped, advanced = (classes[kind](model, model.state([0.2] * 6)) for _ in range(2))
    assert stepped.work_per_step == 6
    assert isinstance(stepped.step(1e-3, 20), Report)
    assert advanced.advance(1e-3, 20) is None
    assert stepped.state.q.tobytes() == advanced.state.q.tobytes()
    assert (stepped.time, stepped.steps_done) == (advanced.time, advanced.steps_done)
    settings = stepped.settings()
    assert (settings.pop("simulation"), settings.pop("units")) == (classes[kind].__name__, model.units)
    assert all(settings[name] == getattr(stepped, name) for name in settings)


def test_loads_are_set_when_they_are_due():
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    due, frames = [], []
    run_simulation(
        sim, 1e-3, 20, every=6, on_step=lambda sim: due.append(sim.steps_done), on_step_every=4,
        callback=lambda sim, report: frames.append(sim.steps_done),
    )  # fmt: skip
    assert due == [0, 4, 8, 12, 16]
    assert frames == [6, 12, 18, 20]


def test_about_a_hundred_frames_by_default(tmp_path):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    sim.run(1e-4, 1234, record=tmp_path / "run")
    assert 95 <= len(Recording(tmp_path / "run")) <= 110
