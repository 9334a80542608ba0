"""What the force kernels read and write: bundles of arrays, laid out for vectors of eight atoms.

Atoms keep the order of the molecule, in blocks of eight: neighbours in the chain are neighbours in space, so that a block
is small. The last block is filled up with atoms that carry no charge and stand far away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BLOCK = 8  # atoms in a block: the lanes of a vector

# settings of the pair terms
CUTOFF2, REACTION_K, REACTION_C, REACH, HALF_SKIN2 = range(5)  # [nm²], [nm⁻³], [nm⁻¹], [nm], [nm²]
SWITCH, SWITCH_SLOPE = 5, 6  # [nm] where Lennard-Jones terms begin to fade, [nm⁻¹] one over the width; 0: they do not
PAIR_SETTINGS = 7
# counters
LISTED, LIST_IS_VALID, LIST_BUILDS, PAIRS, AT_WORK = range(5)
NEAR_COUNT, TORSION_COUNT, BOND_COUNT, ANGLE_COUNT, MAP_COUNT = range(5, 10)  # chosen terms of each kind
KINDS = 5
AXIS_TERMS = 10  # one per kind: behind the chosen terms, those in which only atoms on axes are of other clusters
HAS_AXIS_TERMS = AXIS_TERMS + KINDS  # whether the forces at hand contain these
COUNTERS = HAS_AXIS_TERMS + 1
# what an evaluation can end in
FIELD_OK, FIELD_LIST_FULL, FIELD_NOT_FINITE, FIELD_INSIDE_FULL = range(4)


class Atoms(NamedTuple):
    """Where atoms sit on their bodies."""

    body: IntArray  # (a,)       body that owns each atom
    local: FloatArray  # (a, 3)     position in that body's frame [nm]
    carrier_start: IntArray  # (a + 1,)   where the carriers of each atom begin
    carrier: IntArray  # (c,)       bodies in which an atom stands still: its own, and those whose axis goes through it


class Pairs(NamedTuple):
    """Lennard-Jones and Coulomb terms of all pairs but the excluded ones."""

    parameters: FloatArray  # (3 p,)     p padded atoms: σ/2 [nm], 2 √ε [√(kJ/mol)], charge √(1/4πε₀) [√(kJ/mol nm)]
    settings: FloatArray  # (7,)
    excluded_start: IntArray  # (a + 1,)   excluded partners with higher numbers
    excluded: IntArray  # (e,)


class Terms(NamedTuple):
    """Terms of two to eight atoms, all that the force field has; `chosen` are those that can change."""

    near: IntArray  # (m, 2)     pairs with parameters of their own (1-4)
    near_parameters: FloatArray  # (m, 3)     charge product [e²], σ [nm], ε [kJ/mol]
    torsion: IntArray  # (m, 4)
    torsion_parameters: FloatArray  # (m, 3)     periodicity, phase [rad], k [kJ/mol]
    bond: IntArray  # (m, 2)
    bond_parameters: FloatArray  # (m, 2)     length [nm], k [kJ/mol/nm²]
    angle: IntArray  # (m, 3)
    angle_parameters: FloatArray  # (m, 2)     angle [rad], k [kJ/mol/rad²]
    cmap: IntArray  # (m, 8)     the atoms of two torsions
    cmap_map: IntArray  # (m,)       which map
    cmap_size: IntArray  # (1,)       n: points of a map along either angle
    cmap_grid: FloatArray  # (maps n n, 16)  coefficients of its cells [kJ/mol]


class Work(NamedTuple):
    """What evaluations write: positions, forces, the list of neighbours, the choice of terms."""

    position: FloatArray  # (3 p,)     x, y, z of all atoms [nm]
    listed_pose: FloatArray  # (a + 1, 12)  where bodies were when the list was made
    box: FloatArray  # (a + 1, 6)  middle and half the edges of a box around the atoms of each body, in its frame; -1: none
    force: FloatArray  # (3 p,)     [kJ/mol/nm]
    cluster: IntArray  # (p,)       atoms of one number move as one; -1 for atoms that fill up
    mark: IntArray  # (p,)       last atom that excludes each atom
    cluster_end: IntArray  # (p,)       last atom of each cluster
    block_sphere: FloatArray  # (blocks, 4)  centre and radius
    block_cluster: IntArray  # (blocks,)  cluster of all atoms of a block, -2 where there are several
    run_end: IntArray  # (blocks,)  where the row of blocks that all move as this one does ends
    candidate: IntArray  # (blocks,)  blocks near the one at hand
    row: IntArray  # (a + 1,)   first list entry of each atom
    entry: IntArray  # (capacity,)  block · 256 + one bit per atom of it
    block_works: (
        IntArray  # (blocks,)  1 where an atom of the block has neighbours on the list, or a term that can change
    )
    at_work: IntArray  # (blocks,)  the blocks for which that is so, ascending
    counters: IntArray  # (16,)
    chosen: IntArray  # (5, m)     near, torsion, bond, angle and map terms that can change; then those of `AXIS_TERMS`
    lanes: FloatArray  # (256 · 8,) 1 or 0 for every bit of every mask


class FieldTables(NamedTuple):
    """Everything `kernel.evaluate` needs."""

    atoms: Atoms
    pairs: Pairs
    terms: Terms
    work: Work


def aligned(count: int) -> FloatArray:
    """Zeros that begin where a line of the cache does: eight of them then lie in one line, not across two."""
    room = np.zeros(count + BLOCK)
    first = -(room.ctypes.data // room.itemsize) % BLOCK
    return room[first : first + count]


def padded(count: int) -> int:
    """Atoms with those that fill up the last block."""
    return (count + BLOCK - 1) // BLOCK * BLOCK


def make_work(atoms: int, term_counts: tuple[int, ...], capacity: int) -> Work:
    p = padded(atoms)
    far, lanes = aligned(3 * p), aligned(256 * BLOCK)
    far[atoms:p] = FAR * (1.0 + np.arange(p - atoms))
    masks = (np.arange(256)[:, None] >> np.arange(BLOCK)) & 1
    lanes[:] = masks.ravel()
    cluster = np.full(p, -1, dtype=np.int64)
    return Work(
        position=far,
        listed_pose=np.zeros((atoms + 1, 12)),
        box=np.zeros((atoms + 1, 6)),
        force=aligned(3 * p),
        cluster=cluster,
        mark=np.full(p, -1, dtype=np.int64),
        cluster_end=np.full(p, -1, dtype=np.int64),
        block_sphere=np.zeros((p // BLOCK, 4)),
        block_cluster=np.zeros(p // BLOCK, dtype=np.int64),
        run_end=np.zeros(p // BLOCK, dtype=np.int64),
        candidate=np.zeros(p // BLOCK, dtype=np.int64),
        row=np.zeros(atoms + 1, dtype=np.int64),
        entry=np.zeros(capacity, dtype=np.int64),
        block_works=np.zeros(p // BLOCK, dtype=np.int64),
        at_work=np.zeros(p // BLOCK, dtype=np.int64),
        counters=np.zeros(COUNTERS, dtype=np.int64),
        chosen=np.zeros((KINDS, max(term_counts, default=0) + 1), dtype=np.int64),
        lanes=lanes,
    )


FAR = 1e6  # [nm] where atoms that fill up stand, each alone: beyond every cutoff
