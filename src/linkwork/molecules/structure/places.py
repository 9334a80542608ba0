"""Positions of atoms: the angle of four of them, and what must hold for all."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import ModelError
from linkwork.molecules.structure.atoms import AtomTable


def dihedral(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> float:
    """Angle between the planes a b c and b c d [rad], IUPAC's sign."""
    u, v, w = b - a, c - b, d - c
    first, second = np.cross(u, v), np.cross(v, w)
    return float(np.arctan2(np.linalg.norm(v) * (u @ second), first @ second))


def check_positions(atoms: AtomTable, x: FloatArray) -> None:
    if x.shape != (len(atoms), 3):
        raise ModelError(f"positions have shape {x.shape}; {len(atoms)} atoms need ({len(atoms)}, 3).")
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if bad.size:
        raise ModelError(f"{atoms.describe(int(bad[0]))} stands at {tuple(x[bad[0]].tolist())}; give finite numbers.")
    light = np.flatnonzero(~(atoms.masses > 0.0))
    if light.size:
        raise ModelError(
            f"{atoms.describe(int(light[0]))} has mass {atoms.masses[light[0]]}; every atom of a linkage needs mass > 0."
        )
