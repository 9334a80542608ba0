"""The physical numbers of a rod, checked and spread over its joints and pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError
from linkwork.model.rods.curve import Measured
from linkwork.model.rods.refinement import segments_for
from linkwork.model.rods.section import Material, Section, above_zero, round_section

MOST = 10_000_000
LONGEST = 1e100  # [m]
FEWEST_AUTO, MOST_AUTO = 4, 20_000
TIP_ERROR = 0.25  # of a cantilever's deflection per (ℓ/λ)², the error of the midpoint rule for ∫ x² dx over x³/3


@tabled
@dataclass(frozen=True, slots=True)
class RodDamping:
    """Damping of bending, twisting and stretching, by one physical number.

    time [s]: by which stress lags behind strain: σ = E (ε + time · dε/dt), Kelvin and Voigt; or
    ratio: part of critical damping of the mode of vibration with this `frequency` [Hz]; modes above it are damped more.
    """

    time: float | None = None
    ratio: float | None = None
    frequency: float | None = None

    @property
    def lag(self) -> float:
        """The time [s] that both ways of saying it come to."""
        if self.time is not None:
            found = float_or_nan(self.time)
            if self.ratio is not None or self.frequency is not None or not 0.0 <= found < math.inf:
                raise ModelError(
                    f"RodDamping: time is {shown(self.time)}; give a time ≥ 0 alone, or a ratio with a frequency."
                )
            return found
        ratio, frequency = float_or_nan(self.ratio), float_or_nan(self.frequency)
        if not (0.0 <= ratio < math.inf and 0.0 < frequency < math.inf):
            raise ModelError("RodDamping: give a time [s], or a ratio ≥ 0 with a frequency above 0 [Hz].")
        return ratio / (math.pi * frequency)


class Numbers(NamedTuple):
    """What a rod with n joints is made of."""

    length: float  # [m]
    s: FloatArray  # (n,)  from the start to each joint [m]
    stiffness: FloatArray  # (n, 3)  GJ, EI about y, EI about z [N·m²]
    EA: FloatArray  # (n,) [N], or empty: it does not stretch
    mass: FloatArray  # (n + 1,)  of the pieces [kg]
    gyration2: tuple[float, float, float]  # squared radii of gyration of the section about x, y, z [m²]
    radius: float  # [m]
    lag: float  # [s]
    estimated_error: (
        float  # part of the deflection that the length of segments leaves: Richardson's where it chose them
    )

    @property
    def stretches(self) -> bool:
        return self.EA.size > 0


class Given(NamedTuple):
    """What a user says of the stuff of a rod, as `lw.rod` describes it; None where nothing is said."""

    EI: Any
    GJ: Any
    EA: Any
    mass_per_length: Any
    radius: Any
    section: Any
    material: Any
    damping: Any


def rod_numbers(
    length: Any, segments: Any, given: Given, curve: Any, tolerance: Any, gravity: Any
) -> tuple[Numbers, Measured | None]:
    """Every number checked; what is not given follows from section and material."""
    EI, GJ, EA, mass_per_length, radius, section, material, damping = given
    auto = isinstance(segments, str)
    if auto and segments != "auto":
        raise ModelError(f"rod: segments is {shown(segments)}; it is a whole number or 'auto'.", about="segments")
    if not auto and (
        isinstance(segments, bool) or not isinstance(segments, int | np.integer) or not 1 <= segments <= MOST
    ):
        raise ModelError(
            f"rod: segments is {shown(segments)}; it is a whole number from 1 to {MOST:,}, or 'auto'.", about="segments"
        )
    measured = None if curve is None else Measured(curve, 100 if auto else int(segments))
    L = _length(length, measured)
    if L > LONGEST:
        raise ModelError(f"rod: it is {L:g} m long; squares of lengths above {LONGEST:g} m overflow.", about="length")
    shape = _section(radius, section)
    stuff = _material(material, shape)
    bend = _given(EI, None if stuff is None or shape is None else _pair(stuff.E, shape))
    if bend is None:
        raise ModelError(
            "rod: EI is not given; give EI, or material=lw.Material(E=...) with a radius or section.", about="EI"
        )
    heavy = _given(
        mass_per_length,
        None if stuff is None or shape is None or stuff.density is None else stuff.density * shape.area,
    )
    if heavy is None:
        raise ModelError(
            "rod: mass_per_length is not given; give it, or a material with a density.", about="mass_per_length"
        )
    middle = np.array([0.5 * L])
    try:
        pull = math.hypot(*(float_or_nan(g) for g in gravity))
    except TypeError:
        raise ModelError(f"rod: gravity is {shown(gravity)}; it must be three numbers.", about="gravity") from None
    w = float(_spread(heavy, middle, "mass_per_length", 1)[0, 0]) * pull
    scale = length_scale(L, float(_spread(bend, middle, "EI", 2)[0].min()), w, measured)
    if not scale > 0.0:
        raise ModelError(
            f"rod: mass_per_length times gravity is {w:g} N/m, too much for it to bend over any length.",
            about="mass_per_length",
        )
    found = None
    if auto:
        wanted = above_zero(tolerance, "rod: tolerance")
        segments, found = _segments(L, bend, heavy, pull, wanted, None if measured is None else scale)
        if curve is not None:
            measured = Measured(curve, segments)
    n = int(segments)
    s: FloatArray = np.asarray((np.arange(n) + 0.5) * (L / n), dtype=np.float64)
    bending = _spread(bend, s, "EI", 2)
    twisting = _twisting(GJ, stuff, shape, bending, s)
    stretching = _stretching(EA, stuff, shape, s)
    stations = np.concatenate([[0.0], s, [L]])
    masses = _spread(heavy, 0.5 * (stations[1:] + stations[:-1]), "mass_per_length", 1)[:, 0] * np.diff(stations)
    if shape is None:
        shape = _guessed_section(bending, stretching)
    lag = 0.0 if damping is None else (damping if isinstance(damping, RodDamping) else RodDamping(time=damping)).lag
    if not shape.area > 0.0:
        raise ModelError("rod: its section is so small that its area is zero; give a larger one.", about="radius")
    gy, gz = shape.about_y / shape.area, shape.about_z / shape.area
    part = L / n / scale  # of the length over which it bends, per segment
    error = TIP_ERROR * part * part if found is None else found
    stiffness = np.column_stack([twisting, bending])
    return Numbers(L, s, stiffness, stretching, masses, (gy + gz, gy, gz), shape.radius, lag, error), measured


def _segments(L: float, bend: Any, heavy: Any, pull: float, tolerance: float, scale: float | None) -> tuple[int, float]:
    """How many segments, and the estimated error: of a cantilever by Richardson, and by the natural shape's radius."""

    def EI(s: FloatArray) -> FloatArray:
        return _spread(_even(bend), s, "EI", 2).min(axis=1)

    def weight(s: FloatArray) -> FloatArray:
        return pull * _spread(_even(heavy), s, "mass_per_length", 1)[:, 0]

    n, error = segments_for(L, EI, weight, tolerance, FEWEST_AUTO, MOST_AUTO)
    if scale is not None:
        n = max(n, math.ceil(math.sqrt(TIP_ERROR / tolerance) * L / scale))
        error = max(error, TIP_ERROR * (L / n / scale) ** 2)
    return n, error


