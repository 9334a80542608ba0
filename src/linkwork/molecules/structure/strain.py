"""The geometry of a molecule before it is frozen: which rigid groups are strained, and which atoms stand too close.

Bond lengths and angles inside a rigid group stay as they are for ever. What a force field says about them is therefore
looked at once, when a structure has been read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.warning import warn_user
from linkwork.molecules.structure.report import PreparationReport

CLOSE = 0.3  # [nm] distance up to which pairs are looked at: atoms that touch stand 0.2 (O to H) to 0.4 nm apart
STRAINED = 100.0  # [kJ/mol] in bonds and angles of one rigid group, from which it is reported; usual ones have 10 to 50
TIGHT = 25.0  # [kJ/mol] of repulsion of one pair, from which it is reported: 10 kT
HOPELESS = 1000.0  # [kJ/mol] of repulsion of one pair: no run survives it
MOST = 5  # groups and pairs that a report names


@tabled
class Strain(NamedTuple):
    """A rigid group whose bonds and angles are not at rest."""

    body: str
    energy: float  # [kJ/mol] in its bonds and angles
    worst: str  # bond or angle


@tabled
class Clash(NamedTuple):
    """Two atoms, not bonded to each other, that stand too close."""

    first: str
    second: str
    distance: float  # [nm]
    energy: float  # [kJ/mol] of Lennard-Jones


@tabled
class Geometry(NamedTuple):
    """What a force field says about the geometry that is frozen, worst first."""

    strained: tuple[Strain, ...]  # every rigid group of several atoms
    clashes: tuple[Clash, ...]  # every pair that repels by more than TIGHT


def look_at_geometry(molecule: Any, x: FloatArray, terms: Any, pairs: Any) -> Geometry:
    """x: positions [nm], shape (a, 3). terms, pairs: tables of the force field (`forces/parameters.py`)."""
    return Geometry(_strained(molecule, x, terms), _clashes(molecule, x, terms, pairs))


def note_geometry(found: Geometry, report: PreparationReport) -> None:
    """Adds the worst groups and pairs to a report, and warns where no run would survive them."""
    for part in found.strained[:MOST]:
        if part.energy > STRAINED:
            what = f"{part.energy:.0f} kJ/mol in bonds and angles; worst {part.worst}"
            report.note("strain", part.body, what)
    for clash in found.clashes[:MOST]:
        what = f"{clash.first} and {clash.second} stand {clash.distance:.3f} nm apart: {clash.energy:.3g} kJ/mol"
        report.note("contact", "", what)
    if len(found.clashes) > MOST:
        report.note("contact", "", f"{len(found.clashes) - MOST} more pairs stand too close")
    if found.clashes and found.clashes[0].energy > HOPELESS:
        a, b, distance, energy = found.clashes[0]
        warn_user(
            f"{report.source}: {a} and {b} stand {distance:.3f} nm apart and repel each other with {energy:.3g} kJ/mol. "
            "Load it with relax=True, or settle it (lw.settle) before it moves."
        )


def _strained(molecule: Any, x: FloatArray, terms: Any) -> tuple[Strain, ...]:
    atoms, tree = molecule.atoms, molecule.tree
    stretch = np.linalg.norm(x[terms.bond[:, 0]] - x[terms.bond[:, 1]], axis=1)
    of_bonds = 0.5 * terms.bond_parameters[:, 1] * (stretch - terms.bond_parameters[:, 0]) ** 2
    a, b = x[terms.angle[:, 0]] - x[terms.angle[:, 1]], x[terms.angle[:, 2]] - x[terms.angle[:, 1]]
    bend = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ij,ij->i", a, b))
    of_angles = 0.5 * terms.angle_parameters[:, 1] * (bend - terms.angle_parameters[:, 0]) ** 2
    # The middle atom of an angle stands still in the body that carries all three, or in one beside it.
    energy = np.zeros(len(molecule.model.body_names))
    np.add.at(energy, tree.body[terms.bond[:, 0]], of_bonds)
    np.add.at(energy, tree.body[terms.angle[:, 1]], of_angles)
    worst: dict[int, tuple[float, str]] = {}
    for k in np.argsort(of_bonds)[-len(energy) :].tolist():
        names = "-".join(atoms.names[i] for i in terms.bond[k])
        words = f"bond {names} of {1e3 * stretch[k]:.0f} pm, {1e3 * terms.bond_parameters[k, 0]:.0f} at rest"
        _keep_worst(worst, int(tree.body[terms.bond[k, 0]]), float(of_bonds[k]), words)
    for k in np.argsort(of_angles)[-len(energy) :].tolist():
        names = "-".join(atoms.names[i] for i in terms.angle[k])
        words = f"angle {names} of {np.degrees(bend[k]):.0f}°, {np.degrees(terms.angle_parameters[k, 0]):.0f}° at rest"
        _keep_worst(worst, int(tree.body[terms.angle[k, 1]]), float(of_angles[k]), words)
    order = np.argsort(-energy, kind="stable").tolist()
    names = molecule.model.body_names
    return tuple(Strain(names[k], float(energy[k]), worst.get(k, (0.0, ""))[1]) for k in order if energy[k] > 0.0)


def _keep_worst(worst: dict[int, tuple[float, str]], body: int, energy: float, words: str) -> None:
    if energy > worst.get(body, (0.0, ""))[0]:
        worst[body] = (energy, words)


def _clashes(molecule: Any, x: FloatArray, terms: Any, pairs: Any) -> tuple[Clash, ...]:
    """Pairs that no exclusion takes out, and 1-4 pairs, by their repulsion."""
    atoms, count = molecule.atoms, len(x)
    p = len(pairs.parameters) // 3
    i, j = close_pairs(x, CLOSE)
    excluded = np.repeat(np.arange(count), np.diff(pairs.excluded_start)) * count + pairs.excluded
    free = ~np.isin(i * count + j, excluded)
    i, j = i[free], j[free]
    sigma = pairs.parameters[i] + pairs.parameters[j]
    epsilon = 0.25 * pairs.parameters[p + i] * pairs.parameters[p + j]
    near = terms.near_parameters
    i, j = np.concatenate([i, terms.near[:, 0]]), np.concatenate([j, terms.near[:, 1]])
    sigma, epsilon = np.concatenate([sigma, near[:, 1]]), np.concatenate([epsilon, near[:, 2]])
    r = np.linalg.norm(x[i] - x[j], axis=1)
    s6 = (sigma / np.maximum(r, 1e-6)) ** 6
    energy = 4.0 * epsilon * s6 * (s6 - 1.0)
    apart = molecule.tree.body[i] != molecule.tree.body[j]  # pairs inside a rigid group exert nothing
    worst = np.flatnonzero((energy > TIGHT) & apart)
    worst = worst[np.argsort(-energy[worst], kind="stable")]
    return tuple(Clash(atoms.label(int(i[k])), atoms.label(int(j[k])), float(r[k]), float(energy[k])) for k in worst)


def close_pairs(x: FloatArray, reach: float) -> tuple[IntArray, IntArray]:
    """Pairs i < j of points (a, 3) within a distance; O(a) by cells of that size."""
    cell = np.floor((x - x.min(axis=0, initial=0.0)) / reach).astype(np.int64)
    size = cell.max(axis=0, initial=0) + 3
    key = ((cell[:, 0] + 1) * size[1] + cell[:, 1] + 1) * size[2] + cell[:, 2] + 1
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    found = []
    for dx, dy, dz in np.ndindex(3, 3, 3):
        other = key + ((dx - 1) * size[1] + dy - 1) * size[2] + dz - 1
        first, last = np.searchsorted(ranked, other), np.searchsorted(ranked, other, side="right")
        many = last - first
        i = np.repeat(np.arange(len(x)), many)
        j = order[np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many)]
        keep = (i < j) & (np.einsum("ij,ij->i", x[i] - x[j], x[i] - x[j]) <= reach * reach)
        found.append((i[keep], j[keep]))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])
