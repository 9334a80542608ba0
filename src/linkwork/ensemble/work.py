"""What one run of a sweep does: a scene with settings, recorded or not; or a call of a Python function.

Works are sent to workers, so they hold plain data only. A run that fails is an outcome like any other; only what says
nothing about the run itself (a full disk, a folder that the worker cannot see) is raised.
"""

from __future__ import annotations

import errno
import inspect
import math
import os
import platform
import shutil
import time
import traceback
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.ensemble.axes import plain_value
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record.recording import Recording
from linkwork.record.scalars import numbers_of
from linkwork.record.store.lock import refuse_writer
from linkwork.scene.reading.settings import as_settings, override
from linkwork.scene.run import run_scene
from linkwork.scene.scene import Scene
from linkwork.simulation.protocol import Report, Simulation
from linkwork.simulation.run import run_simulation

DONE, FAILED = "done", "failed"
RESERVED = ("run", "seed", "status", "error", "version")  # columns that every table has
RUNS = "runs"  # folder of the recordings within a sweep's
WRITER_LEAVES = 120.0  # [s] a run waits for another writer of its recording: a worker that was given up and still lives
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


class SweepError(LinkworkError):
    """Something is wrong with the place of a sweep rather than with a run: the sweep stops, and can go on later."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to. Everything but `wall_s`, `where` and `trace` is the same wherever and whenever it runs."""

    run: int
    status: str
    results: dict[str, Any]
    error: str
    version: str
    wall_s: float = 0.0  # [s]
    where: str = ""
    trace: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class SceneWork:
    """Runs of a scene.

    given: the scene as a table; keys: by parameter, the setting it is; folder: where relative paths begin; out: folder of
    recordings, or None to keep only `results` (names, patterns, with reductions).
    """

    given: dict[str, Any]
    source: str
    name: str
    folder: str
    text: str | None
    keys: dict[str, str]
    seed_keys: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    out: str | None = None

    def scene(self, parameters: Mapping[str, Any], seed: int) -> Scene:
        settings = {self.keys[name]: value for name, value in parameters.items()}
        settings |= dict.fromkeys(self.seed_keys, seed)
        given, words = override(self.given, as_settings(settings))
        return Scene(given, self.source, self.folder, name=self.name, text=self.text, overridden=words)

    def warm(self, parameters: Mapping[str, Any], seed: int) -> None:
        """Calls every kernel of such a run once, so that they are compiled and on disk."""
        scene = self.scene(parameters, seed)
        sim = scene.build()
        Collector(sim).add(sim, sim.step(scene.h))
        sim.advance(scene.h)
        point_ends(sim.model, sim.state, scene.points())

    def __call__(self, run: int, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        scene = self.scene(parameters, seed)
        if self.out is None:
            sim = scene.build()
            collector = Collector(sim)
            run_simulation(sim, scene.h, scene.steps, every=scene.every, callback=collector.add, progress=False)
            return reduce_frames(collector.frames, self.results) | point_ends(sim.model, sim.state, scene.points())
        recording = _recorded(scene, recording_of(Path(self.out), run))
        with recording:
            found = reduce_frames(frames_of(recording), self.results)
            return found | point_ends(recording.model, recording.state(-1), scene.points())


def recording_of(out: Path, run: int) -> Path:
    return out / RUNS / f"{run:06d}"


def _recorded(scene: Scene, place: Path) -> Recording:
    """The finished recording of a run: found, brought to its end from its last checkpoint, or made."""
    if not place.parent.is_dir():
        raise SweepError(
            f"the worker on {platform.node()} does not see the folder '{place.parent}'; recordings need a folder that all "
            "workers share. Give such a folder, or keep scalars only (--keep scalars, keep='scalars')."
        )
    _wait_for_writer(place)
    if place.exists():
        try:
            recording = Recording(place)
            if recording.status != "finished":
                recording = run_scene(None, place, resume=True, progress=False)
            return recording
        except LinkworkError as error:
            if _is_disk_fault(error):
                raise
            shutil.rmtree(place)  # damaged, or fails: from its beginning, so that its error reads the same
    return run_scene(scene, place, progress=False)


def _wait_for_writer(place: Path) -> None:
    end = time.monotonic() + WRITER_LEAVES
    while True:
        try:
            return refuse_writer(place)
        except LinkworkError:
            if time.monotonic() > end:
                raise SweepError(f"another process has been writing '{place}' for {WRITER_LEAVES:.0f} s.") from None
            time.sleep(0.1)


@dataclass(frozen=True)
class FunctionWork:
    """Calls of a Python function with the parameters by name, and with `seed` if it has such an argument."""

    function: Callable[..., Any]
    takes_seed: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes_seed", "seed" in inspect.signature(self.function).parameters)

    def __call__(self, run: int, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        more = {"seed": seed} if self.takes_seed and "seed" not in parameters else {}
        return results_of(self.function(**parameters, **more), parameters)


Work = SceneWork | FunctionWork


def results_of(returned: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a function returned as columns: a table of numbers by name, or one number."""
    table = returned if isinstance(returned, Mapping) else {"result": returned}
    found = {}
    for name, value in table.items():
        if name in parameters or name in RESERVED:
            raise LinkworkError(f"the function returns '{name}', which is the name of another column; rename it.")
        is_float = isinstance(value, float | np.floating)  # NaN and infinity are results too
        found[str(name)] = float(value) if is_float else None if value is None else plain_value(value)
    return found


def perform(work: Work, run: int, parameters: Mapping[str, Any], seed: int) -> Outcome:
    """One run; its failure is an outcome."""
    began = time.perf_counter()
    results: dict[str, Any] = {}
    error = trace = ""
    try:
        results = work(run, parameters, seed)
    except SweepError:
        raise
    except Exception as found:
        if _is_disk_fault(found):
            raise SweepError(f"run {run}: {found}") from found
        error, trace = f"{type(found).__name__}: {found}", traceback.format_exc()
    where = f"{platform.node()}:{os.getpid()}"
    took = time.perf_counter() - began
    return Outcome(run, FAILED if error else DONE, results, error, linkwork_version(), took, where, trace)


def linkwork_version() -> str:
    import linkwork

    return linkwork.__version__


def _is_disk_fault(error: BaseException | None) -> bool:
    return any(isinstance(e, OSError) and e.errno in DISK_ERRORS for e in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# -------------------------------------------------------------------------------------------------------------- results

# Results of a run: each scalar and each number of its reports, reduced over the frames, and where points ended.
#
# A run that is recorded and one that is not have the same frames, and so the same results, bit for bit.


Frames = Mapping[str, Any]  # numbers over the frames of a run by name; NaN where a frame has none

REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "min": min,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
}


class Collector:
    """Gathers the numbers of a run that is not recorded, frame by frame, as a recording would."""

    def __init__(self, sim: Simulation):
        self.frames: dict[str, array[float]] = {}
        self._count = 0
        self.add(sim, None)

    def add(self, sim: Simulation, report: Report | None) -> None:
        numbers = {**numbers_of(report), **sim.scalars()}
        for name, value in numbers.items():
            if name not in self.frames:
                self.frames[name] = array("d", [math.nan]) * self._count
            self.frames[name].append(float(value))
        self._count += 1
        for values in self.frames.values():
            if len(values) < self._count:
                values.append(math.nan)


def frames_of(recording: Recording) -> Frames:
    """The same of a recording."""
    return {**recording.reports, **recording.scalars}


def reduce_frames(frames: Frames, wanted: Sequence[str]) -> dict[str, float]:
    """One number per result. wanted: names or patterns, with .first, .last, .min, .max or .mean; all last ones without."""
    found: dict[str, float] = {}
    for words in wanted or sorted(frames):
        name, _, reduction = words.rpartition(".")
        if not name or reduction not in REDUCTIONS:
            name, reduction = words, "last"
        names = sorted(frames)
        chosen = matching(name, names)
        if not chosen:
            raise LinkworkError(f"the run has no result '{name}'{did_you_mean_or_list(name, names)}")
        for k in chosen:
            values = [float(value) for value in frames[names[k]] if not math.isnan(value)]
            column = names[k] if reduction == "last" else f"{names[k]}.{reduction}"
            found[column] = REDUCTIONS[reduction](values) if values else math.nan
    return found


def point_ends(model: Model, state: State, points: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Where the points of [record] ended [m], as point_0.x, point_0.y, ..."""
    found: dict[str, float] = {}
    poses = None
    for k, point in enumerate(points):
        poses = body_poses(model, state) if poses is None else poses
        body, pose = model.frame(point["body"])
        at = np.array(pose.apply([float(x) for x in point["at"]]))
        world = poses[body, :3, :3] @ at + poses[body, :3, 3] if body >= 0 else at
        found |= {f"point_{k}.{axis}": float(x) for axis, x in zip("xyz", world, strict=True)}
    return found
