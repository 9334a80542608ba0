"""Maps of correction (CMAP): an energy over two torsions, φ and ψ of a residue, on a grid; as in ff19SB.

Between the points of the grid the energy is a cubic in both angles, with the slopes of periodic splines through the rows
and columns (Mackerell, Feig and Brooks 2004), as OpenMM has it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import inlined
from linkwork.errors import ModelError
from linkwork.molecules.forces.dihedrals import dihedral, push_dihedral

# Values and slopes at both ends of an interval → coefficients of the cubic between them
HERMITE = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [-3.0, 3.0, -2.0, -1.0], [2.0, -2.0, 1.0, 1.0]])


def coefficients(energy: FloatArray) -> FloatArray:
    """Coefficients of all cells, shape (n, n, 16), of energies on a periodic grid (n, n) [kJ/mol], φ first.

    Cell (i, j) has E = Σ c[4 a + b] x^a y^b, with x and y from 0 to 1 across it.
    """

    def slopes(f: FloatArray, axis: int) -> FloatArray:
        """Of periodic cubic splines: m₋ + 4 m + m₊ = 3 (f₊ - f₋), a circulant system."""
        n = f.shape[axis]
        right = 3.0 * (np.roll(f, -1, axis) - np.roll(f, 1, axis))
        shape = [1, 1]
        shape[axis] = n
        factor = (4.0 + 2.0 * np.cos(2.0 * np.pi * np.arange(n) / n)).reshape(shape)
        return np.real(np.fft.ifft(np.fft.fft(right, axis=axis) / factor, axis=axis))

    def corners(f: FloatArray) -> list[list[FloatArray]]:
        """At (0, 0), (0, 1), (1, 0), (1, 1) of each cell."""
        right = np.roll(f, -1, 0)
        return [[f, np.roll(f, -1, 1)], [right, np.roll(right, -1, 1)]]

    of_phi, of_psi = slopes(energy, 0), slopes(energy, 1)
    both = slopes(of_phi, 1)
    f, fx, fy, fxy = corners(energy), corners(of_phi), corners(of_psi), corners(both)
    table = np.array([[*f[0], *fy[0]], [*f[1], *fy[1]], [*fx[0], *fxy[0]], [*fx[1], *fxy[1]]])  # (4, 4, n, n)
    found = np.einsum("ai,ijmn,bj->mnab", HERMITE, table, HERMITE)
    return np.ascontiguousarray(found.reshape(*energy.shape, 16))


def maps_of(force: Any) -> tuple[list[tuple[int, ...]], list[int], FloatArray]:
    """Atoms (eight for each term), the map of each, and coefficients (maps, n, n, 16) of OpenMM's CMAPTorsionForce."""
    grids, size = [], 1
    for k in range(force.getNumMaps()):
        size, energy = force.getMapParameters(k)
        values = np.array([getattr(e, "_value", e) for e in getattr(energy, "_value", energy)], dtype=float)
        grids.append(coefficients(values.reshape(size, size).T))  # OpenMM counts φ fastest
    if len({grid.shape for grid in grids}) > 1:
        raise ModelError(
            "engine='numba' takes maps of torsions of one size; this System has several. Use engine='openmm'."
        )
    terms = [force.getTorsionParameters(k) for k in range(force.getNumTorsions())]
    stacked = np.array(grids).reshape(len(grids), size, size, 16)
    return [tuple(term[1:]) for term in terms], [int(term[0]) for term in terms], stacked


@inlined
def correction_map(terms, t, work):
    """The energy over the torsions of atoms 0 to 3 and 4 to 7 of a term."""
    table = terms.cmap
    first = dihedral(work, table[t, 0], table[t, 1], table[t, 2], table[t, 3])
    second = dihedral(work, table[t, 4], table[t, 5], table[t, 6], table[t, 7])
    n = terms.cmap_size[0]
    x, y = n * (first[0] / (2.0 * math.pi)), n * (second[0] / (2.0 * math.pi))
    i, j = math.floor(x), math.floor(y)
    x, y = x - i, y - j
    row = (terms.cmap_map[t] * n + (int(i) + 2 * n) % n) * n + (int(j) + 2 * n) % n
    energy = 0.0
    by_x = 0.0
    by_y = 0.0
    for a in range(3, -1, -1):
        c0, c1 = terms.cmap_grid[row, 4 * a], terms.cmap_grid[row, 4 * a + 1]
        c2, c3 = terms.cmap_grid[row, 4 * a + 2], terms.cmap_grid[row, 4 * a + 3]
        value = ((c3 * y + c2) * y + c1) * y + c0
        by_x = by_x * x + energy
        energy = energy * x + value
        by_y = by_y * x + (3.0 * c3 * y + 2.0 * c2) * y + c1
    scale = n / (2.0 * math.pi)
    push_dihedral(work, table[t, 0], table[t, 1], table[t, 2], table[t, 3], first, by_x * scale)
    push_dihedral(work, table[t, 4], table[t, 5], table[t, 6], table[t, 7], second, by_y * scale)
    return energy
