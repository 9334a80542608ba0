"""Smooth coordinates, velocities and accelerations of a recorded motion, on the manifold of the joints' coordinates.

Around every frame a polynomial is fitted to the recorded coordinates by weighted least squares (Savitzky and Golay 1964).
The fit is done in the tangent space at the frame's own smoothed coordinates, where increments of balls and free joints
are vectors and the first two derivatives of the increment are the velocity and acceleration themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

PASSES = 3  # the base of the tangent space moves to the smoothed coordinates; the second pass moves it by some 1e-6
WINDOW = 0.25  # [s] a cubic over this span lets frequencies below some 6 Hz through, as is usual for gait
DEGREE = 3


class Trajectory(NamedTuple):
    """A motion with its derivatives."""

    times: FloatArray  # (frames,) [s]
    q: FloatArray  # (frames, nq)
    v: FloatArray  # (frames, nv)
    acceleration: FloatArray  # (frames, nv)
    recorded: FloatArray  # (frames, nq) before smoothing
    window: float  # [s] and
    degree: int  # of the polynomials that were fitted

    def state(self, frame: int) -> State:
        return State(self.q[frame], self.v[frame])


def smooth_motion(
    model: Model, q: FloatArray, frame_time: float, window: float = WINDOW, degree: int = DEGREE
) -> Trajectory:
    """Coordinates, velocities and accelerations of a motion recorded at equal times.

    q: recorded coordinates, shape (frames, nq); frame_time: between frames [s].
    window: span of the fitted polynomials [s]; degree: theirs, at least 2.
    """
    recorded = np.ascontiguousarray(q, dtype=float)
    if recorded.ndim != 2 or recorded.shape[1] != model.nq:
        raise StateError(f"q has shape {recorded.shape}; a motion of model '{model.name}' has (frames, {model.nq}).")
    frames = len(recorded)
    half = max(1, round(0.5 * window / frame_time))
    if degree < 2 or frames <= degree + 1 or 2 * half < degree:
        raise StateError(
            f"a polynomial of degree {degree} over {window:g} s cannot be fitted to {frames} frames of {frame_time:g} s; "
            "give a longer motion or window, and a degree from 2."
        )
    smoothed, v, a = np.empty_like(recorded), np.empty((frames, model.nv)), np.empty((frames, model.nv))
    fits: dict[tuple[int, int], FloatArray] = {}
    for t in range(frames):
        low, high = max(0, t - half), min(frames, t + half + 1)
        key = (low - t, high - t)
        if key not in fits:
            fits[key] = _fit(np.arange(*key), half, frame_time, degree)
        base = model.state(recorded[t]).q
        for _ in range(PASSES):
            increments = np.array([model.difference(base, recorded[k]) for k in range(low, high)])
            value, rate, half_rate = fits[key] @ increments
            base = model.integrate(base, value)
        smoothed[t], v[t], a[t] = base, rate, 2.0 * half_rate
    return Trajectory(np.asarray(frame_time * np.arange(frames), dtype=float), smoothed, v, a, recorded, window, degree)


def smooth_curve(points: FloatArray, frame_time: float, window: float = WINDOW, degree: int = DEGREE) -> FloatArray:
    """Values, first and second derivatives of a curve of vectors by the same fits, shape (3, frames, size)."""
    frames, half = len(points), max(1, round(0.5 * window / frame_time))
    out = np.empty((3, *points.shape))
    for t in range(frames):
        low, high = max(0, t - half), min(frames, t + half + 1)
        out[:, t] = _fit(np.arange(low - t, high - t), half, frame_time, degree) @ points[low:high]
    out[2] *= 2.0
    return out


def _fit(offsets: IntArray, half: int, frame_time: float, degree: int) -> FloatArray:
    """Rows that take the frames of a window to the polynomial's first three coefficients at its frame, shape (3, m)."""
    x = offsets * frame_time
    near = np.abs(offsets) / (half + 1.0)
    weight = np.sqrt((1.0 - near**3) ** 3)  # the usual "tricube": frames fade in and out of the window
    powers = np.vander(x, min(degree, len(x) - 1) + 1, increasing=True)
    return (np.linalg.pinv(powers * weight[:, None]) * weight)[:3]
