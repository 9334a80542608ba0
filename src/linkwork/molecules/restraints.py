"""Restraints of a molecule, by the names of its atoms: what they hold, how firmly, and where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, numbers, positive, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import FormatError, ModelError, StateError
from linkwork.molecules.forces.restraint_forces import RestraintTables

ANGSTROM = 0.1  # [nm]


@tabled
class Restraints:
    """Distances, dihedral angles, places and shapes that a field holds: `field.with_restraints(restraints)`.

        restraints = lw.molecules.Restraints(mol)
        restraints.distance("A:1:CA", "A:20:CA", (1.0, 2.0), stiffness=500.0)

    Each is free inside its band, and costs ½ stiffness d² at the distance d outside of it. One number is a band without
    width. Units: nm, rad, kJ/mol.
    """

    def __init__(self, molecule: Any):
        if not callable(getattr(molecule, "atom", None)):
            raise StateError(f"restraints are those of a molecule, not of {shown(molecule)}.")
        self.molecule = molecule
        self._pairs: list[tuple[int, int, float, float, float]] = []
        self._dihedrals: list[tuple[int, int, int, int, float, float, float]] = []
        self._places: list[tuple[int, FloatArray, float, float]] = []
        self._shapes: list[tuple[NDArray[np.int64], FloatArray, float, float, float]] = []

    def __len__(self) -> int:
        return len(self._pairs) + len(self._dihedrals) + len(self._places) + len(self._shapes)

    def __repr__(self) -> str:
        return (
            f"Restraints({len(self._pairs)} distances, {len(self._dihedrals)} dihedrals, {len(self._places)} places, "
            f"{len(self._shapes)} shapes)"
        )

    def distance(self, a: Any, b: Any, length: Any, stiffness: float) -> Restraints:
        """Two atoms at a distance [nm], or within two of them: (low, high). stiffness: [kJ/mol/nm²]."""
        i, j = self._atom(a), self._atom(b)
        if i == j:
            raise ModelError(f"a distance is that of two atoms; {self.molecule.atoms.label(i)} was given twice.")
        low, high = _band(length, "length")
        if low < 0.0:
            raise ModelError(f"length is {shown(length)}; a distance is not negative.")
        self._pairs.append((i, j, low, high, positive(stiffness, "stiffness")))
        return self

    def dihedral(self, torsion: Any, angle: Any, stiffness: float) -> Restraints:
        """A torsion of the molecule, or four atoms, at an angle [rad] or within (low, high). stiffness: [kJ/mol/rad²]."""
        atoms = getattr(torsion, "atoms", torsion)
        if isinstance(atoms, str) or not hasattr(atoms, "__len__") or len(atoms) != 4:
            raise ModelError(f"{shown(torsion)} is neither a torsion nor four atoms.")
        i, j, k, last = (self._atom(a) for a in atoms)
        low, high = _band(angle, "angle")
        if high - low >= 2.0 * np.pi:
            raise ModelError(f"angle is {shown(angle)}; a band of a full turn restrains nothing.")
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        self._dihedrals.append((i, j, k, last, middle, half, positive(stiffness, "stiffness")))
        return self

    def position(
        self, atoms: Any, stiffness: float, target: ArrayLike | None = None, radius: float = 0.0
    ) -> Restraints:
        """Atoms at places [nm], shape (m, 3); by default where the molecule was made. radius: of a free ball."""
        who = self._atoms(atoms)
        places = (
            self.molecule.reference[who] if target is None else numbers(target, (len(who), 3), "target", "these atoms")
        )
        if not np.isfinite(places).all() or not finite(radius, "radius") >= 0.0:
            raise ModelError("target and radius must be finite, and radius not negative.")
        k = positive(stiffness, "stiffness")
        self._places += [(int(i), x.copy(), float(radius), k) for i, x in zip(who, places, strict=True)]
        return self

    def rmsd(
        self, atoms: Any, stiffness: float, deviation: Any = 0.0, reference: ArrayLike | None = None
    ) -> Restraints:
        """The root mean square deviation of atoms from a shape, best superposed, at a value [nm] or within (low, high).

        reference: places [nm], shape (m, 3); by default those the molecule was made with.
        """
        who = self._atoms(atoms)
        if len(who) < 3:
            raise ModelError(f"a shape needs three atoms and more, not {len(who)}.")
        shape = self.molecule.reference[who] if reference is None else numbers(
            reference, (len(who), 3), "reference", "these atoms"
        )  # fmt: skip
        low, high = _band(deviation, "deviation")
        if not np.isfinite(shape).all() or low < 0.0:
            raise ModelError("reference must be finite, and deviation not negative.")
        self._shapes.append((who, shape - shape.mean(axis=0), low, high, positive(stiffness, "stiffness")))
        return self

    def noe(self, table: str | Path, stiffness: float = 1000.0) -> Restraints:
        """Distances from a table: two atoms and two bounds [Å] per line, "A:5:HA A:9:H 1.8 4.5"; # begins a comment.

        table: the text itself, or a Path.
        """
        text = table.read_text(encoding="utf-8") if isinstance(table, Path) else table
        if not isinstance(text, str):
            raise StateError(f"table is {shown(table)}; give a text or a Path.")
        faults, rows = [], []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            try:
                a, b, low, high = words
                rows.append((self._atom(a), self._atom(b), ANGSTROM * float(low), ANGSTROM * float(high)))
                if not 0.0 <= rows[-1][2] <= rows[-1][3] < np.inf:
                    raise ValueError("bounds must rise from 0")
            except (ValueError, ModelError) as error:
                faults.append(f"line {number}: {line.strip()!r}: {error}")
        if faults:
            raise FormatError(f"{len(faults)} fault{'s' if len(faults) > 1 else ''} in the table of distances", faults)
        for i, j, least, most in rows:
            self.distance(i, j, (least, most), stiffness)
        return self

    def _atom(self, given: Any) -> int:
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            if not 0 <= given < len(self.molecule.atoms):
                raise ModelError(f"there is no atom {given}; the molecule has {len(self.molecule.atoms)}.")
            return int(given)
        return int(self.molecule.atom(given))

    def _atoms(self, given: Any) -> NDArray[np.int64]:
        names = [given] if isinstance(given, str | int | np.integer) else list(given)
        if not names:
            raise ModelError("no atom was given.")
        return np.array([self._atom(a) for a in names], dtype=np.int64)

    def tables(self) -> RestraintTables:
        """As the kernel takes them."""
        starts = np.concatenate([[0], np.cumsum([len(who) for who, *_ in self._shapes])]).astype(np.int64)
        return RestraintTables(
            np.array([row[:2] for row in self._pairs], dtype=np.int64).reshape(-1, 2),
            np.array([row[2:] for row in self._pairs], dtype=float).reshape(-1, 3),
            np.array([row[:4] for row in self._dihedrals], dtype=np.int64).reshape(-1, 4),
            np.array([row[4:] for row in self._dihedrals], dtype=float).reshape(-1, 3),
            np.array([row[0] for row in self._places], dtype=np.int64),
            np.array([[*x, radius, k] for _, x, radius, k in self._places], dtype=float).reshape(-1, 5),
            starts,
            np.concatenate([np.zeros(0, dtype=np.int64), *(who for who, *_ in self._shapes)]),
            np.concatenate([np.zeros((0, 3)), *(shape for _, shape, *_ in self._shapes)]),
            np.array([row[2:] for row in self._shapes], dtype=float).reshape(-1, 3),
            np.zeros(len(self)),
            np.zeros((2, 4, 4)),
        )


def _band(given: Any, what: str) -> tuple[float, float]:
    """A number, or two in order."""
    if isinstance(given, tuple | list | np.ndarray):
        if len(given) != 2:
            raise ModelError(f"{what} is {shown(given)}; give a number, or (low, high).")
        low, high = finite(given[0], what), finite(given[1], what)
    else:
        low = high = finite(given, what)
    if low > high:
        raise ModelError(f"{what} is {shown(given)}; the first must not be above the second.")
    return low, high
