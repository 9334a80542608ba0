"""The field's own problems, each with its reference, and how Linkwork solves it with n segments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import linkwork as lw

from .closed import closed_problems

UP = lw.Pose(rpy=(0.0, -0.5 * math.pi, 0.0))
Solved = tuple[tuple[float, ...], int, float]  # what was found, sweeps, seconds


class Problem(NamedTuple):
    name: str
    reference: tuple[float, ...]
    must: float
    solve: Callable[[int], Solved]
    is_settled: bool = True  # judged by sweeps and time of settling at 100 segments, too
    sizes: tuple[int, int, int] = (25, 50, 100)  # each twice the one before
    is_absolute: bool = False  # errors are parts of the reference, or numbers as they are: lengths are 1

    def error(self, found: tuple[float, ...]) -> float:
        off = [abs(x - y) / (1.0 if self.is_absolute else abs(y)) for x, y in zip(found, self.reference, strict=True)]
        return max(off)


def cantilever(n: int, at: lw.Pose | None = None, EI: object = 1.0, GJ: float = 1.0, **options: object) -> lw.Rod:
    given = {"mass_per_length": 1.0, "radius": 1e-3, "gravity": (0.0, 0.0, 0.0)} | options
    rod = lw.rod(1.0, n, EI=EI, GJ=GJ, **given)  # type: ignore[arg-type]
    rod.attach_world("start", lw.Clamped(), at=at)
    return rod


def at_tip(rod: lw.Rod, model: lw.Model, force: tuple = (0, 0, 0), torque: tuple = (0, 0, 0)) -> lw.Loads:
    loads = lw.Loads(model)
    loads.apply_wrench(rod.on.end.body, force=force, torque=torque, at=rod.on.end.frame.xyz)
    return loads


def settled(
    rod: lw.Rod, loads: Callable[[lw.Model], lw.Loads | None], coordinates: Callable[[np.ndarray], tuple[float, ...]]
) -> Solved:
    model = rod.compile()
    given = loads(model)
    start = time.process_time()
    rest = lw.settle(model, model.neutral(), loads=given)
    seconds = time.process_time() - start
    T = lw.body_poses(model, rest.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    return coordinates(T), rest.report.sweeps, seconds


def circle(n: int) -> Solved:
    rod = cantilever(n)
    return settled(
        rod, lambda m: at_tip(rod, m, torque=(0, 2 * math.pi, 0)), lambda T: (float(np.linalg.norm(T[:3, 3])),)
    )


ELASTICA = {
    1: (0.301721, 0.056433, 0.461352),
    2: (0.493457, 0.160642, 0.781750),
    3: (0.603253, 0.254420, 0.986017),
    5: (0.713792, 0.387628, 1.215368),
    10: (0.810609, 0.554996, 1.430286),
}  # P L²/EI: drop, shortening, angle of the tip


def elastica(load: int) -> Callable[[int], Solved]:
    """Drop, shortening and angle of the tip."""

    def tip(T: np.ndarray) -> tuple[float, ...]:
        return float(-T[2, 3]), float(1.0 - T[0, 3]), -math.atan2(T[2, 0], T[0, 0])

    def solve(n: int) -> Solved:
        rod = cantilever(n)
        return settled(rod, lambda m: at_tip(rod, m, force=(0, 0, -load)), tip)

    return solve


def heavy(load: float) -> Callable[[int], Solved]:
    def solve(n: int) -> Solved:
        return settled(cantilever(n, gravity=(0, 0, -load)), lambda m: None, lambda T: (-float(T[2, 3]),))

    return solve


def bend(GJ: float = 0.8436) -> Callable[[int], Solved]:
    """Bathe and Bolourchi: an arc of 45°, loaded across its plane; by default a square section of a material with ν = 0."""

    def solve(n: int) -> Solved:
        rod = lw.rod(
            None, n, EI=1.0, GJ=GJ, mass_per_length=1.0, radius=1e-2, gravity=(0, 0, 0),
            curve=lambda u: (math.sin(0.25 * math.pi * u), 1.0 - math.cos(0.25 * math.pi * u), 0.0),
        )  # fmt: skip
        rod.attach_world("start", lw.Clamped())
        return settled(rod, lambda m: at_tip(rod, m, force=(0, 0, 7.2)), lambda T: (float(T[2, 3]),))

    return solve


def princeton(angle: float) -> Callable[[int], Solved]:
    """Deflections across the strong and the weak side under 8.896 N at an angle from the strong one [degrees]."""

    def solve(n: int) -> Solved:
        section, metal = lw.rectangle(3.2024e-3, 12.3777e-3), lw.Material(71.7e9, 0.31, 2700.0)
        rod = lw.rod(0.508, n, section=section, material=metal, gravity=(0, 0, 0))
        rod.attach_world("start", lw.Clamped())
        a = math.radians(angle)
        force = (0, 8.896 * math.sin(a), -8.896 * math.cos(a))
        found = lambda T: (abs(float(T[2, 3])), abs(float(T[1, 3])))  # noqa: E731
        return settled(rod, lambda m: at_tip(rod, m, force=force), found if angle < 90.0 else lambda T: found(T)[1:])

    return solve


def critical(kind: str) -> Callable[[int], Solved]:
    def solve(n: int) -> Solved:
        rod = cantilever(n, at=None if kind == "strip" else UP, EI=(1e6, 1.0) if kind == "strip" else 1.0)
        model = rod.compile()
        start = time.process_time()
        if kind == "weight":
            found = lw.buckling(
                model, model.neutral(), lambda p: cantilever(n, at=UP, gravity=(0, 0, -p)).compile(), 2.0, 9.0,
                steps=4, tolerance=1e-7,
            )  # fmt: skip
        else:
            found = lw.buckling(
                model,
                model.neutral(),
                lambda p: at_tip(rod, model, force=(0, 0, -p)),
                1.0,
                6.0,
                steps=5,
                tolerance=1e-8,
            )
        return (found.load,), found.sweeps, time.process_time() - start

    return solve


def frequency(n: int) -> Solved:
    model = cantilever(n, radius=1e-5).compile()
    start = time.process_time()
    found = lw.modes(model, model.neutral(), 6)
    return (2.0 * math.pi * float(found.frequencies[0]),), found.sweeps, time.process_time() - start


def towed(n: int) -> Solved:
    """Angle of a cable of 3 N/m in water at 1 m/s, 20 mm thick, from the horizontal."""
    rod = lw.rod(100.0, n, EI=1e-3, GJ=1e-3, mass_per_length=3.0 / 9.81 + 1025.0 * math.pi * 1e-4, radius=0.01)
    rod.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.4, 0.0)))
    model = rod.compile()
    water = lw.Water(1025.0, (1.0, 0.0, 0.0), (1.2, 0.0), surface=1e3)
    start = time.process_time()
    rest = lw.settle(model, model.neutral(), water=water)
    seconds = time.process_time() - start
    T = lw.body_poses(model, rest.state)[model.body(rod.on.bodies[n // 2])]
    return (math.asin(-float(T[2, 0])),), rest.report.sweeps, seconds


def towed_angle() -> float:
    low, high = 0.0, 0.5 * math.pi
    for _ in range(100):
        middle = 0.5 * (low + high)
        heavier = 3.0 * math.cos(middle) > 0.5 * 1025.0 * 1.2 * 0.02 * math.sin(middle) ** 2
        low, high = (middle, high) if heavier else (low, middle)
    return low


PROBLEMS = [
    Problem("end moment 2π EI/L: circle, gap", (0.0,), 1e-8, circle, is_absolute=True),
    *(
        Problem(f"elastica, P L²/EI = {load}: drop, shortening, angle", found, 1e-4, elastica(load), is_absolute=True)
        for load, found in ELASTICA.items()
    ),
    *(
        Problem(f"own weight, q L³/EI = {load}: drop", (drop,), 1e-4, heavy(load), is_absolute=True)
        for load, drop in ((1, 0.123471), (5, 0.495905), (10, 0.700200), (20, 0.829881))
    ),
    Problem("45° bend, F R²/EI = 7.2, GJ = 0.8436 EI: tip, by shooting", (0.53600977,), 1e-4, bend()),
    Problem("45° bend, F R²/EI = 7.2, GJ = EI: tip, by shooting", (0.53468598,), 1e-4, bend(1.0)),
    Problem("45° bend: tip, by other programs", (0.534,), 1e-2, bend()),
    Problem("45° bend: tip, by another reference", (0.5301,), 1e-2, bend()),
    Problem("Princeton beam at 45°: strong, weak", (0.008837, 0.108988), 1e-2, princeton(45.0)),
    Problem("Princeton beam at 90°: weak", (0.146246,), 1e-2, princeton(90.0)),
    Problem("column, load at the tip", (0.25 * math.pi**2,), 1e-3, critical("column"), False),
    Problem("column, own weight", (7.8373,), 1e-3, critical("weight"), False),
    Problem("strip, lateral and torsional", (4.0126,), 1e-3, critical("strip"), False),
    Problem("cantilever, first frequency", (1.8751040687**2,), 1e-3, frequency, False),
    Problem("towed cable, angle", (towed_angle(),), 1e-4, towed, is_absolute=True),
    *closed_problems(Problem),
]
