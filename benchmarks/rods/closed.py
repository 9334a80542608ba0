"""The field's problems with loops and with free ends: rings, twisted rods, the catenary, a jumper, frequencies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import linkwork as lw

Solved = tuple[tuple[float, ...], int, float]

SLIDES = (lw.Prismatic((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Prismatic((0, 0, 1)))
TURNS = (lw.Revolute((1, 0, 0)), lw.Revolute((0, 1, 0)), lw.Revolute((0, 0, 1)))
BARE = {"EI": 1.0, "GJ": 1.0, "mass_per_length": 1.0, "gravity": (0.0, 0.0, 0.0)}


def ball_coordinates(turns: np.ndarray) -> np.ndarray:
    """Coordinates (w, x, y, z) of balls from rotation vectors (n, 3)."""
    half = 0.5 * np.linalg.norm(turns, axis=1)[:, None]
    return np.hstack([np.cos(half), 0.5 * turns * np.sinc(half / math.pi)]).ravel()


def twisted_ring(n: int) -> Solved:
    """The twist at which a ring bent from a straight rod leaves its plane (Michell, Zajac): 2π√3 EI/GJ."""
    low, high = 10.3, 11.2

    def made(angle: float) -> lw.Model:
        rod = lw.rod(2.0 * math.pi, n, radius=1e-3, **BARE)  # type: ignore[arg-type]
        rod.attach_world("start", lw.Clamped())
        rod.attach_world("end", lw.Clamped(), at=lw.Pose(rpy=(angle, 0.0, 0.0)))
        # A ring that is everted as a whole has the same energy: the body across stays in the plane.
        across = lw.Compound((SLIDES[0], SLIDES[2], *TURNS))
        rod.add_loop(across, "world", f"rod_{n // 2}", (lw.Pose((0.0, 0.0, -2.0)), lw.Pose()))
        return rod.compile()

    model = made(low)
    phase = low * (np.arange(n) + 0.5) / n
    bend = 2.0 * math.pi / n
    turns = np.column_stack([np.full(n, low / n), bend * np.cos(phase), -bend * np.sin(phase)])
    start = lw.close_loops(model, lw.State(ball_coordinates(turns), np.zeros(model.nv)))
    begun = time.process_time()
    found = lw.buckling(model, start, made, low, high, steps=6, tolerance=1e-7)
    return (found.load,), found.sweeps, time.process_time() - begun


def twisted_rod(n: int) -> Solved:
    """The torque at which a rod whose ends keep their directions leaves the straight: 2π EI/L."""

    def made(angle: float) -> lw.Model:
        rod = lw.rod(1.0, n, radius=1e-3, **{**BARE, "GJ": 2.0})  # type: ignore[arg-type]
        rod.attach_world("start", lw.Clamped())
        frames = (lw.Pose(xyz=(1.0, 0.0, 0.0), rpy=(angle, 0.0, 0.0)), rod.on.end.frame)
        rod.add_loop(lw.Compound(SLIDES), "world", rod.on.end.body, frames)
        return rod.compile()

    model = made(0.0)
    begun = time.process_time()
    found = lw.buckling(model, model.neutral(), made, 2.5, 3.5, steps=2, tolerance=1e-7)
    return (2.0 * found.load,), found.sweeps, time.process_time() - begun


LENGTH, BEND, TWIST, LINK, SLACK = 100.0, 1.345, 0.789, 27.0 * 2.0 * math.pi, 3.0


def localized() -> tuple[float, float]:
    """Torque and tension of an endless rod with this slack and these turns: slack 4 √(B/T) √(1 − m²/4),
    turns M L/C + 4 arccos(m/2), m² = M²/(B T)."""

    def slack_at(torque: float) -> tuple[float, float]:
        low, high = torque**2 / (4.0 * BEND) * (1.0 + 1e-9), torque**2
        for _ in range(100):
            pull = 0.5 * (low + high)
            rest = math.sqrt(1.0 - torque**2 / (4.0 * BEND * pull))
            low, high = (pull, high) if 4.0 * math.sqrt(BEND / pull) * rest < SLACK else (low, pull)
        return pull, torque * LENGTH / TWIST + 4.0 * math.acos(torque / (2.0 * math.sqrt(BEND * pull)))

    low, high = 1.0, 1.5
    for _ in range(100):
        torque = 0.5 * (low + high)
        low, high = (torque, high) if slack_at(torque)[1] < LINK else (low, torque)
    return torque, slack_at(torque)[0]


def helix(n: int) -> Solved:
    """Torque and tension of a clamped rod with slack and turns, as M L/B and T L²/B."""
    rod = lw.rod(LENGTH, n, EI=BEND, GJ=TWIST, mass_per_length=1.0, radius=1e-2, gravity=(0.0, 0.0, 0.0))
    rod.attach_world("start", lw.Clamped())
    rod.attach_world("end", lw.Clamped(), at=(LENGTH - SLACK, 0.0, 0.0))
    model = rod.compile()
    start = lw.close_loops(model, lw.State(_localized_shape(n), np.zeros(model.nv)))
    begun = time.process_time()
    rest = lw.settle(model, start)
    seconds = time.process_time() - begun
    along = rest.along()
    return (
        (float(along.torque[0]) * LENGTH / BEND, float(along.tension[0]) * LENGTH**2 / BEND),
        rest.report.sweeps,
        seconds,
    )


def _localized_shape(n: int) -> np.ndarray:
    """Coordinates of the endless rod's solution, in pieces: sin²(θ/2) = (1 − m²/4) sech²(κ s), ψ' = M/(B (1 + cos θ))."""
    torque, pull = localized()
    rest = 1.0 - torque**2 / (4.0 * BEND * pull)
    kappa = math.sqrt(pull / BEND * rest)
    s = np.arange(n + 1) * LENGTH / n - 0.5 * LENGTH
    theta = 2.0 * np.arcsin(math.sqrt(rest) / np.cosh(kappa * s))
    theta[[0, -1]] = 0.0
    rate = torque / (BEND * (1.0 + np.cos(theta)))
    psi = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * LENGTH / n)])
    t = np.column_stack([np.cos(theta), np.sin(theta) * np.cos(psi), np.sin(theta) * np.sin(psi)])
    frames = [np.eye(3)]
    for before, after in pairwise(t):  # without twist, by the shortest way
        v = np.cross(before, after)
        hat = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
        frames.append((np.eye(3) + hat + hat @ hat / (1.0 + before @ after)) @ frames[-1])
    last = frames[-1]
    turned = math.atan2(last[2, 1] - last[1, 2], last[1, 1] + last[2, 2])
    twist = (LINK - turned) / n
    turns = []
    for k in range(n):
        a, b = k * twist, (k + 1) * twist
        R = _about_x(-a) @ frames[k].T @ frames[k + 1] @ _about_x(b)
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        sine = 0.5 * np.linalg.norm(axis)
        turns.append(0.5 * axis * math.atan2(sine, 0.5 * (np.trace(R) - 1.0)) / sine)
    return ball_coordinates(np.array(turns))


def _about_x(a: float) -> np.ndarray:
    return np.array([[1.0, 0.0, 0.0], [0.0, math.cos(a), -math.sin(a)], [0.0, math.sin(a), math.cos(a)]])


def catenary(which: str) -> Callable[[int], Solved]:
    def solve(n: int) -> Solved:
        cable = lw.library.chain(n, length=100.0 / n, mass=100.0 / n, axes="same", radius=1e-3)
        end = (lw.Pose((80.0, 0.0, 0.0)), lw.Pose((0.0, 0.0, -100.0 / n)))
        cable.add_loop(lw.Spherical(), "world", f"link_{n - 1}", end)
        model = cable.compile()
        begun = time.process_time()
        rest = lw.settle(model, model.neutral())
        seconds = time.process_time() - begun
        sag = -float(lw.body_poses(model, rest.state)[:, 2, 3].min())
        pull = float(np.linalg.norm(rest.report.reactions[0, 3:])) / 981.0
        return (sag if which == "sag" else pull,), rest.report.sweeps, seconds

    return solve


WEIGHT = 69.75e3 / 170.0  # [N/m], the sum of the reference's vertical forces over the length


def jumper(n: int) -> Solved:
    """Forces at the ends of a flexible jumper [kN]: at the top across and up, at the bottom up."""
    rod = lw.rod(170.0, n, EI=120.8e3, GJ=120.8e3, EA=500e6, mass_per_length=WEIGHT / 9.81, radius=0.1)
    rod.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.2, 0.0)))
    rod.attach_world("end", lw.Pinned(), at=(100.0, 0.0, 50.0))
    model = rod.compile()
    begun = time.process_time()
    rest = lw.settle(model, model.neutral())
    seconds = time.process_time() - begun
    bottom = rest.along().start_force
    top = np.array([0.0, 0.0, 69.75e3]) - bottom
    return (1e-3 * float(top[0]), 1e-3 * float(top[2]), 1e-3 * float(bottom[2])), rest.report.sweeps, seconds


def hanging_chain(n: int) -> Solved:
    """Largest error of the frequencies of n point masses on massless links, as parts: zeros of Laguerre's polynomial."""
    n = min(n, 20)  # NumPy's zeros have no more digits beyond
    chain = lw.Linkage("point masses")
    for i in range(n):
        place = lw.Pose((0, 0, -1.0 / n if i else 0.0))
        mass = lw.Inertia(1.0, (0, 0, -1.0 / n), (0, 0, 0))
        chain.add_body(f"b{i}", f"b{i - 1}" if i else "world", lw.Revolute((0, 1, 0)), place, mass)
    model = chain.compile()
    begun = time.process_time()
    found = lw.modes(model, model.neutral(), n)
    seconds = time.process_time() - begun
    zeros = np.sort(np.polynomial.laguerre.lagroots([0.0] * n + [1.0]))
    return (float(np.abs(found.rates2 / (9.81 * n * zeros) - 1.0).max()),), found.sweeps, seconds


