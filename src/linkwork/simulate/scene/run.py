"""run_scene: from a scene to a recording, and on from where a run was stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwork.errors import LinkworkError
from linkwork.record.recorder import Recorder
from linkwork.record.recording import Recording
from linkwork.running import CHECKPOINT_EVERY, RunInterrupted, resume_run, run_simulation
from linkwork.simulate.scene.scene import Scene, Settings
from linkwork.simulate.scene.settings import as_settings

Callback = Callable[[Any, Any], object]
LENGTH_KEYS = (("run", "steps"), ("run", "duration"))  # all that may change when a run goes on


def run_scene(
    scene: str | Path | Scene | None,
    out: str | Path | None = None,
    settings: Settings = (),
    resume: bool = False,
    force: bool = False,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> Any:
    """Runs a scene: a path, the name of a ready scene, or a Scene.

    out: folder of the recording, which is returned; without it nothing is kept and the last report is returned.
    settings: overrides such as {"method.tolerance": 1e-4}.
    resume: go on with the run in `out`; it needs no scene, since the recording holds scene and model. Of the settings only
    run.steps and run.duration may then be given.
    force: replace an existing recording. progress: None shows a bar on a terminal only.
    callback(sim, report): after every frame; a true result stops the run.
    checkpoint_every: time between checkpoints, from which a killed run can go on [s, by the clock on the wall].
    Raises RunInterrupted after Ctrl-C, with everything so far on disk.
    """
    how: dict[str, Any] = {"callback": callback, "progress": progress, "checkpoint_every_s": checkpoint_every}
    if resume:
        if out is None:
            raise LinkworkError("resuming needs the recording to go on with: give its folder (out=, --out).")
        return _resumed(Path(out), settings, how)
    if scene is None:
        raise LinkworkError("there is no scene to run: give a path or the name of a ready scene.")
    if isinstance(scene, Scene) and settings:
        raise LinkworkError("settings belong to reading a scene: Scene.read(path, settings=...).")
    found = scene if isinstance(scene, Scene) else Scene.read(scene, settings)
    how.update(every=found.every, label=found.name)
    if out is None:
        return run_simulation(found.build(), found.steps, found.h, **how)
    recorder = Recorder(out, every=found.every, force=force, metadata=found.metadata(), scene=found.text)
    sim = found.build()
    _closing(recorder, how, lambda how: run_simulation(sim, found.steps, found.h, record=recorder, **how))
    return Recording(out)


def _resumed(out: Path, settings: Settings, how: dict[str, Any]) -> Recording:
    scene = Scene.of_recording(Recording(out))
    steps = _new_length(scene, settings)
    recorder = Recorder.resume(out)
    try:
        sim = scene.build()
    except BaseException:
        recorder.close("interrupted")
        raise
    _closing(recorder, how, lambda how: resume_run(sim, recorder, steps=steps, label=scene.name, **how))
    return Recording(out)


def _new_length(scene: Scene, settings: Settings) -> int | None:
    """Steps of the whole run, if settings change them."""
    steps = None
    for setting in as_settings(settings):
        if setting.path not in LENGTH_KEYS:
            raise LinkworkError(
                f"--set {setting.words}: a run that goes on keeps its settings; only run.steps and run.duration may "
                "change. Run it anew for others."
            )
        if not isinstance(setting.value, int | float) or setting.value <= 0:
            raise LinkworkError(f"--set {setting.words}: the value must be a number > 0.")
        steps = int(setting.value) if setting.path[-1] == "steps" else round(setting.value / scene.h)
    return steps


def refuse_existing(out: str | Path, force: bool) -> None:
    """Refuses what a recorder would refuse, before a scene is read and built."""
    Recorder(out, force=force)


def _closing(recorder: Recorder, how: dict[str, Any], run: Callable[[dict[str, Any]], Any]) -> None:
    """Runs, and closes the recording with the word for how that ended."""
    given: Callback | None = how["callback"]
    status = "finished"

    def watch(sim: Any, report: Any) -> bool:
        nonlocal status
        wants_to_stop = given is not None and bool(given(sim, report))
        status = "stopped" if wants_to_stop else status
        return wants_to_stop

    try:
        run({**how, "callback": watch})
    except RunInterrupted:
        status = "interrupted"
        raise
    except BaseException:
        status = "failed"
        raise
    finally:
        recorder.close(status)
