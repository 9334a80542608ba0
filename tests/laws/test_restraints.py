"""Restraints: slopes of their energy, values, superposition, rigid groups; pulls: the energy they add is their work."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.errors import FormatError, ModelError, StateError

proteins.need_packages()


def several(molecule):
    restraints = lw.molecules.Restraints(molecule)
    restraints.distance("A:1:CA", "A:20:CA", (0.5, 1.0), stiffness=300.0)
    restraints.distance("A:2:CA", "A:6:CA", (0.1, 9.0), stiffness=300.0)  # costs nothing
    restraints.dihedral(molecule.phi(5), (2.0, 3.5), stiffness=50.0)
    restraints.position(["A:7:CA", "A:9:CB"], stiffness=100.0, radius=0.01)
    restraints.rmsd(molecule.select(atoms="CA"), stiffness=400.0, deviation=0.02)
    return restraints


def test_forces_are_the_slope_of_the_energy():
    molecule = proteins.strand()
    plain, model = molecule.field(), molecule.model
    held = plain.with_restraints(several(molecule))
    state = proteins.displaced(molecule, 0.05, 2)
    forces = held.generalized_forces(state) - plain.generalized_forces(state)

    def energy(q):
        at = lw.State(q, state.v)
        return held.energy(at) - plain.energy(at)

    h, slopes = 1e-4, np.zeros(model.nv)
    for k, unit in enumerate(np.eye(model.nv)):
        at = [energy(model.integrate(state.q, unit, s * h)) for s in (-2, -1, 1, 2)]
        slopes[k] = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    # rounding of the field's energy, 1e-12 of 1e4 kJ/mol, over h
    assert np.abs(forces + slopes).max() <= 1e-8 * np.abs(forces).max() + 1e-6


def test_values_and_energies_are_those_of_the_positions():
    molecule = proteins.strand()
    held = molecule.field().with_restraints(several(molecule))
    state = proteins.displaced(molecule, 0.05, 2)
    extra = held.energy(state) - molecule.field().energy(state)
    x = molecule.positions(state)
    at = molecule.atom
    ends = np.linalg.norm(x[at("A:1:CA")] - x[at("A:20:CA")])
    phi = molecule.angle(molecule.phi(5), state)
    moved = [np.linalg.norm(x[at(a)] - molecule.reference[at(a)]) for a in ("A:7:CA", "A:9:CB")]
    who = molecule.select(atoms="CA")
    a, b = (y[who] - y[who].mean(axis=0) for y in (x, molecule.reference))
    u, s, vt = np.linalg.svd(a.T @ b)
    s[2] *= np.sign(np.linalg.det(u @ vt))
    deviation = np.sqrt(max(0.0, ((a**2).sum() + (b**2).sum() - 2.0 * s.sum()) / len(who)))
    assert held.restrained[[0, 2, 3, 4, 5]] == pytest.approx([ends, phi, *moved, deviation], abs=1e-8)
    off = (phi - 2.75 + np.pi) % (2.0 * np.pi) - np.pi
    expected = 150.0 * (ends - 1.0) ** 2 + 25.0 * max(0.0, abs(off) - 0.75) ** 2
    expected += sum(50.0 * max(0.0, r - 0.01) ** 2 for r in moved) + 200.0 * (deviation - 0.02) ** 2
    assert extra == pytest.approx(expected, abs=1e-7)


def test_restraints_hold_in_both_simulations_and_at_rest():
    molecule = proteins.helix()
    restraints = lw.molecules.Restraints(molecule).distance("A:1:CA", "A:20:CA", 2.0, stiffness=5000.0)
    field = molecule.field().with_restraints(restraints)
    free = lw.molecules.Restraints(molecule).distance("A:1:CA", "A:20:CA", (0.0, 99.0), stiffness=1.0)
    before = molecule.field().with_restraints(free)
    before.energy(molecule.state)
    rest, _ = lw.settle(molecule.model, molecule.state, field=field, tolerance=1e-2)
    field.energy(rest)
    assert abs(field.restrained[0] - 2.0) < 0.1 * abs(before.restrained[0] - 2.0)
    for make, options in ((lw.FullDynamics, {}), (lw.AdaptiveDynamics, {"max_active_joints": 10})):
        sim = make(
            molecule.model, molecule.state, field=field, thermostat=lw.Langevin(300, friction=50.0, seed=1), **options
        )
        sim.advance(2e-3, 500)
        field.energy(sim.state)
        assert abs(field.restrained[0] - 2.0) < abs(before.restrained[0] - 2.0)


def test_the_work_of_a_pull_is_the_energy_it_adds():
    """Without a thermostat: what the spring does not store, the molecule has."""
    molecule = proteins.helix()
    field = molecule.field()
    pulled = lw.molecules.pull(
        molecule, field, "A:1:CA", "A:20:CA", to=3.1, speed=2.0, friction=None, settle=2e-3, h=1e-3, temperature=50.0
    )
    v = lw.molecules.RandomVelocities(molecule.model).draw(molecule.state.q, 50.0, np.random.default_rng(0))

    def energy(state):
        return 0.5 * state.v @ lw.mass_matrix(molecule.model, state) @ state.v + field.energy(state)

    start = energy(lw.State(molecule.state.q, v))
    last = pulled.states[0]
    end = energy(last) + 0.5 * 500.0 * (pulled.length[-1] - pulled.extension[0, -1]) ** 2
    assert pulled.work[0, -1] > 5.0
    assert end - start == pytest.approx(pulled.work[0, -1], rel=0.02)
    assert pulled.length[-1] == 3.1
    assert pulled.force[0] == pytest.approx(500.0 * (pulled.length - pulled.extension[0]))


def test_free_energies_from_work():
    """Normally distributed work: both estimates give the mean less half the variance over kT."""
    kT = lw.molecules.BOLTZMANN * 300.0
    work = 10.0 + kT * np.random.default_rng(0).normal(size=(200_000, 1))
    pulled = lw.molecules.Pulled(np.ones(1), work, work, work, 300.0, ())
    # standard errors of 200,000 samples: some 0.006 kT
    assert pulled.jarzynski()[0] == pytest.approx(10.0 - 0.5 * kT, abs=0.06 * kT)
    assert pulled.second_cumulant()[0] == pytest.approx(10.0 - 0.5 * kT, abs=0.06 * kT)


def test_tables_of_distances_and_what_is_refused():
    molecule = proteins.strand()
    restraints = lw.molecules.Restraints(molecule).noe("# header\nA:3:HA A:6:H 1.8 4.5\n\nA:5:CA A:9:CA 2 6 # far\n")
    assert len(restraints) == 2
    assert restraints.tables().pair_band[0] == pytest.approx([0.18, 0.45, 1000.0])
    with pytest.raises(FormatError, match="2 faults"):
        restraints.noe("A:3:HA A:99:H 1 2\nA:3:HA A:6:H 5 2")
    with pytest.raises(ModelError, match="given twice"):
        restraints.distance("A:3:CA", "A:3:CA", 1.0, 1.0)
    with pytest.raises(ModelError, match="three atoms"):
        restraints.rmsd(["A:3:CA"], 1.0)
    with pytest.raises(ModelError, match="must not be above"):
        restraints.distance("A:3:CA", "A:4:CA", (2.0, 1.0), 1.0)
    with pytest.raises(StateError, match="not restraints of this"):
        proteins.helix().field().with_restraints(restraints)
