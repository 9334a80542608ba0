"""run_scene: from a scene to a recording, and on from where a run was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.core.checks import as_path, flag
from linkwork.errors import LinkworkError
from linkwork.record.recorder import Recorder
from linkwork.record.recording import Recording
from linkwork.scene.builtin_scenes import find_scene
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.plain import plain
from linkwork.scene.reading.schema import RUN, check_length
from linkwork.scene.reading.settings import Settings, as_settings
from linkwork.scene.scene import Scene, read_text, scene_steps
from linkwork.simulation.protocol import Callback
from linkwork.simulation.run import resume_run, run_simulation
from linkwork.simulation.run_loop import CHECKPOINT_EVERY

LENGTH_KEYS = (("run", "steps"), ("run", "duration"))  # all that may change when a run goes on


def run_scene(
    scene: str | Path | Scene | None,
    out: str | Path,
    settings: Settings = (),
    resume: bool = False,
    force: bool = False,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> Recording:
    """Runs a scene (a path, the name of a built-in scene, or a Scene) and returns its recording.

    out: folder of the recording. `Scene.run` runs without one.
    settings: overrides such as {"method.tolerance": 1e-4}.
    resume: go on with the run in `out`; it needs no scene, since the recording holds scene and model, and refuses another
    than the recorded one. Of the settings only run.steps and run.duration may then be given.
    force: replace an existing recording. progress: None shows a bar on a terminal and in a notebook.
    callback(sim, report): after every frame; a true result stops the run.
    checkpoint_every: time between checkpoints, from which a killed run can go on [s of wall time].
    Raises RunInterrupted after Ctrl-C, with everything so far on disk.
    """
    how: dict[str, Any] = {
        "callback": callback,
        "progress": progress,
        "checkpoint_every_s": checkpoint_every,
        "close": True,  # the run closes the recording, with the status it came to
    }
    if flag(resume, "resume"):
        return _resumed(scene, as_path(out, "a run"), settings, how)
    if scene is None:
        raise LinkworkError("there is no scene to run: give a path or the name of a built-in scene.")
    if isinstance(scene, Scene) and settings:
        raise LinkworkError("settings belong to reading a scene: Scene.read(path, settings=...).")
    found = scene if isinstance(scene, Scene) else Scene.read(scene, settings)
    recorder = Recorder(out, every=found.every, force=force, metadata=found.metadata(), scene=found.text)
    sim = found.build()
    how |= {"every": found.every, "label": found.name, "sensors": found.sensors(sim)}
    run_simulation(sim, found.h, found.steps, record=recorder, **how)
    return Recording(out)


def _resumed(given: str | Path | Scene | None, out: Path, settings: Settings, how: dict[str, Any]) -> Recording:
    recording = Recording(out)
    scene = Scene.of_recording(recording)
    if given is not None:
        _refuse_other(given, scene, recording)
    steps = _new_length(scene, settings)
    recorder = Recorder.resume(out)
    try:
        sim = scene.build()
        sensors = scene.sensors(sim)
    except BaseException:
        recorder.close("interrupted")
        raise
    resume_run(sim, recorder, steps=steps, label=scene.name, sensors=sensors, **how)
    return Recording(out)


def _refuse_other(given: str | Path | Scene, recorded: Scene, recording: Recording) -> None:
    """A scene named beside a recording must be the one it was made from. A file says nothing of settings."""
    if isinstance(given, Scene):
        name, same = given.name, given.given == recorded.given
    else:
        name, same = str(given), read_text(find_scene(given)) == recording.scene
    if not same:
        raise LinkworkError(
            f"'{recording.path}' was not recorded from the scene '{name}' as it is now. To go on with the recorded one "
            f"leave '{name}' out (linkwork run --out {recording.path} --resume); to run '{name}' anew use --force "
            "(force=True) instead of --resume, or another --out."
        )


def _new_length(scene: Scene, settings: Settings) -> int | None:
    """Steps of the whole run, if settings change them; by the rules of the scene's own keys."""
    wanted = as_settings(settings)
    for setting in wanted:
        if setting.path not in LENGTH_KEYS:
            raise LinkworkError(
                f"--set {setting.words}: a run that goes on keeps its settings; only run.steps and run.duration may "
                "change. Run it anew for others."
            )
    faults = Faults(scene.source, settings={setting.path: setting.words for setting in wanted})
    run: dict[str, Any] = {"h": scene.h}
    for setting in wanted:
        key = str(setting.path[-1])
        value = plain(setting.value, setting.path, faults)
        if value is not None:
            run[key] = RUN[key].check(value, setting.path, faults)
    faults.raise_all()
    check_length(run, faults)
    if "steps" in run and "duration" in run:
        faults.add(("run", "steps"), "a run has 'duration' or 'steps'; give one of them.")
    faults.raise_all()
    return scene_steps(run) if len(run) > 1 else None


def refuse_existing(out: str | Path, force: bool) -> None:
    """Refuses what a recorder would refuse, before a scene is read and built."""
    Recorder(out, force=force)
