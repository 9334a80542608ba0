"""Implicit solvent in the own kernel: against OpenMM in double precision, differences, and with rigid groups."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins
from tests.laws.test_molecule_fields import reference

import linkwork as lw
from linkwork.core.jit import kernel
from linkwork.errors import ModelError
from linkwork.molecules.forces.field import CompiledField, poses_of
from linkwork.molecules.forces.force_fields import make_system
from linkwork.molecules.forces.openmm_field import OpenMMField
from linkwork.molecules.forces.solvent.close import integral_of_eight
from linkwork.molecules.forces.solvent.integrals import SERIES_HOLDS, G, H, integral
from linkwork.spatial.simd import splat, vload, vstore
from linkwork.spatial.simd_math import vdiv

proteins.need_packages()

# The series stands for the pair integrals to 1e-9 and for their slopes to 7e-8; seen: 5e-10. Required: 1e-6.
SAME = 1e-8
SOLVENTS = ("obc2", "gbn2")


@pytest.fixture(params=proteins.MOLECULES.values(), ids=proteins.MOLECULES.keys())
def molecule(request):
    return request.param()


@pytest.fixture(params=[(s, c) for s in SOLVENTS for c in (None, 0.8)], ids=lambda p: f"{p[0]}_{p[1]}")
def system(request, molecule):
    return make_system(molecule.topology, "amber14", request.param[1], request.param[0])


def test_energies_and_forces_are_those_of_openmm(molecule, system):
    field = CompiledField(molecule.atoms, molecule.tree, system)
    state = proteins.displaced(molecule, 0.05, 1)
    x = molecule.positions(state)
    expected, expected_forces = reference(system, x)
    scale = np.abs(expected_forces).max()
    energy, forces = field.every_term(x)
    assert abs(energy - expected) <= SAME * abs(expected)
    assert np.abs(forces - expected_forces).max() <= SAME * scale
    # with rigid bodies: what is inside them is found once
    assert abs(field.energy(state) - expected) <= SAME * max(abs(expected), abs(field.constant))
    theirs = OpenMMField(molecule.atoms, molecule.tree, system, platform="Reference")
    assert np.abs(field.generalized_forces(state) - theirs.generalized_forces(state)).max() <= SAME * scale


@pytest.mark.parametrize("solvent", SOLVENTS)
def test_forces_are_the_slope_of_the_energy(solvent):
    """The chain rule through all Born radii, by differences of fourth order."""
    molecule = proteins.hairpin()
    system = make_system(molecule.topology, "amber14", None, solvent)
    field, model = CompiledField(molecule.atoms, molecule.tree, system), molecule.model
    state = proteins.displaced(molecule, 0.02, 5)
    forces, h = field.generalized_forces(state), 1e-4
    slopes = np.zeros(model.nv)
    for k in range(model.nv):
        unit = np.eye(model.nv)[k]
        at = [field.energy(lw.State(model.integrate(state.q, unit, s * h), state.v)) for s in (-2, -1, 1, 2)]
        slopes[k] = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    assert np.abs(forces + slopes).max() <= 1e-6 * np.abs(forces).max()


@pytest.mark.parametrize("solvent", SOLVENTS)
def test_rigid_groups_change_neither_energy_nor_the_other_forces(solvent):
    """Random parts that move as one, over several lists of neighbours: as a field in which every body is by itself."""
    molecule = proteins.strand()
    model = molecule.model
    field, plain = (molecule.field(cutoff=0.7, solvent=solvent) for _ in range(2))
    rng = np.random.default_rng(4)
    state = proteins.displaced(molecule, 0.02, 1)
    active = {*rng.choice(model.n_bodies, 6, replace=False).tolist()}
    cluster = np.zeros(model.n_bodies, dtype=np.int64)
    for i, parent in enumerate(model.parent.tolist()):
        cluster[i] = i if parent < 0 or i in active else cluster[parent]
    field.set_clusters(cluster, poses_of(model, state.q))
    moving = np.array([model.v_slice(i).start for i in sorted(active) if model.parent[i] >= 0])
    v = np.zeros(model.nv)
    v[moving] = rng.normal(size=len(moving))
    q = state.q
    for _ in range(12):
        q = model.integrate(q, v, 0.02)
        now = lw.State(q, v)
        # parts keep their shape, so only rounding and the border of the series are between the two
        assert field.energy(now) == pytest.approx(plain.energy(now), abs=1e-9 * abs(plain.constant))
        ours, expected = field.generalized_forces(now), plain.generalized_forces(now)
        assert np.abs(ours[moving] - expected[moving]).max() <= 1e-8 * np.abs(expected).max()
    assert field.list_builds > 3
    few, all_ = (f.solvent_tables.work.counters[3] for f in (field, plain))
    assert field.pairs < plain.pairs
    assert few != all_


def test_curves_of_pairs_with_one_changing_radius():
    """A wide skin: radii leave the width of their curves while the list of neighbours stays."""
    molecule = proteins.strand()
    model = molecule.model
    system = make_system(molecule.topology, "amber14", 0.5, "gbn2")
    field, plain = (CompiledField(molecule.atoms, molecule.tree, system, skin=0.3) for _ in range(2))
    joint = max(range(1, model.n_bodies), key=lambda b: int(model.parent[b]))
    cluster = np.array([joint if b == joint else 0 for b in range(model.n_bodies)])
    field.set_clusters(cluster, poses_of(model, molecule.state.q))
    work, v = field.solvent_tables.work, np.zeros(model.nv)
    v[model.v_slice(joint)] = 1.0
    changing = work.changing[: work.counters[3]].copy()
    assert 0 < len(changing) < len(molecule.atoms)
    made_anew = 0
    for k in range(30):
        now = lw.State(model.integrate(molecule.state.q, v, 0.06 * k), v)
        builds, middle = field.list_builds, field.solvent_tables.work.middle.copy()
        ours, expected = field.energy(now), plain.energy(now)
        work = field.solvent_tables.work
        made_anew += int(field.list_builds == builds and (work.middle != middle).any())
        assert ours == pytest.approx(expected, abs=1e-9 * abs(plain.constant))
        assert np.abs(work.born / work.middle - 1.0)[work.changing[: work.counters[3]]].max() <= 0.05 + 1e-12
        k_joint = model.v_slice(joint)
        forces, wanted = field.generalized_forces(now)[k_joint], plain.generalized_forces(now)
        assert np.abs(forces - wanted[k_joint]).max() <= 1e-8 * np.abs(wanted).max()
        if k > 0:
            assert np.abs(work.powers[work.changing[: work.counters[3]]]).max() > 0.0  # some pairs are of this kind
    assert made_anew > 0


def test_lists_that_are_full_are_made_longer():
    molecule = proteins.helix()
    field, roomy = (molecule.field(solvent="obc2") for _ in range(2))
    work = field.solvent_tables.work
    small = work._replace(
        inside_entry=np.zeros(1, dtype=np.int64),
        inside_r2=np.zeros(8),
        both_entry=np.zeros(1, dtype=np.int64),
        both_r2=np.zeros(8),
    )
    small.counters[2] = 0  # what is inside rigid groups is not known
    field.solvent_tables = field.solvent_tables._replace(work=small)
    field.tables = field.tables._replace(work=field.tables.work._replace(entry=np.zeros(3, dtype=np.int64)))
    field.tables.work.counters[1] = 0
    assert field.energy(molecule.state) == roomy.energy(molecule.state)
    assert field.capacity > 3


@pytest.mark.parametrize("cutoff", [0.4, 0.7, 1.2, None])
@pytest.mark.parametrize("make", proteins.MOLECULES.values(), ids=proteins.MOLECULES.keys())
def test_blocks_and_halves_hold_every_pair_within_the_cutoff_once(make, cutoff):
    """What the first pass notes, against all listed pairs one by one; over several lists, so that old notes lie about."""
    molecule = make()
    system = make_system(molecule.topology, "amber14", cutoff, "gbn2")
    field = CompiledField(molecule.atoms, molecule.tree, system)
    halves_seen = 0
    for seed in range(6):
        field.energy(proteins.displaced(molecule, 0.05 * seed, seed))
        work, own = field.tables.work, field.solvent_tables.work
        x = work.position.reshape(3, -1)
        reach = np.inf if cutoff is None else cutoff
        listed, noted = set(), []
        for i in range(len(molecule.atoms)):
            for entry in work.entry[work.row[i] : work.row[i + 1]].tolist():
                listed |= {(i, entry // 256 * 8 + m) for m in range(8) if entry >> m & 1}
            blocks_begin, blocks_end, halves_begin, halves_end = own.near_row[i].tolist()
            halves = own.near_half[halves_begin:halves_end].tolist()
            assert len(halves) % 2 == 0
            assert all(half & 15 == 0 or half & 240 == 0 for half in halves)
            halves_seen += len(halves)
            for entry in own.near_block[blocks_begin:blocks_end].tolist() + halves:
                noted += [(i, entry // 256 * 8 + m) for m in range(8) if entry >> m & 1]
        assert len(noted) == len(set(noted))
        assert set(noted) == {(i, j) for i, j in listed if np.sum((x[:, i] - x[:, j]) ** 2) < reach**2}
    assert halves_seen > 0


def test_series_is_the_closed_form():
    rng = np.random.default_rng(0)
    for _ in range(200):
        s, x = rng.uniform(0.02, 0.2), rng.uniform(0.001, SERIES_HOLDS**0.5)
        r = s / x
        value, slope = integral(min(0.1, 0.99 * (r - s)), s, r, 1.0)
        z = x * x
        # artanh x - x/(1 - x²) cancels to x³: rounding of the closed form is 1e-16 / x³ of the result
        closed = 1e-15 / x**3
        assert s**3 / r**4 * sum(g * z**m for m, g in enumerate(G)) == pytest.approx(value, rel=2e-9 + closed)
        assert -2.0 * s**3 / r**5 * sum(h * z**m for m, h in enumerate(H)) == pytest.approx(slope, rel=2e-7 + closed)


@kernel
def integrals_of_eight(numbers, engulfs, out):
    one = numbers[32]
    r = vload(numbers, 16)
    value, slope = integral_of_eight(vload(numbers, 0), vload(numbers, 8), r, vdiv(splat(one), r), engulfs)
    vstore(out, 0, value)
    vstore(out, 8, slope)


def test_eight_integrals_are_the_single_ones():
    """Apart, one into the other, engulfed, without a part outside; both ways in which OpenMM treats the third."""
    rng = np.random.default_rng(2)
    numbers, out, kinds = np.ones(40), np.empty(16), set()
    for _ in range(300):
        offset, s, r = rng.uniform(0.05, 0.2, 8), rng.uniform(-0.15, 0.3, 8), rng.uniform(0.02, 0.6, 8)
        numbers[:24] = np.concatenate([offset, s, r])
        for engulfs in (0.0, 1.0):
            integrals_of_eight(numbers, engulfs, out)
            for m in range(8):
                value, slope = integral(offset[m], s[m], r[m], engulfs)
                # terms of size 1/L and r/L², of which what is left may be a thousandth
                size = 1.0 / max(offset[m], abs(r[m] - s[m]))
                assert out[m] == pytest.approx(value, abs=1e-13 * size * (1.0 + r[m] * size + s[m] ** 2 * size / r[m]))
                assert out[8 + m] == pytest.approx(
                    slope, abs=1e-13 * (size / r[m] + size**2) * (1 + (s[m] / r[m]) ** 2)
                )
        kinds |= {(o < sm + rm, o < sm - rm, o < abs(rm - sm)) for o, sm, rm in zip(offset, s, r, strict=True)}
    assert len(kinds) == 5


def test_integrals_have_the_slopes_they_say():
    """Apart, one into the other, engulfed; both ways in which OpenMM treats the last."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        offset, s, r, engulfs = rng.uniform(0.05, 0.2), rng.uniform(-0.15, 0.3), rng.uniform(0.02, 0.6), rng.integers(2)
        h = 1e-6
        edges = (r + s - offset, abs(r - s) - offset, offset - s + r, r - s)
        if min(abs(e) for e in edges) < 10 * h:
            continue
        back, on = (integral(offset, s, r + d, float(engulfs))[0] for d in (-h, h))
        assert integral(offset, s, r, float(engulfs))[1] == pytest.approx((on - back) / (2 * h), rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("file", ["implicit/obc2.xml", "implicit/gbn2.xml"])
def test_systems_with_a_solvent_of_their_own(file):
    from openmm import app

    molecule = proteins.helix()
    system = app.ForceField("amber14-all.xml", file).createSystem(
        molecule.topology, constraints=None, removeCMMotion=False
    )
    other = lw.molecules.from_openmm(molecule.topology, system, molecule.positions(molecule.state))
    expected, _ = reference(system, other.positions(other.state))
    assert other.field().energy(other.state) == pytest.approx(expected, rel=SAME)
    salty = app.ForceField("amber14-all.xml", file).createSystem(
        molecule.topology, constraints=None, removeCMMotion=False, implicitSolventKappa=1.0
    )
    with pytest.raises(ModelError, match="no salt"):
        lw.molecules.from_openmm(molecule.topology, salty, molecule.positions(molecule.state)).field()


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_runs_in_solvent_keep_their_energy(make):
    molecule = proteins.helix()
    v = lw.molecules.RandomVelocities(molecule.model).draw(molecule.state.q, 300.0, np.random.default_rng(0))
    options = {} if make is lw.FullDynamics else {"max_active_joints": 12, "update_every": 10**6}
    sim = make(molecule.model, lw.State(molecule.state.q, v), field=molecule.field(solvent="obc2"), **options)
    sim.advance(1e-3)  # adaptive dynamics takes the motion of joints that are not active out here
    start, seen = sim.energy.total, []
    for _ in range(50):
        sim.advance(1e-3)
        seen.append(sim.energy.total)
    # The energy of a symplectic step swings by its order: some 0.2 kJ/mol at 1 fs
    assert np.abs(np.array(seen) - start).max() <= 1.0
    assert abs(np.mean(seen[-10:]) - np.mean(seen[:10])) <= 0.3
