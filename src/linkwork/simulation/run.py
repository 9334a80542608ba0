"""The one loop: steps a simulation, moves the progress bar, records, saves checkpoints, calls back and stops cleanly.

Any simulation runs here that has `model`, `time`, `steps_done`, `state`, `step(h, n)`, `figures()`, `checkpoint()` and
`restore()`. Steps are taken in pieces whose ends depend on the course of the run, never on the clock: so a run that was
killed and resumed takes the same pieces as one that was not, and ends in the same bits.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from linkwork.core.checks import positive, whole
from linkwork.core.progress import progress_bar
from linkwork.errors import StateError
from linkwork.record.recorder import Recorder

FRAMES_BY_DEFAULT = 100  # in a run that does not say how many
LARGEST_PIECE = 200  # steps without a look at Ctrl-C, the bar and the clock
PIECE_JOINT_STEPS = 2_000_000  # joints times steps in such a piece: half a second of full steps
ADAPTIVE_COST = 4  # of a joint in an adaptive step, in joints of a full one; roughly
CHECKPOINT_EVERY = 10.0  # [s] of the wall clock

Callback = Callable[[Any, Any], object]


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run between two steps; everything so far is kept.

    report: of the last step, None before the first; steps_done: of the simulation; path: of the recording, if there is one.
    """

    def __init__(self, report: Any, steps_done: int, path: Path | None):
        self.report, self.steps_done, self.path = report, steps_done, path
        kept = f"; recorded in '{path}', resume to go on" if path else ""
        super().__init__(f"stopped after step {steps_done}{kept}")


def run_simulation(
    sim: Any,
    steps: int,
    h: float,
    *,
    record: str | Path | Recorder | None = None,
    every: int = 0,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every_s: float = CHECKPOINT_EVERY,
    on_step: Callable[[Any], object] | None = None,
    on_step_every: int = 1,
    force: bool = False,
    label: str | None = None,
) -> Any:
    """Runs `steps` steps of h [s] and returns the last report.

    record: a path or a Recorder; every: steps between frames and callbacks (0: the recorder's, or about 100 in the run).
    callback(sim, report): after every frame; a true result stops the run.
    progress: None shows a bar on a terminal and in a notebook.
    on_step(sim): before every `on_step_every` steps, to set loads that change with time.
    force: replace an existing recording. Ctrl-C ends the piece under way, keeps everything and raises RunInterrupted,
    unless that piece was the last; a second one interrupts at once.
    """
    steps, every = whole(steps, 1, "the number of steps"), whole(every, 0, "every")
    h = positive(h, "h")
    recorder = None if record is None else _recorder(record, every, force)
    if every == 0 and recorder is not None:
        every = recorder.every
    every = every or max(1, round(steps / FRAMES_BY_DEFAULT))
    run = {"start": sim.steps_done, "target": sim.steps_done + steps, "h": h, "every": every}
    run["on_step_every"] = whole(on_step_every, 1, "on_step_every")
    if recorder is not None:

        def first(recorder: Recorder) -> None:
            if len(recorder) == 0:
                recorder.append(sim.time, sim.steps_done, sim.state, sim.figures())
            recorder.checkpoint(sim.checkpoint(), run)

        if recorder.has_begun:
            if sim.steps_done < recorder.last_step:
                raise StateError(
                    f"recording '{recorder.path}' ends at step {recorder.last_step}, the simulation stands at step "
                    f"{sim.steps_done}; go on with lw.resume_run, or restore(recorder.saved) first."
                )
            first(recorder)
        else:
            recorder.begin(sim.model, {**settings_of(sim), "h": h, "steps": steps, "every": every}, first)
    loop = _Loop(sim, run, recorder, callback, on_step, checkpoint_every_s)
    return loop.go(progress, label, close=not isinstance(record, Recorder))


def resume_run(
    sim: Any,
    record: str | Path | Recorder,
    *,
    steps: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every_s: float = CHECKPOINT_EVERY,
    on_step: Callable[[Any], object] | None = None,
    label: str | None = None,
) -> Any:
    """Goes on with a run that was killed or interrupted, from its last checkpoint; returns the last report.

    sim: made as for the run that is resumed, with the same loads; its state is replaced by the checkpoint's.
    steps: of the whole run, if it is to become longer or shorter than it was meant to be.
    Returns None when nothing is left to do.
    """
    recorder = record if isinstance(record, Recorder) else Recorder.resume(record)
    try:
        run = dict(recorder.run)
        if not {"start", "target", "h", "every", "on_step_every"} <= set(run):
            raise StateError(
                f"the checkpoint in '{recorder.path}' was not made by a run; restore(recorder.saved) by hand."
            )
        sim.restore(recorder.saved)
        if steps is not None:
            run["target"] = run["start"] + whole(steps, 1, "the number of steps")  # type: ignore[operator]
    except BaseException:
        recorder.close("interrupted")
        raise
    loop = _Loop(sim, run, recorder, callback, on_step, checkpoint_every_s)
    return loop.go(progress, label, close=not isinstance(record, Recorder))


