"""The one loop over the steps of a run: in chunks, with frames, checkpoints, a progress bar and callbacks between them.

Steps are taken in chunks whose ends depend on the course of the run, never on the clock: so a run that was killed and
resumed takes the same chunks as one that was not, and ends in the same state.
"""

from __future__ import annotations

import re
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from linkwork.core.checks import flag, function, not_negative, shown
from linkwork.core.messages.progress import progress_bar
from linkwork.core.messages.warning import warn_user
from linkwork.errors import StateError
from linkwork.record.recorder import Recorder
from linkwork.simulation.protocol import Callback, Report, RunReport, Sensing, Simulation
from linkwork.simulation.reporting.extremes import Extremes

LARGEST_CHUNK = 200  # steps without a look at Ctrl-C, the bar and the clock
CHUNK_JOINT_STEPS = 2_000_000  # joints times steps in such a chunk: half a second of full steps
CHECKPOINT_EVERY = 10.0  # [s] of the wall clock

OnStep = Callable[[Any], object]
_advised: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # simulations whose cost was reported


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run between two steps; everything so far is kept.

    report: of the last step, None before the first; steps_done: of the simulation; path: of the recording, if there is one.
    """

    def __init__(self, report: Report | None, steps_done: int, path: Path | None):
        self.report, self.steps_done, self.path = report, steps_done, path
        where = f"; recorded in '{path}', resume to go on" if path else ""
        super().__init__(f"stopped after step {steps_done}{where}")


@dataclass(frozen=True)
class RunOptions:
    """What happens beside the steps of a run, and of one that is resumed.

    callback(sim, report): after every frame; a true result stops the run.
    progress: None shows a bar on a terminal and in a notebook; label: its name.
    checkpoint_every_s: [s] of the wall clock between checkpoints in the recording.
    on_step(sim): before every `on_step_every` steps of the run, to set loads that change with time.
    close: whether to close the recording at the end; by default where it is a path. Its status is what the run came to.
    sensors: `lw.Sensors(sim)`, read on the way and recorded.
    """

    callback: Callback | None = None
    progress: bool | None = None
    checkpoint_every_s: float = CHECKPOINT_EVERY
    on_step: OnStep | None = None
    close: bool | None = None
    label: str | None = None
    sensors: Sensing | None = None

    def refuse_strange(self, sim: Simulation) -> None:
        """Before anything is written or moved."""
        for given, name in ((self.callback, "callback"), (self.on_step, "on_step")):
            if given is not None:
                function(given, name)
        not_negative(self.checkpoint_every_s, "checkpoint_every_s")
        for value, what in ((self.progress, "progress"), (self.close, "close")):
            if value is not None:
                flag(value, what)
        if self.sensors is not None and not hasattr(self.sensors, "steps_to_next"):
            raise StateError(f"sensors is {shown(self.sensors)}; give lw.Sensors(sim, ...), or None.")
        if self.sensors is not None and getattr(self.sensors, "sim", sim) is not sim:
            raise StateError("these sensors belong to another simulation; make them with lw.Sensors(sim, ...).")

    def closes(self, record: object) -> bool:
        return not isinstance(record, Recorder) if self.close is None else self.close


def acting(sim: Simulation) -> dict[str, Any]:
    """Efforts on joints by source, and contacts, of simulations that have them."""
    known = {"efforts": "_recorded_efforts", "contacts": "contact_rows"}
    return {name: getattr(sim, found)() for name, found in known.items() if hasattr(sim, found)}


class Loop:
    """One run of a simulation, or the rest of one: `run` says where it began and ends, and what comes when on the way."""

    def __init__(self, sim: Simulation, run: dict[str, Any], recorder: Recorder | None, options: RunOptions):
        self.sim, self.run, self.recorder, self.options = sim, run, recorder, options
        self.sensors, self.callback, self.on_step = options.sensors, options.callback, options.on_step
        self.first: Report | None = None
        self.last: Report | None = None
        self.begun_at = self.saved_at = time.monotonic()
        self.begun_step, self.begun_time = sim.steps_done, sim.time
        self.extremes = Extremes(sim)

    def go(self, close: bool, interrupted: list[bool]) -> RunReport:
        """The whole run; `close`: the recording belongs to it; interrupted: filled by Ctrl-C."""
        status = "failed"  # unless it comes to a regular end
        try:
            with self._bar() as bar:
                status = self._steps(interrupted, bar)
            if self.recorder is not None and status != "failed":
                self._save()
        finally:
            if self.recorder is not None:
                if close:
                    self.recorder.close(status)
                else:
                    self.recorder.flush(status)
        if status == "interrupted":
            raise RunInterrupted(self.last, self.sim.steps_done, self.recorder.path if self.recorder else None)
        return self._report(status)

    def _report(self, status: str) -> RunReport:
        return RunReport(
            status=status,
            h=self.run["h"],
            steps_asked=max(0, self.run["target"] - self.begun_step),
            steps=self.sim.steps_done - self.begun_step,
            time=self.sim.time - self.begun_time,
            wall_time=time.monotonic() - self.begun_at,
            path=self.recorder.path if self.recorder else None,
            first=self.first,
            last=self.last,
            advice=self._advice(),
            sensors=None if self.sensors is None else self.sensors.read(),
            units=getattr(self.sim, "units", {}),
            **self.extremes.numbers(),
        )

    def _advice(self) -> str:
        """What would make the run faster, said once per simulation where that is much."""
        found = getattr(self.sim, "advice_on_cost", None)
        words = str(found()) if found is not None else ""
        if words and id(self.sim) not in _advised:
            _advised[id(self.sim)] = self.sim
            warn_user(words)
        return words

    def _steps(self, interrupted: list[bool], bar: Callable[[int, str], None]) -> str:
        sim, start, target = self.sim, self.run["start"], self.run["target"]
        if sim.steps_done < target:
            self.extremes.begin(sim)
        while sim.steps_done < target:
            if self.on_step is not None and (sim.steps_done - start) % self.run["on_step_every"] == 0:
                self.on_step(sim)
            move = sim.step if self.sensors is None else self.sensors.chunk
            self.last = move(self.run["h"], self._chunk(sim.steps_done - start, target - start))
            self.first = self.first or self.last
            self.extremes.sample()
            self.run["work_per_step"] = sim.work_per_step
            done = sim.steps_done - start
            bar(done, self._note())
            at_frame = done % self.run["every"] == 0 or sim.steps_done >= target
            if at_frame and self._frame():
                return "stopped"
            if interrupted and sim.steps_done < target:
                return "interrupted"
            if self.recorder is not None and time.monotonic() - self.saved_at >= self.options.checkpoint_every_s:
                self._save()
        return "finished"

    def _note(self) -> str:
        """Steps per second, and what the report has to say."""
        seconds = max(time.monotonic() - self.begun_at, 1e-9)
        rate = f"{(self.sim.steps_done - self.begun_step) / seconds:,.0f} steps/s"
        more = self.last.note() if self.last is not None else ""
        return f"{rate}, {more}" if more else rate

    def _chunk(self, done: int, total: int) -> int:
        """Steps until the next frame, change of loads or end, whichever comes first; fewer where many joints are at work.

        How many are is noted in the run, and so in its checkpoints: a run that resumes takes the same chunks.
        """
        every, change = self.run["every"], self.run["on_step_every"]
        work = max(1, self.run.get("work_per_step", self.sim.work_per_step))
        chunk = min(every - done % every, total - done, LARGEST_CHUNK, max(1, CHUNK_JOINT_STEPS // work))
        if self.sensors is not None:
            chunk = min(chunk, self.sensors.steps_to_next())
        return chunk if self.on_step is None else min(chunk, change - done % change)

    def _frame(self) -> bool:
        """Records, then asks the callback whether to stop."""
        sim = self.sim
        if self.recorder is not None:
            more = acting(sim)
            if self.sensors is not None:
                more["samples"] = self.sensors.fresh()
            self.recorder.append(sim.time, sim.steps_done, sim.state, sim.scalars(), self.last, **more)
        return self.callback is not None and bool(self.callback(sim, self.last))

    def _save(self) -> None:
        assert self.recorder is not None
        more = self.sensors.checkpoint() if self.sensors is not None else {}
        self.recorder.checkpoint(self.sim.checkpoint(), {**self.run, **more})
        self.saved_at = time.monotonic()

    @contextmanager
    def _bar(self) -> Iterator[Callable[[int, str], None]]:
        total = self.run["target"] - self.run["start"]
        name = self.options.label or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self.sim).__name__).lower()
        with progress_bar(total, name, self.options.progress) as bar:
            yield bar


@contextmanager
def interrupts() -> Iterator[list[bool]]:
    """A list that the first Ctrl-C fills; the second interrupts as usual. Only the main thread receives signals."""
    seen: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None:  # a handler outside Python is set; leave it alone
        yield seen
        return

    def note(number: int, frame: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(True)

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
