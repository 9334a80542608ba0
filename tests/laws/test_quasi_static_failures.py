"""What quasi-statics says when a step fails, time runs out, rounding is all there is or numbers are tiny."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.quasi_statics import floor

EPS = np.finfo(float).eps


def slider(stiffness=0.0):
    """A mass of 1 kg on a spring along x, without gravity, and a hinge on it that nothing moves."""
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    part = lw.Inertia.box(1.0, (0.2, 0.2, 0.2))
    linkage.add_body("mass", "world", lw.Prismatic((1, 0, 0), stiffness=stiffness), lw.Pose(), part)
    linkage.add_body("wheel", "mass", lw.Revolute((1, 0, 0)), lw.Pose(), part)
    return linkage.compile()


def weightless_chain(joints):
    chain = lw.Linkage("chain", gravity=(0, 0, 0))
    for i in range(joints):
        parent, pose = (f"link_{i - 1}", lw.Pose((0.3, 0.0, 0.0))) if i else ("world", lw.Pose())
        axis = ((0, 1, 0), (0, 0, 1))[i % 2]
        part = lw.Inertia(mass=1.0, com=(0.15, 0.0, 0.0), moments=(0.002, 0.008, 0.008))
        chain.add_body(f"link_{i}", parent, lw.Revolute(axis), pose, part)
    return chain.compile()


# ------------------------------------------------------------------------------------------------------------- steps


def test_a_step_that_overflows_is_taken_back_and_those_before_it_count():
    """½ h² k/m = 1e6: the displacement grows a millionfold per step, until the spring's effort squared overflows."""
    model = slider(stiffness=2e6)
    state = model.state([1e-3, 0.0])
    h, asked = 1.0, 100
    whole, single = (lw.QuasiStatics(model, state, tolerance=0.0) for _ in range(2))
    with pytest.raises(lw.StateError, match=r"step \d+"):
        whole.step(h, asked)
    assert 10 < whole.steps_done < asked
    assert whole.time == whole.steps_done * h
    assert np.isfinite(whole.state.q).all()
    assert np.isfinite(whole.acceleration).all()
    for _ in range(whole.steps_done):
        single.step(h)
    assert (single.state.q == whole.state.q).all()
    with pytest.raises(lw.StateError):
        single.step(h)
    assert (single.steps_done, single.time) == (whole.steps_done, whole.time)
    assert (single.state.q == whole.state.q).all()


def test_coordinates_that_overflow_in_the_move_are_taken_back():
    """Accelerations are small enough to square; ½ h² times them is infinite."""
    model = slider()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=0.0)
    sim.set_effort("mass", 1e100)
    with pytest.raises(lw.StateError, match=r"not finite|overflow|taken back"):
        sim.step(1e150)
    assert (sim.steps_done, sim.time) == (0, 0.0)
    assert (sim.state.q == model.neutral().q).all()
    sim.set_effort("mass", 1.0)
    sim.step(0.1)  # and it goes on
    assert sim.state.q[0] == pytest.approx(0.5 * 0.1**2 / 2.0, rel=1e3 * EPS)  # 1 N on 2 kg


def test_a_failed_solve_leaves_nothing_behind():
    model = weightless_chain(12)
    sim, plain = (lw.QuasiStatics(model, model.random_state(3, speed=0.0), tolerance=0.0) for _ in range(2))
    load = sim.apply_wrench(11, force=(0.0, 1e200, 0.0), frame="body")
    with pytest.raises(lw.StateError):
        sim.step(1e-3, 5)
    assert sim.steps_done == 0
    assert not sim.acceleration.any()
    sim.clear(load)
    for each in (sim, plain):
        each.apply_wrench(11, force=(0.0, 1.0, 0.0), frame="body")
        each.step(1e-3, 5)
    condition, steps = 1e3, 5
    assert sim.state.q == pytest.approx(plain.state.q, abs=10 * EPS * condition * steps)


# ---------------------------------------------------------------------------------------------------------- deadlines


@pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")  # 1e-9 lies below the rounding floor
def test_without_time_nothing_more_is_opened():
    model = lw.library.random_tree(joints=2000, seed=5).compile()
    sim = lw.QuasiStatics(model, model.random_state(2, speed=0.0), tolerance=1e-9, deadline=1e-12)
    assert sim.solve().n_computed <= 2  # the top of the tree, which is always open
    for _ in range(10):
        assert sim.step(1e-4).n_computed <= 2


@pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")
def test_a_region_that_takes_longer_than_the_deadline_shrinks():
    model = lw.library.random_tree(joints=2000, seed=5).compile()
    sim = lw.QuasiStatics(model, model.random_state(2, speed=0.0), tolerance=1e-9, deadline=60.0)
    before = sim.step(1e-5).n_computed
    assert before > 500
    sim.deadline = 1e-12
    report = sim.step(1e-5, 40)
    assert report.n_computed < 20
    assert not report.reached


def test_steps_with_a_deadline_estimate_rounding_as_often_as_others(monkeypatch):
    calls = []
    original = floor.rounding_floor

    def counted(*arguments):
        calls.append(1)
        return original(*arguments)

    monkeypatch.setattr(floor, "rounding_floor", counted)
    model = weightless_chain(20)
    sim = lw.QuasiStatics(model, model.random_state(3, speed=0.0), deadline=60.0)
    sim.apply_wrench(19, force=(0.0, 1.0, 0.0), frame="body")
    sim.step(1e-3, 30)
    assert len(calls) <= 2


# -------------------------------------------------------------------------------------------- rounding and tiny numbers


