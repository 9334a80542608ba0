"""The comparison of a solve with `aba`: the same however it is cut, and kept up without a long step."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.measures import MEASURES, bound_of
from linkwork.adaptive.quasi_statics import floor
from linkwork.adaptive.quasi_statics.comparison import Comparison
from linkwork.adaptive.quasi_statics.report import hidden

KINDS = ("revolute", "prismatic", "universal", "spherical", "planar")


def loaded(rng, floating: bool, **options) -> lw.QuasiStatics:
    """A tree of all joint kinds, with springs, loads of both frames and motors."""
    model = lw.library.random_tree(60, seed=3, kinds=KINDS, floating=floating, options=True).compile()
    sim = lw.QuasiStatics(model, model.random_state(rng, speed=0.0), tolerance=0.1, **options)
    sim.apply_wrench(20, force=(1.0, 2.0, 3.0), frame="world")
    sim.apply_wrench(31, force=(0.5, -2.0, 0.3), torque=(0.1, 0.2, 0.0))
    sim.apply_spring(44, target=(1.0, 0.0, 2.0), stiffness=3.0)
    name = next(n for n, j in zip(model.joint_names, model.joints, strict=True) if j.nv == 1)
    sim.set_motor(name, position=0.3, stiffness=5.0)
    return sim


def plain_difference(sim: lw.QuasiStatics) -> np.ndarray:
    """The same by forward dynamics, all at once; the solve has not moved anything."""
    model = sim.model
    rate = sim.efforts
    exact = lw.forward_dynamics(
        model,
        sim.state,
        rate.given + rate.motors,
        algorithm="aba",
        wrenches=sim.view.tree.coefficients.joint_data[:, 18:24],
    )
    weight = np.sqrt(sim.checkpoint()["weights"])
    error = weight * np.abs(sim.acceleration - exact)
    computed = np.zeros(model.nv, dtype=bool)
    for name in sim.computed_joints:
        computed[model.v_slice(name)] = True
    linkage, joint = (bound_of(MEASURES[m], sim.view.tree.run) for m in ("absolute_linkage", "absolute_joint"))
    total = np.linalg.norm(error[computed]) + max(0.0, np.linalg.norm(error[~computed]) - linkage)
    largest = max(error[computed].max(), error[~computed].max(initial=0.0) - joint)
    return np.array([total, largest]) + 2.0**-53 * (weight * np.abs(exact)).max()


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("bodies", [1, 7, 1000])
def test_a_comparison_is_the_same_however_it_is_cut(rng, floating, bodies):
    sim = loaded(rng, floating)
    sim.solve()
    whole, cut = Comparison(), Comparison()
    for x in (whole, cut):
        x.begin(sim, 1, 1.0, 1.0)
    whole.finish()
    calls = 0
    sim.apply_wrench(5, force=(100.0, 0.0, 0.0), frame="world")  # what happens meanwhile is not part of it
    while not cut.visit_more(bodies):
        calls += 1
        sim.step(1e-3)
    assert calls == -(-3 * sim.model.n_bodies // bodies) - 1
    assert np.array_equal(whole.difference(), cut.difference())


@pytest.mark.parametrize("floating", [False, True])
def test_a_comparison_says_how_far_a_wrong_solve_is_from_aba(rng, floating):
    sim = loaded(rng, floating)
    sim.solve()
    found = Comparison()
    for wrong in (1.0, 1e-3):
        open_dofs = np.flatnonzero(sim.acceleration)
        sim.view.tree.run.qdd[open_dofs] += wrong * rng.standard_normal(open_dofs.size)
        found.begin(sim, 1, 1.0, 1.0)
        found.finish()
        assert found.difference() == pytest.approx(plain_difference(sim), rel=rounding(condition=1e6))
        sim.solve()


def test_what_was_measured_long_ago_is_measured_again_a_few_bodies_per_step(monkeypatch):
    """A long chain under tension: after the first solve no call goes through all bodies."""
    monkeypatch.setattr(floor, "WORTH_MEASURING", 2)
    model = lw.library.molecule(3000).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-13)
    sim.apply_wrench(1500, force=(0.0, 0.0, 1.0), frame="world")
    sim.step(1e-3)
    begun, visits = 0, []
    begin, visit_more = Comparison.begin, Comparison.visit_more

    def count_begin(self, *args):
        nonlocal begun
        begun += 1
        begin(self, *args)

    def count_visits(self, number):
        visits.append(number)
        return visit_more(self, number)

    monkeypatch.setattr(Comparison, "begin", count_begin)
    monkeypatch.setattr(Comparison, "visit_more", count_visits)
    for _ in range(1000):
        report = sim.step(1e-3)
        assert report.reached
    assert begun >= 2
    assert max(visits) <= max(floor.LEAST_BODIES, 2 * report.n_computed)
    assert sum(visits) >= 3 * model.n_bodies


def test_a_checkpoint_ends_a_comparison_that_was_begun(monkeypatch):
    monkeypatch.setattr(floor, "WORTH_MEASURING", 2)
    begin, begun = Comparison.begin, []

    def noted(self, *args):
        begun.append(self)
        begin(self, *args)

    monkeypatch.setattr(Comparison, "begin", noted)
    model = lw.library.molecule(3000).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-11)
    sim.apply_wrench(1500, force=(0.0, 0.0, 1.0), frame="world")
    while not (begun and begun[-1].is_running):
        sim.step(1e-3)
        assert sim.steps_done < 2000
    saved = sim.checkpoint()
    assert not begun[-1].is_running
    restored = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-11)
    restored.restore(saved)
    for _ in range(200):
        assert restored.step(1e-3) == sim.step(1e-3)


def test_a_bound_just_below_the_tolerance_makes_no_solve_wait_for_a_comparison(monkeypatch):
    """The tolerance is what the last solve hides and 1e-12 of it: more joints are computed, nothing is compared at once."""
    model = lw.library.molecule(3000).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-11)
    load = sim.apply_wrench(1500, force=(0.1, 0.0, 0.05), frame="world")
    before = sim.solve()
    sim.tolerance = hidden(sim.view.tree.run, sim.measure) * (1.0 + 1e-12)
    monkeypatch.setattr(Comparison, "finish", lambda self: pytest.fail("compared at once"))
    for _ in range(3):
        sim.change_wrench(load, force=(0.1, 0.0, 0.05))
        report = sim.solve()
        assert report.reached
        assert report.error_bound <= sim.tolerance
        assert report.n_computed > before.n_computed


def test_rounding_that_is_known_is_not_measured_anew_where_the_bound_is_near_the_tolerance(monkeypatch):
    """Room is left for it instead: comparisons at once are those of the beginning, not one in some hundred calls."""
    finished = []
    finish = Comparison.finish
    monkeypatch.setattr(Comparison, "finish", lambda x: (finished.append(1), finish(x)))
    model = lw.library.molecule(50_000).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-11)
    load = sim.apply_wrench(25_000, force=(0.1, 0.0, 0.05), frame="world")
    for k in range(5_000):
        angle = 2.0 * np.pi * k / 1000
        sim.set_wrenches(load, np.array([[0.0, 0.0, 0.0, 0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.05]]))
        report = sim.step(1e-3)
        assert report.error_bound <= sim.tolerance
        assert report.reached
    assert len(finished) <= 2


def test_under_the_same_loads_nothing_is_compared_at_once_after_the_first_solve(monkeypatch):
    """What was measured holds for them near rounding too: every 64th step went through all bodies at 2^-19."""
    finished = []
    finish = Comparison.finish
    monkeypatch.setattr(Comparison, "finish", lambda x: (finished.append(1), finish(x)))
    model = lw.library.molecule(20_000, seed=1).compile()
    sim = lw.QuasiStatics(model, model.random_state(3, speed=0.0), tolerance=2.0**-19)
    sim.apply_wrench(10_000, force=(0.3, -0.2, 0.5), frame="world")
    for steps in (5, 100, 1000):
        for _ in range(1000 // steps):
            report = sim.step(1e-3, steps)
            assert report.reached
            assert report.error_bound <= sim.tolerance
    assert len(finished) == 1


@pytest.mark.parametrize("power", [4, 11, 16])
@pytest.mark.parametrize("travels", [False, True], ids=["changing", "travelling"])
@pytest.mark.parametrize("shape", ["molecule", "chain", "tree"])
def test_the_work_of_a_call_is_bounded_after_ten_that_learn(shape, travels, power, monkeypatch):
    """Bodies that comparisons go through, counted call by call: no more than joints are computed, in all calls but two.
    At 2^-16 one call of eight went through all bodies before solves left more room to rounding."""
    visits = []
    visit_more = Comparison.visit_more
    monkeypatch.setattr(Comparison, "visit_more", lambda x, number: (visits.append(number), visit_more(x, number))[1])
    model = lw.library.MODELS[shape](2000).compile() if shape != "tree" else random_branches(2000)
    sim, n = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-power), model.n_bodies
    load = sim.apply_wrench(n // 2, force=(0.1, 0.0, 0.05), frame="world")
    long = 0
    for k in range(600):
        angle = 2.0 * np.pi * k / 1000
        if travels:
            sim.clear(load)
            load = sim.apply_wrench(n // 2 + k // 10 % 40, force=(0.1, 0.0, 0.05), frame="world")
        else:
            sim.change_wrench(load, force=(0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.05))
        visits.clear()
        report = sim.step(1e-3)
        assert report.error_bound <= sim.tolerance
        long += k >= 10 and sum(visits) > max(floor.LEAST_BODIES, report.n_computed)
    assert long <= 2


def random_branches(joints: int) -> lw.Model:
    """A random tree whose joints have dampers and springs, so that loads stay where they act."""
    return lw.library.random_tree(joints, seed=5, floating=False, options=True).compile()
