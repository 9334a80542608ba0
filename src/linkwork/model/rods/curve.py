"""Natural shapes of rods: points and frames at given lengths along a curve.

Frames have x along the tangent. From one to the next they turn without twist (parallel transport by two reflections: W.
Wang et al., "Computation of rotation minimizing frames", ACM TOG 27(1), 2008), then `roll` turns them about x.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError

Curve = Callable[[float], ArrayLike]

FINE = 16  # samples per segment, from which lengths along a curve are measured
FEWEST = 2000
ACROSS = 0.9  # a tangent this close to y leaves too little of y across it


class Natural(NamedTuple):
    """The shape of a rod on which nothing acts."""

    s: FloatArray  # (m,)  lengths along the curve [m]
    at: FloatArray  # (m, 3)  points [m]
    frame: FloatArray  # (m, 3, 3)  columns: tangent, and the two axes of the section


@tabled
class BSpline:
    """A curve near its control points: a B-spline that begins at the first point and ends at the last.

    points: (m, 3) [m]; degree: of its pieces, at most m − 1.
    """

    def __init__(self, points: ArrayLike, degree: int = 3):
        self.points = _points(points, "BSpline: points")
        m = self.points.shape[0]
        if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree < m:
            raise ModelError(
                f"BSpline: degree is {shown(degree)}; with {m} points it is a whole number from 1 to {m - 1}."
            )
        self.degree = degree
        inside = np.linspace(0.0, 1.0, m - degree + 1)
        self.knots = np.concatenate([np.zeros(degree), inside, np.ones(degree)])

    def __repr__(self) -> str:
        return f"BSpline({self.points.shape[0]} points, degree {self.degree})"

    def __call__(self, u: float) -> FloatArray:
        """The point at u from 0 to 1, by de Boor's algorithm."""
        p, knots = self.degree, self.knots
        k = min(int(np.searchsorted(knots, u, side="right")) - 1, self.points.shape[0] - 1)
        d = self.points[k - p : k + 1].copy()
        for r in range(1, p + 1):
            for j in range(p, r - 1, -1):
                low, high = knots[j + k - p], knots[j + 1 + k - r]
                a = (u - low) / (high - low)
                d[j] = (1.0 - a) * d[j - 1] + a * d[j]
        return d[p]


