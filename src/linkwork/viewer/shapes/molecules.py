"""How a molecule is drawn: a tube through the Cα atoms of each chain, and thin sticks for all other bonds of heavy atoms.

A model tells that it is a molecule by its frames, which are atoms with names such as "A:41:CA". Everything drawn is rigid
in one body: the line from one Cα to the next lies in the plane of the peptide bond between them, and the bond of a torsion
lies on the axis of its joint. So bodies carry their colours here too, and active torsions show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.front import body_poses
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.viewer.shapes.pieces import Collector

ATOM = re.compile(r"([^:]*):(-?\d+[A-Za-z]?):(\S+)")
TUBE, STICK, BALL = 0.045, 0.014, 0.07  # [nm] radii
LONGEST_BOND, LONGEST_OF_SULFUR = 0.175, 0.225  # [nm] between heavy atoms of proteins
PEPTIDE = (0.27, 0.42)  # [nm] from one Cα to the next, cis and trans


class Atoms(NamedTuple):
    """The heavy atoms of a molecule, as the frames of its model tell them."""

    residue: list[tuple[str, str]]  # chain and number of each atom's residue, along the chains
    name: list[str]
    body: IntArray  # (a,)
    at: FloatArray  # (a, 3) in the body's frame [nm]
    place: FloatArray  # (a, 3) in the world, at the reference geometry [nm]


def atoms_of(model: Model) -> Atoms | None:
    """None where the model is not a molecule: some frame is not an atom, or a body has none."""
    found = [(ATOM.fullmatch(name), frame) for name, frame in model.frames.items()]
    if not found or any(match is None or frame.body < 0 for match, frame in found):
        return None
    heavy = [(match, frame) for match, frame in found if match is not None and not is_hydrogen(match[3])]
    heavy.sort(key=lambda atom: along_chain(atom[0][1], atom[0][2]))
    bodies = {frame.body for _, frame in found}
    if len(bodies) < model.n_bodies:
        return None
    body = np.array([frame.body for _, frame in heavy], dtype=np.int64)
    at = np.array([frame.pose.matrix[:3, 3] for _, frame in heavy]).reshape(-1, 3)
    T = body_poses(model, model.neutral())[body]
    place = np.einsum("aij,aj->ai", T[:, :3, :3], at) + T[:, :3, 3]
    return Atoms([(match[1], match[2]) for match, _ in heavy], [match[3] for match, _ in heavy], body, at, place)


def along_chain(chain: str, number: str) -> tuple[str, int, str]:
    """Where a residue stands: "52A" comes behind "52"."""
    digits = number.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    return chain, int(digits), number[len(digits) :]


def is_hydrogen(name: str) -> bool:
    """Names of hydrogens begin with H, or with a digit before it; mercury is not expected."""
    return name.lstrip("0123456789").startswith(("H", "D"))


def add_molecule(model: Model, atoms: Atoms, made: Collector) -> None:
    """Tube, sticks, and balls for atoms without bonds (ions)."""
    T = body_poses(model, model.neutral())

    def in_body(x: FloatArray, body: int) -> FloatArray:
        return np.asarray(T[body, :3, :3].T @ (x - T[body, :3, 3]))

    def stick(a: FloatArray, b: FloatArray, body: int, radius: float) -> None:
        length = float(np.linalg.norm(b - a))
        made.add_capsule(body, made.along(in_body(a, body), in_body(b, body)), radius, length)

    x, bonded = atoms.place, np.zeros(len(atoms.name), dtype=bool)
    for i, j in bonds(atoms):
        bonded[[i, j]] = True
        a, b = int(atoms.body[i]), int(atoms.body[j])
        if a == b or model.parent[b] == a:
            stick(x[i], x[j], b, STICK)
        elif model.parent[a] == b:
            stick(x[i], x[j], a, STICK)
        else:  # a ring that was cut open: each half on its side
            middle = 0.5 * (x[i] + x[j])
            stick(x[i], middle, a, STICK)
            stick(middle, x[j], b, STICK)
    for i, j, body in trace(atoms):
        stick(x[i], x[j], body, TUBE)
    for i in np.flatnonzero(~bonded).tolist():
        made.add_ball(int(atoms.body[i]), atoms.at[i], BALL)


def bonds(atoms: Atoms) -> Iterator[tuple[int, int]]:
    """Pairs of heavy atoms near enough to be bonded: within a residue, from C to the next N, and between sulfurs."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, residue in enumerate(atoms.residue):
        groups.setdefault(residue, []).append(i)
    before: list[int] = []
    for group in groups.values():
        for k, i in enumerate(group):
            for j in group[:k]:
                if near(atoms, i, j):
                    yield j, i
        joints = [(i, j) for i in before if atoms.name[i] == "C" for j in group if atoms.name[j] in ("N", "C")]
        yield from ((i, j) for i, j in joints if near(atoms, i, j))
        before = group
    sulfurs = [i for i, name in enumerate(atoms.name) if name == "SG"]
    for k, i in enumerate(sulfurs):
        yield from ((j, i) for j in sulfurs[:k] if near(atoms, i, j))


def near(atoms: Atoms, i: int, j: int) -> bool:
    sulfur = "S" in (atoms.name[i][0], atoms.name[j][0])
    distance = float(np.linalg.norm(atoms.place[i] - atoms.place[j]))
    return distance < (LONGEST_OF_SULFUR if sulfur else LONGEST_BOND)


def trace(atoms: Atoms) -> Iterator[tuple[int, int, int]]:
    """Each Cα, the next one of its chain, and the body of the peptide plane between them: that of the first one's O."""
    alphas = [i for i, name in enumerate(atoms.name) if name == "CA"]
    planes = {residue: int(atoms.body[i]) for i, residue in enumerate(atoms.residue) if atoms.name[i] == "O"}
    for i, j in pairwise(alphas):
        distance = float(np.linalg.norm(atoms.place[i] - atoms.place[j]))
        is_bonded = atoms.residue[i][0] == atoms.residue[j][0] and PEPTIDE[0] < distance < PEPTIDE[1]
        if is_bonded and atoms.residue[i] in planes:
            yield i, j, planes[atoms.residue[i]]
