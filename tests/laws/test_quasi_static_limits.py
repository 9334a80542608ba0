"""Joint limits in quasi-statics: no step goes beyond one, and what limits do follows from least effort against them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.optimize

import linkwork as lw
from linkwork.adaptive.measures import MEASURES

KINDS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "fixed")
NEAR = 0.05  # [rad or m] how far limits are from where the joints begin

pytestmark = pytest.mark.filterwarnings(
    "ignore::linkwork.errors.LinkworkWarning"
)  # tolerances below the rounding floor


def limited_tree(seed: int, bodies: int) -> lw.Model:
    """A random tree with limits on most of its coordinates, some on one side only, some that leave no way."""
    rng = np.random.default_rng(seed)
    linkage = lw.library.random_tree(bodies, seed=seed, kinds=KINDS, branching=rng.random(), options=seed % 2 == 0)
    for body in list(linkage):
        joint = body.joint
        if joint.nv == joint.nq > 0 and rng.random() < 0.8:
            pairs = NEAR * np.abs(rng.normal(size=(joint.nv, 2))) * (-1.0, 1.0)
            pairs[rng.random(joint.nv) < 0.2, 0] = -np.inf
            pairs[rng.random(joint.nv) < 0.1] = 0.0
            linkage.edit_body(body.name, joint=dataclasses.replace(joint, limits=tuple(map(tuple, pairs))))
    return linkage.compile()


def coordinates(model):
    """Freedoms that are changes of a coordinate: places in v and q."""
    pairs = [
        (model.v_slice(i).start + d, model.q_slice(i).start + d)
        for i, joint in enumerate(model.joints)
        if joint.nv == joint.nq
        for d in range(joint.nv)
    ]
    return np.array(pairs, dtype=int).reshape(-1, 2).T


def least(model, q, effort, h):
    """Accelerations of least ½ aᵀM a - τᵀa within the limits, by bounded least squares over the factor of M."""
    state = lw.State(q, np.zeros(model.nv))
    L = np.linalg.cholesky(lw.mass_matrix(model, state))
    free = lw.forward_dynamics(model, state, effort, algorithm="dense")
    low, high = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    j, k = coordinates(model)
    low[j] = -np.maximum(0.0, q[k] - model.lower[j]) / (0.5 * h * h)
    high[j] = np.maximum(0.0, model.upper[j] - q[k]) / (0.5 * h * h)
    open_ = low < high
    right = L.T @ free - L.T[:, ~open_] @ low[~open_]
    bounds = low[open_], high[open_]
    found = scipy.optimize.lsq_linear(L.T[:, open_], right, bounds, method="bvls", tol=1e-15, max_iter=2000)
    a = np.where(open_, 0.0, low)
    a[open_] = found.x
    return a


def of_joints(model, x):
    return np.array([np.linalg.norm(x[model.v_slice(i)]) for i in range(model.n_bodies)])


def test_a_hinge_stops_at_its_limit_and_leaves_it_when_it_is_pulled_back():
    linkage = lw.Linkage("arm")
    inertia = lw.Inertia(1.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
    linkage.add_body("arm", joint=lw.Revolute((0, 1, 0), limits=(-0.2, 0.2)), inertia=inertia)
    model = linkage.compile()
    sim = lw.QuasiStatics(model, model.neutral())
    for _ in range(30):
        sim.step(0.05)
        assert sim.state.q[0] <= 0.2
    assert sim.state.q[0] == 0.2
    assert sim.acceleration[0] == 0.0
    weight = -lw.inverse_dynamics(model, sim.state, np.zeros(1))  # the effort of gravity
    assert sim.efforts.limits == pytest.approx(-weight, rel=1e-12)
    sim.set_effort("arm", -8.0)
    sim.step(0.05)
    assert sim.state.q[0] < 0.2


@pytest.mark.parametrize("seed", range(12))
def test_steps_are_those_of_least_effort_within_the_limits(seed):
    """Against bounded least squares; the error is within the bound for all measures, tight and loose."""
    rng = np.random.default_rng(seed)
    model = limited_tree(seed, int(rng.integers(2, 40)))
    measure, tolerance = list(MEASURES)[seed % 4], (0.0, 1e-9, 2.0**-7, 0.3)[(seed // 4 + seed) % 4]
    effort = rng.normal(size=model.nv)
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=tolerance, measure=measure)
    sim.set_efforts(effort)
    j, k = coordinates(model)
    held = 0
    for _ in range(8):
        h, before = float(10.0 ** rng.uniform(-2.0, -0.5)), sim.state.q
        expected = least(model, before, effort, h)
        report = sim.step(h)
        missed, whole = of_joints(model, sim.acceleration - expected), of_joints(model, expected)
        norm = np.max if measure.endswith("joint") else np.linalg.norm
        error, size = norm(missed), norm(whole)
        rounding = 1e-8 * size  # of either algorithm on these trees: 1e-12 is seen
        assert error <= (size if measure.startswith("relative") else 1.0) * report.error_bound + rounding
        assert (model.lower[j] <= sim.state.q[k]).all()
        assert (sim.state.q[k] <= model.upper[j]).all()
        held += np.count_nonzero((sim.state.q[k] == model.lower[j]) | (sim.state.q[k] == model.upper[j]))
    assert held > 0 or not np.isfinite(model.lower).any()


@pytest.mark.parametrize("options", [{"max_active_joints": 5}, {"deadline": 1e-9, "tolerance": 1e-3}])
def test_budgets_and_deadlines_do_not_pass_a_limit(options, rng):
    model = limited_tree(5, 40)
    effort = rng.normal(size=model.nv)
    sim = lw.QuasiStatics(model, model.neutral(), **options)
    sim.set_efforts(effort)
    for _ in range(6):
        expected = least(model, sim.state.q, effort, 0.1)
        report = sim.step(0.1)
        error, size = of_joints(model, sim.acceleration - expected).max(), of_joints(model, expected).max()
        assert error <= size * (report.error_bound + 1e-8)


def test_a_solve_without_a_step_holds_what_stands_at_a_limit(rng):
    """As for the shortest of steps; what is away from its limits is free."""
    model = limited_tree(7, 30)
    effort = rng.normal(size=model.nv)
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=0.0)
    sim.set_efforts(effort)
    for _ in range(4):
        sim.step(0.1)
        sim.solve()
        expected = least(model, sim.state.q, effort, 1e-9)
        assert np.abs(sim.acceleration - expected).max() <= 1e-8 * np.abs(expected).max()


def test_a_coordinate_beyond_its_limit_goes_no_further():
    model = limited_tree(3, 10)
    j, k = coordinates(model)
    q = model.neutral().q
    q[k] = np.where(np.isfinite(model.upper[j]), model.upper[j] + 0.1, 0.0)
    sim = lw.QuasiStatics(model, lw.State(q, np.zeros(model.nv)))
    for _ in range(5):
        before = sim.state.q
        sim.step(0.05)
        beyond = before[k] > model.upper[j]
        assert (sim.state.q[k][beyond] <= before[k][beyond]).all()
        assert (sim.state.q[k] >= model.lower[j]).all()


def test_limits_far_away_cost_nothing():
    """The same joints are computed, with the same bits, as without limits."""
    linkage = lw.library.molecule(joints=2000, seed=2)
    plain = linkage.compile()
    for body in list(linkage):
        if body.joint.nv == 1:
            linkage.edit_body(body.name, joint=dataclasses.replace(body.joint, limits=(-0.5, 0.5)))
    found = []
    for model in (plain, linkage.compile()):
        sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-7)
        sim.apply_wrench(1500, force=(0.0, 0.0, 1.0))
        found.append((sim.step(1e-3, 20), sim.state.q))
    assert found[0][0].n_computed == found[1][0].n_computed < 200
    assert (found[0][1] == found[1][1]).all()


def test_a_cable_pressed_on_all_its_limits_by_one_step():
    """Hundreds of limits at once, and masses that couple all of them: no order of changes goes in circles."""
    linkage = lw.library.chain(joints=100, axes="same")
    for body in list(linkage):
        linkage.edit_body(body.name, joint=dataclasses.replace(body.joint, limits=(-0.002, 0.002)))
    model = linkage.compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(99, force=(1e3, 0.0, 0.0))
    for _ in range(60):
        sim.step(0.05)
        assert np.abs(sim.state.q).max() <= 0.002
    assert (np.abs(sim.state.q) == 0.002).sum() >= 95


@pytest.mark.parametrize("effort", [3.0, -3.0])
def test_a_closed_chain_stops_where_one_of_its_joints_does(effort):
    """The limit's effort is the one that `constrained_dynamics` needs to keep it at rest."""
    linkage = lw.library.four_bar()
    rocker = linkage["rocker"].joint
    linkage.edit_body("rocker", joint=dataclasses.replace(rocker, limits=(-0.2, 0.2)))
    model = linkage.compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-9)
    given = np.array([effort, 0.0, 0.0])
    sim.set_efforts(given)
    for _ in range(400):
        sim.step(0.02)
        assert abs(sim.state.q[2]) <= 0.2
    assert abs(sim.state.q[2]) == 0.2
    limits = sim.efforts.limits
    assert limits[2] * sim.state.q[2] < 0.0
    at_rest = lw.constrained_dynamics(model, sim.state, given + limits).acceleration
    free = lw.constrained_dynamics(model, sim.state, given).acceleration
    assert np.abs(at_rest).max() <= 1e-9 * np.abs(free).max()


