"""The one loop that runs simulations: pieces, interrupts, the bar and its note, notebooks, loads that are due."""

from __future__ import annotations

import signal
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

import linkwork as lw
from linkwork.record import Recording
from linkwork.simulation.run import LARGEST_PIECE, PIECE_JOINT_STEPS, resume_run, run_simulation, work_a_step

zarr = pytest.importorskip("zarr", reason="the extra `record` is not installed")


def test_progress_off_the_terminal_does_not_spam(tmp_path, capfd):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    run_simulation(sim, 400, 1e-3, every=1, progress=True)
    shown = capfd.readouterr().err
    assert "steps/s" in shown
    assert "bound" in shown
    assert len(shown.splitlines()) <= 5
    run_simulation(sim, 400, 1e-3, every=1)
    assert capfd.readouterr().err == ""


@dataclass(frozen=True)
class Work:
    active_joints: int
    joints_computed: int
    error_bound: float = 2.5e-4


@dataclass(frozen=True)
class Plain:
    energy: float = 0.0


class Counter:
    """Stands in for a simulation: counts its steps and the pieces they come in."""

    def __init__(self, joints, report):
        self.model = lw.library.chain(joints=3).compile() if joints == 3 else types.SimpleNamespace(n_bodies=joints)
        self.report, self.pieces = report, []
        self.time, self.steps_done = 0.0, 0

    @property
    def state(self):
        return lw.State(np.zeros(3), np.zeros(3))

    def figures(self):
        return {}

    def step(self, h, n=1):
        self.pieces.append(n)
        self.steps_done += n
        self.time = self.steps_done * h
        return self.report(self.steps_done)

    def checkpoint(self):
        return {"steps_done": self.steps_done}

    def restore(self, saved):
        self.steps_done = saved["steps_done"]


def test_pieces_are_short_where_steps_are_long():
    """A run looks at Ctrl-C after so many steps that they take about a second, however large the linkage is."""
    for joints, piece in ((100, LARGEST_PIECE), (50_000, 40), (1_000_000, 2), (10_000_000, 1)):
        sim = Counter(joints, lambda k: Plain())
        run_simulation(sim, 1000, 1e-3, every=1000)
        assert set(sim.pieces) == {piece}
        assert piece == 1 or piece * joints <= PIECE_JOINT_STEPS
    few = Counter(1_000_000, lambda k: Work(100, 2000))  # as soon as it is known how few joints move
    run_simulation(few, 1000, 1e-3, every=1000)
    assert few.pieces == [2, 200, 200, 200, 200, 198]
    many = Counter(1_000_000, lambda k: Work(100_000, 0))
    run_simulation(many, 100, 1e-3, every=1000)
    assert many.pieces == [2, *[5] * 19, 3]
    assert work_a_step(few, Work(0, 0)) == 1


def test_a_resumed_run_takes_the_same_pieces(tmp_path, monkeypatch):
    """Pieces follow the joints at work, which a run that resumes has not seen: they stand in its checkpoint."""
    monkeypatch.setattr("linkwork.simulation.run.PIECE_JOINT_STEPS", 60)

    def busy(k):
        return Work(3 + k % 7, 0)

    whole, first, second = (Counter(3, busy) for _ in range(3))
    run_simulation(whole, 60, 1e-3, every=20)
    run_simulation(
        first, 60, 1e-3, every=20, record=tmp_path / "run", callback=lambda sim, report: sim.steps_done == 20
    )
    resume_run(second, tmp_path / "run")
    assert len(set(whole.pieces)) > 2
    assert first.pieces + second.pieces == whole.pieces


def test_a_run_interrupted_in_its_last_piece_is_complete(tmp_path):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)

    def press(sim, report):
        if sim.steps_done == 40:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    report = run_simulation(sim, 40, 1e-3, every=20, record=tmp_path / "run", callback=press)
    assert report.error_bound >= 0.0
    assert Recording(tmp_path / "run").status == "finished"
    assert Recording(tmp_path / "run").steps.tolist() == [0, 20, 40]
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_note_beside_the_bar(monkeypatch):
    """Steps a second, joints at work, the bound: from the report, and only what it knows."""
    notes = []

    @contextmanager
    def bar(total, label, show):
        yield lambda done, note: notes.append((done, total, label, note))

    clock = iter([100.0, 100.0, 102.0, 104.0, *[104.0] * 9])
    monkeypatch.setattr("linkwork.simulation.run.progress_bar", bar)
    monkeypatch.setattr("linkwork.simulation.run.time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    run_simulation(Counter(3, lambda k: Work(1234, 99)), 400, 1e-3, every=400, label="pull")
    assert notes[0] == (200, 400, "pull", "100 steps/s, 1,234 active, bound 2.5e-04")
    assert notes[1][3] == "100 steps/s, 1,234 active, bound 2.5e-04"
    notes.clear()
    clock = iter([0.0, 0.0, 0.1, *[0.2] * 9])
    report = types.SimpleNamespace(joints_computed=5678, error_bound=1e-3)
    run_simulation(Counter(3, lambda k: report), 200, 1e-3, every=200)
    assert notes == [(200, 200, "counter", "2,000 steps/s, 5,678 joints, bound 1.0e-03")]
    notes.clear()
    clock = iter([0.0, 0.0, 0.1, *[0.2] * 9])
    run_simulation(Counter(3, lambda k: Plain()), 200, 1e-3, every=200)
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
    monkeypatch.setattr("linkwork.core.progress.REFRESH", 0.0)
    run_simulation(Counter(3, lambda k: Work(7, 9)), 400, 1e-3, every=100, label="pull")
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
    run_simulation(Counter(3, lambda k: Work(7, 9)), 400, 1e-3, progress=False)
    assert notebook.shown == []
    assert capfd.readouterr().err == ""


def test_a_notebook_is_not_flooded(monkeypatch):
    notebook = Notebook(monkeypatch)
    run_simulation(Counter(3, lambda k: Plain()), 2000, 1e-3, every=1)
    assert 2 <= len(notebook.shown) <= 20
    assert "2,000/2,000" in notebook.shown[-1]


def test_ipython_at_a_terminal_is_no_notebook(monkeypatch, capfd):
    notebook = Notebook(monkeypatch, kernel=False)
    run_simulation(Counter(3, lambda k: Plain()), 200, 1e-3)
    assert notebook.shown == []
    assert capfd.readouterr().err == ""


def test_loads_are_set_when_they_are_due():
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    due, frames = [], []
    run_simulation(
        sim, 20, 1e-3, every=6, on_step=lambda sim: due.append(sim.steps_done), on_step_every=4,
        callback=lambda sim, report: frames.append(sim.steps_done),
    )  # fmt: skip
    assert due == [0, 4, 8, 12, 16]
    assert frames == [6, 12, 18, 20]


def test_about_a_hundred_frames_by_default(tmp_path):
    model = lw.library.chain(joints=10).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    sim.run(1234, 1e-4, record=tmp_path / "run")
    assert 95 <= len(Recording(tmp_path / "run")) <= 110
