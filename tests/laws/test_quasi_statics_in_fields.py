"""Quasi-statics in a field: accelerations, bounds, energies that fall, the minimum that `lw.settle` finds."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.helpers import proteins
from tests.laws.test_fields import Web
from tests.laws.test_quasi_statics import MEASURES, Truth

import linkwork as lw
from linkwork.errors import StateError


def tree(joints: int, seed: int) -> lw.Model:
    kinds = ("revolute", "prismatic", "screw", "universal", "spherical", "planar")
    return lw.library.random_tree(joints, seed=seed, kinds=kinds, floating=seed % 2 == 0).compile()


def at_rest(model: lw.Model, seed: int) -> lw.State:
    u = 0.3 * np.random.default_rng(seed).normal(size=model.nv)
    return lw.State(model.integrate(model.neutral().q, u), np.zeros(model.nv))


def accelerations(sim, field) -> np.ndarray:
    """By `aba`, under the wrenches of the field where the simulation stands."""
    return lw.forward_dynamics(sim.model, sim.state, wrenches=field.at(sim.state.q)[1])


@pytest.mark.parametrize("seed", range(8))
def test_tolerance_zero_is_the_full_computation(seed):
    """On trees of all joints, with branches, floating and fixed; after steps and after a load on top of the field."""
    model = tree(30, seed)
    field = Web(model)
    sim = lw.QuasiStatics(model, at_rest(model, seed), tolerance=0.0, field=Web(model))
    for _ in range(3):
        sim.solve()
        expected = accelerations(sim, field)
        assert np.abs(sim.acceleration - expected).max() <= 1e-8 * np.abs(expected).max()  # conditions of some 1e5
        sim.step(1e-3)
    load = sim.apply_wrench(7, force=(3.0, 1.0, -2.0), frame="body")
    sim.solve()
    wrenches = field.at(sim.state.q)[1]
    wrenches[7, 3:] += (3.0, 1.0, -2.0)
    expected = lw.forward_dynamics(model, sim.state, wrenches=wrenches)
    assert np.abs(sim.acceleration - expected).max() <= 1e-8 * np.abs(expected).max()
    sim.clear(load)
    sim.solve()
    expected = accelerations(sim, field)
    assert np.abs(sim.acceleration - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_the_error_stays_within_its_bound(measure, seed):
    """Tolerances and budgets, while steps change which joints matter."""
    model = tree(80, seed)
    state, field = at_rest(model, seed), Web(model)
    scale = 1.0
    if measure.startswith("absolute"):
        full = lw.QuasiStatics(model, state, tolerance=0.0, field=Web(model))
        full.solve()
        scale = float(np.linalg.norm(full.acceleration))
    for options in ({"tolerance": 0.3 * scale}, {"tolerance": 0.03 * scale}, {"max_active_joints": 12}):
        sim = lw.QuasiStatics(model, state, measure=measure, field=Web(model), **options)
        for _ in range(6):
            report = sim.solve()
            assert Truth(model, sim.state, field.at(sim.state.q)[1]).allows(sim, report)
            assert report.reached or "max_active_joints" in options
            if "max_active_joints" in options:
                assert 0 < len(sim.computed_joints) <= 12
            sim.step(2e-3)


def test_the_energy_falls_to_the_minimum_that_settle_finds():
    """Steps of ½ h² M⁻¹ F, with h below 2 / ω of the fastest mode."""
    linkage = lw.library.random_tree(5, seed=3)
    linkage.gravity = (0.0, 0.0, 0.0)
    model = linkage.compile()
    field, state = Web(model), at_rest(model, 2)
    rest = lw.settle(model, state, field=Web(model), tolerance=1e-9)
    fastest = float(lw.modes(model, rest.state, model.nv, field=Web(model)).rates2.max()) ** 0.5
    sim = lw.QuasiStatics(model, state, field=Web(model), tolerance=1e-3)
    energies = [sim.field_energy]
    for _ in range(600):
        energies.append(sim.step(1.0 / fastest).field_energy)
    assert (np.diff(energies) <= 1e-12 * energies[0]).all()
    assert energies[-1] == pytest.approx(rest.report.energy, rel=1e-9)
    assert sim.scalars()["field_energy"] == energies[-1]
    assert energies[-1] == pytest.approx(field.at(sim.state.q)[0], rel=1e-12)
    inside = slice(1, None)  # nothing resists the first joint, which turns the whole web
    assert np.abs(model.difference(sim.state.q, rest.state.q)[inside]).max() <= 1e-4


def test_a_peptide_goes_downhill_and_settles():
    """The most accelerated torsions alone, then all, then the minimum: that of `lw.settle`."""
    proteins.need_packages()
    molecule = proteins.helix()
    model, start = molecule.model, proteins.displaced(molecule, 0.05, 3)
    sim = lw.QuasiStatics(model, start, field=molecule.field(), max_active_joints=8)
    energies = [sim.field_energy]
    for _ in range(30):
        energies.append(sim.step(2e-3).field_energy)
        assert len(sim.computed_joints) <= 8
    assert (np.diff(energies) < 0.0).all()
    assert sim.units["s"] == "ps"
    report = sim.settle()
    expected = lw.settle(model, start, field=molecule.field())
    assert report.energy == pytest.approx(expected.report.energy, abs=1e-3)
    field = molecule.field()
    assert np.abs(field.generalized_forces(sim.state)).max() <= 1e-3
    assert sim.field_energy == pytest.approx(report.energy, rel=1e-9)
    slope = lw.forward_dynamics(model, sim.state, field.generalized_forces(sim.state))
    sim.max_active_joints = None
    sim.solve(0.0)
    assert np.abs(sim.acceleration - slope).max() <= 1e-6 * np.abs(slope).max()  # of forces of 1e3 that cancel


def test_loops_stay_closed_in_a_field():
    model = lw.library.four_bar().compile()
    sim = lw.QuasiStatics(model, model.neutral(), field=Web(model), tolerance=0.0)
    field = Web(model)
    sim.solve()
    expected = lw.constrained_dynamics(model, sim.state, wrenches=field.at(sim.state.q)[1]).acceleration
    assert np.abs(sim.acceleration - expected).max() <= 1e-8 * np.abs(expected).max()
    sim.step(1e-3, 20)
    assert lw.loop_gaps(model, sim.state).worst_gap <= 1e-6


@pytest.mark.parametrize("options", [{"tolerance": 0.05}, {"max_active_joints": 9}])
def test_copies_checkpoints_and_resets_go_on_in_the_same_bits(options):
    model = tree(40, 4)
    sim = lw.QuasiStatics(model, at_rest(model, 4), field=Web(model), **options)
    sim.apply_wrench(3, force=(1.0, 0.0, 0.0))
    sim.apply_wrench(5, force=(1.0, 0.0, 0.0), frame="body")
    sim.step(2e-3, 3)
    first = sim.state.q.copy()
    copied, saved = copy.deepcopy(sim), sim.checkpoint()
    sim.step(2e-3, 4)
    copied.step(2e-3, 4)
    assert (sim.state.q == copied.state.q).all()
    copied.restore(saved)
    copied.step(2e-3, 4)
    assert (sim.state.q == copied.state.q).all()
    sim.reset()
    sim.step(2e-3, 3)
    assert (sim.state.q == first).all()
    other = lw.QuasiStatics(model, at_rest(model, 4), **options)
    with pytest.raises(StateError, match="another field_kind"):
        other.restore(saved)


def test_what_does_not_fit_is_refused():
    model = tree(6, 1)
    state = at_rest(model, 1)
    with pytest.raises(StateError, match="no method wrenches"):
        lw.QuasiStatics(model, state, field=3)
    with pytest.raises(StateError, match="the field was made for model"):
        lw.QuasiStatics(model, state, field=Web(tree(5, 1)))
    sim = lw.QuasiStatics(model, state, field=Web(model))
    with pytest.raises(StateError, match="re-rooting makes another"):
        sim.reroot(2)
    sim.apply_wrench(2, force=(1.0, 0.0, 0.0))
    with pytest.raises(StateError, match="not both"):
        sim.settle()


def test_a_field_that_fails_takes_the_step_back():
    model = tree(20, 3)
    sim = lw.QuasiStatics(model, at_rest(model, 3), field=Web(model), tolerance=0.05)
    sim.step(1e-3, 3)
    before, honest = sim.state.q, sim.field.wrenches

    def silent(poses, out):
        raise StateError("the field has no value here.")

    def infinite(poses, out):
        out[:] = np.nan
        return np.nan

    for broken, message in ((silent, "no value here"), (infinite, "step 3")):
        sim.field.wrenches = broken
        sim.set_state(lw.State(before, np.zeros(model.nv)))  # what was found before is forgotten
        with pytest.raises(StateError, match=message):
            sim.step(1e-3)
        assert (sim.state.q == before).all()
        assert sim.steps_done == 3
    sim.field.wrenches = honest
    sim.set_state(lw.State(before, np.zeros(model.nv)))
    sim.step(1e-3)
    fresh = lw.QuasiStatics(model, lw.State(before, np.zeros(model.nv)), field=Web(model), tolerance=0.05)
    fresh.step(1e-3)
    assert (sim.state.q == fresh.state.q).all()
