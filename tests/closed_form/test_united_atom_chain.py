"""A chain of four beads with rigid bonds and angles and no forces: its torsion's populations are known.

Rigid: √det M(φ), which is far from flat where the outer beads are heavy. With Fixman's potential: flat, as it is for a
chain with stiff springs.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.molecules.structure.peptides import place

proteins.need_packages()

COPIES = 24  # chains side by side, each with a base of its own: as many samples per step
MASSES = np.array([50.0, 5.0, 5.0, 50.0])  # [Da]
BOND, ANGLE = 0.15, 90.0  # [nm], [°]
TEMPERATURE, FRICTION, H, STEPS = 300.0, 3.0, 0.015, 2000  # [K], [1/ps], [ps]


def beads(phi: float) -> np.ndarray:
    """Positions of the four beads at a torsion angle, shape (4, 3)."""
    a, b = np.zeros(3), np.array([BOND, 0.0, 0.0])
    c = place(np.array([0.0, 1.0, 0.0]), a, b, BOND, ANGLE, 0.0)
    return np.array([a, b, c, place(a, b, c, BOND, ANGLE, np.degrees(phi))])


def density(phi: float) -> float:
    """√det M by the Jacobian of the beads: three turns, three shifts, one torsion."""
    x = beads(phi)
    axis = (x[2] - x[1]) / BOND
    J = np.zeros((4, 3, 7))
    for i in range(4):
        J[i, :, :3] = np.array([np.cross(e, x[i]) for e in np.eye(3)]).T
        J[i, :, 3:6] = np.eye(3)
    J[3, :, 6] = np.cross(axis, x[3] - x[2])
    return float(np.sqrt(np.linalg.det(np.einsum("i,iak,ial->kl", MASSES, J, J))))


@pytest.fixture(scope="module")
def chains():
    import openmm as mm
    from openmm import app

    topology, system, positions = app.Topology(), mm.System(), []
    for k in range(COPIES):
        chain = topology.addChain(str(k))
        residue = topology.addResidue("BUT", chain)
        atoms = [topology.addAtom(f"C{i}", app.element.carbon, residue) for i in range(4)]
        for a, b in itertools.pairwise(atoms):
            topology.addBond(a, b)
        for mass in MASSES:
            system.addParticle(mass)
        positions.append(beads(2.0 * np.pi * k / COPIES - np.pi) + np.array([0.0, 0.0, 1.0 * k]))
    system.addForce(mm.NonbondedForce())
    for _ in range(4 * COPIES):
        system.getForce(0).addParticle(0.0, 0.1, 0.0)
    return lw.molecules.from_openmm(topology, system, np.concatenate(positions), name="chains")


def test_every_chain_has_a_base_and_one_torsion(chains):
    assert (chains.model.n_bodies, chains.n_torsions, chains.model.nv) == (2 * COPIES, COPIES, 7 * COPIES)


def test_the_determinant_is_that_of_the_beads(chains):
    """Up to a factor that no coordinate enters: the base's frame."""
    fixman = lw.molecules.FixmanPotential(chains.model, TEMPERATURE)
    differences = []
    for shift in (0.0, 0.5, 1.3):
        state = chains.state
        for torsion in chains.torsions:
            state = chains.with_angle(state, torsion, chains.angle(torsion, state) + shift)
        log_density = sum(np.log(density(chains.angle(torsion, state))) for torsion in chains.torsions)
        differences.append(0.5 * fixman.log_det(state)[0] - log_density)
    assert np.ptp(differences) <= 1e-9  # logarithms of some 24 determinants of condition 1e4


@pytest.mark.parametrize("corrected", [False, True])
def test_populations(chains, corrected):
    model = chains.model
    thermostat = lw.Langevin(TEMPERATURE, FRICTION, seed=5, fixman=corrected)
    warm = thermostat.start(model).thermal_velocity(chains.state.q)
    sim = lw.FullDynamics(model, lw.State(chains.state.q, warm), integrator="kick_drift_kick", thermostat=thermostat)
    joints = [model.q_slice(torsion.joint).start for torsion in chains.torsions]
    start = np.array([chains.angle(torsion, chains.state) for torsion in chains.torsions])
    angles, temperatures = [], []
    for _ in range(STEPS):
        sim.advance(H)
        angles.append(start + sim.state.q[joints])
        temperatures.append(sim.scalars()["temperature"])
    grid = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    weights = np.array([density(phi) for phi in grid])
    rigid = (weights @ np.cos(2.0 * grid)) / weights.sum()  # -0.24; flat is 0
    moment = np.cos(2.0 * np.array(angles)).mean()
    # Two angles per picosecond and chain are independent of each other (their correlation falls within 0.4 ps)
    error = np.sqrt(0.5 / (2.0 * STEPS * H * COPIES))  # 0.019
    assert rigid < -0.2
    assert abs(moment - (0.0 if corrected else rigid)) < 6.0 * error
    kept = np.exp(-2.0 * FRICTION * H)  # correlation of kinetic energies from step to step
    error = TEMPERATURE * np.sqrt(2.0 / model.nv / STEPS * (1.0 + kept) / (1.0 - kept))
    assert abs(np.mean(temperatures) - TEMPERATURE) < 6.0 * error + 1.0  # [K] and the error of a step, (ωh)² of it
