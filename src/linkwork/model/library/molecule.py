"""A protein-like molecule: a long backbone of peptides with short side chains, one torsion per joint.

Atoms are drawn a billion times too large and heavy enough to handle: 1 nm becomes 1 m, 1 u becomes 1 g. Bond lengths and
angles are those of peptides (R. Engh and R. Huber, Acta Cryst. A47, 1991, rounded); bonds and angles are rigid, only
torsions move, as in internal-coordinate molecular dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint
from linkwork.model.library.parts import HINGE_X, count, placed, shifted, turn_x, turn_z, yes_or_no
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Shape, Sphere
from linkwork.spatial.pose import ORIGIN, Pose, Vector3

# Bond lengths [m for nm] and turns of direction at an atom (180° minus the bond angle) [rad].
N_CA, CA_C, C_N, C_O, C_C, C_H, N_H = 0.146, 0.153, 0.133, 0.123, 0.153, 0.109, 0.101
TURN_CA, TURN_C, TURN_N, TURN_SIDE = (math.radians(180.0 - angle) for angle in (111.0, 116.6, 121.7, 111.0))

# Masses [kg for 1000 u]; every atom is a small solid ball, so that no body is a mere point or line of masses.
CARBON, NITROGEN, OXYGEN, HYDROGEN = 0.012, 0.014, 0.016, 0.001
ATOM_RADIUS = 0.03
DRAWN_RADIUS = 0.05  # as chemists draw them: balls on sticks

HELIX = (math.radians(-60.0), math.radians(-45.0))  # torsions φ, ψ of an α-helix ...
STRAND = (math.radians(-120.0), math.radians(130.0))  # ... and of a β-strand
SCATTER = math.radians(12.0)  # spread of both within a helix or strand
MEAN_RUN = 12  # residues of a helix, strand or loop, on average
LONGEST_SIDE_CHAIN = 4  # as in lysine


def molecule(joints: int = 50_000, seed: int = 0, floating: bool = False) -> Linkage:
    """A random protein of `joints` torsions: backbone torsions φ and ψ, and side chains of 0 to 4 torsions each.

    Helices, strands and loops of random length give the fold at q = 0. There is no gravity.
    floating: sets the first group free instead of holding it by its torsion; the number of bodies stays the same.
    Units: 1 m stands for 1 nm, 1 kg for 1000 u.
    """
    n = count(joints, "joints", "molecule")
    rng = np.random.default_rng(count(seed, "seed", "molecule", least=0))
    linkage = Linkage("molecule", gravity=(0.0, 0.0, 0.0))
    alpha, peptide, methylene, methyl = _groups()
    root: Joint = Free() if yes_or_no(floating, "floating") else HINGE_X
    parent, to_alpha = "world", shifted(ORIGIN)
    for residue, (phi, psi, chi) in enumerate(_residues(n, rng)):
        name = f"ca_{residue}"
        joint = root if residue == 0 else HINGE_X
        place = _twisted(to_alpha, phi)
        linkage.add_body(name, parent, joint, place, alpha.inertia, joint_name=f"phi_{residue}", shapes=alpha.shapes)
        if len(linkage) == n:
            break
        parent, to_alpha = f"c_{residue}", FROM_C_TO_ALPHA
        place = _twisted(FROM_ALPHA_TO_C, psi)
        linkage.add_body(
            parent, name, HINGE_X, place, peptide.inertia, joint_name=f"psi_{residue}", shapes=peptide.shapes
        )
        bond = FROM_ALPHA_TO_SIDE
        for k, angle in enumerate(chi[: n - len(linkage)]):
            group = methyl if k == len(chi) - 1 else methylene
            atom = f"side_{residue}_{k}"
            linkage.add_body(atom, name, HINGE_X, _twisted(bond, angle), group.inertia, shapes=group.shapes)
            name, bond = atom, ALONG_SIDE
        if len(linkage) == n:
            break
    return linkage


def _residues(joints: int, rng: np.random.Generator) -> Iterator[tuple[float, float, list[float]]]:
    """Torsions of one residue after another: φ, ψ, and those of its side chain [rad]."""
    most = joints // 2 + 1  # a residue has two torsions at least
    kinds = np.repeat(rng.integers(3, size=most), rng.integers(1, 2 * MEAN_RUN, size=most))[:most].tolist()
    scatter = rng.normal(scale=SCATTER, size=(most, 2)).tolist()
    loose = rng.uniform(-math.pi, math.pi, size=(most, 2)).tolist()
    lengths = rng.integers(LONGEST_SIDE_CHAIN + 1, size=most).tolist()
    # side chains prefer the three staggered positions
    chi = (rng.integers(3, size=(most, LONGEST_SIDE_CHAIN)) * (2.0 * math.pi / 3.0) + math.pi).tolist()
    for kind, (a, b), (free_phi, free_psi), length, angles in zip(kinds, scatter, loose, lengths, chi, strict=True):
        if kind == 2:
            yield free_phi, free_psi, angles[:length]
        else:
            phi, psi = HELIX if kind == 0 else STRAND
            yield phi + a, psi + b, angles[:length]


def _twisted(bond: Pose, angle: float) -> Pose:
    """The end of a bond, turned about it (the frame's x axis)."""
    return bond @ Pose.raw(turn_x(angle), ORIGIN)


def _bond(turn: float, length: float) -> Pose:
    """The frame at the far end of a bond that leaves the last one's direction by `turn`; its x axis lies along the bond."""
    direction = (math.cos(turn) * length, math.sin(turn) * length, 0.0)
    return placed(direction, turn_z(turn))


FROM_ALPHA_TO_C = _bond(TURN_CA, CA_C)
FROM_C_TO_ALPHA = _bond(TURN_C, C_N) @ _bond(-TURN_N, N_CA)  # the peptide bond is rigid and trans
FROM_ALPHA_TO_SIDE = placed(ORIGIN, turn_x(math.radians(120.0))) @ _bond(TURN_SIDE, C_C)
ALONG_SIDE = _bond(TURN_SIDE, C_C)


class Group(NamedTuple):
    """Atoms that move as one."""

    inertia: Inertia
    shapes: tuple[Shape, ...]


def _groups() -> tuple[Group, Group, Group, Group]:
    """The four rigid groups: CH (alpha carbon), CONH (peptide), CH₂ and CH₃ (side chain), each with its first atom at 0."""

    def hydrogens(*turns: float) -> list[tuple[float, Vector3]]:
        return [(HYDROGEN, (placed(ORIGIN, turn_x(math.radians(turn))) @ _bond(TURN_SIDE, C_H)).xyz) for turn in turns]

    nitrogen = _bond(TURN_C, C_N)
    amide_hydrogen = nitrogen @ _bond(math.radians(60.0), N_H)
    oxygen = _bond(math.radians(-60.0), C_O)
    alpha = [(CARBON, ORIGIN), *hydrogens(-120.0)]
    peptide = [(CARBON, ORIGIN), (NITROGEN, nitrogen.xyz), (HYDROGEN, amide_hydrogen.xyz), (OXYGEN, oxygen.xyz)]
    methylene = [(CARBON, ORIGIN), *hydrogens(120.0, -120.0)]
    methyl = [(CARBON, ORIGIN), *hydrogens(0.0, 120.0, -120.0)]
    return _group(alpha), _group(peptide), _group(methylene), _group(methyl)


def _group(atoms: list[tuple[float, Vector3]]) -> Group:
    balls = (Inertia.sphere(mass, ATOM_RADIUS).at(shifted(at)) for mass, at in atoms)
    heavy = [at for mass, at in atoms if mass > HYDROGEN]  # what is drawn
    return Group(Inertia.total(balls), tuple(Sphere(DRAWN_RADIUS, placement=shifted(at)) for at in heavy))
