"""Regions that move while the rest is one rigid body: shape, closure, energy, and forces of the whole field."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.errors import ModelError, StateError

proteins.need_packages()

REGION = (8, 12)


def test_a_closed_region_moves_and_nothing_else_does():
    molecule = proteins.strand()
    part = molecule.flexible(REGION)
    field = molecule.field().on(part)
    inside = molecule.select(residues=REGION)
    rest = np.setdiff1d(np.arange(len(molecule.atoms)), inside)
    assert len(part.model.loops) == len(part.tree.closing) == 1
    before = part.positions(part.state)
    assert np.abs(before - molecule.positions(molecule.state)).max() <= 1e-14
    v = np.zeros(part.model.nv)
    sim = lw.FullDynamics(part.model, lw.State(part.state.q, v), field=field)
    start = sim.energy.total
    sim.advance(2e-3, 200)
    after = part.positions(sim.state)
    assert np.abs(after[inside] - before[inside]).max() > 1e-3
    # the rest keeps its shape, and bonds into the region keep their length: loops are closed to 1e-9 and better
    for atoms in (rest, *np.array([bond for bond in molecule.atoms.bonds if bond not in part.tree.cut])):
        apart = [np.linalg.norm(x[atoms][:, None] - x[atoms][None], axis=2) for x in (before, after)]
        assert np.abs(apart[1] - apart[0]).max() <= 1e-8
    assert abs(sim.energy.total - start) <= 0.05 * sim.energy.kinetic + 0.05


def test_fields_go_over_to_parts():
    """Energy and forces as if the force field were read again, in vacuum and in solvent, open and closed."""
    molecule = proteins.strand()
    for solvent in (None, "obc2"):
        whole = molecule.field(cutoff=0.9, solvent=solvent)
        for closed in (True, False):
            part = molecule.flexible(REGION, closed=closed)
            assert len(part.model.loops) == closed
            field, anew = whole.on(part), part.field(cutoff=0.9, solvent=solvent)
            assert field.energy(part.state) == pytest.approx(whole.energy(molecule.state), abs=1e-8)
            u = 0.02 * np.random.default_rng(1).normal(size=part.model.nv)
            state = lw.State(part.model.integrate(part.state.q, u), np.zeros(part.model.nv))
            assert field.energy(state) == pytest.approx(anew.energy(state), abs=1e-8)
            a, b = field.generalized_forces(state), anew.generalized_forces(state)
            assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()


def test_ends_need_no_loop_and_open_regions_carry_what_is_behind():
    molecule = proteins.strand()
    assert not molecule.flexible((1, 4)).model.loops
    part = molecule.flexible(REGION, closed=False)
    names = {t.name for t in part.torsions}
    assert names == {t.name for t in molecule.torsions if 8 <= int(t.name.split(":")[1]) <= 12}
    assert part.model.parent.tolist().count(-1) == 1


def test_closed_regions_in_adaptive_dynamics():
    molecule = proteins.strand()
    part = molecule.flexible((5, 14))
    sim = lw.AdaptiveDynamics(part.model, part.state, field=molecule.field().on(part), max_active_joints=12)
    sim.advance(1e-3, 40)
    x, before = part.positions(sim.state), part.positions(part.state)
    bonds = np.array(molecule.atoms.bonds)
    lengths = [np.linalg.norm(y[bonds[:, 0]] - y[bonds[:, 1]], axis=1) for y in (x, before)]
    assert np.abs(lengths[0] - lengths[1]).max() <= 1e-6
    assert np.abs(x - before).max() > 1e-4


def test_what_is_refused():
    molecule = proteins.strand()
    with pytest.raises(ModelError, match=r"no atom .* fits residues=\(100, 120\); .*residues 1 to 20"):
        molecule.flexible((100, 120))
    other = lw.molecules.peptide("AAA")
    with pytest.raises(ModelError, match="have no torsion"):
        other.flexible(0)  # the cap in front
    with pytest.raises(StateError, match="same molecule"):
        molecule.field().on(other)
