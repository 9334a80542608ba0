"""Runs a scene and keeps what happens: a file, or one of the scenes that come with Linkwork.

linkwork run --list
linkwork run snake_robot
linkwork run my_scene.toml --set method.tolerance=1e-4 --out out/fine
linkwork run snake_robot --no-record         only the numbers; needs no extra
linkwork run my_scene.toml --resume          after Ctrl-C, or after the machine went down
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.cli.exit_codes import DONE, INTERRUPTED
from linkwork.cli.screen import console, count, seconds, table, working
from linkwork.core.units import unit
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.record.recording import Recording
    from linkwork.scene import Scene

NAME = "run"
SUMMARY = "run a scene and record it"

OUT = Path("out")  # folder of recordings for which no place was chosen


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scene", metavar="SCENE", nargs="?", help="a scene file, or the name of a built-in scene")
    parser.add_argument("--set", metavar="key=value", action="append", default=[], help="override a key of the scene")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the recording (out/NAME of the scene)")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was stopped")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    parser.add_argument("--no-record", action="store_true", help="keep nothing: run, and print what it came to")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")
    parser.add_argument("--list", action="store_true", help="list the built-in scenes")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.scene.builtin_scenes import find_scene, scene_titles

    if arguments.list:
        console().print(table("built-in scenes", ("name", "what one sees"), list(scene_titles().items()), left=2))
        return DONE
    if arguments.resume and arguments.force:
        raise LinkworkError("--resume goes on with a recording and --force replaces it; choose one.")
    if arguments.scene is None and not (arguments.resume and arguments.out):
        raise LinkworkError("run needs a scene; `linkwork run --list` shows those that come with Linkwork.")
    if arguments.no_record:
        if arguments.resume or arguments.force or arguments.out is not None:
            raise LinkworkError("--no-record keeps nothing: leave out --out, --resume and --force, or record.")
        return _run_only(arguments)
    if arguments.out is not None:
        out = arguments.out
    elif arguments.resume and not _is_scene(arguments.scene):
        out = OUT / Path(arguments.scene).stem  # the file may be gone: the recording holds all it needs
    else:
        out = OUT / find_scene(arguments.scene).stem
    return _resume(arguments, out) if arguments.resume else _start(arguments, out)


def _is_scene(scene: str) -> bool:
    from linkwork.scene.builtin_scenes import find_scene

    try:
        find_scene(scene)
    except LinkworkError:
        return False
    return True


def _start(arguments: argparse.Namespace, out: Path) -> int:
    from linkwork.scene import Scene
    from linkwork.scene.run import refuse_existing, run_scene

    refuse_existing(out, arguments.force)  # before anything is computed
    with working(f"reading {arguments.scene}"):
        scene = Scene.read(arguments.scene, arguments.set)
    _announce(arguments, scene)
    return _go(arguments, out, lambda progress: run_scene(scene, out, force=arguments.force, progress=progress))


def _run_only(arguments: argparse.Namespace) -> int:
    """Without a recording, and so without what recordings need."""
    from linkwork.scene import Scene
    from linkwork.simulation.run import run_simulation
    from linkwork.simulation.run_loop import RunInterrupted

    with working(f"reading {arguments.scene}"):
        scene = Scene.read(arguments.scene, arguments.set)
    _announce(arguments, scene)
    began = time.perf_counter()
    sim = scene.build()
    try:
        run_simulation(sim, scene.h, scene.steps, every=scene.every, label=scene.name, progress=_progress(arguments))
    except RunInterrupted as stop:
        print(f"linkwork: stopped after step {count(stop.steps_done)}; nothing was recorded.", file=sys.stderr)
        return INTERRUPTED
    if not arguments.quiet:
        took = seconds(time.perf_counter() - began)
        print(f"{count(sim.steps_done)} steps, {sim.time:.6g} {_seconds(scene)} simulated; this run took {took}")
        for name, value in sim.scalars().items():
            print(f"  {name.replace('_', ' ')}: {value:.6g}")
    return DONE


def _progress(arguments: argparse.Namespace) -> bool | None:
    return False if arguments.quiet else None


def _announce(arguments: argparse.Namespace, scene: Scene) -> None:
    if not arguments.quiet:
        joints = f"{count(scene.model.n_bodies)} bodies, {count(scene.model.nv)} degrees of freedom"
        print(f"{scene.title}: {joints}, {count(scene.steps)} steps of {scene.h:g} {_seconds(scene)}")


def _seconds(scene: Scene) -> str:
    """The unit of time of a scene."""
    return unit("s", scene.units)


def _resume(arguments: argparse.Namespace, out: Path) -> int:
    from linkwork.record.recording import Recording
    from linkwork.scene import run_scene

    if not out.exists():
        raise LinkworkError(
            f"there is no recording '{out}' to go on with; name it with --out, or run without --resume."
        )
    if not arguments.quiet:
        before = Recording(out)
        at = f"{before.times[-1]:g} {before.units.get('s', 's')}" if len(before) else "its start"
        print(f"{before.metadata.get('title', out)}: going on from {at}")
    # The file may be gone, and then the recording is enough; one that is there must be the recorded one.
    scene = arguments.scene if arguments.scene and _is_scene(arguments.scene) else None
    return _go(arguments, out, lambda progress: run_scene(scene, out, arguments.set, resume=True, progress=progress))


def _go(arguments: argparse.Namespace, out: Path, work: Any) -> int:
    from linkwork.simulation.run_loop import RunInterrupted

    began = time.perf_counter()
    try:
        recording = work(_progress(arguments))
    except RunInterrupted as stop:
        name = f"{arguments.scene} " if arguments.scene else ""
        print(
            f"linkwork: stopped after step {count(stop.steps_done)}; everything so far is in '{out}'.\n"
            f"Go on with: linkwork run {name}--out {out} --resume",
            file=sys.stderr,
        )
        return INTERRUPTED
    if not arguments.quiet:
        for line in summary(recording, time.perf_counter() - began):
            print(line)
    return DONE


def summary(recording: Recording, took: float) -> list[str]:
    """What a run came to, in a few lines."""
    size = sum(file.stat().st_size for file in recording.path.rglob("*") if file.is_file())
    steps = int(recording.steps[-1])
    simulated = f"{recording.times[-1]:.6g} {recording.units.get('s', 's')} simulated"
    return [
        f"{count(steps)} steps, {simulated}; this run took {seconds(took)}",
        *_scalar_lines(recording),
        f"{count(len(recording))} frames, {size / 1e6:.3g} MB in '{recording.path}'; look at them with: "
        f"linkwork plot {os.fspath(recording.path)}",
    ]


def _scalar_lines(recording: Recording) -> list[str]:
    """Energy, joints at work and the error bound, as far as the method has them."""
    known = {**recording.reports, **recording.scalars}
    lines, J = [], recording.units.get("J", "J")
    energy = _finite(known.get("energy"))
    if energy.size > 1:
        kinetic = _finite(known.get("kinetic_energy"))
        most = f", kinetic energy up to {kinetic.max():.4g} {J}" if kinetic.size else ""
        lines.append(f"energy {energy[0]:.6g} {J} at the start, {energy[-1]:.6g} {J} at the end{most}")
    parts = []
    for name, words in (("n_active", "active joints"), ("n_computed", "joints computed per step")):
        values = _finite(known.get(name))
        if values.size:
            parts.append(f"{words} {values.mean():,.0f} on average, {values.max():,.0f} at most")
    bound = _finite(known.get("error_bound"))
    if bound.size:
        parts.append(f"error bound {bound.max():.2g} at most")
    return lines + (["; ".join(parts)] if parts else [])


def _finite(values: Any) -> Any:
    array = np.asarray([] if values is None else values, dtype=float)
    return array[np.isfinite(array)]