def test_forces_of_loops_are_opposite_after_any_number_of_steps():
    """A solve after steps is what `constrained_dynamics` says: the forces of the steps before are no part of it."""
    model = lw.library.four_bar().compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-9)
    sim.set_effort("crank", -3.0)
    for _ in range(5):
        sim.step(0.01, 10)
        sim.solve()
        expected = lw.constrained_dynamics(model, sim.state, sim.efforts.given).acceleration
        # Rounding of path queries, relative to forces of 10 N: 1e-13 is seen.
        assert np.abs(sim.acceleration - expected).max() <= 1e-10 * np.abs(expected).max()


def test_going_on_from_a_checkpoint_at_limits(rng):
    model = limited_tree(5, 40)
    sims = [lw.QuasiStatics(model, model.neutral()) for _ in range(2)]
    sims[0].set_efforts(rng.normal(size=model.nv))
    sims[0].step(0.05, 6)
    assert sims[0].efforts.limits.any()
    sims[1].restore(sims[0].checkpoint())
    for sim in sims:
        sim.step(0.03, 5)
    assert (sims[0].state.q == sims[1].state.q).all()
    assert (sims[0].acceleration == sims[1].acceleration).all()


def test_other_states_forget_what_was_held(rng):
    model = limited_tree(5, 40)
    sim, fresh = (lw.QuasiStatics(model, model.neutral()) for _ in range(2))
    effort = rng.normal(size=model.nv)
    sim.set_efforts(effort)
    sim.step(0.05, 6)
    sim.set_state(model.neutral())
    fresh.set_efforts(effort)
    for one in (sim, fresh):
        one.step(0.03, 3)
    assert sim.state.q == pytest.approx(fresh.state.q, abs=1e-12)
