"""Where an update stopped joints, its bound is measured when it is read or by the next call: with the same result."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.laws.test_updates_in_parts import (
    SHAPES,
    H,
    assert_bound_is_what_is_hidden,
    hit,
    loaded,
    pressed,
)

import linkwork as lw
from linkwork.adaptive.dynamics.region import region
from linkwork.core.turns import turn_of


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request, make_tree):
    return make_tree(damping=True, stiffness=True, armature=True, **request.param)


def bound_of(report):
    return report.error_bound, report.rounding_floor, report.reached


def waits(sim):
    """Whether the bound of its last report is still to be measured."""
    return sim.view.region.is_pending


def stir(sim, k):
    """A strong force for twenty steps, here and there, so that joints are stopped; what acts changes in every call."""
    if k % 20 == 0:
        hit(sim, k // 20)
    sim.change_wrench(sim.loads[0], force=(30.0 * (k // 20), 50.0 * np.cos(0.3 * k), -40.0))
    if k % 20 == 11:
        joint = 11 * k % sim.model.n_bodies
        sim.set_effort(sim.model.joint_names[joint], np.full(sim.model.joints[joint].nv, 0.1))


def run_with_hits(model, read_at_once):
    """Bounds of 400 steps, and the states; loads change before every call."""
    sim, reports, states = loaded(model)[0], [], []
    waited = 0
    for k in range(400):
        stir(sim, k)
        reports.append(sim.step(H))
        waited += waits(sim)
        if read_at_once:
            bound_of(reports[-1])
            states.append((sim.state.q, sim.state.v))
    states.append((sim.state.q, sim.state.v))
    return [bound_of(report) for report in reports], states, waited


def test_a_bound_is_the_same_whenever_it_is_read(model):
    at_once, states, waited = run_with_hits(model, read_at_once=True)
    later, others, waited_too = run_with_hits(model, read_at_once=False)
    assert waited == waited_too > 1, "no bound was left for later"
    assert at_once == later
    for mine, other in zip(states[-1], others[-1], strict=True):
        np.testing.assert_array_equal(mine, other)


def test_with_contact_a_bound_is_the_same_whenever_it_is_read():
    found, waited = [], []
    for read_at_once in (True, False):
        sim, load = pressed()
        reports = []
        for k in range(240):
            if k % 20 == 0:
                sim.change_wrench(load, force=(0.0, 0.0, -0.05 - 0.002 * k))
                sim.apply_wrench(7 * k % 80, force=(0.0, 0.0, 3.0), frame="world")
            reports.append(sim.step(H))
            if read_at_once:
                waited.append(waits(sim))
                bound_of(reports[-1])
        assert sim.contacts
        found.append(([bound_of(report) for report in reports], sim.state.v.tolist()))
    assert found[0] == found[1]
    assert any(waited), "no bound was left for later"


def test_the_bound_of_a_step_is_that_of_an_update_at_its_beginning(model):
    """A simulation restored before the step updates its region there and then; what that hides follows from `aba`."""
    sim, waited = loaded(model, measure="absolute_linkage")[0], 0
    for k in range(400):
        stir(sim, k)
        if k % 10 == 0 and k:
            restored = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8, measure="absolute_linkage")
            restored.restore(sim.checkpoint())
            expected = restored.update_region(10 * H)
            assert_bound_is_what_is_hidden(model, restored, expected)
        report = sim.step(H)
        if waits(sim):
            waited += 1
            assert k % 10 == 0
            assert report.error_bound == pytest.approx(expected.error_bound, rel=1e-6)
    assert waited > 1, "no bound was left for later"


def first_that_waits(model):
    sim, _ = loaded(model)
    for k in range(300):
        if k % 30 == 0:
            hit(sim, k // 30)
        report = sim.step(H)
        if k > 40 and waits(sim):
            return sim, report
    raise AssertionError("no bound was left for later")


def test_a_checkpoint_before_the_bound_was_measured_goes_on_in_the_same_bits(model):
    sim, report = first_that_waits(model)
    other = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8)
    other.restore(sim.checkpoint())
    assert other.report.error_bound == report.error_bound
    for _ in range(25):
        assert sim.step(H).n_active == other.step(H).n_active
    np.testing.assert_array_equal(sim.state.v, other.state.v)


@pytest.mark.parametrize("change", ["another state", "a pin", "reset"])
def test_the_bound_of_a_report_outlives_its_simulation(model, change):
    expected, found = (first_that_waits(model) for _ in range(2))
    bound = bound_of(expected[1])
    sim, report = found
    if change == "another state":
        sim.set_state(model.neutral())
    elif change == "a pin":
        sim.pin_inactive(sim.active_joints[-1])
    else:
        sim.reset()
    assert bound_of(report) == bound


def test_a_bound_is_compared_with_what_was_asked_for_when_it_was_reported(model):
    sim, report = first_that_waits(model)
    assert sim.tolerance is None
    sim.tolerance = 1e9
    assert not report.reached
    assert sim.report.reached
    sim.tolerance = 0.0
    assert not sim.report.reached


def test_another_thread_reads_a_bound_in_its_turn(model):
    bound = bound_of(first_that_waits(model)[1])
    sim, report = first_that_waits(model)
    with turn_of(sim), ThreadPoolExecutor(1) as pool:  # as while this thread steps
        read = pool.submit(bound_of, report)
        with pytest.raises(TimeoutError):
            read.result(timeout=0.2)
        sim.step(H)
        turn_of(sim).release()
        assert read.result(timeout=60) == bound
        turn_of(sim).acquire()


def test_reports_that_wait_are_reports_like_others(model):
    report = first_that_waits(model)[1]
    same = first_that_waits(model)[1]
    assert report == same
    for other in (pickle.loads(pickle.dumps(report)), copy.copy(report)):
        assert other == report
    assert "error_bound" in repr(first_that_waits(model)[1])
    with pytest.raises(AttributeError):
        report.no_such_number  # noqa: B018


def test_no_call_of_one_step_updates_and_finishes(model, monkeypatch):
    """After the first updates, whose floors are measured: an update that stops joints leaves the rest to the next call."""
    tasks: list[int] = []
    perform = region.perform

    def counted(tree, moving, task, joint, settings):
        tasks.append(task)
        return perform(tree, moving, task, joint, settings)

    monkeypatch.setattr(region, "perform", counted)
    sim, seen = loaded(model)[0], set()
    for k in range(400):
        tasks.clear()
        stir(sim, k)
        sim.step(H)
        seen.update(tasks)
        assert not {region.UPDATE, region.FINISH} <= set(tasks)
        assert not {region.ASSEMBLE, region.FINISH} <= set(tasks)
    assert {region.UPDATE, region.FINISH, region.ASSEMBLE} <= seen