def frequencies(ends: str) -> Callable[[int], Solved]:
    """Largest error of the first frequencies, as parts."""
    roots = {"free": (4.73004074, 7.85320462), "hinged": (math.pi, 2.0 * math.pi), "ring": (1.0,)}[ends]
    still = {"free": 6, "hinged": 1, "ring": 6}[ends]
    reference = np.repeat([36.0 / 5.0], 4) ** 0.5 if ends == "ring" else np.repeat(np.square(roots), 2)

    def solve(n: int) -> Solved:
        curve = (
            (lambda u: (math.sin(2 * math.pi * u), 1.0 - math.cos(2 * math.pi * u), 0.0)) if ends == "ring" else None
        )
        rod = lw.rod(None if curve else 1.0, n, radius=1e-5, curve=curve, **BARE)  # type: ignore[arg-type]
        if ends == "hinged":
            rod.attach_world("start", lw.Pinned())
            frames = (lw.Pose((1.0, 0.0, 0.0)), rod.on.end.frame)
            rod.add_loop(lw.Compound((SLIDES[0], *TURNS)), "world", rod.on.end.body, frames)
        if ends == "ring":
            rod.attach("end", rod.on.start.body, lw.Clamped(), at=lw.Pose())
        model = rod.compile()
        begun = time.process_time()
        found = lw.modes(model, model.neutral(), still + reference.size)
        seconds = time.process_time() - begun
        error = 2.0 * math.pi * found.frequencies[still:] / reference - 1.0
        return (float(np.abs(error).max()),), found.sweeps, seconds

    return solve


