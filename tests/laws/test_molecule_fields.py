"""Force fields on linkages: against OpenMM in double precision, against differences of the energy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.molecules.forces.field import CompiledField, poses_of
from linkwork.molecules.forces.force_fields import make_system

proteins.need_packages()

EPS = np.finfo(float).eps
# Sums of some 1e5 pair terms of both signs, some 1e3 times their sum; OpenMM adds them in another order.
SAME = 1e3 * 1e3 * EPS  # 2e-10; seen: 1e-13 to 1e-12. The requirement is 1e-10, asserted where it is asked for.
REQUIRED = 1e-10


CUTOFFS = {"all_pairs": (None, None), "cutoff": (0.7, None), "switch": (0.8, 0.5)}
# The hairpin comes with a System of its own, all pairs.
PAIRS = [(name, cut) for name in proteins.MOLECULES for cut in CUTOFFS if name != "hairpin" or cut == "all_pairs"]


@pytest.fixture(params=PAIRS, ids="-".join)
def both(request):
    """A molecule and a System for it."""
    name, cut = request.param
    molecule = proteins.MOLECULES[name]()
    if molecule.system is not None:
        return molecule, molecule.system
    cutoff, switch = CUTOFFS[cut]
    return molecule, make_system(molecule.topology, "amber14", cutoff, None, switch)


@pytest.fixture(params=proteins.MOLECULES.values(), ids=proteins.MOLECULES.keys())
def molecule(request):
    return request.param()


def reference(system, positions):
    """Energy and forces by OpenMM's Reference platform."""
    import openmm as mm

    context = mm.Context(system, mm.VerletIntegrator(1e-3), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True)
    energy, force = mm.unit.kilojoule_per_mole, mm.unit.kilojoule_per_mole / mm.unit.nanometer
    return state.getPotentialEnergy().value_in_unit(energy), state.getForces(asNumpy=True).value_in_unit(force)


def test_every_term_agrees_with_openmm(both):
    molecule, system = both
    field = CompiledField(molecule.atoms, molecule.tree, system)
    for seed in range(2):
        x = molecule.positions(proteins.displaced(molecule, 0.02, seed))
        energy, forces = field.every_term(x)
        expected, expected_forces = reference(system, x)
        assert abs(energy - expected) <= REQUIRED * np.abs(expected)
        assert np.abs(forces - expected_forces).max() <= REQUIRED * np.abs(expected_forces).max()


def test_energy_is_that_of_the_whole_system(both):
    """Also the part of rigid bodies, which is counted once and never evaluated."""
    molecule, system = both
    field = CompiledField(molecule.atoms, molecule.tree, system)
    for seed in range(2):
        state = proteins.displaced(molecule, 0.05, seed)
        expected, _ = reference(system, molecule.positions(state))
        assert abs(field.energy(state) - expected) <= REQUIRED * max(abs(expected), abs(field.constant))


def test_both_engines_agree(both):
    from linkwork.molecules.forces.openmm_field import OpenMMField

    molecule, system = both
    own = CompiledField(molecule.atoms, molecule.tree, system)
    theirs = OpenMMField(molecule.atoms, molecule.tree, system, platform="Reference")
    state = proteins.displaced(molecule, 0.05, 3)
    assert own.energy(state) == pytest.approx(theirs.energy(state), abs=REQUIRED * abs(own.constant))
    a, b = own.generalized_forces(state), theirs.generalized_forces(state)
    # OpenMM's forces between atoms of one body cancel in the sum only; they are some ten times the largest effort
    assert np.abs(a - b).max() <= REQUIRED * np.abs(theirs.forces()).max()


def test_generalized_forces_are_the_slope_of_the_energy(molecule):
    """All degrees of freedom, by differences of fourth order."""
    field, model = molecule.field(), molecule.model
    state = proteins.displaced(molecule, 0.02, 5)
    forces = field.generalized_forces(state)
    h = 1e-4  # [rad, nm] error h⁴ E⁽⁵⁾ / 30 and rounding 1e-12 E / h are both some 1e-8 of the largest
    slopes = np.zeros(model.nv)
    for k in range(model.nv):
        unit = np.zeros(model.nv)
        unit[k] = 1.0
        at = [field.energy(lw.State(model.integrate(state.q, unit, s * h), state.v)) for s in (-2, -1, 1, 2)]
        slopes[k] = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    assert np.abs(forces + slopes).max() <= 1e-6 * np.abs(forces).max()


def test_a_field_pushes_nothing_as_a_whole(molecule):
    """Action is reaction: no net force and no net torque in the world."""
    field = molecule.field()
    state = proteins.displaced(molecule, 0.05, 7)
    poses = poses_of(molecule.model, state.q)
    wrenches = np.zeros((molecule.model.n_bodies, 6))
    field.wrenches(poses, wrenches)
    R = poses[:, :9].reshape(-1, 3, 3)
    forces = np.einsum("bij,bj->bi", R, wrenches[:, 3:])
    torques = np.einsum("bij,bj->bi", R, wrenches[:, :3]) + np.cross(poses[:, 9:], forces)
    scale = np.abs(field.forces()).sum()
    size = np.abs(poses[:, 9:]).max()
    assert np.abs(forces.sum(axis=0)).max() <= 10.0 * EPS * scale
    assert np.abs(torques.sum(axis=0)).max() <= 100.0 * EPS * scale * size


