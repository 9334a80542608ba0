"""Captured motion → joint torques, powers and ground force, by inverse dynamics.

linkwork mocap walk.bvh
linkwork mocap walk.bvh --csv torques.csv --plot
linkwork mocap walk.asf motion=walk.amc --plot walk.png --from 0.5 --to 2.5
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.cli.exit_codes import DONE
from linkwork.cli.mechanism import find_mechanism
from linkwork.cli.screen import beside, console, refuse_existing, short, table, working, written_whole
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.model.linkage import Linkage
    from linkwork.model.motion import Motion
    from linkwork.scenarios.motion import MotionAnalysis

NAME = "mocap"
SUMMARY = "torques, powers and ground force of a captured motion"

REST_POSE = "a rest pose, not motion"  # what the importer says of a first frame that is none


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a BVH file, or an ASF file with motion=FILE.amc")
    parser.add_argument("settings", metavar="name=value", nargs="*", help="unit=, mass=, up=, motion=, frame_time=")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="write forces, torques and powers of every frame")
    parser.add_argument("--plot", metavar="FILE", type=Path, nargs="?", const=Path(), help="draw them (FILE.png)")
    parser.add_argument("--feet", metavar="NAME", nargs=2, help="the left and the right foot, if names do not tell")
    parser.add_argument("--window", metavar="S", type=float, default=0.25, help="span of the smoothing [s] (0.25)")
    parser.add_argument("--from", metavar="S", dest="start", type=float, default=0.0, help="begin here [s]")
    parser.add_argument("--to", metavar="S", dest="stop", type=float, default=math.inf, help="end here [s]")
    parser.add_argument("--force", action="store_true", help="replace existing files")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.scenarios.motion import analyse_motion, smooth_motion
    from linkwork.scenarios.motion.tables import save_motion_plot, write_csv

    source = Path(arguments.file)
    picture = None if arguments.plot is None else arguments.plot if arguments.plot.name else beside(source, ".png")
    for out in filter(None, (arguments.csv, picture)):
        refuse_existing(out, arguments.force)
    with working(f"reading {arguments.file}"):
        figure = find_mechanism(arguments.file, arguments.settings)
        model = figure.compile()
    motion = _chosen(figure, arguments.start, arguments.stop)
    feet = None if arguments.feet is None else (arguments.feet[0], arguments.feet[1])
    with working("smoothing the motion"):
        smooth = smooth_motion(model, motion.coordinates(model), motion.frame_time, window=arguments.window)
    with working("inverse dynamics"):
        analysis = analyse_motion(model, smooth, feet)
    _tell(analysis)
    if arguments.csv is not None:
        with written_whole(arguments.csv) as partial:
            columns = write_csv(analysis, partial)
        print(f"{motion.frames} frames, {columns} columns: written to '{short(arguments.csv)}'")
    if picture is not None:
        with working("drawing"), written_whole(picture) as partial:
            save_motion_plot(analysis, partial, f"{figure.name}, {motion.frames * motion.frame_time:.2f} s")
        print(f"drawn to '{short(picture)}'")
    return DONE


def _chosen(figure: Linkage, start: float, stop: float) -> Motion:
    """The frames asked for, without a rest pose in front."""
    motion = figure.motion
    if motion is None:
        raise LinkworkError(
            f"'{figure.name}' has no recorded motion; mocap reads a BVH file, or an ASF file with motion=FILE.amc."
        )
    if not (math.isfinite(start) and start >= 0.0 and stop > start):
        raise LinkworkError(f"--from {start:g} --to {stop:g} is not a span of time.")
    skipped = int(any(REST_POSE in warning for warning in figure.warnings))
    first = max(skipped, round(start / motion.frame_time))
    last = motion.frames if math.isinf(stop) else min(motion.frames, round(stop / motion.frame_time) + 1)
    return motion.cut(first, last)


def _tell(analysis: MotionAnalysis) -> None:
    from linkwork.scenarios.motion.tables import JOINTS, SIDES, leg_joints

    model, times = analysis.model, analysis.motion.times
    mass = float(model.mass.sum())
    weight = mass * float(np.linalg.norm(model.gravity))
    inner = slice(len(times) // 20, len(times) - len(times) // 20)  # polynomials at the very ends hang in the air
    rows = [
        ("frames", f"{len(times)} at {1.0 / (times[1] - times[0]):.4g} Hz, {times[-1]:.3f} s"),
        ("mass", f"{mass:.4g} kg"),
        ("feet", ", ".join(analysis.support.feet)),
        ("upward force", _span(analysis.reaction[inner, 2] / weight, "of the weight")),
        ("both feet carry", f"{float((analysis.shares.min(axis=1) > 0.05).mean()):.0%} of the time"),
    ]
    joints = leg_joints(model)
    for joint in JOINTS:
        for side, _ in SIDES:
            name = joints.get((joint, side))
            if name is not None:
                torque = float(np.linalg.norm(analysis.effort(name)[inner], axis=1).max())
                power = _span(analysis.power(name)[inner] / mass, "W/kg")
                rows.append((f"{side} {joint} ({name})", f"torque up to {torque / mass:.2f} N·m/kg, power {power}"))
    console().print(table(model.name, ("what", "value"), rows, left=2))


def _span(values: np.ndarray, unit: str) -> str:
    return f"{values.min():.2f} to {values.max():.2f} {unit}"
