"""How a molecule is drawn: a ribbon or tube through the Cα atoms of each chain, thin sticks for all other bonds of heavy
atoms, and balls in the colours of their elements for all atoms but carbon.

A model is a molecule if its frames are atoms with names such as "A:41:CA". Everything drawn is rigid in one body: the
line from one Cα to the next lies in the plane of the peptide bond between them, and the bond of a torsion lies on the
axis of its joint. So bodies carry their colours here too, and active torsions show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.viewer.shapes.instances import Collector

ATOM = re.compile(r"([^:]*):(-?\d+[A-Za-z]?):(\S+)")
TUBE, STICK, ATOM_BALL, ION = 0.045, 0.014, 0.024, 0.07  # [nm] radii
RIBBON = (0.13, 0.03)  # [nm] half of its width and of its thickness, where Cα atoms lie as in helices and strands
MOST_BALLS = 20_000  # atoms of a molecule up to which elements have colours
ELEMENTS = {"N": (60, 90, 220), "O": (220, 50, 45), "S": (215, 180, 30), "P": (230, 125, 20), "ion": (120, 90, 200)}
HELIX = (0.45, 0.60)  # [nm] from a Cα to the third behind it; 0.50 in an α-helix
STRAND = 0.90  # [nm] or more in a strand; 1.0 where it is straight
SIDE_CHAINS = {  # heavy atoms beyond N, CA, C, O
    "": "GLY", "CB": "ALA", "CB OG": "SER", "CB SG": "CYS", "CB CG1 CG2": "VAL", "CB CG2 OG1": "THR", "CB CD CG": "PRO",
    "CB CD1 CG1 CG2": "ILE", "CB CD1 CD2 CG": "LEU", "CB CE CG SD": "MET", "CB CG ND2 OD1": "ASN", "CB CG OD1 OD2": "ASP",
    "CB CD CG NE2 OE1": "GLN", "CB CD CG OE1 OE2": "GLU", "CB CD CE CG NZ": "LYS", "CB CD CG CZ NE NH1 NH2": "ARG",
    "CB CD2 CE1 CG ND1 NE2": "HIS", "CB CD1 CD2 CE1 CE2 CG CZ": "PHE", "CB CD1 CD2 CE1 CE2 CG CZ OH": "TYR",
    "CB CD1 CD2 CE2 CE3 CG CH2 CZ2 CZ3 NE1": "TRP",
}  # fmt: skip
BACKBONE = ("N", "CA", "C", "O", "OXT")
LONGEST_BOND, LONGEST_OF_SULFUR = 0.175, 0.225  # [nm] between heavy atoms of proteins
PEPTIDE = (0.27, 0.42)  # [nm] from one Cα to the next, cis and trans


class Atoms(NamedTuple):
    """The heavy atoms of a molecule, by the frames of its model."""

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
    """Ribbons and tubes, sticks, and balls for atoms that are not carbon, or have no bonds (ions)."""
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
    for i, j, body, oxygen, is_flat in trace(atoms):
        if not is_flat:
            stick(x[i], x[j], body, TUBE)
            continue
        place = made.along(in_body(x[i], body), in_body(x[j], body))
        z, out = place[:3, 2], in_body(x[oxygen], body) - place[:3, 3]
        wide = out - (out @ z) * z  # the plane of the peptide bond
        place[:3, 0] = wide / np.linalg.norm(wide)
        place[:3, 1] = np.cross(z, place[:3, 0])
        made.add_ribbon(body, place, RIBBON, TUBE, float(np.linalg.norm(x[j] - x[i])))
    for i in np.flatnonzero(~bonded).tolist():
        made.add_ball(int(atoms.body[i]), atoms.at[i], ION, ELEMENTS["ion"])
    if len(atoms.name) <= MOST_BALLS:
        for i in np.flatnonzero(bonded).tolist():
            color = ELEMENTS.get(atoms.name[i][0])
            if color is not None:
                made.add_ball(int(atoms.body[i]), atoms.at[i], ATOM_BALL, color)


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


def trace(atoms: Atoms) -> Iterator[tuple[int, int, int, int, bool]]:
    """Each Cα, the next one of its chain, the body of the peptide plane between them (that of the first one's O), that O,
    and whether a ribbon is drawn there.
    """
    alphas = [i for i, name in enumerate(atoms.name) if name == "CA"]
    oxygens = {residue: i for i, residue in enumerate(atoms.residue) if atoms.name[i] == "O"}
    flat = _flat_planes(atoms, alphas)
    for k, (i, j) in enumerate(pairwise(alphas)):
        if _follow(atoms, i, j) and atoms.residue[i] in oxygens:
            oxygen = oxygens[atoms.residue[i]]
            yield i, j, int(atoms.body[oxygen]), oxygen, bool(flat[k])


def _follow(atoms: Atoms, i: int, j: int) -> bool:
    distance = float(np.linalg.norm(atoms.place[i] - atoms.place[j]))
    return atoms.residue[i][0] == atoms.residue[j][0] and PEPTIDE[0] < distance < PEPTIDE[1]


def _flat_planes(atoms: Atoms, alphas: list[int]) -> NDArray[np.bool_]:
    """Which peptide planes lie among four Cα atoms in a row that stand as in a helix or a strand."""
    flat = np.zeros(len(alphas), dtype=bool)
    for k in range(len(alphas) - 3):
        four = alphas[k : k + 4]
        if all(_follow(atoms, i, j) for i, j in pairwise(four)):
            distance = float(np.linalg.norm(atoms.place[four[0]] - atoms.place[four[3]]))
            if HELIX[0] < distance < HELIX[1] or distance > STRAND:
                flat[k : k + 3] = True
    return flat


def residue_labels(atoms: Atoms) -> list[tuple[str, int, FloatArray]]:
    """Text, body and place in its frame [nm] for every residue: "LYS 41 A" where its atoms identify it."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, residue in enumerate(atoms.residue):
        groups.setdefault(residue, []).append(i)
    found = []
    for (chain, number), members in groups.items():
        names = [atoms.name[i] for i in members]
        side = " ".join(sorted(name for name in names if name not in BACKBONE))
        kind = SIDE_CHAINS.get(side, "") if {"N", "CA", "C"} <= set(names) else ""
        at = members[names.index("CA")] if "CA" in names else members[0]
        found.append((f"{kind} {number} {chain}".strip(), int(atoms.body[at]), atoms.at[at]))
    return found