class Runs:
    """Gives a simulation its `run`."""

    def run(
        self,
        steps: int,
        h: float,
        *,
        record: str | Path | Recorder | None = None,
        every: int = 0,
        callback: Callback | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> Any:
        """Many steps of h [s], shown, recorded and looked at as they go; returns the last report.

        record: a path or a Recorder. every: steps between two frames and calls of the callback (0: about 100 in the run).
        callback: called with the simulation and its report; a true result stops the run.
        progress: show a bar; by default on a terminal and in a notebook. options: see `run_simulation`.
        """
        return run_simulation(
            self, steps, h, record=record, every=every, callback=callback, progress=progress, **options
        )


class _Loop:
    def __init__(
        self,
        sim: Any,
        run: dict[str, Any],
        recorder: Recorder | None,
        callback: Callback | None,
        on_step: Callable[[Any], object] | None,
        checkpoint_every_s: float,
    ):
        self.sim, self.run, self.recorder = sim, run, recorder
        self.callback, self.on_step, self.checkpoint_every_s = callback, on_step, checkpoint_every_s
        self.report: Any = None
        self.saved_at = time.monotonic()

    def go(self, progress: bool | None, label: str | None, close: bool) -> Any:
        """The whole run; `close`: the recording belongs to it."""
        status = "failed"  # unless it comes to an end that it knows
        try:
            with _interrupts() as interrupted, self._bar(progress, label) as bar:
                status = self._steps(interrupted, bar)
            if self.recorder is not None and status != "failed":
                self._save()
        finally:
            if self.recorder is not None:
                if close:
                    self.recorder.close(status)
                else:
                    self.recorder.flush()
        if status == "interrupted":
            raise RunInterrupted(self.report, self.sim.steps_done, self.recorder.path if self.recorder else None)
        return self.report

    def _steps(self, interrupted: list[bool], bar: Callable[[int, str], None]) -> str:
        sim, start, target = self.sim, self.run["start"], self.run["target"]
        began, first = time.monotonic(), sim.steps_done
        while sim.steps_done < target:
            if self.on_step is not None and (sim.steps_done - start) % self.run["on_step_every"] == 0:
                self.on_step(sim)
            self.report = sim.step(self.run["h"], self._piece(sim.steps_done - start, target - start))
            self.run["work_a_step"] = work_a_step(sim, self.report)
            done = sim.steps_done - start
            seconds = max(time.monotonic() - began, 1e-9)
            bar(done, _note(self.report, (sim.steps_done - first) / seconds))
            at_frame = done % self.run["every"] == 0 or sim.steps_done >= target
            if at_frame and self._frame():
                return "stopped"
            if interrupted and sim.steps_done < target:
                return "interrupted"
            if self.recorder is not None and time.monotonic() - self.saved_at >= self.checkpoint_every_s:
                self._save()
        return "finished"

    def _piece(self, done: int, total: int) -> int:
        """Steps until the next frame, change of loads or end, whichever comes first; fewer where many joints are at work.

        How many are is noted in the run, and so in its checkpoints: a run that resumes takes the same pieces.
        """
        every, change = self.run["every"], self.run["on_step_every"]
        work = self.run.get("work_a_step", work_a_step(self.sim, None))
        piece = min(every - done % every, total - done, LARGEST_PIECE, max(1, PIECE_JOINT_STEPS // work))
        return piece if self.on_step is None else min(piece, change - done % change)

    def _frame(self) -> bool:
        """Records, then asks the callback whether to stop."""
        sim = self.sim
        if self.recorder is not None:
            self.recorder.append(sim.time, sim.steps_done, sim.state, sim.figures(), self.report)
        return self.callback is not None and bool(self.callback(sim, self.report))

    def _save(self) -> None:
        assert self.recorder is not None
        self.recorder.checkpoint(self.sim.checkpoint(), self.run)
        self.saved_at = time.monotonic()

    @contextmanager
    def _bar(self, progress: bool | None, label: str | None) -> Iterator[Callable[[int, str], None]]:
        total = self.run["target"] - self.run["start"]
        name = label or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self.sim).__name__).lower()
        with progress_bar(total, name, progress) as bar:
            yield bar


@contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """A list that the first Ctrl-C fills; the second interrupts as usual. Only the main thread hears signals."""
    heard: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None:  # somebody outside Python listens; leave it to them
        yield heard
        return

    def hear(number: int, frame: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(True)

    signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def work_a_step(sim: Any, report: Any) -> int:
    """Joints a step works on, in joints of a full step: all, or of an adaptive simulation what its last report says."""
    told = [getattr(report, name) for name in ("active_joints", "joints_computed") if hasattr(report, name)]
    return max(1, ADAPTIVE_COST * max(map(int, told)) if told else int(sim.model.n_bodies))


def settings_of(sim: Any) -> dict[str, Any]:
    """Kind and plain public settings of a simulation, for the recording; of the one inside, where another carries it."""
    if hasattr(sim, "sim"):
        return settings_of(sim.sim)
    plain = {
        name: value
        for name, value in vars(sim).items()
        if not name.startswith("_")
        and name not in ("time", "steps_done")
        and isinstance(value, bool | int | float | str | type(None))
    }
    return {"simulation": type(sim).__name__, **plain}


def _recorder(record: str | Path | Recorder, every: int, force: bool) -> Recorder:
    return record if isinstance(record, Recorder) else Recorder(record, every=every, force=force)


def _note(report: Any, rate: float) -> str:
    """Steps a second, joints at work and the proven bound, as far as the report knows them."""
    parts = [f"{rate:,.0f} steps/s"]
    for name, text in (
        ("active_joints", "{:,} active"),
        ("joints_computed", "{:,} joints"),
        ("error_bound", "bound {:.1e}"),
    ):
        value = getattr(report, name, None)
        if value is not None and not (name == "joints_computed" and hasattr(report, "active_joints")):
            parts.append(text.format(value))
    return ", ".join(parts)
