"""Random trees of every joint kind, for tests, benchmarks and users alike: same seed, same tree, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from linkwork.model.library.parts import count, positive, yes_or_no
from linkwork.model.linkage import Linkage
from linkwork.spatial.pose import Pose, Vector3

Generator = np.random.Generator
Frame3 = tuple[Vector3, Vector3, Vector3]  # three directions at right angles

DENSITY = 1000.0  # of the random bodies [kg/m³]


def _random_compound(frame: Frame3, rng: Generator) -> Joint:
    """Two or three screws along directions at right angles: random ones would too often nearly coincide."""
    parts: list[Joint] = []
    for axis in frame[: int(rng.integers(2, 4))]:
        point = tuple(rng.uniform(-0.1, 0.1, 3).tolist())
        kind = int(rng.integers(3))
        if kind == 0:
            parts.append(Revolute(axis, point))
        elif kind == 1:
            parts.append(Prismatic(axis))
        else:
            parts.append(Screw(axis, point, pitch=float(rng.uniform(-0.1, 0.1))))
    return Compound(parts)


_MAKERS: dict[str, Callable[[Frame3, Generator], Joint]] = {
    "revolute": lambda frame, rng: Revolute(frame[0]),
    "prismatic": lambda frame, rng: Prismatic(frame[0]),
    "screw": lambda frame, rng: Screw(frame[0], pitch=float(rng.uniform(-0.1, 0.1))),
    "cylindrical": lambda frame, rng: Cylindrical(frame[0]),
    "universal": lambda frame, rng: Universal(frame[0], frame[1]),
    "planar": lambda frame, rng: Planar(frame[2], frame[0]),
    "spherical": lambda frame, rng: Spherical(tuple(rng.uniform(-0.1, 0.1, 3).tolist())),
    "free": lambda frame, rng: Free(),
    "fixed": lambda frame, rng: Fixed(),
    "compound": _random_compound,
}
JOINT_KINDS = tuple(_MAKERS)


def random_tree(
    joints: int = 100,
    seed: int = 0,
    branching: float = 0.5,
    kinds: Sequence[str] = ("revolute",),
    floating: bool = False,
    options: bool = False,
    size: float = 0.3,
) -> Linkage:
    """A random tree of solid boxes with random axes, placements and unequal inertias.

    joints: how many bodies, each with its joint to its parent.
    branching: 0 hangs every body from the last (a chain); 1 from any earlier body, all equally likely; in between, the
    chance of the latter.
    kinds: joint kinds to draw from, any of `JOINT_KINDS`.
    floating: the first body moves freely, whatever the kinds.
    options: random damping, stiffness, rest coordinates and armature on every moving joint.
    size: mean distance from a joint to the next, and mean size of a body [m].
    """
    n = count(joints, "joints", "random_tree")
    if not (isinstance(branching, int | float) and 0.0 <= branching <= 1.0):
        raise ModelError(
            f"random_tree: branching must be a number from 0 (chain) to 1 (bushy), not {branching!r}.",
            about="branching",
        )
    names = (kinds,) if isinstance(kinds, str) or not isinstance(kinds, Sequence) else tuple(kinds)
    unknown = [kind for kind in names if not isinstance(kind, str) or kind not in _MAKERS]
    if unknown or not names:
        raise ModelError(
            f"random_tree: unknown joint kinds {unknown}; choose from {', '.join(JOINT_KINDS)}.", about="kinds"
        )
    reach = positive(size, "size", "random_tree")
    rng = np.random.default_rng(count(seed, "seed", "random_tree", least=0))

    parents = _random_parents(n, float(branching), rng)
    placements = _random_placements(n, reach, rng)
    inertias = _random_inertias(n, reach, rng)
    frames = _random_frames(n, rng)
    chosen = rng.integers(len(names), size=n).tolist()
    linkage = Linkage("random_tree")
    for i, parent in enumerate(parents):
        kind = "free" if yes_or_no(floating, "floating") and i == 0 else names[chosen[i]]
        joint = _MAKERS[kind](frames[i], rng)
        if yes_or_no(options, "options") and joint.nv:
            joint = _with_options(joint, rng)
        above = "world" if parent < 0 else f"body_{parent}"
        linkage.add_body(f"body_{i}", above, joint, placements[i], inertias[i])
    return linkage


def _random_parents(n: int, branching: float, rng: Generator) -> list[int]:
    last = np.arange(n) - 1
    anywhere = (rng.random(n) * np.arange(n)).astype(np.int64)  # uniform over 0 ... i - 1
    parents = np.where(rng.random(n) < branching, anywhere, last)
    parents[0] = -1
    return parents.tolist()


def _rotations(n: int, rng: Generator) -> FloatArray:
    """Uniformly random rotation matrices, shape (n, 3, 3), from normal quaternions."""
    q = rng.normal(size=(n, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    columns = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip
    return np.stack(columns, axis=1).reshape(n, 3, 3)


def _random_frames(n: int, rng: Generator) -> list[Frame3]:
    """Three random directions at right angles for each body: the columns of a random rotation."""
    x, y, z = (map(tuple, _rotations(n, rng)[:, :, k].tolist()) for k in range(3))
    return list(zip(x, y, z, strict=True))


def _random_placements(n: int, size: float, rng: Generator) -> list[Pose]:
    direction = rng.normal(size=(n, 3))
    distance = size * rng.uniform(0.5, 1.5, size=(n, 1))
    xyz = (distance * direction / np.linalg.norm(direction, axis=1, keepdims=True)).tolist()
    turns = _rotations(n, rng).reshape(n, 9).tolist()
    rows: Iterable[tuple[Any, Any]] = zip(map(tuple, turns), map(tuple, xyz), strict=True)
    return [Pose.raw(turn, place) for turn, place in rows]


def _random_inertias(n: int, size: float, rng: Generator) -> list[Inertia]:
    """Solid boxes of random edges, turned and shifted at random: physical by construction."""
    edges = size * rng.uniform(0.3, 1.2, size=(n, 3))
    mass = DENSITY * edges.prod(axis=1)
    squares = edges**2 * (mass / 12.0)[:, None]
    principal = squares.sum(axis=1, keepdims=True) - squares
    R = _rotations(n, rng)
    M = np.einsum("nij,nj,nkj->nik", R, principal, R)
    moments = M[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist()
    com = (size * rng.uniform(-0.5, 0.5, size=(n, 3))).tolist()
    rows = zip(mass.tolist(), com, moments, strict=True)
    return [Inertia.raw(m, tuple(c), tuple(i)) for m, c, i in rows]


def _with_options(joint: Joint, rng: Generator) -> Joint:
    nv = joint.nv
    ball = isinstance(joint, Spherical | Free)
    options: dict[str, object] = {
        "damping": tuple(rng.uniform(0.0, 0.5, nv).tolist()),
        "armature": tuple(rng.uniform(0.0, 0.1, nv).tolist()),
        # a ball has one stiffness for all directions; so has a free joint's turning
        "stiffness": float(rng.uniform(0.0, 5.0)) if ball else tuple(rng.uniform(0.0, 5.0, nv).tolist()),
    }
    if not ball:
        options["rest"] = tuple(rng.uniform(-0.5, 0.5, joint.nq).tolist())
    if isinstance(joint, Compound):
        return Compound(joint.parts, **options)
    return replace(joint, **options)  # type: ignore[arg-type]