def through(points: ArrayLike) -> Curve:
    """The smooth curve through points (m, 3): a natural cubic spline over the lengths between them."""
    P = _points(points, "curve")
    t = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1))])
    if (np.diff(t) <= 0.0).any():
        k = int(np.argmin(np.diff(t)))
        raise ModelError(f"curve: points {k} and {k + 1} are the same; give distinct points.", about="curve")
    h, m = np.diff(t), P.shape[0]
    A, right = np.eye(m), np.zeros((m, 3))  # second derivatives at the points; zero at the ends
    for i in range(1, m - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        right[i] = 6.0 * ((P[i + 1] - P[i]) / h[i] - (P[i] - P[i - 1]) / h[i - 1])
    second = np.linalg.solve(A, right)

    def at(u: float) -> FloatArray:
        x = u * t[-1]
        i = int(np.clip(np.searchsorted(t, x, side="right") - 1, 0, m - 2))
        a, b = t[i + 1] - x, x - t[i]
        bent = (second[i] * a**3 + second[i + 1] * b**3) / (6.0 * h[i])
        straight = (P[i] / h[i] - second[i] * h[i] / 6.0) * a + (P[i + 1] / h[i] - second[i + 1] * h[i] / 6.0) * b
        return np.asarray(bent + straight)

    return at


def _points(points: ArrayLike, what: str) -> FloatArray:
    try:
        P = np.array(points, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be numbers of shape (m, 3), not {shown(points)}.", about="curve") from None
    if P.ndim != 2 or P.shape[1] != 3 or P.shape[0] < 2:
        raise ModelError(f"{what} must have shape (m, 3) with m of at least 2, not {P.shape}.", about="curve")
    if not np.isfinite(P).all():
        raise ModelError(f"{what} {int(np.argwhere(~np.isfinite(P))[0, 0])} is not finite.", about="curve")
    return P


class Measured:
    """A curve by its length: `length` [m], and points and tangents at any length along it."""

    def __init__(self, curve: Any, segments: int):
        if not callable(curve):
            curve = through(curve)
        count = max(FEWEST, FINE * segments)
        u = np.linspace(0.0, 1.0, count + 1)
        try:
            points = np.array([np.asarray(curve(float(x)), dtype=float) for x in u])
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"curve(u) must give a point (x, y, z) for u from 0 to 1: {error}.", about="curve"
            ) from None
        if points.shape != (count + 1, 3) or not np.isfinite(points).all():
            raise ModelError("curve(u) must give three finite numbers for every u from 0 to 1.", about="curve")
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if not steps.min() > 0.0:
            raise ModelError(
                f"curve stands still at u = {u[int(np.argmin(steps))]:.4g}; it must move on everywhere.", about="curve"
            )
        # A chord is shorter than its arc by κ²h³/24; κ from the points next to it.
        tangents = _slopes(points)
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        turns = np.linalg.norm(np.diff(tangents, axis=0), axis=1)
        self._points, self._tangents = points, tangents
        self._s = np.concatenate([[0.0], np.cumsum(steps * (1.0 + turns * turns / 24.0))])
        self.length = float(self._s[-1])

    def at(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points and unit tangents at lengths s, by cubics between the samples."""
        i = np.clip(np.searchsorted(self._s, s, side="right") - 1, 0, self._s.size - 2)
        h = self._s[i + 1] - self._s[i]
        x = ((s - self._s[i]) / h)[:, None]
        P, Q, T, W = self._points[i], self._points[i + 1], self._tangents[i], self._tangents[i + 1]
        h = h[:, None]
        points = (1 + 2 * x) * (1 - x) ** 2 * P + x**2 * (3 - 2 * x) * Q + h * x * (1 - x) * ((1 - x) * T - x * W)
        tangents = T + x * (W - T)
        return points, tangents / np.linalg.norm(tangents, axis=1)[:, None]

    def radius(self) -> tuple[float, float]:
        """The smallest radius of curvature [m], and the length at which it is."""
        turns = np.linalg.norm(np.diff(self._tangents, axis=0), axis=1) / np.diff(self._s)
        k = int(np.argmax(turns[1:-1])) + 1
        return (1.0 / float(turns[k]) if turns[k] > 0.0 else math.inf), float(self._s[k])


def _slopes(f: FloatArray) -> FloatArray:
    """Derivatives at even steps of one, by five points: order 4, at the ends too, where a closed curve meets itself."""
    d = np.empty_like(f)
    d[2:-2] = (f[:-4] - 8.0 * f[1:-3] + 8.0 * f[3:-1] - f[4:]) / 12.0
    for side, g in ((1.0, f[:5]), (-1.0, f[:-6:-1])):
        first = side * (-25.0 * g[0] + 48.0 * g[1] - 36.0 * g[2] + 16.0 * g[3] - 3.0 * g[4]) / 12.0
        second = side * (-3.0 * g[0] - 10.0 * g[1] + 18.0 * g[2] - 6.0 * g[3] + g[4]) / 12.0
        d[0 if side > 0.0 else -1], d[1 if side > 0.0 else -2] = first, second
    return d


def natural_shape(s: FloatArray, curve: Measured | None, roll: Callable[[float], float]) -> Natural:
    """Points and frames at the lengths s: along a measured curve, or along x."""
    if curve is None:
        points = np.column_stack([s, np.zeros_like(s), np.zeros_like(s)])
        tangents = np.tile([1.0, 0.0, 0.0], (s.size, 1))
    else:
        points, tangents = curve.at(s)
    first = np.array([0.0, 1.0, 0.0] if abs(tangents[0, 1]) < ACROSS else [0.0, 0.0, 1.0])
    normals = np.empty_like(points)
    normals[0] = _unit(first - (first @ tangents[0]) * tangents[0])
    for i in range(s.size - 1):
        step = points[i + 1] - points[i]
        along = step @ step
        n = normals[i] - (2.0 / along) * (step @ normals[i]) * step
        t = tangents[i] - (2.0 / along) * (step @ tangents[i]) * step
        other = tangents[i + 1] - t
        size = other @ other
        normals[i + 1] = n - (2.0 / size) * (other @ n) * other if size > 0.0 else n
    third = np.cross(tangents, normals)
    turn = np.array([roll(float(x)) for x in s])[:, None]
    y, z = np.cos(turn) * normals + np.sin(turn) * third, np.cos(turn) * third - np.sin(turn) * normals
    return Natural(s, points, np.stack([tangents, y, z], axis=2))


def _unit(a: FloatArray) -> FloatArray:
    return np.asarray(a / np.linalg.norm(a))


def check_curve(curve: Measured, ell: float) -> None:
    """Raises ModelError where a curve bends too sharply for segments of length `ell` [m]."""
    radius, place = curve.radius()
    samples = curve._tangents
    per = max(1, round(ell / curve.length * (samples.shape[0] - 1)))
    together = np.einsum("ij,ij->i", samples[:-per], samples[per:])
    if together.size and together.min() < 0.0:
        k = int(np.argmin(together))
        raise ModelError(
            f"curve doubles back at a length of {curve._s[k]:.4g} m: over one segment of {ell:.4g} m it turns by more than "
            "a right angle. Smooth it there, or use more segments.",
            about="curve",
        )
    if radius < ell:
        raise ModelError(
            f"segments are {ell:.4g} m long, longer than the radius of the curve, {radius:.4g} m at a length of "
            f"{place:.4g} m. Use at least {math.ceil(curve.length / radius)} segments.",
            about="segments",
        )
