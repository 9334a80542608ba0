"""What the force kernels read and write: bundles of arrays, laid out for vectors of eight atoms.

Atoms keep the order of the molecule, in blocks of eight: neighbours in the chain are neighbours in space, so that a block
is small. The last block is filled up with atoms that carry no charge and stand far away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import lazy_zeros
from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader

BLOCK = 8  # atoms in a block: the lanes of a vector

# settings of the pair terms
CUTOFF2, REACTION_K, REACTION_C, REACH, HALF_SKIN2 = range(5)  # [nm²], [nm⁻³], [nm⁻¹], [nm], [nm²]
SWITCH, SWITCH_SLOPE = 5, 6  # [nm] where Lennard-Jones terms begin to fade, [nm⁻¹] one over the width; 0: they do not
# counters
LISTED, LIST_IS_VALID, LIST_BUILDS, PAIRS, AT_WORK = range(5)
NEAR_COUNT, TORSION_COUNT, BOND_COUNT, ANGLE_COUNT, MAP_COUNT = range(5, 10)  # chosen terms of each kind
KINDS = 5
AXIS_TERMS = 10  # one per kind: behind the chosen terms, those in which only atoms on axes are of other clusters
HAS_AXIS_TERMS = AXIS_TERMS + KINDS  # whether the forces at hand contain these
# of `surroundings`: the body whose atoms are packed, and one, or 0; atoms that see them; vectors of pairs; blocks behind
# those at work whose forces only these pairs change; whether the forces at hand contain those on the packed atoms
SURROUNDING, PACKED_ATOMS, PACKED_VECTORS, CHANGED, HAS_REACTIONS = range(HAS_AXIS_TERMS + 1, HAS_AXIS_TERMS + 6)
COUNTERS = HAS_REACTIONS + 1
# what an evaluation can end in
FIELD_OK, FIELD_LIST_FULL, FIELD_NOT_FINITE, FIELD_INSIDE_FULL, FIELD_PACKED_FULL = range(5)
PACKED = 6 * BLOCK  # numbers of eight packed pairs: x, y, z of the other atom in the frame of its body, σ, 4 ε, charges


class Atoms(NamedTuple):
    """Where atoms sit on their bodies."""

    body: Int1  # (a,)       body that owns each atom
    local: Float2  # (a, 3)     position in that body's frame [nm]
    still_in_start: Int1  # (a + 1,)   where the bodies of each atom begin in `still_in`
    still_in: Int1  # (c,)       bodies in which an atom stands still: its own, and those whose axis goes through it


class Pairs(NamedTuple):
    """Lennard-Jones and Coulomb terms of all pairs but the excluded ones."""

    parameters: Float1  # (3 p,)     p padded atoms: σ/2 [nm], 2 √ε [√(kJ/mol)], charge √(1/4πε₀) [√(kJ/mol nm)]
    settings: Float1  # (7,)
    excluded_start: Int1  # (a + 1,)   excluded partners with higher numbers
    excluded: Int1  # (e,)


class Terms(NamedTuple):
    """Terms of two to eight atoms, all that the force field has; `chosen` are those that can change."""

    near: Int2  # (m, 2)     pairs with parameters of their own (1-4)
    near_parameters: Float2  # (m, 3)     charge product [e²], σ [nm], ε [kJ/mol]
    torsion: Int2  # (m, 4)
    torsion_parameters: Float2  # (m, 3)     periodicity, phase [rad], k [kJ/mol]
    bond: Int2  # (m, 2)
    bond_parameters: Float2  # (m, 2)     length [nm], k [kJ/mol/nm²]
    angle: Int2  # (m, 3)
    angle_parameters: Float2  # (m, 2)     angle [rad], k [kJ/mol/rad²]
    cmap: Int2  # (m, 8)     the atoms of two torsions
    cmap_map: Int1  # (m,)       which map
    cmap_size: Int1  # (1,)       n: points of a map along either angle
    cmap_grid: Float2  # (maps n n, 16)  coefficients of its cells [kJ/mol]


class Work(NamedTuple):
    """What evaluations write: positions, forces, the list of neighbours, the choice of terms."""

    position: Float1  # (3 p,)     x, y, z of all atoms [nm]
    listed_pose: Float2  # (a + 1, 12)  where bodies were when the list was made
    box: Float2  # (a + 1, 6)  middle and half the edges of a box around the atoms of each body, in its frame; -1: none
    force: Float1  # (3 p,)     [kJ/mol/nm]
    cluster: Int1  # (p,)       atoms of one number move as one; -1 for atoms that fill up
    mark: Int1  # (p,)       last atom that excludes each atom
    cluster_end: Int1  # (p,)       last atom of each cluster
    block_sphere: Float2  # (blocks, 4)  centre and radius
    block_cluster: Int1  # (blocks,)  cluster of all atoms of a block, -2 where there are several
    run_end: Int1  # (blocks,)  where the row of blocks that all move as this one does ends
    candidate: Int1  # (blocks,)  blocks near the one at hand
    row: Int1  # (a + 1,)   first list entry of each atom
    entry: Int1  # (capacity,)  block · 256 + one bit per atom of it
    block_works: Int1  # (blocks,)  1 where an atom of the block has neighbours on the list, or a term that can change
    at_work: Int1  # (blocks,)  the blocks for which that is so, ascending; then those of `CHANGED`
    present: Int1  # (blocks,)  one bit per atom that the list of neighbours holds: all but those of `surroundings`
    packed: Float1  # (48 capacity,)  pairs with the surrounding body
    packed_partner: Int1  # (8 capacity,)  their atoms there; -1 for lanes that fill up
    packed_atom: Int1  # (a,)       atoms with such pairs
    packed_row: Int1  # (a + 1,)   first vector of pairs of each of these
    reaction: Float1  # (18,)      pose of the surrounding body at the last evaluation; the wrench on it in its frame
    counters: Int1  # (21,)
    chosen: Int2  # (5, m)     near, torsion, bond, angle and map terms that can change; then those of `AXIS_TERMS`
    lanes: Float1  # (256 · 8,) 1 or 0 for every bit of every mask


class FieldTables(NamedTuple):
    """Everything `kernel.evaluate` needs."""

    atoms: Atoms
    pairs: Pairs
    terms: Terms
    work: Work


# of one table of addresses: unpacking this many arrays takes longer than the forces on a small region
read_atoms = reader(Atoms)
read_pairs = reader(Pairs, Atoms)
read_terms = reader(Terms, Atoms, Pairs)
read_work = reader(Work, Atoms, Pairs, Terms)


def padded(count: int) -> int:
    """Atoms with those that fill up the last block."""
    return (count + BLOCK - 1) // BLOCK * BLOCK


def make_work(atoms: int, term_counts: tuple[int, ...], capacity: int) -> Work:
    p = padded(atoms)
    far, lanes = lazy_zeros(3 * p), lazy_zeros(256 * BLOCK)
    far[atoms:p] = FAR * (1.0 + np.arange(p - atoms))
    masks = (np.arange(256)[:, None] >> np.arange(BLOCK)) & 1
    lanes[:] = masks.ravel()
    cluster = np.full(p, -1, dtype=np.int64)
    return Work(
        position=far,
        listed_pose=np.zeros((atoms + 1, 12)),
        box=np.zeros((atoms + 1, 6)),
        force=lazy_zeros(3 * p),
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
        present=np.zeros(p // BLOCK, dtype=np.int64),
        packed=lazy_zeros(0),
        packed_partner=np.zeros(0, dtype=np.int64),
        packed_atom=np.zeros(atoms, dtype=np.int64),
        packed_row=np.zeros(atoms + 1, dtype=np.int64),
        reaction=np.zeros(18),
        counters=np.zeros(COUNTERS, dtype=np.int64),
        chosen=np.zeros((KINDS, max(term_counts, default=0) + 1), dtype=np.int64),
        lanes=lanes,
    )


FAR = 1e6  # [nm] where atoms that fill up stand, each alone: beyond every cutoff