def _even(value: Any) -> Any:
    """A number, a pair or a function as they are; rows per joint cannot be for a number of joints that is sought."""
    if callable(value) or np.ndim(value) == 0 or np.shape(value) == (2,):
        return value
    raise ModelError(
        "rod: segments='auto' needs numbers or functions of the length, not rows per joint.", about="segments"
    )


def length_scale(L: float, EI: float, weight: float, measured: Measured | None) -> float:
    """Over which a rod bends [m]: its length, (EI/w)^⅓ under its own weight, or the radius of its natural shape."""
    found = L
    if weight > 0.0:
        found = min(found, (EI / weight) ** (1.0 / 3.0))
    if measured is not None:
        found = min(found, measured.radius()[0])
    return found


def _length(length: Any, measured: Measured | None) -> float:
    if measured is None:
        if length is None:
            raise ModelError("rod: length is not given; give it [m], or a curve.", about="length")
        return above_zero(length, "rod: length")
    if length is not None and abs(above_zero(length, "rod: length") - measured.length) > 1e-3 * measured.length:
        raise ModelError(
            f"rod: length is {shown(length)} m, and the curve is {measured.length:.6g} m long; leave the length out.",
            about="length",
        )
    return measured.length


def _section(radius: Any, section: Any) -> Section | None:
    if section is not None:
        if not isinstance(section, Section):
            raise ModelError(
                f"rod: section is {shown(section)}; give lw.round_section(r) or lw.rectangle(width, height).",
                about="section",
            )
        return section
    return None if radius is None else round_section(radius)


