"""Water and air as people give them: numbers and a current, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import float_or_nan, number, shown
from linkwork.core.messages.describe import tabled
from linkwork.environment.wet_columns import TIME, WATER_NUMBERS
from linkwork.errors import StateError
from linkwork.model.model import Model

GRAVITY = 9.81  # [m/s²], of waves


def _number(value: Any, what: str, low: float = 0.0, above: bool = False) -> float:
    found = float_or_nan(value)
    if not math.isfinite(found) or found < low or (above and found == low):
        if low == -math.inf:
            raise StateError(f"{what} is {shown(value)}; it must be a finite number.")
        raise StateError(f"{what} is {shown(value)}; it must be a finite number {'above' if above else '≥'} {low:g}.")
    return found


@tabled
@dataclass(frozen=True, slots=True)
class Seabed:
    """A floor under the water that gives way like a spring.

    stiffness: force per length of a body and depth of its penetration [N/m²].
    friction: Coulomb's coefficient; damping: force per length and speed of penetration [N·s/m²].
    slow [m/s]: speed below which friction grows with the speed, so that it has a direction.
    """

    stiffness: float
    friction: float = 0.0
    damping: float = 0.0
    slow: float = 1e-3

    def __post_init__(self) -> None:
        _number(self.stiffness, "Seabed: stiffness", above=True)
        _number(self.friction, "Seabed: friction")
        _number(self.damping, "Seabed: damping")
        _number(self.slow, "Seabed: slow", above=True)


@tabled
@dataclass(frozen=True, slots=True)
class Waves:
    """Regular waves of small amplitude on water of the given depth (Airy), with the fluid's accelerations (Morison).

    amplitude [m]: half of the height from trough to crest; period [s]; direction: where they run, level.
    phase [rad]: at the origin at t = 0, a crest for 0. Velocities above still water are those at its surface.
    """

    amplitude: float
    period: float
    direction: tuple[float, float] = (1.0, 0.0)
    phase: float = 0.0

    def __post_init__(self) -> None:
        _number(self.amplitude, "Waves: amplitude", above=True)
        _number(self.period, "Waves: period", above=True)
        _number(self.phase, "Waves: phase", low=-math.inf)
        try:
            x, y = (float_or_nan(part) for part in self.direction)
        except (TypeError, ValueError):
            x = y = math.nan
        if not 0.0 < math.hypot(x, y) < math.inf:
            raise StateError(f"Waves: direction is {shown(self.direction)}; give two numbers (x, y), not both zero.")

    @property
    def rate(self) -> float:
        """ω [rad/s]."""
        return 2.0 * math.pi / self.period

    def number(self, depth: float) -> float:
        """k [rad/m] with ω² = g k tanh kd, by Newton's method from deep water's."""
        k = self.rate**2 / GRAVITY
        if depth < math.inf:
            for _ in range(50):
                t = math.tanh(k * depth)
                step = (GRAVITY * k * t - self.rate**2) / (GRAVITY * (t + k * depth * (1.0 - t * t)))
                k -= step
                if abs(step) <= 1e-15 * k:
                    break
        return k


@tabled
@dataclass(frozen=True, slots=True)
class Water:
    """A fluid around all bodies with a shape (capsules, cylinders, spheres, boxes), below its surface.

    density [kg/m³].
    current [m/s]: one velocity (x, y, z), or rows (z, vx, vy, vz) from low to high, straight lines between them, or a
    function of places (m, 3) [m] and time [s] that gives velocities (m, 3); it is asked once per step.
    waves: `lw.Waves(...)`; settling takes still water.
    drag: coefficients across and along bodies: ½ρ d (Cn |u| u across + Ct π |u| u along) per length.
    added_mass: coefficient Cm of the water that moves with a body across its axis.
    surface [m]: height up to which there is water. depth [m]: of the seabed below the surface, where one is given.
    """

    density: float = 1025.0
    current: Any = (0.0, 0.0, 0.0)
    drag: tuple[float, float] = (1.2, 0.02)
    added_mass: float = 1.0
    surface: float = 0.0
    depth: float | None = None
    seabed: Seabed | None = None
    waves: Waves | None = None
    profile: FloatArray = field(init=False, repr=False, compare=False)  # (m, 4)

    def __post_init__(self) -> None:
        _number(self.density, "Water: density", above=True)
        _number(self.added_mass, "Water: added_mass")
        if isinstance(self.drag, int | float):
            object.__setattr__(self, "drag", (number(self.drag, "Water: drag"), 0.0))
        try:
            across, along = self.drag
        except (TypeError, ValueError):
            raise StateError(f"Water: drag is {shown(self.drag)}; give two coefficients (across, along).") from None
        _number(across, "Water: drag across")
        _number(along, "Water: drag along")
        if not float_or_nan(self.surface) > -math.inf:
            raise StateError(
                f"Water: surface is {shown(self.surface)}; it is a height [m], or infinite for no surface."
            )
        if self.depth is not None:
            _number(self.depth, "Water: depth", above=True)
        if self.seabed is not None and (self.depth is None or not isinstance(self.seabed, Seabed)):
            raise StateError("Water: a seabed is lw.Seabed(stiffness=...) and needs a depth [m].")
        if self.waves is not None and (not isinstance(self.waves, Waves) or not self.surface < math.inf):
            raise StateError("Water: waves are lw.Waves(amplitude=..., period=...) and need a surface.")
        still = (0.0, 0.0, 0.0)
        object.__setattr__(self, "profile", _profile(still if callable(self.current) else self.current))

    @property
    def asks(self) -> bool:
        """Whether a function gives the current."""
        return callable(self.current)

    @property
    def changes(self) -> bool:
        """Whether it flows otherwise at another time."""
        return self.asks or self.waves is not None

    def velocity(self, places: FloatArray, time: float) -> FloatArray:
        """What the function of the current gives, checked."""
        try:
            found = np.array(self.current(places, time), dtype=float)
            found = np.broadcast_to(found, places.shape)
        except (TypeError, ValueError) as error:
            raise StateError(
                f"Water: current(places, time) must give velocities of shape {places.shape} [m/s]: {error}."
            ) from None
        if not np.isfinite(found).all():
            k = int(np.argwhere(~np.isfinite(found))[0, 0])
            raise StateError(f"Water: current at {np.round(places[k], 6).tolist()} m is {found[k].tolist()}.")
        return found

    @property
    def numbers(self) -> FloatArray:
        """As kernels read them, in the order of `wet_columns.DENSITY` and those after it; still water at t = 0."""
        bed = self.seabed
        found = np.zeros(WATER_NUMBERS)
        floor = -math.inf if bed is None or self.depth is None else self.surface - self.depth
        found[:3] = self.density, self.surface, floor
        found[3:7] = (0.0, 0.0, 0.0, 1.0) if bed is None else (bed.stiffness, bed.damping, bed.friction, bed.slow)
        return found

    @property
    def numbers_in_motion(self) -> FloatArray:
        """The same with waves."""
        found, waves = self.numbers, self.waves
        if waves is not None:
            depth = math.inf if self.depth is None else self.depth
            size = math.hypot(*waves.direction)
            level = waves.direction[0] / size, waves.direction[1] / size
            found[TIME + 1 :] = waves.amplitude, waves.number(depth), waves.rate, *level, waves.phase, depth
        return found


def air(density: float = 1.225, wind: Any = (0.0, 0.0, 0.0), drag: tuple[float, float] = (1.2, 0.02)) -> Water:
    """Air everywhere, with wind as a current; its added mass is left out."""
    return Water(density, wind, drag, 0.0, math.inf)


def _profile(current: Any) -> FloatArray:
    try:
        rows = np.array(current, dtype=float)
    except (TypeError, ValueError, OverflowError):
        rows = np.zeros((0, 0))
    if rows.shape == (3,):
        rows = np.array([[0.0, *rows]])
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != 4 or not np.isfinite(rows).all():
        raise StateError(
            f"Water: current is {shown(current)}; give a velocity (x, y, z) [m/s], rows (height, vx, vy, vz), all "
            "finite, or a function of places and time."
        )
    if (np.diff(rows[:, 0]) <= 0.0).any():
        k = int(np.argmin(np.diff(rows[:, 0])))
        raise StateError(f"Water: heights of the current must rise; row {k + 1} lies at {rows[k + 1, 0]:g} m.")
    return rows


def integrator_in_water(
    model: Model,
    integrator: str,
    algorithm: str,
    contact: Any,
    outside: bool,
    limits: bool | None,
    keep_momentum: bool | None,
) -> str:
    """The integrator that takes drag where a step ends; raises StateError for what cannot be combined with water.

    limits, keep_momentum: as given; None is the default.
    """
    if integrator not in ("auto", "semi_implicit_euler"):
        raise StateError(f"water needs the integrator 'semi_implicit_euler', not '{integrator}'; leave it out.")
    if algorithm != "aba" or contact is not None or outside:
        raise StateError("water needs the algorithm 'aba', without contact, field and thermostat; leave them out.")
    has_limits = bool(np.isfinite(model.lower).any() or np.isfinite(model.upper).any())
    if limits or (limits is None and has_limits):
        raise StateError(
            f"joint limits do not act in water{', and joints of this model have some' if has_limits else ''}: leave the "
            "water out, or give limits=False, and joints go through them."
        )
    if keep_momentum:
        raise StateError("water gives and takes momentum, so that keep_momentum=True is not for it; leave that out.")
    return "semi_implicit_euler"
