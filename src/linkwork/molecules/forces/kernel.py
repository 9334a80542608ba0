"""One evaluation of a force field on a linkage: poses of bodies in, wrenches on bodies and energy out.

`evaluate` is a routine: other kernels may call it at every stage of a step. `wrenches_on_bodies` is its way in from Python.
"""

from linkwork.core.jit import kernel, routine
from linkwork.molecules.forces.bonded_forces import axis_forces, bonded_forces
from linkwork.molecules.forces.pairs.pair_forces import pair_forces
from linkwork.molecules.forces.pairs.pair_list import refresh_list
from linkwork.molecules.forces.pairs.surroundings import add_reaction, forces_of_surroundings, forces_on_surroundings
from linkwork.molecules.forces.tables import (
    AT_WORK,
    AXIS_TERMS,
    BLOCK,
    CHANGED,
    FIELD_OK,
    HAS_AXIS_TERMS,
    KINDS,
    LIST_IS_VALID,
    NEAR_COUNT,
    read_atoms,
    read_pairs,
    read_terms,
    read_work,
)
from linkwork.spatial.memory import load3, load9, store6
from linkwork.spatial.rotations import cross3, tmatvec3


@routine
def gather_wrenches(atoms, work, poses, out, blocks):
    """Forces on the atoms of so many blocks → the wrench [n; f] on each body in its frame at its origin, shape (n, 6)."""
    p = work.cluster.shape[0]
    for b in range(out.shape[0]):
        store6(out, b, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for w in range(blocks):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms.body.shape[0])):
            b = atoms.body[i]
            f = tmatvec3(load9(poses, b, 0), (work.force[i], work.force[p + i], work.force[2 * p + i]))
            n = cross3(load3(atoms.local, i, 0), f)
            for d in range(3):
                out[b, d] += n[d]
                out[b, 3 + d] += f[d]


@routine
def evaluate(tables, poses, out):
    """Writes the wrenches (n, 6) [kJ/mol, kJ/mol/nm]; returns the energy of the chosen terms [kJ/mol] and a status.

    FIELD_LIST_FULL, FIELD_PACKED_FULL: lists need more room, which only Python can make; nothing was written to `out`.
    FIELD_NOT_FINITE: a pose is not finite.
    """
    atoms, pairs, terms, work = tables
    status = refresh_list(tables, poses, True)
    if status != FIELD_OK:
        return 0.0, status
    work.counters[HAS_AXIS_TERMS] = 0
    energy = pair_forces(pairs, work)
    energy += forces_of_surroundings(pairs, work, poses)
    energy += bonded_forces(terms, work)
    gather_wrenches(atoms, work, poses, out, work.counters[AT_WORK])
    add_reaction(work, out)
    return energy, FIELD_OK


@kernel
def wrenches_on_bodies(table, poses, out):
    """`evaluate`, called from Python. table: addresses of the arrays of `FieldTables` (`core.bundles`)."""
    tables = read_atoms(table), read_pairs(table), read_terms(table), read_work(table)
    return evaluate(tables, poses, out)


@kernel
def complete_forces(tables):
    """Adds the forces on the single atoms of the surroundings to those on all others."""
    forces_on_surroundings(tables.pairs, tables.work)


@kernel
def forces_on_bodies(tables, poses, out):
    """The forces of the last evaluation gathered on the bodies (n, 6) that `tables` puts atoms on.

    An atom on the axis of a joint stands still in both of its bodies and belongs to one. A constant term inside the other
    one's cluster moves no joint, but its force on that atom turns in the frame of the atom's body: it counts here.
    """
    forces_on_surroundings(tables.pairs, tables.work)
    if tables.work.counters[HAS_AXIS_TERMS] == 0:
        axis_forces(tables.terms, tables.work)
        tables.work.counters[HAS_AXIS_TERMS] = 1
    counters = tables.work.counters
    gather_wrenches(tables.atoms, tables.work, poses, out, counters[AT_WORK] + counters[CHANGED])


@routine
def choose_terms(tables, cluster):
    """Chooses the terms that can change when bodies of one number in `cluster` (n,) move as one.

    A term is constant when one cluster carries all its atoms. The list of neighbours is made anew at the next evaluation.
    """
    atoms, _, terms, work = tables
    for i in range(atoms.body.shape[0]):
        work.cluster[i] = cluster[atoms.body[i]]
    work.counters[LIST_IS_VALID] = 0
    for kind in range(KINDS):
        table = terms.near if kind == 0 else terms.torsion if kind == 1 else terms.bond if kind == 2 else terms.angle
        if kind == KINDS - 1:
            table = terms.cmap
        count = 0
        for k in range(table.shape[0]):
            if not carried_by_one(atoms, cluster, table, k):
                work.chosen[kind, count] = k
                count += 1
        work.counters[NEAR_COUNT + kind] = count
        for k in range(table.shape[0]):
            if carried_by_one(atoms, cluster, table, k) and is_axis_term(atoms, work, table, k):
                work.chosen[kind, count] = k
                count += 1
        work.counters[AXIS_TERMS + kind] = count - work.counters[NEAR_COUNT + kind]


@routine
def is_axis_term(atoms, work, table, k):
    """Whether the atoms of row k belong to several clusters, and no single body carries them all."""
    several = False
    for column in range(1, table.shape[1]):
        several = several or work.cluster[table[k, column]] != work.cluster[table[k, 0]]
    if not several:
        return False
    first = table[k, 0]
    for c in range(atoms.still_in_start[first], atoms.still_in_start[first + 1]):
        everywhere = True
        for column in range(1, table.shape[1]):
            i = table[k, column]
            here = False
            for d in range(atoms.still_in_start[i], atoms.still_in_start[i + 1]):
                here = here or atoms.still_in[d] == atoms.still_in[c]
            everywhere = everywhere and here
        if everywhere:
            return False
    return True


@routine
def carried_by_one(atoms, cluster, table, k):
    """Whether all atoms of row k stand still in one cluster."""
    first = table[k, 0]
    for c in range(atoms.still_in_start[first], atoms.still_in_start[first + 1]):
        wanted = cluster[atoms.still_in[c]]
        everywhere = True
        for column in range(1, table.shape[1]):
            i = table[k, column]
            here = False
            for d in range(atoms.still_in_start[i], atoms.still_in_start[i + 1]):
                here = here or cluster[atoms.still_in[d]] == wanted
            everywhere = everywhere and here
        if everywhere:
            return True
    return False


@kernel
def move_as_one(tables, cluster):
    """`choose_terms`, called from Python."""
    choose_terms(tables, cluster)


@kernel
def wrenches_of_forces(body, local, forces, poses, out):
    """Gathers forces on atoms (a, 3) [kJ/mol/nm] into wrenches on bodies (n, 6), as `gather_wrenches` does."""
    for b in range(out.shape[0]):
        store6(out, b, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(body.shape[0]):
        b = body[i]
        f = tmatvec3(load9(poses, b, 0), load3(forces, i, 0))
        n = cross3(load3(local, i, 0), f)
        for d in range(3):
            out[b, d] += n[d]
            out[b, 3 + d] += f[d]
