"""Sections and materials of rods: from a shape and a modulus to stiffnesses per length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError

LARGEST = 1e50  # [m] of a section: its fourth power is a number
TERMS = 40  # of the series for the torsion of a rectangle; the last is below 1e-9 of the first


def above_zero(value: Any, what: str) -> float:
    """A finite number above zero, or a ModelError that names it."""
    found = float_or_nan(value)
    if not 0.0 < found < math.inf:
        raise ModelError(f"{what} is {shown(value)}; it must be a finite number above zero.", about=what.split(" ")[-1])
    return found


@tabled
@dataclass(frozen=True, slots=True)
class Material:
    """E: Young's modulus [Pa]; nu: Poisson's ratio; density [kg/m³]."""

    E: float
    nu: float = 0.3
    density: float | None = None

    def __post_init__(self) -> None:
        above_zero(self.E, "Material: E")
        if not -1.0 < float_or_nan(self.nu) <= 0.5:
            raise ModelError(f"Material: nu is {shown(self.nu)}; Poisson's ratio lies above -1 and at most at 0.5.")
        if self.density is not None:
            above_zero(self.density, "Material: density")

    @property
    def G(self) -> float:
        """Shear modulus [Pa]."""
        return self.E / (2.0 * (1.0 + self.nu))


@tabled
@dataclass(frozen=True, slots=True)
class Section:
    """The cross section of a rod: area [m²], second moments about y and z [m⁴], torsion constant [m⁴].

    The rod's axis is x. `width` and `height`: its extent along y and z [m], for drawing, contact and drag.
    """

    area: float
    about_y: float
    about_z: float
    torsion: float
    width: float
    height: float

    @property
    def radius(self) -> float:
        """Of the circle with the same mean extent [m]."""
        return 0.25 * (self.width + self.height)


def round_section(radius: float, inner: float = 0.0) -> Section:
    """A circle, or a tube with an `inner` radius [m]."""
    r, i = above_zero(radius, "rod: radius"), float_or_nan(inner)
    if not 0.0 <= i < r:
        raise ModelError(
            f"rod: inner radius is {shown(inner)}; it lies from 0 up to the radius {r:g} m.", about="inner"
        )
    if not r <= LARGEST:
        raise ModelError(f"rod: radius is {r:g} m; at most {LARGEST:g} m are possible.", about="radius")
    second = 0.25 * math.pi * (r**4 - i**4)
    return Section(math.pi * (r * r - i * i), second, second, 2.0 * second, 2.0 * r, 2.0 * r)


def rectangle(width: float, height: float) -> Section:
    """A strip of the given width along y and height along z [m].

    Torsion by Saint-Venant's series: a b³/3 (1 − 192 b/(π⁵ a) Σ tanh(k π a / 2 b) / k⁵), k odd, a ≥ b.
    """
    w, h = above_zero(width, "rectangle: width"), above_zero(height, "rectangle: height")
    if not max(w, h) <= LARGEST:
        raise ModelError(f"rectangle: {max(w, h):g} m is larger than {LARGEST:g} m, the largest side.", about="width")
    a, b = max(w, h), min(w, h)
    series = sum(math.tanh(k * math.pi * a / (2.0 * b)) / k**5 for k in range(1, 2 * TERMS, 2))
    torsion = a * b**3 / 3.0 * (1.0 - 192.0 * b / (math.pi**5 * a) * series)
    return Section(w * h, w * h**3 / 12.0, h * w**3 / 12.0, torsion, w, h)
