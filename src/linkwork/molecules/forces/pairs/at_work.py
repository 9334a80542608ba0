"""Which atoms an evaluation must look at: where few joints move, most atoms have neither neighbours on the list nor terms.

Atoms outside these blocks are placed only when the list is made anew. Whether it still holds is decided by bodies: in the
frame of its body an atom lies in a box with middle c and half edges e. With A = R - R₀ and b = p - p₀ the atom moved by
A x + b since the list was made, and in each direction

    |(A x + b)_i| ≤ |(A c + b)_i| + Σ_j |A_ij| e_j                                                                      (1)
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.tables import (
    ANGLE_COUNT,
    AT_WORK,
    AXIS_TERMS,
    BLOCK,
    BOND_COUNT,
    CHANGED,
    MAP_COUNT,
    NEAR_COUNT,
    PACKED_ATOMS,
    SURROUNDING,
    TORSION_COUNT,
)
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import add3, matvec3

NO_ATOMS = -1.0  # as half an edge of the box of a body without atoms


@inlined
def place_atom(atoms, work, poses, i):
    p = work.cluster.shape[0]
    b = atoms.body[i]
    x = add3(matvec3(load9(poses, b, 0), load3(atoms.local, i, 0)), load3(poses, b, 9))
    work.position[i] = x[0]
    work.position[p + i] = x[1]
    work.position[2 * p + i] = x[2]


@routine
def place_all_atoms(atoms, work, poses):
    """World positions of all atoms from the poses (n, 12) of bodies: nine numbers of the rotation, then the origin."""
    for i in range(atoms.body.shape[0]):
        place_atom(atoms, work, poses, i)


@routine
def place_atoms_at_work(atoms, work, poses):
    """World positions of the atoms that matter; the forces on them set to zero."""
    p = work.cluster.shape[0]
    n = atoms.body.shape[0]
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, n)):
            place_atom(atoms, work, poses, i)
        for i in range(first, first + BLOCK):
            work.force[i] = 0.0
            work.force[p + i] = 0.0
            work.force[2 * p + i] = 0.0


@routine
def largest_move2(work, poses):
    """Square of a way that no atom exceeded since the list was made [nm²], by (1); NaN where a pose is not finite."""
    largest = 0.0
    total = 0.0
    for b in range(poses.shape[0]):
        if work.box[b, 3] == NO_ATOMS:
            continue
        d2 = 0.0
        for i in range(3):
            middle = poses[b, 9 + i] - work.listed_pose[b, 9 + i]
            spread = 0.0
            for j in range(3):
                turned = poses[b, 3 * i + j] - work.listed_pose[b, 3 * i + j]
                middle += turned * work.box[b, j]
                spread += abs(turned) * work.box[b, 3 + j]
            d2 += (abs(middle) + spread) ** 2
        total += d2
        largest = max(largest, d2)
    return largest if math.isfinite(total) else math.nan


@routine
def remember_bodies(atoms, work, poses):
    """Where bodies are now, and boxes around their atoms: what `largest_move2` compares with."""
    for b in range(poses.shape[0]):
        for k in range(12):
            work.listed_pose[b, k] = poses[b, k]
        for j in range(3):
            work.box[b, j] = math.inf
            work.box[b, 3 + j] = -math.inf
    for i in range(atoms.body.shape[0]):
        b = atoms.body[i]
        for j in range(3):
            x = atoms.local[i, j]
            work.box[b, j] = min(work.box[b, j], x)
            work.box[b, 3 + j] = max(work.box[b, 3 + j], x)
    for b in range(poses.shape[0]):
        for j in range(3):
            low, high = work.box[b, j], work.box[b, 3 + j]
            work.box[b, j] = 0.5 * (low + high) if low <= high else 0.0
            work.box[b, 3 + j] = 0.5 * (high - low) if low <= high else NO_ATOMS


@routine
def find_atoms_at_work(atoms, terms, work):
    """Blocks with neighbours on the list or terms that can change, in ascending order. Every force is set to zero."""
    work.block_works[:] = 0
    for i in range(atoms.body.shape[0]):
        if work.row[i] != work.row[i + 1]:
            work.block_works[i // BLOCK] = 1
            for k in range(work.row[i], work.row[i + 1]):
                work.block_works[work.entry[k] >> 8] = 1
    for m in range(work.counters[PACKED_ATOMS]):
        work.block_works[work.packed_atom[m] // BLOCK] = 1
    mark_terms(terms.near, work, 0, NEAR_COUNT)
    mark_terms(terms.torsion, work, 1, TORSION_COUNT)
    mark_terms(terms.bond, work, 2, BOND_COUNT)
    mark_terms(terms.angle, work, 3, ANGLE_COUNT)
    mark_terms(terms.cmap, work, 4, MAP_COUNT)
    count = 0
    for b in range(work.block_works.shape[0]):
        if work.block_works[b] == 1:
            work.at_work[count] = b
            count += 1
    work.counters[AT_WORK] = count
    mark_changed(work)
    work.force[:] = 0.0


@routine
def mark_changed(work):
    """Blocks whose forces only packed pairs change, behind those at work."""
    count = work.counters[AT_WORK]
    if work.counters[SURROUNDING] != 0:
        for slot in range(BLOCK * work.packed_row[work.counters[PACKED_ATOMS]]):
            j = work.packed_partner[slot]
            if j >= 0 and work.block_works[j // BLOCK] == 0:
                work.block_works[j // BLOCK] = 1
                work.at_work[count] = j // BLOCK
                count += 1
    work.counters[CHANGED] = count - work.counters[AT_WORK]


@routine
def mark_terms(table, work, kind, counter):
    for c in range(work.counters[counter] + work.counters[AXIS_TERMS + kind]):
        k = work.chosen[kind, c]
        for column in range(table.shape[1]):
            work.block_works[table[k, column] // BLOCK] = 1
