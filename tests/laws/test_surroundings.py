"""Pairs with a body of most atoms, which are packed in its frame: against every term on every atom, and the plain list."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.molecules.forces.tables import SURROUNDING

proteins.need_packages()

CUTOFFS = ({}, {"cutoff": 0.9}, {"cutoff": 0.9, "switch": 0.6})
CLOSE = 1e-10  # of energy and accelerations; 1e-12 seen


def shapes(part, count=3):
    """States of a region, closed where it is, far enough apart that lists are made anew."""
    rng = np.random.default_rng(3)
    for _ in range(count):
        q = part.model.integrate(part.state.q, 0.05 * rng.normal(size=part.model.nv))
        state = lw.State(q, np.zeros(part.model.nv))
        yield lw.close_loops(part.model, state) if part.model.is_constrained else state


@pytest.mark.parametrize("options", CUTOFFS)
@pytest.mark.parametrize(("residues", "closed"), [((8, 12), True), ((16, 20), False)])
def test_regions_move_by_every_term_on_every_atom(options, residues, closed):
    molecule = proteins.strand()
    part = molecule.flexible(residues, closed=closed)
    field = molecule.field(**options).on(part)
    body, local = part.tree.body, part.tree.local
    for state in shapes(part):
        energy, wrenches = field.at(state)
        assert field.tables.work.counters[SURROUNDING] != 0
        exact, forces = field.every_term(part.positions(state))
        turned = np.einsum("aji,aj->ai", field.poses(state)[body, :9].reshape(-1, 3, 3), forces)
        expected = np.zeros_like(wrenches)
        np.add.at(expected, body, np.concatenate([np.cross(local, turned), turned], axis=1))
        assert energy == pytest.approx(exact, rel=CLOSE)
        a, b = (accelerations(part.model, state, w) for w in (wrenches, expected))
        assert np.abs(a - b).max() <= CLOSE * np.abs(b).max()


def accelerations(model, state, wrenches):
    if model.is_constrained:
        return lw.constrained_dynamics(model, state, wrenches=wrenches).acceleration
    return lw.forward_dynamics(model, state, wrenches=wrenches)


@pytest.mark.parametrize("options", CUTOFFS)
def test_forces_on_the_packed_atoms_are_those_of_the_plain_list(options):
    """Bodies that move as one in the field of all torsions have no body of most atoms, so that every pair is listed."""
    molecule = proteins.strand()
    part = molecule.flexible((16, 20), closed=False)
    whole = molecule.field(**options)
    field = whole.on(part)
    of_part = [np.bincount(part.tree.body[molecule.tree.body == b]).argmax() for b in range(molecule.model.n_bodies)]
    whole.set_clusters(of_part)
    rng = np.random.default_rng(3)
    for _ in range(3):
        state, same = part.state, molecule.state
        for torsion in part.torsions:
            angle = part.angle(torsion, state) + 0.2 * rng.normal()
            state = part.with_angle(state, torsion, angle)
            same = molecule.with_angle(same, next(t for t in molecule.torsions if t.name == torsion.name), angle)
        x = part.positions(state)
        assert np.abs(molecule.positions(same) - x).max() <= 1e-12
        field.at(state)
        whole.at(same)
        assert whole.tables.work.counters[SURROUNDING] == 0
        assert field.tables.work.counters[SURROUNDING] != 0
        a, b = field.forces(), whole.forces()
        assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()
        assert np.abs(field.forces() - a).max() == 0.0  # asked for again, they are not added again
        assert np.abs(a.sum(axis=0)).max() <= 1e-10 * np.abs(a).sum()
        assert np.abs(np.cross(x, a).sum(axis=0)).max() <= 1e-10 * np.abs(a).sum()
