"""Runs of a simulation: begun, recorded, resumed, and `run` of every simulation. The steps are made by `run_loop`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from linkwork.core.checks import flag, integer, positive
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.errors import StateError
from linkwork.record.recorder import Recorder
from linkwork.simulation.protocol import Callback, RunReport, Sensing, Simulation
from linkwork.simulation.run_loop import CHECKPOINT_EVERY, Loop, OnStep, RunOptions, acting, interrupts

if TYPE_CHECKING:
    from linkwork.derivatives.runs import GradientRun

FRAMES_BY_DEFAULT = 100  # in a run that does not say how many


def run_simulation(
    sim: Simulation,
    h: float,
    steps: int,
    /,
    *,
    record: str | Path | Recorder | None = None,
    every: int = 0,
    on_step_every: int = 1,
    force: bool = False,
    **options: Any,
) -> RunReport:
    """Runs `steps` steps of h [s] and says what they did.

    record: a path or a Recorder; every: steps between frames and callbacks (0: the recorder's, or about 100 in the run).
    force: replace an existing recording. options: those of `RunOptions`.
    Ctrl-C ends the chunk of steps under way, keeps everything and raises RunInterrupted, unless that chunk was the last;
    a second one interrupts at once.
    """
    h, steps = positive(h, "h"), integer(steps, 1, "the number of steps")
    every = integer(every, 0, "every")
    _refuse_unknown(options)
    how = RunOptions(**options)
    how.refuse_strange(sim)
    recorder = record if record is None or isinstance(record, Recorder) else Recorder(record, every=every, force=force)
    if every == 0 and recorder is not None:
        every = recorder.every
    every = every or max(1, round(steps / FRAMES_BY_DEFAULT))
    run = {"start": sim.steps_done, "target": sim.steps_done + steps, "h": h, "every": every}
    run["on_step_every"] = integer(on_step_every, 1, "on_step_every")
    with interrupts() as interrupted:  # from the first frame on
        if recorder is not None:
            _begin(sim, recorder, run, how.closes(record), how.sensors)
        return Loop(sim, run, recorder, how).go(how.closes(record), interrupted)


def _refuse_unknown(options: dict[str, Any]) -> None:
    """Refuses options that runs do not have, and says which they have."""
    known = [field.name for field in fields(RunOptions)]
    for name in options.keys() - set(known):
        known = ["h", "n", "record", "every", "on_step_every", "force", "gradients", *known]
        raise StateError(f"a run has no option '{name}'{did_you_mean_or_list(name, known, len(known), cutoff=0.7)}")


def _begin(
    sim: Simulation, recorder: Recorder, run: dict[str, Any], close: bool, sensors: Sensing | None = None
) -> None:
    """The first frame and the first checkpoint of a run."""

    def first(recorder: Recorder) -> None:
        if len(recorder) == 0:
            recorder.append(sim.time, sim.steps_done, sim.state, sim.scalars(), **acting(sim))
        recorder.checkpoint(sim.checkpoint(), {**run, **(sensors.checkpoint() if sensors is not None else {})})

    if not recorder.has_begun:
        about: dict[str, Any] = {"h": run["h"], "steps": run["target"] - run["start"], "every": run["every"]}
        if sensors is not None:
            about["sensors"] = sensors.description()
        recorder.begin(sim.model, {**sim.settings(), **about}, first)
        return
    if sensors is not None and recorder.settings.get("sensors") != sensors.description():
        if close:
            recorder.close("failed")
        raise StateError(
            f"recording '{recorder.path}' has begun without these sensors; let the run begin it, or give it a path."
        )
    if sim.steps_done < recorder.last_step:
        if close:
            recorder.close("failed")
        raise StateError(
            f"recording '{recorder.path}' ends at step {recorder.last_step}, the simulation stands at step "
            f"{sim.steps_done}; go on with lw.resume_run, or restore(recorder.saved) first."
        )
    first(recorder)


def resume_run(
    sim: Simulation,
    record: str | Path | Recorder,
    *,
    steps: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint_every_s: float = CHECKPOINT_EVERY,
    on_step: OnStep | None = None,
    close: bool | None = None,
    label: str | None = None,
    sensors: Sensing | None = None,
) -> RunReport:
    """Goes on with a run that was killed or interrupted, from its last checkpoint; says what this call did.

    sim: made as for the run that is resumed, with the same loads; its state is replaced by the checkpoint's.
    steps: of the whole run, if it is to become longer or shorter than it was meant to be.
    Other arguments as of `run_simulation`. Where nothing is left to do, the report counts no steps.
    """
    how = RunOptions(callback, progress, checkpoint_every_s, on_step, close, label, sensors)
    how.refuse_strange(sim)
    if steps is not None:
        integer(steps, 1, "the number of steps")
    recorder = record if isinstance(record, Recorder) else Recorder.resume(record)
    try:
        run = dict(recorder.run)
        if not {"start", "target", "h", "every", "on_step_every"} <= set(run):
            raise StateError(
                f"the checkpoint in '{recorder.path}' was not made by a run; restore(recorder.saved) by hand."
            )
        if (sensors.description() if sensors is not None else {}) != recorder.settings.get("sensors", {}):
            raise StateError(f"'{recorder.path}' was recorded with other sensors; give sensors= made in the same way.")
        sim.restore(recorder.saved)
        if sensors is not None:
            sensors.restore(run)
            run = {name: value for name, value in run.items() if name not in sensors.checkpoint()}
        if steps is not None:
            run["target"] = run["start"] + steps  # type: ignore[operator]
    except BaseException:
        recorder.close("interrupted")
        raise
    with interrupts() as interrupted:
        return Loop(sim, run, recorder, how).go(how.closes(record), interrupted)


class Runnable:
    """Gives a simulation its `run`."""

    @overload
    def run(
        self: Simulation,
        h: float,
        n: int,
        *,
        record: str | Path | Recorder | None = ...,
        every: int = ...,
        callback: Callback | None = ...,
        progress: bool | None = ...,
        sensors: Sensing | None = ...,
        gradients: Literal[False] = ...,
        **options: Any,
    ) -> RunReport: ...

    @overload
    def run(self: Simulation, h: float, n: int, *, gradients: Literal[True], **options: Any) -> GradientRun: ...

    def run(
        self: Simulation,
        h: float,
        n: int,
        *,
        record: str | Path | Recorder | None = None,
        every: int = 0,
        callback: Callback | None = None,
        progress: bool | None = None,
        sensors: Sensing | None = None,
        gradients: bool = False,
        **options: Any,
    ) -> RunReport | GradientRun:
        """Takes n steps of h [s]; shows progress, records frames and calls back between them.

        record: a path or a Recorder. every: steps between two frames and calls of the callback (0: about 100 in the run).
        callback: called with the simulation and its report; a true result stops the run.
        progress: show a bar; by default on a terminal and in a notebook. sensors: `lw.Sensors(sim)`, read on the way.
        options: see `RunOptions` and `run_simulation`.
        gradients: keep what the backward pass needs, as `lw.run_with_gradients` does; options are then its efforts and
        memory, and nothing is recorded.
        Returns a RunReport: what was asked and done, and the first and last report of the steps; with gradients a
        GradientRun, whose `backward` gives them.
        """
        if flag(gradients, "gradients"):
            given = {
                "record": record is not None,
                "every": every != 0,
                "callback": callback is not None,
                "sensors": sensors is not None,
            }
            others = [name for name, is_given in given.items() if is_given]
            others += [name for name in options if name not in ("efforts", "memory")]
            if others:
                raise StateError(
                    f"a run with gradients takes efforts= and memory=, not {others[0]}=; record another run of the same "
                    "simulation."
                )
            from linkwork.derivatives.runs import run_with_gradients

            return run_with_gradients(self, h, n, progress=progress, **options)
        how = {"callback": callback, "progress": progress, "sensors": sensors, **options}
        return run_simulation(self, h, n, record=record, every=every, **how)
