"""Linkages that cost digits: masses a hundred million apart, needles and plates, links of 0.1 mm, welds, heavy rotors,

and bodies with almost no moments: spheres of micrometres that weigh a kilogram, with a metre between their joints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]

MOST_BODIES = 30
LIGHTEST, SHORTEST, THINNEST = 1e-8, 1e-4, 1e-4  # [kg], [m], part of the length
MOST_ARMATURE = 1e8  # [kg·m²]
TINY_BODIES = (4, 60)  # fewest and most
TINY_RADII = (1e-6, 1e-4)  # [m]
TINY_MASSES = (0.5, 2.0)  # [kg]
TINY_LINKS = (0.1, 1.0)  # [m]


def hostile_linkage(rng: np.random.Generator) -> Model:
    """A chain or tree of 2 to 30 bodies, drawn anew each time; welds are kept as joints."""
    count = int(rng.integers(2, MOST_BODIES + 1))
    masses = _masses(rng, count)
    shortest, thinnest = SHORTEST ** rng.random(), THINNEST ** rng.random()
    branching, welded = float(rng.choice([0.0, 0.0, 0.3, 1.0])), float(rng.choice([0.0, 0.0, 0.3, 0.8]))
    armature = float(10.0 ** rng.uniform(-3, np.log10(MOST_ARMATURE))) if rng.random() < 0.25 else None
    kinds = 1 if rng.random() < 0.5 else 5  # hinges only, or all
    linkage = lw.Linkage("hostile")
    for i in range(count):
        length = shortest ** rng.random()
        above = i - 1 if rng.random() >= branching else int(rng.integers(i)) if i else -1
        rotor = armature if rng.random() < 0.8 else None
        joint = lw.Fixed() if i and rng.random() < welded else _joint(rng, kinds, length, rotor)
        size = length * _shape(rng, thinnest)
        com = rng.normal(size=3) * length * rng.choice([0.0, 0.5, 3.0])
        inertia = lw.Inertia(masses[i], tuple(com), tuple(masses[i] / 12.0 * (size @ size - size * size)))
        placement = lw.Pose(tuple(rng.normal(size=3) * length))
        linkage.add_body(f"body_{i}", f"body_{above}" if above >= 0 else "world", joint, placement, inertia)
    return linkage.compile(merge_fixed=False)


def tiny_bodies(rng: np.random.Generator) -> Model:
    """A chain or tree of 4 to 60 spheres with almost no moments, on hinges or on joints of four kinds."""
    count = int(rng.integers(TINY_BODIES[0], TINY_BODIES[1] + 1))
    branching, kinds = float(rng.choice([0.0, 0.0, 0.3, 1.0])), 1 if rng.random() < 0.5 else 4
    linkage = lw.Linkage("tiny")
    for i in range(count):
        radius, length = (10.0 ** rng.uniform(*np.log10(ends)) for ends in (TINY_RADII, TINY_LINKS))
        inertia = lw.Inertia.sphere(float(rng.uniform(*TINY_MASSES)), float(radius))
        above = i - 1 if rng.random() >= branching else int(rng.integers(i)) if i else -1
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
        kind = int(rng.integers(kinds)) if rng.random() < 0.5 else 0
        joint = (lw.Revolute(axis), lw.Prismatic(axis), lw.Spherical(), lw.Universal())[kind]
        way = rng.normal(size=3)
        placement = lw.Pose(tuple(length * way / np.linalg.norm(way)))
        linkage.add_body(f"body_{i}", f"body_{above}" if above >= 0 else "world", joint, placement, inertia)
    return linkage.compile()


def _masses(rng: np.random.Generator, count: int) -> FloatArray:
    """At random, by turns, falling or rising along the linkage, or all the same [kg]."""
    lightest = LIGHTEST ** rng.random()
    exponents = (
        rng.random(count),
        np.arange(count) % 2,
        np.arange(count) / count,
        1.0 - np.arange(count) / count,
        np.zeros(count),
    )[int(rng.integers(5))]
    return np.asarray(lightest**exponents, dtype=float)


def _shape(rng: np.random.Generator, thinnest: float) -> FloatArray:
    """Edges of a cube, a needle or a plate, in lengths."""
    kind = rng.random()
    return np.array(
        [1.0, 1.0, 1.0] if kind < 0.4 else [1.0, thinnest, thinnest] if kind < 0.9 else [1.0, 1.0, thinnest]
    )


def _joint(rng: np.random.Generator, kinds: int, length: float, armature: float | None) -> lw.Joint:
    axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.3 else rng.normal(size=3)
    point = tuple(rng.normal(size=3) * length * rng.choice([0.0, 0.5, 5.0]))
    kind = int(rng.integers(kinds)) if rng.random() < 0.5 else 0
    if kind == 0:
        return lw.Revolute(axis, point=point, armature=armature)
    if kind == 1:
        return lw.Prismatic(axis, armature=armature)
    return (lw.Spherical, lw.Universal, lw.Free)[kind - 2](armature=armature)


def random_loads(rng: np.random.Generator, model: Model) -> tuple[FloatArray, FloatArray]:
    """Efforts (nv,) on all joints or none, a wrench on one body or none: wrenches (n, 6)."""
    effort, wrenches = np.zeros(model.nv), np.zeros((model.n_bodies, 6))
    if rng.random() < 0.5:
        effort = rng.normal(size=model.nv) * 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.5:
        wrenches[rng.integers(model.n_bodies)] = rng.normal(size=6)
    return effort, wrenches
