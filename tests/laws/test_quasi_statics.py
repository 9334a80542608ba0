"""Quasi-statics computes some joints and says how wrong it may be: what it says is never less than how wrong it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.measures import MEASURES
from linkwork.errors import LinkworkWarning
from linkwork.model.library import MODELS

pytestmark = pytest.mark.filterwarnings(
    "ignore::linkwork.errors.LinkworkWarning"
)  # tolerances below the rounding floor

BOUNDED = settings(max_examples=100, deadline=None, derandomize=True)  # a failure seen once is seen by everybody
TOLERANCES = [2.0**-k for k in (0, 1, 3, 7, 11, 15, 19, 24, 30)]

# Sizes small enough for the dense reference. Point masses have no inverse inertia and are refused, as tests below show.
SMALL = {
    "chain": {"joints": 40},
    "coil": {"joints": 40},
    "star": {"arms": 7, "joints_per_arm": 3},
    "broom": {"handle": 6, "bristles": 9},
    "caterpillar": {"spine": 5, "legs_per_link": 3, "leg_joints": 2},
    "binary_tree": {"joints": 50},
    "random_tree": {"joints": 60, "branching": 0.3, "kinds": lw.library.JOINT_KINDS, "options": True},
    "millipede": {"segments": 6, "leg_links": 4, "spine": 13},
    "molecule": {"joints": 70},
}
POINT_MASSES = {"pendulum", "double_pendulum", "compass_biped"}
WITH_LOOPS = {"four_bar", "net"}  # refused too
NAMES = [name for name in MODELS if name not in POINT_MASSES | WITH_LOOPS]


def sizes(model, x, weights):
    """√(q̈ᵀ A q̈) of every joint."""
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    return np.sqrt(np.bincount(joint, weights * x**2, minlength=model.n_bodies))


def error(model, ours, truth, measure, weights=1.0):
    """The error of accelerations by one of the four measures."""
    norm = np.linalg.norm if "linkage" in measure else lambda x: x.max(initial=0.0)
    wrong, whole = norm(sizes(model, ours - truth, weights)), norm(sizes(model, truth, weights))
    if "absolute" in measure or wrong == 0.0:
        return wrong
    return wrong / whole if whole > 0.0 else math.inf


class Truth:
    """Accelerations by two references. Their difference cannot be decided.

    The dense form alone rounds by the condition of the mass matrix: 1e-13 for 80 joints, where the bound of a solve of all
    joints is 1e-14. What it misses of the efforts is solved for once more; then it is within 1e-15 of extended precision.
    """

    def __init__(self, model, state, wrenches=None, effort=None):
        self.model = model
        dense = lw.forward_dynamics(model, state, effort, wrenches, algorithm="dense")
        missed = (0.0 if effort is None else effort) - lw.inverse_dynamics(model, state, dense, wrenches)
        self.dense = dense + np.linalg.solve(lw.mass_matrix(model, state), missed)
        self.aba = lw.forward_dynamics(model, state, effort, wrenches)

    def allows(self, sim, report):
        weights = sim.checkpoint()["weights"]
        doubt = error(self.model, self.aba, self.dense, sim.measure, weights)
        return error(self.model, sim.acceleration, self.dense, sim.measure, weights) <= report.error_bound + doubt


def at_rest(model, rng):
    return model.random_state(rng, speed=0.0)


def load(sim, rng, count, scale=1.0):
    """Wrenches fixed in random bodies; returns them as forward dynamics takes them."""
    wrenches = np.zeros((sim.model.n_bodies, 6))
    for body in rng.integers(sim.model.n_bodies, size=count).tolist():
        wrench = scale * rng.normal(size=6)
        sim.apply_wrench(body, force=wrench[3:], torque=wrench[:3], frame="body")
        wrenches[body] += wrench
    return wrenches


@pytest.fixture(params=MEASURES)
def measure(request):
    return request.param


# -------------------------------------------------------------------------------------------------- the bound is a bound


@pytest.mark.parametrize("name", NAMES)
def test_error_never_exceeds_the_bound_on_library_models(name, measure, rng):
    model = MODELS[name](**SMALL.get(name, {})).compile()
    for loads in (0, 1, 5):
        state = at_rest(model, rng)
        sim = lw.QuasiStatics(model, state, tolerance=1.0, measure=measure)
        truth = Truth(model, state, load(sim, rng, loads, scale=10.0 ** rng.uniform(-3, 3)))
        for tolerance in TOLERANCES:
            report = sim.refine(tolerance)
            assert truth.allows(sim, report), tolerance
            assert report.reached == (report.rounding_floor <= tolerance)
            assert report.error_bound <= tolerance + report.rounding_floor


@BOUNDED
@given(
    seed=st.integers(0, 2**32 - 1),
    bodies=st.integers(1, 40),
    branching=st.sampled_from([0.0, 0.3, 1.0]),
    roots=st.integers(1, 4),
    options=st.booleans(),
    scale=st.sampled_from([0.0, 1e-9, 1.0, 1e6]),
    gravity=st.sampled_from([(0.0, 0.0, 0.0), (0.0, 0.0, -9.81), (3.0, -4.0, 5.0)]),
    tolerances=st.lists(st.floats(2.0**-30, 1.0), min_size=1, max_size=4),
)
def test_error_never_exceeds_the_bound_on_any_tree(
    make_tree, seed, bodies, branching, roots, options, scale, gravity, tolerances
):
    rng = np.random.default_rng(seed)
    model = make_tree(
        seed=seed % 1000, bodies=bodies, branching=branching, roots=min(roots, bodies), gravity=gravity,
        damping=options, stiffness=options, armature=options,
    )  # fmt: skip
    state, weights = at_rest(model, rng), 10.0 ** rng.uniform(-2, 2, model.nv)
    effort = scale * rng.normal(size=model.nv)
    truth = None
    for measure in MEASURES:
        sim = lw.QuasiStatics(model, state, tolerance=1.0, measure=measure, weights=weights)
        for i, joint in enumerate(model.joints):
            if joint.nv:
                sim.set_effort(model.joint_names[i], effort[model.v_slice(i)])
        wrenches = load(sim, np.random.default_rng(seed), 3, scale)
        truth = truth or Truth(model, state, wrenches, effort)
        for tolerance in tolerances:
            report = sim.solve(tolerance)
            assert truth.allows(sim, report), (measure, tolerance)


@pytest.mark.parametrize("joints", [300, 3000])
def test_error_never_exceeds_the_bound_on_cables_under_gravity(joints, measure):
    """Cables bent by a wind, close to equilibrium: accelerations are what is left when tensions of 3 kN cancel."""
    model = lw.library.chain(joints=joints, axes="same").compile()
    state = model.neutral()
    weight_below = 0.1 * 9.81 * (joints - np.arange(joints) - 0.5)
    pull = 5.0
    state.q[:] = np.diff(np.arctan2(-pull, weight_below), prepend=0.0)
    sim = lw.QuasiStatics(model, state, tolerance=1.0, measure=measure)
    wrenches = np.zeros((joints, 6))
    T = lw.body_poses(model, state)[:, :3, :3]
    for body, force, at in ((joints - 1, pull, (0.0, 0.0, -0.1)), (joints // 2, 1e-4, (0.0, 0.0, 0.0))):
        sim.apply_wrench(body, force=(force, 0.0, 0.0), at=at, frame="world")
        f = T[body].T @ (force, 0.0, 0.0)
        wrenches[body] += np.concatenate([np.cross(at, f), f])
    truth = lw.forward_dynamics(model, state, wrenches=wrenches)
    # A cable is too long for the dense form; rounding of 3 kN along 3,000 links leaves 1e-10 rad/s² between two others.
    full = lw.forward_dynamics(model, state, wrenches=wrenches, algorithm="dca")
    doubt = error(model, full, truth, measure)
    assert error(model, full, truth, "absolute_joint") <= 1e-9
    for tolerance in TOLERANCES:
        report = sim.refine(tolerance)
        assert error(model, sim.acceleration, truth, measure) <= report.error_bound + doubt
    if measure == "relative_joint":  # one small force moves its surroundings only, however long the cable
        assert sim.solve(2.0**-11).n_computed <= 0.5 * joints


def test_largest_acceleration_is_bounded_too(make_tree, rng):
    model = make_tree(seed=3, bodies=60, stiffness=True)
    state = at_rest(model, rng)
    truth = lw.forward_dynamics(model, state)
    for tolerance in TOLERANCES:
        report = lw.QuasiStatics(model, state, tolerance=tolerance).solve()
        assert sizes(model, truth, 1.0).max() <= report.max_acceleration


def test_weights_choose_what_is_worth_computing(rng):
    """A joint left out for its small acceleration is computed once that acceleration is given enough weight."""
    model = lw.library.molecule(joints=200, seed=2).compile()
    state = at_rest(model, rng)
    plain = lw.QuasiStatics(model, state, tolerance=2.0**-3)
    wrenches = load(plain, np.random.default_rng(5), 1)
    truth = Truth(model, state, wrenches)
    assert truth.allows(plain, plain.solve())
    left_out = int(np.argmax(sizes(model, truth.aba - plain.acceleration, 1.0)))
    assert model.joint_names[left_out] not in plain.computed_joints
    weights = np.ones(model.nv)
    weights[model.v_slice(left_out)] = 1e20
    sim = lw.QuasiStatics(model, state, tolerance=2.0**-3, weights=weights)
    load(sim, np.random.default_rng(5), 1)
    report = sim.solve()
    assert model.joint_names[left_out] in sim.computed_joints
    assert truth.allows(sim, report)


def test_a_common_weight_is_a_unit(rng, measure):
    """Four times the weight is twice the length: relative measures do not notice, absolute ones count in it."""
    model = lw.library.molecule(joints=100, seed=2).compile()
    state = at_rest(model, rng)
    one = lw.QuasiStatics(model, state, tolerance=0.1, measure=measure)
    two = lw.QuasiStatics(
        model, state, tolerance=0.2 if "absolute" in measure else 0.1, measure=measure, weights=np.full(model.nv, 4.0)
    )
    reports = []
    for sim in (one, two):
        load(sim, np.random.default_rng(7), 2)
        reports.append(sim.solve())
    assert one.computed_joints == two.computed_joints
    factor = 2.0 if "absolute" in measure else 1.0
    assert reports[1].error_bound == pytest.approx(factor * reports[0].error_bound, rel=1e-12)  # roots and sums round


# ---------------------------------------------------------------------------------------------- tolerance zero, and budgets


def test_with_tolerance_zero_the_result_is_that_of_divide_and_conquer(tree, rng, measure):
    state = at_rest(tree, rng)
    sim = lw.QuasiStatics(tree, state, tolerance=0.0, measure=measure)
    wrenches = load(sim, rng, 4)
    report = sim.solve()
    full = lw.forward_dynamics(tree, state, wrenches=wrenches, algorithm="dca")
    # The same sweeps in other kernels, which fuse other products; nodes of these trees have conditions up to 1e4.
    assert sim.acceleration == pytest.approx(full, abs=rounding(condition=1e4, scale=np.abs(full).max()))
    assert report.error_bound == report.rounding_floor
    moving = [tree.joint_names[i] for i in range(tree.n_bodies) if tree.joints[i].nv]
    assert set(moving) <= set(sim.computed_joints)


@pytest.mark.parametrize("most", [1, 5, 20, 10_000])
def test_a_budget_of_joints_is_kept_and_its_bound_holds(most, measure, rng):
    """Paths opened by loads are computed anyway; beyond them no joint is opened that the budget does not allow."""
    model = lw.library.molecule(joints=150, seed=4).compile()
    state = at_rest(model, rng)
    sim = lw.QuasiStatics(model, state, max_active_joints=most, measure=measure)
    wrenches = load(sim, rng, 2)
    forced = len(sim.computed_joints)
    report = sim.solve()
    assert report.n_computed == min(150, max(most, forced))
    assert Truth(model, state, wrenches).allows(sim, report)
    assert report.reached == (report.n_computed == 150)


def test_a_budget_follows_the_loads(rng):
    """When the load moves on, what it left behind makes room: the region becomes that of a fresh simulation."""
    model = lw.library.molecule(joints=500, seed=3).compile()
    sim = lw.QuasiStatics(model, model.neutral(), max_active_joints=20)
    first = sim.apply_wrench(400, force=(0.0, 0.0, 1.0), frame="body")
    sim.step(1e-3, 20)
    before = set(sim.computed_joints)
    sim.clear(first)
    sim.apply_wrench(30, force=(0.0, 0.0, 1.0), frame="body")
    report = sim.step(1e-3, 100)
    after = set(sim.computed_joints)
    fresh = lw.QuasiStatics(model, sim.state, max_active_joints=20)
    fresh.apply_wrench(30, force=(0.0, 0.0, 1.0), frame="body")
    goal = fresh.solve()
    assert len(after & before) < 10
    # What closes is a quarter of the bound: the two regions may differ by a joint or two of that size.
    assert report.error_bound <= 1.5 * goal.error_bound


def test_a_deadline_returns_what_was_reached_and_its_bound(measure, rng):
    model = lw.library.random_tree(joints=2000, seed=5).compile()
    state = at_rest(model, rng)
    truth = lw.forward_dynamics(model, state)
    sim = lw.QuasiStatics(model, state, tolerance=1e-9, deadline=1e-9, measure=measure)
    report = sim.solve()
    assert 0 < report.n_computed < 2000  # at least one look at the clock, far from all joints
    assert report.n_computed == len(sim.computed_joints)
    assert not report.reached
    same = rounding(condition=1e3, scale=report.error_bound)  # the bound is proven in exact arithmetic
    assert error(model, sim.acceleration, truth, measure) <= report.error_bound + same
    patient = lw.QuasiStatics(model, state, tolerance=1e-9, deadline=60.0, measure=measure)
    report = patient.solve()
    assert report.reached == (report.rounding_floor <= 1e-9)
    report = patient.step(1e-3)
    assert report.n_computed == len(patient.computed_joints)
    assert error(model, patient.acceleration, truth, measure) <= report.error_bound


# ------------------------------------------------------------------------------------------------------------- refining


@pytest.mark.parametrize("name", NAMES)
def test_refining_in_two_stages_is_refining_at_once(name, measure, rng):
    model = MODELS[name](**SMALL.get(name, {})).compile()
    state = at_rest(model, rng)
    one, two = (lw.QuasiStatics(model, state, tolerance=1.0, measure=measure) for _ in range(2))
    for sim in (one, two):
        sim.apply_wrench(model.n_bodies // 2, force=(0.0, 1.0, 2.0), frame="world")
    one.solve(2.0**-9)
    for tolerance in (0.5, 2.0**-4, 2.0**-9):
        last = two.refine(tolerance)
    assert one.computed_joints == two.computed_joints
    # A solve and its refinement are two kernels, which may fuse other products.
    same = rounding(condition=1e4, scale=np.abs(one.acceleration).max())
    assert two.acceleration == pytest.approx(one.acceleration, rel=0, abs=same)
    assert last.n_computed == len([name for name in one.computed_joints if model.joints[model.joint(name)].nv])


def test_refining_computes_nothing_twice(rng):
    model = lw.library.molecule(joints=300, seed=1).compile()
    sim = lw.QuasiStatics(model, at_rest(model, rng), tolerance=0.5)
    sim.apply_wrench(200, force=(0.0, 0.0, 1.0), frame="body")
    sim.solve()
    few, values = set(sim.computed_joints), sim.acceleration.copy()
    report = sim.refine(1e-6)
    assert few < set(sim.computed_joints)
    assert report.nodes_updated == 0
    kept = values != 0.0
    assert (sim.acceleration[kept] == values[kept]).all()
    assert sim.refine(0.5).n_computed == report.n_computed  # what is computed stays


def test_the_rounding_floor_is_announced(rng):
    model = lw.library.chain(joints=100).compile()
    state = at_rest(model, rng)
    floor = lw.QuasiStatics(model, state, tolerance=1.0).solve().rounding_floor
    assert 1e-16 < floor < 1e-6
    sim = lw.QuasiStatics(model, state, tolerance=1e-3 * floor)
    with pytest.warns(LinkworkWarning, match="below the rounding floor"):
        report = sim.solve()
    assert report.error_bound >= report.rounding_floor > 1e-3 * floor


@pytest.mark.filterwarnings("error")
def test_no_warning_above_the_rounding_floor(rng):
    model = lw.library.chain(joints=100).compile()
    sim = lw.QuasiStatics(model, at_rest(model, rng), tolerance=1.0)
    for tolerance in (1e-3, 1e-6, 1e-9, 0.0):  # zero asks for everything, which claims nothing
        sim.solve(tolerance)


# -------------------------------------------------------------------------------------------------------- steps and runs


def simulation(rng, **options):
    model = lw.library.molecule(joints=120, seed=8).compile()
    sim = lw.QuasiStatics(model, model.neutral(), **options)
    sim.apply_wrench(100, force=(0.0, 0.0, 2.0), frame="world")
    sim.apply_spring(30, target=(0.0, 0.0, 0.0), stiffness=3.0)
    sim.set_effort(model.joint_names[50], 0.1)
    return sim


def test_same_inputs_give_the_same_bits(rng, measure):
    one, two = simulation(rng, measure=measure), simulation(rng, measure=measure)
    reports = [sim.step(1e-3, 40) for sim in (one, two)]
    assert reports[0] == reports[1]
    assert (one.state.q == two.state.q).all()
    assert (one.acceleration == two.acceleration).all()


def test_many_steps_at_once_are_many_steps(rng):
    one, two = simulation(rng), simulation(rng)
    one.step(2e-3, 30)
    for _ in range(30):
        two.step(2e-3)
    assert (one.state.q == two.state.q).all()
    assert one.computed_joints == two.computed_joints


def test_a_step_moves_what_was_computed_and_nothing_else(rng):
    sim = simulation(rng, tolerance=2.0**-3)
    sim.solve()
    before, s = sim.state.q, sim.acceleration.copy()
    assert 0 < np.count_nonzero(s) < sim.model.nv
    sim.step(1e-2)
    # One angle per joint: q + ½ h² q̈ with one rounding in the sum, where the compiler may fuse.
    assert sim.state.q == pytest.approx(before + 0.5e-4 * s, abs=rounding(scale=np.pi))
    assert (sim.state.q[s == 0.0] == before[s == 0.0]).all()


def test_a_run_calls_back_and_stops_when_asked(rng):
    seen = []

    def watch(sim, report):
        seen.append(report.n_computed)
        return len(seen) == 3

    sim, plain = simulation(rng), simulation(rng)
    sim.run(1e-3, 100, callback=watch, every=5)
    assert len(seen) == 3
    plain.step(1e-3, 15)
    assert (sim.state.q == plain.state.q).all()
    plain.run(1e-3, 7, every=3)  # 3 + 3 + 1
    sim.step(1e-3, 7)
    assert (sim.state.q == plain.state.q).all()


def test_progress_is_silent_where_nobody_watches(rng, capfd):
    sim = simulation(rng)
    sim.run(1e-3, 20)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    sim.run(1e-3, 20, progress=True)
    assert "quasi-statics" in capfd.readouterr().err
