"""Drawings of a gait: phase portrait, energies, a strip of stick figures. Each draws into given matplotlib axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.scenarios.walker.gait import Sample, Step, Walker
from linkwork.scenarios.walker.limit_cycle import Gait

INK, PALE, RED = (0.1, 0.3, 0.6), (0.55, 0.65, 0.8), (0.75, 0.2, 0.15)
STICKS = 7  # stick figures per step


def draw_phase_portrait(axes: Any, steps: list[Step], gait: Gait | None = None) -> None:
    """Figure 10: angle of one leg against its rate, while it swings and while it supports, strikes as jumps."""
    ends: list[tuple[float, float]] = []
    for k, step in enumerate(steps):
        _, stance, swing, stance_rate, swing_rate, *_ = (np.array(column) for column in zip(*step.samples, strict=True))
        angle, rate = (stance, stance_rate) if k % 2 == 0 else (swing, swing_rate)
        axes.plot(angle, rate, color=PALE, linewidth=0.8)
        if ends:
            axes.plot([ends[-1][0], angle[0]], [ends[-1][1], rate[0]], color=PALE, linewidth=0.8, linestyle=":")
        ends.append((float(angle[-1]), float(rate[-1])))
    if gait is not None:
        _, stance, swing, stance_rate, swing_rate, *_ = (np.array(c) for c in zip(*gait.step.samples, strict=True))
        axes.plot(stance, stance_rate, color=INK, linewidth=2.0, label="supporting")
        axes.plot(swing, swing_rate, color=RED, linewidth=2.0, label="swinging")
        for a, b in (((stance, stance_rate), (swing, swing_rate)), ((swing, swing_rate), (stance, stance_rate))):
            axes.plot([a[0][-1], b[0][0]], [a[1][-1], b[1][0]], color="0.3", linewidth=1.0, linestyle=":")
        axes.legend(loc="upper left", fontsize=8, frameon=False)
    axes.set_xlabel("angle of one leg from the vertical [rad]")
    axes.set_ylabel("its rate [rad/s]")


def draw_energies(axes: Any, steps: list[Step]) -> None:
    """Figure 11: potential against kinetic energy. Swings run along lines of constant total, strikes jump to the next."""
    for k, step in enumerate(steps):
        kinetic, potential = np.array([(s.kinetic, s.potential) for s in step.samples]).T
        axes.plot(kinetic, potential, color=INK if k % 2 == 0 else RED, linewidth=1.6)
        if k + 1 < len(steps):
            after = steps[k + 1].samples[0]
            axes.plot([kinetic[-1], after.kinetic], [potential[-1], after.potential], color="0.3", linestyle=":")
        mark = "'" * k
        top = int(np.argmax(potential))
        for name, j, offset in (("A", 0, (-6, -14)), ("B", top, (-15, 0)), ("C", len(kinetic) - 1, (5, -3))):
            axes.plot(kinetic[j], potential[j], "o", color="0.2", markersize=3)
            axes.annotate(name + mark, (kinetic[j], potential[j]), offset, textcoords="offset points", fontsize=9)
    axes.set_xlabel("kinetic energy [J]")
    axes.set_ylabel("potential energy [J]")
    axes.margins(0.12)


def draw_strip(axes: Any, walker: Walker, steps: list[Step]) -> None:
    """Stick figures along the slope."""
    left, right = math.inf, -math.inf
    for k, step in enumerate(steps):
        picked = np.linspace(0, len(step.samples) - 1, STICKS).round().astype(int)[:-1].tolist()
        if k == len(steps) - 1:
            picked.append(len(step.samples) - 1)
        for j in picked:
            foot, hip, swing = stick_figure(walker, step, step.samples[j])
            stance_ink, swing_ink = (INK, RED) if step.start.foot == "left_foot" else (RED, INK)
            strong = 1.0 if j == picked[0] else 0.35
            axes.plot(*zip(foot, hip, strict=True), color=stance_ink, alpha=strong, linewidth=1.6)
            axes.plot(*zip(hip, swing, strict=True), color=swing_ink, alpha=strong, linewidth=1.6)
            axes.plot(*hip, "o", color="0.2", alpha=strong, markersize=3.5)
            left, right = min(left, foot[0], swing[0]), max(right, foot[0], swing[0])
    x0, _, z0 = steps[0].start.place
    ground = np.array([left - 0.1, right + 0.1])
    axes.plot(ground, z0 - math.tan(walker.slope) * (ground - x0), color="0.3", linewidth=1.2)
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")


def stick_figure(walker: Walker, step: Step, sample: Sample) -> list[tuple[float, float]]:
    """Stance foot, hip and swing foot in the x-z plane [m]."""
    x, _, z = step.start.place.tolist()
    length = walker.leg_length
    hip = (x - length * math.sin(sample.stance), z + length * math.cos(sample.stance))
    return [(x, z), hip, (hip[0] + length * math.sin(sample.swing), hip[1] - length * math.cos(sample.swing))]


def save_pictures(path: Any, walker: Walker, steps: list[Step], gait: Gait) -> None:
    """Phase portrait, energies and a strip of the last steps, in one picture file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.25, 1.0))
    for place, title in ((grid[0, 0], "phase portrait"), (grid[0, 1], "energies of two steps"), (grid[1, :], "")):
        axes = figure.add_subplot(place)
        axes.set_title(title, fontsize=11)
        if title == "phase portrait":
            draw_phase_portrait(axes, steps, gait)
        elif title:
            draw_energies(axes, steps[-2:])
        else:
            draw_strip(axes, walker, steps[-5:])
    figure.savefig(path, dpi=110)
