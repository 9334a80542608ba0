"""Where most joints matter all of them move: full steps bit for bit, until the motion says that few would do."""

import warnings

import numpy as np
import pytest

import linkwork as lw

H = 1e-3


def tree(seed, bodies=90):
    return lw.library.random_tree(bodies, seed=seed, floating=bool(seed % 2)).compile()


def is_whole(sim):
    return sim.active_bodies.size == sum(joint.nv > 0 for joint in sim.model.joints)


@pytest.mark.parametrize("integrator", ["auto", "semi_implicit_euler"])
@pytest.mark.parametrize("seed", range(4))
def test_steps_of_all_joints_are_full_steps_bit_for_bit(seed, integrator):
    """Random trees whose joints all move: the first update finds it, nothing is stopped, and steps are full ones."""
    model = tree(seed)
    state = model.random_state(seed, speed=0.5)
    sim = lw.AdaptiveDynamics(model, state, tolerance=2.0**-20, integrator=integrator)
    full = lw.FullDynamics(model, state, integrator=integrator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # of fast joints
        report = sim.step(1e-4, 25)
        full.advance(1e-4, 25)
    assert is_whole(sim)
    assert report.n_computed == sum(joint.nv > 0 for joint in model.joints)
    assert report.n_active == report.n_computed - seed % 2  # the base of a floating tree is not counted
    assert report.reached
    assert report.error_bound == 0.0
    assert sim.state.q.tobytes() == full.state.q.tobytes()
    assert sim.state.v.tobytes() == full.state.v.tobytes()


def pushed(measure, **options):
    """Eighty bodies on hinges with springs and dampers, all pushed: every joint moves, and comes to rest soon after."""
    linkage = lw.Linkage("hinges")
    linkage.gravity = (0.0, 0.0, 0.0)
    part = lw.Inertia.box(1.0, (0.1, 0.05, 0.05)).at(lw.Pose((0.05, 0.0, 0.0)))
    for k in range(80):
        joint = lw.Revolute((0, k % 2, 1 - k % 2), damping=0.1, stiffness=5.0)
        linkage.add_body(f"b{k}", "world", joint, lw.Pose((0.0, 0.3 * k, 0.0)), part)
    model = linkage.compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-3, measure=measure, **options)
    rng = np.random.default_rng(0)
    for body in range(model.n_bodies):
        sim.apply_wrench(body, torque=tuple(rng.normal(size=3)), frame="body")
    return sim


@pytest.mark.parametrize("measure", ["absolute_joint", "absolute_linkage"])
@pytest.mark.parametrize("every", [1, 10])
def test_the_region_is_chosen_again_when_few_joints_move(measure, every):
    """All joints while all are pushed; when they have come to rest, only the one that is pushed anew."""
    sim = pushed(measure, update_every=every)
    sim.advance(H, 20)
    assert is_whole(sim)
    for load in list(sim.loads):
        sim.clear(load)
    for _ in range(100):
        sim.advance(H, 20)
        if not is_whole(sim):
            break
    assert not is_whole(sim)
    sim.apply_wrench(79, torque=(1.0, 1.0, 1.0), frame="body")
    sim.advance(H, 20)
    report = sim.report
    assert report.reached
    assert 1 <= report.n_active <= 8
    assert sim.model.joint_names[79] in sim.active_joints


@pytest.mark.parametrize("at", [5, 130, 300])
def test_a_checkpoint_among_full_steps_goes_on_in_the_same_bits(at):
    whole, first, second = (pushed("relative_joint") for _ in range(3))
    whole.advance(H, at + 200)
    first.advance(H, at)
    assert is_whole(first)
    second.restore(first.checkpoint())
    second.advance(H, 200)
    assert second.state.q.tobytes() == whole.state.q.tobytes()
    assert second.state.v.tobytes() == whole.state.v.tobytes()


@pytest.mark.parametrize("cut", [1, 7, 64])
def test_steps_go_through_updates_that_change_nothing_however_they_are_cut(cut):
    """Also through the first one that asks again: 300 steps in one call and in many leave the same checkpoint."""
    whole, parts = pushed("relative_joint"), pushed("relative_joint")
    whole.advance(H, 300)
    for done in range(0, 300, cut):
        parts.advance(H, min(cut, 300 - done))
    assert is_whole(whole)
    one, other = whole.checkpoint(), parts.checkpoint()
    assert one.keys() == other.keys()
    assert one.pop("time") == pytest.approx(other.pop("time"), rel=1e-12)  # summed call by call
    differing = [key for key in one if np.asarray(one[key]).tobytes() != np.asarray(other[key]).tobytes()]
    assert not differing


def test_a_number_of_joints_that_was_given_is_kept():
    sim = pushed("relative_joint", max_active_joints=60)
    sim.advance(H, 30)
    assert sim.report.n_active <= 60
    sim.max_active_joints = None
    sim.advance(H, 10)
    assert is_whole(sim)
    sim.max_active_joints = 20
    sim.advance(H, 10)
    assert not is_whole(sim)
    assert sim.report.n_active <= 20