def straight_cable(joints, direction=(0.36, 0.48, -0.8)):
    """Hangs straight down, in exact equilibrium, along a direction that is not a coordinate axis."""
    u = np.array(direction)
    a = np.cross(u, (1.0, 0.0, 0.0))
    a /= np.linalg.norm(a)
    moments = 1e-3 * (np.eye(3) - 0.9 * np.outer(u, u))
    part = lw.Inertia(mass=0.1, com=tuple(0.05 * u), moments=moments)
    cable = lw.Linkage("cable", gravity=tuple(9.81 * u))
    for i in range(joints):
        parent, pose = (f"link_{i - 1}", lw.Pose(xyz=tuple(0.1 * u))) if i else ("world", lw.Pose())
        cable.add_body(f"link_{i}", parent, lw.Revolute(tuple(a if i % 2 else np.cross(u, a))), pose, part)
    return cable.compile()


@pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")
@pytest.mark.parametrize("measure", ["relative_joint", "relative_linkage"])
def test_where_all_is_rounding_no_relative_bound_is_claimed(measure):
    """In equilibrium every acceleration is rounding: relative to it any error is possible."""
    model = straight_cable(800)
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=0.5, measure=measure)
    report = sim.solve()
    assert 0.0 < report.max_acceleration < 1e-6
    assert report.error_bound == math.inf
    assert not report.reached


@pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")
@pytest.mark.parametrize("measure", ["relative_joint", "relative_linkage"])
def test_relative_bounds_hold_where_rounding_is_a_good_part_of_the_whole(measure):
    """A push that moves the cable little more than rounding does; the truth is the push's part alone, by linearity."""
    model = straight_cable(800)
    state = model.neutral()
    push = 1e3
    wrenches = np.zeros((800, 6))
    wrenches[400, 3] = push
    far = lw.forward_dynamics(model, state, wrenches=wrenches) / push  # per newton, rounding divided by 1e3
    for force in 10.0 ** np.arange(-12.0, -2.0):
        sim = lw.QuasiStatics(model, state, tolerance=0.1, measure=measure)
        sim.apply_wrench(400, force=(force, 0.0, 0.0), frame="body")
        report = sim.solve()
        truth = force * far
        wrong = np.abs(sim.acceleration - truth)
        norm = np.linalg.norm if measure == "relative_linkage" else np.max
        assert norm(wrong) / norm(np.abs(truth)) <= report.error_bound
        assert not report.reached or report.error_bound <= 0.2


@pytest.mark.parametrize("measure", ["relative_joint", "relative_linkage"])
@pytest.mark.parametrize("scale", [1e-100, 1e-170, 1e-250])
def test_tiny_loads_are_solved_as_any_others(measure, scale):
    """Everything is linear in the load, and squares of 1e-170 are zero in floating point."""
    model = weightless_chain(200)
    state = model.random_state(4, speed=0.0)
    reports = []
    for force in (1.0, scale):
        sim = lw.QuasiStatics(model, state, tolerance=1e-3, measure=measure)
        sim.apply_wrench(150, force=(0.0, force, 0.0), frame="body")
        reports.append((sim, sim.solve()))
    (one, at_one), (tiny, at_tiny) = reports
    assert at_one.n_computed > 5
    assert tiny.computed_joints == one.computed_joints
    assert at_tiny.error_bound == pytest.approx(at_one.error_bound, rel=1e-6)
    assert at_tiny.max_acceleration == pytest.approx(scale * at_one.max_acceleration, rel=1e-6)


# --------------------------------------------------------------------------------------------------------- re-rooting


def satellite():
    """A base that floats, a body that floats beside it on a Free joint, and arms on both."""
    linkage = lw.Linkage("satellite", gravity=(0, 0, -1.6))
    part = lw.Inertia.box(2.0, (0.2, 0.3, 0.4))
    linkage.add_body("base", "world", lw.Free(), lw.Pose(), part)
    linkage.add_body("tug", "base", lw.Free(), lw.Pose((1.0, 0.2, 0.0)), part)
    linkage.add_body("arm", "tug", lw.Spherical(), lw.Pose((0.0, 0.5, 0.1)), part)
    linkage.add_body("hand", "arm", lw.Revolute((0.0, 0.6, 0.8)), lw.Pose((0.0, 0.4, 0.0)), part)
    linkage.add_body("mast", "base", lw.Revolute((1.0, 0.0, 0.0)), lw.Pose((0.0, 0.0, 0.5)), part)
    return linkage.compile()


@pytest.mark.parametrize("body", ["base", "tug", "arm", "hand"])
def test_efforts_keep_their_power_when_the_root_changes(body, rng):
    """Efforts on all joints, free ones and the one on the world included: the same accelerations of all bodies."""
    model = satellite()
    sim = lw.QuasiStatics(model, model.random_state(rng, speed=0.0), tolerance=0.0)
    for name, joint in zip(model.joint_names, model.joints, strict=True):
        sim.set_effort(name, rng.normal(size=joint.nv))
    sim.solve()
    rerooted = lw.reroot(model, sim.state, body, acceleration=sim.acceleration)
    after = sim.reroot(body)
    after.solve()
    scale, condition = np.abs(rerooted.acceleration).max(), 1e4
    assert after.acceleration == pytest.approx(rerooted.acceleration, abs=10 * EPS * condition * scale)


def test_an_effort_that_the_world_no_longer_takes_is_refused():
    model = weightless_chain(5)
    sim = lw.QuasiStatics(model, model.neutral())
    sim.set_effort("link_0", 1.0)
    with pytest.raises(lw.StateError, match="link_0"):
        sim.reroot("link_4")
