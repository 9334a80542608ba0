"""ff19SB in the own kernel: its maps of φ and ψ (CMAP) against OpenMM in double precision."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.molecules.forces.force_fields import make_system
from linkwork.molecules.forces.maps import coefficients
from linkwork.molecules.forces.openmm_field import OpenMMField

proteins.need_packages()

REQUIRED = 1e-10  # of the largest force; seen: 1e-13


@cache
def strand():
    return lw.molecules.peptide(proteins.ALL_RESIDUES, caps=False, relax=True, seed=1, force_field="amber19")


def test_a_map_passes_through_its_points_and_is_smooth_across_cells():
    rng = np.random.default_rng(0)
    energy = rng.normal(size=(12, 12))
    c = coefficients(energy).reshape(12, 12, 4, 4)
    assert np.abs(c[..., 0, 0] - energy).max() < 1e-14
    at_end = c.sum(axis=2)  # x = 1: coefficients of y, as of the next cell at x = 0
    assert np.abs(at_end - np.roll(c[:, :, 0], -1, axis=0)).max() < 1e-12
    slope, bend = (c * np.array([0.0, 1.0, 2.0, 3.0])[:, None]).sum(axis=2), 2.0 * (c[:, :, 2] + 3.0 * c[:, :, 3])
    assert np.abs(slope - np.roll(c[:, :, 1], -1, axis=0)).max() < 1e-12
    assert np.abs(bend - 2.0 * np.roll(c[:, :, 2], -1, axis=0)).max() < 1e-11  # splines: second derivatives too


def test_energies_and_forces_are_those_of_openmm():
    molecule = strand()
    system = make_system(molecule.topology, "amber19")
    assert any(type(force).__name__ == "CMAPTorsionForce" for force in system.getForces())
    own = molecule.field()
    theirs = OpenMMField(molecule.atoms, molecule.tree, system, platform="Reference")
    for seed, size in ((1, 0.05), (2, 1.0), (3, 3.0)):  # angles in all cells, clashes included
        state = proteins.displaced(molecule, size, seed)
        energy, expected = own.energy(state), theirs.energy(state)
        largest = np.abs(theirs.forces()).max()
        assert abs(energy - expected) <= REQUIRED * max(abs(expected), abs(own.constant), largest)
        difference = own.generalized_forces(state) - theirs.generalized_forces(state)
        assert np.abs(difference).max() <= 10.0 * REQUIRED * largest  # sums over arms of some nm


def test_maps_inside_rigid_groups_are_left_out():
    """With all but one residue's torsions frozen, the maps that can change are the three with one of them."""
    molecule = strand()
    field = molecule.field()
    part = molecule.flexible((10, 10), closed=False)
    near = field.on(part)
    from linkwork.molecules.forces.tables import MAP_COUNT

    assert near.tables.work.counters[MAP_COUNT] == 1
    turned = part.with_angle(part.state, part.psi(10), 1.0)
    same = molecule.with_angle(molecule.state, molecule.psi(10), 1.0)
    change = near.energy(turned) - near.energy(part.state)
    assert change == pytest.approx(field.energy(same) - field.energy(molecule.state), rel=1e-9)