def _material(material: Any, shape: Section | None) -> Material | None:
    if material is None:
        return None
    if not isinstance(material, Material):
        raise ModelError(
            f"rod: material is {shown(material)}; give lw.Material(E=..., nu=..., density=...).", about="material"
        )
    if shape is None:
        raise ModelError("rod: a material needs a radius or a section.", about="radius")
    return material


def _pair(E: float, shape: Section) -> tuple[float, float]:
    return E * shape.about_y, E * shape.about_z


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _spread(value: Any, s: FloatArray, what: str, columns: int) -> FloatArray:
    """A number, a pair, rows per joint or a function of the length, at the lengths s, shape (m, columns)."""
    m = s.size
    try:
        rows = np.array([np.ravel(value(float(x))) for x in s]) if callable(value) else np.array(value, dtype=float)
        if rows.ndim == 0:
            rows = np.full((m, columns), float(rows))
        elif columns == 2 and not callable(value) and rows.shape == (2,) and m != 2:
            rows = np.tile(rows, (m, 1))
        elif rows.ndim == 1:
            rows = _per_joint(rows, m)[:, None]
        elif not callable(value):
            rows = _per_joint(rows, m)
        rows = np.broadcast_to(rows.astype(float), (m, columns))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"rod: {what} is {shown(value)}, which is not numbers per joint: {error}.", about=what
        ) from None
    bad = ~((rows > 0.0) & np.isfinite(rows))
    if bad.any():
        k = int(np.argwhere(bad)[0, 0])
        raise ModelError(
            f"rod: {what} is {rows[bad][0]:g} at a length of {s[k]:.6g} m; it must be a finite number above zero.",
            about=what,
        )
    return np.array(rows)


def _per_joint(rows: FloatArray, m: int) -> FloatArray:
    """Rows for m places from rows at even places along the rod."""
    if rows.shape[0] == 0:
        raise ValueError("it is empty")
    if rows.shape[0] == m:
        return rows
    if m == 1:
        return rows[rows.shape[0] // 2][None]
    if rows.shape[0] + 1 == m:  # pieces: one more than joints
        return np.concatenate([rows[:1], 0.5 * (rows[1:] + rows[:-1]), rows[-1:]])
    raise ValueError(f"{rows.shape[0]} rows for {m} joints")


def _twisting(GJ: Any, stuff: Material | None, shape: Section | None, bending: FloatArray, s: FloatArray) -> FloatArray:
    if GJ is not None:
        return _spread(GJ, s, "GJ", 1)[:, 0]
    if stuff is not None and shape is not None:
        return np.full(s.size, stuff.G * shape.torsion)
    # A round section has J = 2 I, and G = E / 2 (1 + ν): of a material that keeps its volume, two thirds of EI.
    return bending.mean(axis=1) / 1.5


def _stretching(EA: Any, stuff: Material | None, shape: Section | None, s: FloatArray) -> FloatArray:
    if EA is None:
        return np.zeros(0)
    if isinstance(EA, str):
        if EA != "material" or stuff is None or shape is None:
            raise ModelError(
                f"rod: EA is {shown(EA)}; give a number [N], or 'material' with a material and a radius or section.",
                about="EA",
            )
        return np.full(s.size, stuff.E * shape.area)
    return _spread(EA, s, "EA", 1)[:, 0]


def _guessed_section(bending: FloatArray, stretching: FloatArray) -> Section:
    """A circle with EI/EA = r²/4 where both are given."""
    if stretching.size == 0:
        raise ModelError(
            "rod: radius is not given; pieces need one against spinning without inertia. Give radius or section.",
            about="radius",
        )
    return round_section(2.0 * math.sqrt(float(bending.mean()) / float(stretching.mean())))