def test_the_list_of_neighbours_changes_nothing():
    """Wandering on and off lists gives what a list made at once gives; lists are kept for a while."""
    molecule = proteins.strand()
    field = molecule.field(cutoff=0.8)
    model, q = molecule.model, molecule.state.q
    rng = np.random.default_rng(2)
    v = rng.normal(size=model.nv)
    for _ in range(40):
        q = model.integrate(q, v, 2e-3)
        energy, wrenches = field.at(lw.State(q, v))
    fresh = molecule.field(cutoff=0.8)
    expected, expected_wrenches = fresh.at(lw.State(q, v))
    assert energy == pytest.approx(expected, abs=SAME * abs(field.constant))
    assert np.abs(wrenches - expected_wrenches).max() <= SAME * np.abs(expected_wrenches).max()
    assert 2 < field.list_builds < 40


def test_a_list_that_is_full_is_made_longer():
    molecule = proteins.helix()
    field, roomy = molecule.field(), molecule.field()
    work = field.tables.work
    field.tables = field.tables._replace(work=work._replace(entry=np.zeros(3, dtype=np.int64)))
    field.tables.work.counters[1] = 0  # the list is not valid
    assert field.energy(molecule.state) == roomy.energy(molecule.state)
    assert field.capacity > 3


def test_clusters_leave_out_what_cannot_change():
    """The forces on the joints between clusters, and the energy, are those of the whole field."""
    molecule = proteins.strand()
    field, model = molecule.field(cutoff=0.9), molecule.model
    state = proteins.displaced(molecule, 0.02, 1)
    poses = poses_of(model, state.q)
    out = np.zeros((model.n_bodies, 6))
    energy = field.wrenches(poses, out)
    pairs = field.pairs
    active = set(np.random.default_rng(4).choice(model.n_bodies, 12, replace=False).tolist())
    cluster = np.zeros(model.n_bodies, dtype=np.int64)
    for i, parent in enumerate(model.parent.tolist()):
        cluster[i] = i if parent < 0 or i in active else cluster[parent]
    field.set_clusters(cluster, poses)
    assert field.wrenches(poses, out) == pytest.approx(energy, abs=SAME * abs(field.constant))
    assert field.pairs < 0.8 * pairs
    forces = field.generalized_forces(state)
    moving = np.array([model.v_slice(i).start for i in sorted(active) if model.parent[i] >= 0])
    field.set_clusters(np.arange(model.n_bodies), poses)
    expected = field.generalized_forces(state)
    assert np.abs(forces[moving] - expected[moving]).max() <= SAME * np.abs(expected).max()
    assert field.pairs == pairs


def test_frozen_torsions_change_neither_energy_nor_the_other_forces(molecule):
    kept = molecule.torsions[::3]
    part = molecule.with_torsions(kept)
    assert (part.n_torsions, part.model.n_bodies) == (len(kept), part.model.parent.tolist().count(-1) + len(kept))
    whole, frozen = molecule.field(), part.field()
    assert frozen.energy(part.state) == pytest.approx(whole.energy(molecule.state), abs=SAME * abs(whole.constant))
    a, b = whole.generalized_forces(molecule.state), frozen.generalized_forces(part.state)
    for torsion in kept:
        here = molecule.model.v_slice(torsion.joint).start
        there = part.model.v_slice(part.model.joint(torsion.name)).start
        # The same bond may be walked the other way round only if the base changed, which it does not
        assert b[there] == pytest.approx(a[here], abs=SAME * np.abs(whole.forces()).max())


def test_other_kernels_can_call_the_field():
    """A loop that stays compiled: the same wrenches and energy as from Python, and a full list reported by value."""
    import numba

    from linkwork.molecules.forces.kernel import evaluate
    from linkwork.molecules.forces.tables import FIELD_LIST_FULL, FIELD_OK

    @numba.njit
    def several(tables, poses, out):
        energy, status = 0.0, 0
        for k in range(poses.shape[0]):
            energy, status = evaluate(tables, poses[k], out)
            if status != 0:
                break
        return energy, status

    molecule = proteins.helix()
    states = [proteins.displaced(molecule, 0.01, seed) for seed in range(4)]
    poses = np.array([poses_of(molecule.model, state.q) for state in states])
    field, out = molecule.field(cutoff=0.9), np.zeros((molecule.model.n_bodies, 6))
    energy, status = several(field.tables, poses, out)
    expected, wrenches = molecule.field(cutoff=0.9).at(states[-1])
    assert status == FIELD_OK
    assert energy + field.constant == pytest.approx(expected, abs=SAME * abs(field.constant))
    assert np.abs(out - wrenches).max() <= SAME * np.abs(wrenches).max()
    work = field.tables.work._replace(entry=np.zeros(3, dtype=np.int64))
    work.counters[1] = 0
    assert several(field.tables._replace(work=work), poses, out)[1] == FIELD_LIST_FULL


def test_implicit_solvent_is_openmms():
    """The native force has the energy of the same model written as a custom force."""
    from openmm import app

    molecule = proteins.helix()
    field = molecule.field(solvent="obc2", engine="openmm", platform="Reference")
    system = app.ForceField("amber14-all.xml", "implicit/obc2.xml").createSystem(
        molecule.topology, constraints=None, removeCMMotion=False
    )
    expected, _ = reference(system, molecule.positions(molecule.state))
    assert field.energy(molecule.state) == pytest.approx(expected, rel=1e-5)  # the two write 1/4πε₀ with six digits
