"""Evaluations from Python: which kernel, and lists that are made longer where a kernel has no room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, lazy_zeros
from linkwork.core.bundles import describe
from linkwork.errors import StateError
from linkwork.molecules.forces.kernel import move_as_one, wrenches_on_bodies
from linkwork.molecules.forces.solvent.kernel import move_as_one_in_solvent, wrenches_in_solvent
from linkwork.molecules.forces.solvent.tables import (
    AHEAD,
    KIN_COUNT,
    Solvent,
    SolventTables,
    make_solvent_work,
    room_for_listed,
)
from linkwork.molecules.forces.tables import (
    BLOCK,
    FIELD_INSIDE_FULL,
    FIELD_LIST_FULL,
    FIELD_NOT_FINITE,
    FIELD_PACKED_FULL,
    PACKED,
    PACKED_VECTORS,
    FieldTables,
)


class Evaluation:
    """Tables that may be replaced by larger ones."""

    def __init__(self, tables: FieldTables):
        self.tables = tables
        self.solvent_tables: SolventTables | None = None


def choose(field: Any, tables: FieldTables, cluster: NDArray[np.int64]) -> None:
    """Bodies of one number move as one, in vacuum or in solvent."""
    if field.solvent_tables is None:
        move_as_one(tables, cluster)
    else:
        move_as_one_in_solvent(tables, field.solvent_tables, cluster)


def evaluate_with_room(field: Any, poses: FloatArray, out: FloatArray) -> float:
    """Energy of the chosen terms; makes the lists longer where the kernel asks for it."""
    while True:
        if field.solvent_tables is None:
            energy, status = wrenches_on_bodies(addresses_of(field), poses, out)
        else:
            energy, status = wrenches_in_solvent(field.tables, field.solvent_tables, poses, out)
        if status == FIELD_NOT_FINITE:
            raise StateError("a body's pose is not finite; the state before this one was the last good one.")
        if status == FIELD_LIST_FULL:
            field.tables = with_longer_list(field.tables)
            if field.solvent_tables is not None:
                field.solvent_tables = with_longer_pairs(field.solvent_tables, len(field.tables.work.entry))
        elif status == FIELD_PACKED_FULL:
            field.tables = with_more_packed(field.tables)
        elif status == FIELD_INSIDE_FULL:
            field.solvent_tables = with_longer_inside(field.solvent_tables)
        else:
            return float(energy)


def addresses_of(field: Any) -> NDArray[np.int64]:
    """The table of a field's arrays, made anew where they were replaced."""
    described, table = getattr(field, "described", (None, np.zeros(0, dtype=np.int64)))
    if described is not field.tables:
        table = describe(*field.tables)
        field.described = field.tables, table
    return table


def with_longer_pairs(tables: SolventTables, listed: int) -> SolventTables:
    """The same tables with room for a longer list of neighbours."""
    work = tables.work
    return tables._replace(work=work._replace(**room_for_listed(len(work.near_row), listed)))


def with_longer_inside(tables: SolventTables) -> SolventTables:
    """The same tables with room for twice as many pairs inside rigid groups, and close ones; the kin that moves is kept."""
    old = tables.work
    atoms = len(old.inside_row) - 1
    work = make_solvent_work(atoms, len(tables.solvent.kin), 2 * len(old.inside_entry), len(old.near_block) - AHEAD)
    kin = old.counters[KIN_COUNT]
    work.close_pair[:kin] = old.close_pair[:kin]
    work.kin_moves[:] = old.kin_moves
    work.counters[KIN_COUNT] = kin
    return tables._replace(work=work)


def solvent_tables(solvent: Solvent, atoms: int, listed: int) -> SolventTables:
    """Room for three entries per atom inside rigid groups, to begin with. listed: room of the list of neighbours."""
    return SolventTables(solvent, make_solvent_work(atoms, len(solvent.kin), 3 * atoms + 8, listed))


def with_longer_list(tables: FieldTables) -> FieldTables:
    """The same tables with room for twice as many neighbours."""
    work = tables.work
    return tables._replace(work=work._replace(entry=np.zeros(2 * work.entry.shape[0], dtype=np.int64)))


def with_more_packed(tables: FieldTables) -> FieldTables:
    """The same tables with room for the pairs with surroundings, and a quarter more."""
    work = tables.work
    vectors = int(1.25 * work.counters[PACKED_VECTORS]) + 1
    partner = np.zeros(BLOCK * vectors, dtype=np.int64)
    return tables._replace(work=work._replace(packed=lazy_zeros(PACKED * vectors), packed_partner=partner))
