"""Hybrid Monte Carlo and replica exchange draw from exp(-E/kT) dq: alanine dipeptide against weights on a grid."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw

proteins.need_packages()

BLOCKS = 20  # of samples, whose means are taken as independent
SIGMAS = 4.0  # of the error of a mean: one test in 16,000 fails by chance


@cache
def dipeptide():
    """ACE-Ala-NME in vacuum, which has two torsions, and its field."""
    molecule = lw.molecules.peptide("A", relax=True, seed=1)
    return molecule, molecule.field()


@cache
def grid():
    """Angles φ, ψ (k,), energies (k, k) [kJ/mol] and ln det M (k, k), every five degrees."""
    molecule, field = dipeptide()
    angles = np.radians(np.arange(-180.0, 180.0, 5.0))
    fixman = lw.molecules.FixmanPotential(molecule.model, 300.0)
    E, log_det = np.zeros((2, angles.size, angles.size))
    for i, phi in enumerate(angles):
        row = molecule.with_angle(molecule.state, molecule.phi(1), phi)
        for j, psi in enumerate(angles):
            state = molecule.with_angle(row, molecule.psi(1), psi)
            E[i, j], log_det[i, j] = field.energy(state), fixman.log_det(state)[0]
    return angles, E, log_det


def observables(phi, psi, energy):
    """Numbers of each shape whose means are compared, shape (5, ...): energy, angles, and the share of C7eq."""
    folded = (phi < 0.0) & (psi > 0.0) & (psi < np.radians(120.0))
    return np.array([energy, np.cos(phi), np.cos(psi), np.sin(psi), folded.astype(float)])


def expected(temperature, rigid):
    """Exact means. rigid: with the weight √det M of a chain of rigid groups."""
    angles, E, log_det = grid()
    exponent = -E / (lw.molecules.BOLTZMANN * temperature) + (0.5 * log_det if rigid else 0.0)
    weight = np.exp(exponent - exponent.max())
    phi, psi = np.meshgrid(angles, angles, indexing="ij")
    return (observables(phi, psi, E) * weight).sum(axis=(1, 2)) / weight.sum()


def found(samples):
    """Means and their errors by blocks."""
    molecule = samples.molecule
    values = observables(samples.angles(molecule.phi(1)), samples.angles(molecule.psi(1)), samples.energy)
    blocks = values[:, : len(samples) // BLOCKS * BLOCKS].reshape(len(values), BLOCKS, -1).mean(axis=2)
    return blocks.mean(axis=1), blocks.std(axis=1, ddof=1) / np.sqrt(BLOCKS)


def test_variational_steps_in_a_field_keep_volumes_and_go_back():
    """The two facts that make hybrid Monte Carlo exact, at a step of 10 fs, by differences over 1e-6."""
    molecule, field = dipeptide()
    model, nv = molecule.model, molecule.model.nv
    v = lw.molecules.RandomVelocities(model).draw(molecule.state.q, 300.0, np.random.default_rng(0))

    def moved(q, v):
        sim = lw.FullDynamics(model, lw.State(q, v), field=field, integrator="variational")
        sim.advance(0.01, 3)
        return sim.state

    there = moved(molecule.state.q, v)
    back = moved(there.q, -there.v)
    assert np.abs(back.q - molecule.state.q).max() < 1e-12  # 5e-16 seen
    assert np.abs(back.v + v).max() < 1e-11  # 3e-14 seen, of 4 /ps
    momentum = lw.mass_matrix(model, molecule.state) @ v

    def flow(change):
        q = model.integrate(molecule.state.q, change[:nv], 1.0)
        speed = np.linalg.solve(lw.mass_matrix(model, lw.State(q, v)), momentum + change[nv:])
        end = moved(q, speed)
        return end.q, lw.mass_matrix(model, end) @ end.v

    columns = []
    for row in 1e-6 * np.eye(2 * nv):
        (q1, p1), (q0, p0) = flow(row), flow(-row)
        columns.append(np.concatenate([model.difference(q0, q1), p1 - p0]) / 2e-6)
    assert abs(np.linalg.det(np.array(columns)) - 1.0) < 1e-5  # 1.5e-7 seen: that of the differences


@pytest.mark.parametrize("fixman", [True, False])
def test_hybrid_monte_carlo_has_the_exact_weights_with_rough_steps(fixman):
    molecule, field = dipeptide()
    samples = lw.molecules.hmc(
        molecule, field, temperature=900.0, samples=2000, h=0.03, steps=8, seed=4, fixman=fixman, progress=False
    )
    # Steps are rough: without the choice weights would be wrong
    assert 0.2 < samples.acceptance < 0.85, samples.acceptance
    mean, error = found(samples)
    assert (np.abs(mean - expected(900.0, not fixman)) < SIGMAS * error).all(), (mean, error)


def test_replicas_have_the_exact_weights_where_barriers_are_high():
    molecule, field = dipeptide()
    hot = (300.0, 450.0, 675.0, 1000.0)
    replicas = lw.molecules.replica_exchange(
        molecule, field, hot, rounds=1500, h=0.015, steps=10, seed=2, progress=False
    )
    assert (replicas.exchanged > 0.5).all()
    assert (np.sort(replicas.walker, axis=1) == np.arange(4)).all()  # shapes change places, none is lost
    for temperature in (hot[0], hot[-1]):
        mean, error = found(replicas.at(temperature))
        exact = expected(temperature, False)
        assert (np.abs(mean - exact) < SIGMAS * error).all(), (temperature, mean, error, exact)
        assert error[-1] < 0.06  # of the share of C7eq, .51 at 300 K: the comparison says something


def test_the_same_seed_gives_the_same_samples_and_faults_are_named():
    molecule, field = dipeptide()
    first, again = (lw.molecules.hmc(molecule, field, samples=5, steps=3, seed=3, progress=False) for _ in range(2))
    assert np.array_equal(first.q, again.q)
    assert first.state(2).q.shape == molecule.state.q.shape
    for hot in ((300.0,), (400.0, 300.0), "300", (300.0, -1.0)):
        with pytest.raises(lw.LinkworkError):
            lw.molecules.replica_exchange(molecule, field, hot, rounds=1)
    part = proteins.strand().flexible((8, 12))
    field_of_part = proteins.strand().field().on(part)
    with pytest.raises(lw.LinkworkError, match="closed"):
        lw.molecules.hmc(part, field_of_part, samples=1)
    with pytest.raises(lw.LinkworkError, match="310"):
        lw.molecules.replica_exchange(molecule, field, (300, 400), rounds=2, steps=2, progress=False).at(310.0)