def closed_problems(Problem: Any) -> list[Any]:
    ring, rod = 2.0 * math.pi * math.sqrt(3.0), 2.0 * math.pi
    fine = (250, 500, 1000)
    return [
        Problem("twisted ring, 2π√3 EI/GJ", (ring,), 1e-3, twisted_ring, False),
        Problem("twisted rod, 2π EI/L", (rod,), 1e-3, twisted_rod, False),
        Problem("helical buckling: M L/B, T L²/B", (98.5415, 2900.99), 1e-2, helix, True, (100, 200, 400)),
        Problem("hanging point masses: 20 frequencies", (0.0,), 1e-10, hanging_chain, False, is_absolute=True),
        Problem("free rod: frequencies", (0.0,), 1e-3, frequencies("free"), False, is_absolute=True),
        Problem("hinged rod: frequencies", (0.0,), 1e-3, frequencies("hinged"), False, is_absolute=True),
        Problem(
            "ring: frequencies in and out of its plane", (0.0,), 1e-3, frequencies("ring"), False, is_absolute=True
        ),
        Problem("catenary: sag", (26.543750914,), 1e-6, catenary("sag"), True, fine),
        Problem("catenary: largest tension", (0.603639388,), 1e-6, catenary("tension"), True, fine),
        Problem("jumper [kN]: top across, top up, bottom up", (11.40, 45.71, 24.04), 1e-2, jumper),
    ]
