"""Which joints move when: a map over time and joints. It shows waves along a chain, and how far a push has come."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.units import unit
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import Panel, finish_over_time

LEAST_JOINTS = 20  # fewer are seen one by one
COLUMNS, ROWS = 300, 400  # of the map at most
DECADES = 4  # of changes that are distinguished
NUMBERS = 7  # of joints along the axis


def motion_panels(recording: Recording) -> list[Panel]:
    """A row for each joint that moves; those that do not, most of a large linkage, would leave no room for them."""
    model = recording.model
    if model.n_bodies < LEAST_JOINTS:
        return []
    changes, edges = _changes(recording)
    top = float(changes.max())
    least = top * 10.0**-DECADES
    moved = np.flatnonzero(changes.max(axis=0) > least)
    if moved.size < 2:
        return []
    bins = np.unique(np.linspace(0, moved.size, min(ROWS, moved.size) + 1).astype(int))
    rows = np.maximum.reduceat(changes[:, moved], bins[:-1], axis=1).T

    def draw(axes: Any) -> None:
        from matplotlib.colors import LogNorm

        colors = {"cmap": "viridis_r", "norm": LogNorm(least, top), "rasterized": True}
        image = axes.pcolormesh(edges, bins, np.ma.masked_less(rows, least), **colors)
        bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
        bar.set_label(f"change from frame to frame [{unit('rad or m')}]", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        axes.grid(False)
        finish_over_time(axes, "number of the joint")
        marks = np.unique(np.linspace(0, moved.size - 1, NUMBERS).astype(int))
        axes.set_yticks(marks + 0.5, [f"{moved[mark]:,}" for mark in marks])

    title = "moving joints" if moved.size == model.n_bodies else f"moving joints: {moved.size:,} of {model.n_bodies:,}"
    return [Panel(title, draw)]


def _changes(recording: Recording) -> tuple[FloatArray, FloatArray]:
    """Largest change of a coordinate of each joint between frames, shape (frames - 1, n), and the times between which."""
    model = recording.model
    frames = np.unique(np.linspace(0, len(recording) - 1, min(len(recording), COLUMNS + 1)).astype(int))
    sizes = np.array([joint.nq for joint in model.joints])
    has_any = sizes > 0
    starts = (np.cumsum(sizes) - sizes)[has_any]
    found = np.zeros((frames.size - 1, model.n_bodies))
    before = recording.state(int(frames[0])).q
    for k, frame in enumerate(frames[1:]):
        now = recording.state(int(frame)).q
        found[k, has_any] = np.maximum.reduceat(np.abs(now - before), starts)
        before = now
    return found, recording.times[frames]
