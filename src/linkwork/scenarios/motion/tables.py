"""A motion's analysis as rows of numbers, and as one picture."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.extras import needed
from linkwork.importers.mocap.body_segments import segment_of, side_of
from linkwork.model.model import Model
from linkwork.scenarios.motion.efforts import MotionAnalysis

SIDES = (("left", "#1f4e8c"), ("right", "#c8502d"))
JOINTS = ("hip", "knee", "ankle")  # where thigh, shank and foot begin
SEGMENTS = ("thigh", "shank", "foot")


def write_csv(analysis: MotionAnalysis, path: str | Path) -> int:
    """Time, ground forces, centre of pressure, shares, efforts and powers of every frame; returns the columns written."""
    names, columns = table_columns(analysis)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([f"{x:.9g}" for x in row] for row in np.stack(columns, axis=1))
    return len(names)


def table_columns(analysis: MotionAnalysis) -> tuple[list[str], list[FloatArray]]:
    """Names with units, and a column of shape (frames,) for each."""
    feet = analysis.support.feet
    named: list[tuple[str, FloatArray]] = [("time [s]", analysis.motion.times)]
    for k, axis in enumerate("xyz"):
        named.append((f"ground force {axis} [N]", analysis.reaction[:, k]))
    for f, foot in enumerate(feet):
        named += [(f"force on {foot} {axis} [N]", analysis.feet_forces[:, f, k]) for k, axis in enumerate("xyz")]
        named.append((f"share of {foot}", analysis.shares[:, f]))
    named += [(f"centre of pressure {axis} [m]", analysis.pressure[:, k]) for k, axis in enumerate("xy")]
    model = analysis.model
    for i, joint in enumerate(model.joint_names):
        rows = model.v_slice(i)
        size = rows.stop - rows.start
        unit = "N·m" if size != 6 else "N·m, N"
        ends = [""] if size == 1 else [f" {k}" for k in range(size)]
        named += [
            (f"effort {joint}{end} [{unit}]", analysis.efforts[:, rows.start + k]) for k, end in enumerate(ends) if size
        ]
        if size:
            named.append((f"power {joint} [W]", analysis.powers[:, rows].sum(axis=1)))
    return [name for name, _ in named], [column for _, column in named]


def leg_joints(model: Model) -> dict[tuple[str, str], str]:
    """Hip, knee and ankle of both legs by (joint, side): where thigh, shank and foot begin."""
    found: dict[tuple[str, str], str] = {}
    for i, body in enumerate(model.body_names):
        segment, side = segment_of(body), side_of(body)
        if segment in SEGMENTS and side and model.joints[i].nv:
            found.setdefault((JOINTS[SEGMENTS.index(segment)], side), model.joint_names[i])
    return found


def save_motion_plot(analysis: MotionAnalysis, path: str | Path, title: str) -> None:
    """Ground force, torques and powers of the legs over time, each over the body's mass. Needs the extra `plots`."""
    message = "drawing needs matplotlib; install it with: pip install '.[plots]'"
    needed("matplotlib", message).use("Agg")
    plt = needed("matplotlib.pyplot", message)
    joints = leg_joints(analysis.model)
    shown = [joint for joint in JOINTS if any((joint, side) in joints for side, _ in SIDES)]
    figure, axes = plt.subplots(1 + len(shown), 2, figsize=(10, 2.3 * (1 + len(shown))), sharex=True, squeeze=False)
    mass, times = float(analysis.model.mass.sum()), analysis.motion.times
    _draw_ground(axes[0], analysis, mass * float(np.linalg.norm(analysis.model.gravity)))
    for row, joint in zip(axes[1:], shown, strict=True):
        for side, color in SIDES:
            name = joints.get((joint, side))
            if name is not None:
                size = np.linalg.norm(analysis.effort(name), axis=1)
                row[0].plot(times, size / mass, color=color, label=f"{side} {joint}")
                row[1].plot(times, analysis.power(name) / mass, color=color, label=f"{side} {joint}")
        row[0].set_ylabel("|torque| [N·m/kg]", fontsize=9)
        row[1].set_ylabel("power [W/kg]", fontsize=9)
    for k, one in enumerate(axes.flat):
        one.grid(alpha=0.25)
        one.legend(fontsize=8, loc="upper right", framealpha=0.85)
        if k >= 2 * len(shown):
            one.set_xlabel("time [s]", fontsize=9)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_ground(axes: Any, analysis: MotionAnalysis, weight: float) -> None:
    times = analysis.motion.times
    axes[0].plot(times, analysis.reaction[:, 2] / weight, color="#888888", linestyle="--", label="both feet")
    for k, (side, color) in enumerate(SIDES):
        axes[0].plot(times, analysis.feet_forces[:, k, 2] / weight, color=color, label=f"{side} foot")
        level = np.linalg.norm(analysis.feet_forces[:, k, :2], axis=1)
        axes[1].plot(times, level / weight, color=color, label=f"{side} foot")
    axes[0].set_ylabel("upward ground force / weight", fontsize=9)
    axes[1].set_ylabel("level ground force / weight", fontsize=9)
