"""Contact and limits as users meet them: what is refused, warned of, reported, kept in checkpoints."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from tests.helpers.contact_setups import chain, on_a_plane

import linkwork as lw
from linkwork.errors import LinkworkWarning
from linkwork.simulation.contact_step import contact_state


def ball(height=0.1):
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1))
    q = model.neutral().q
    q[2] = height
    return model, lw.State(q, np.zeros(6))


def limited():
    linkage = lw.Linkage("arm")
    inertia = lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0), limits=(-0.5, 2.0)), inertia=inertia)
    return linkage.compile()


def test_what_cannot_touch_says_what_to_do():
    model, state = ball()
    for options in ({"integrator": "implicit_euler"}, {"algorithm": "dca"}):
        (what,) = options.values()
        with pytest.raises(lw.StateError, match=f"contact does not work with .*'{what}'; use algorithm='aba'"):
            lw.FullDynamics(model, state, contact=lw.Contact(), **options)
        with pytest.raises(lw.StateError, match="limits=True does not work with"):
            lw.FullDynamics(limited(), limited().neutral(), limits=True, **options)
        assert lw.FullDynamics(limited(), limited().neutral(), **options).limits is False


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_what_is_not_contact_is_refused(simulation):
    model, state = ball()
    with pytest.raises(lw.StateError, match=r"contact is 0\.5; it must be lw\.Contact"):
        simulation(model, state, contact=0.5)
    with pytest.raises(lw.StateError, match="limits is 1; it must be True, False or None"):
        simulation(model, state, limits=1)
    with pytest.raises(lw.StateError, match="does not work with algorithm='dca'"):
        lw.FullDynamics(model, state, algorithm="dca", contact=lw.Contact())


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_beginning_inside_an_obstacle_is_warned_of(simulation):
    model, state = ball(0.07)
    with pytest.warns(LinkworkWarning, match="'body' 0.03 m inside 'floor'"):
        sim = simulation(model, state, contact=lw.Contact())
    sim.advance(1e-3, 200)  # pushed out, and not thrown out
    assert sim.state.q[2] == pytest.approx(0.1, abs=1e-4)
    assert np.abs(sim.state.v).max() < 1e-3
    model, state = ball(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation(model, state, contact=lw.Contact())


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_memory_grows_with_contacts_and_nothing_else_changes(simulation, monkeypatch):
    """With room for one contact, body and limit at first, the same bits come out."""
    model = chain(8).compile()
    plenty = simulation(model, model.neutral(), contact=lw.Contact())
    for name in ("FIRST_CONTACTS", "FIRST_BODIES", "FIRST_LIMITS"):
        monkeypatch.setattr(contact_state, name, 1)
    little = simulation(model, model.neutral(), contact=lw.Contact())
    assert plenty.step(1e-3, 30).contact.contacts == little.step(1e-3, 30).contact.contacts == 16
    assert np.array_equal(plenty.state.q, little.state.q)
    assert np.array_equal(plenty.state.v, little.state.v)


@pytest.mark.parametrize(
    ("simulation", "more"),
    [(lw.FullDynamics, {}), (lw.AdaptiveDynamics, {}), (lw.AdaptiveDynamics, {"max_active_joints": 4})],
)
def test_checkpoints_resume_in_the_same_bits(simulation, more):
    model = chain(8).compile()
    start = model.neutral()
    start.q[2] = 0.05
    start.q[8::2] = 0.2
    start.q[7::4], start.q[9::4] = 0.05, -0.05

    def make():
        return simulation(model, start, contact=lw.Contact(restitution=0.3), **more)

    whole, first = make(), make()
    whole.advance(1e-3, 250)
    first.advance(1e-3, 150)
    second = make()
    second.restore(first.checkpoint())
    assert second.contacts == first.contacts
    second.advance(1e-3, 100)
    assert len(whole.contacts) > 0
    assert np.array_equal(second.state.q, whole.state.q)
    assert np.array_equal(second.state.v, whole.state.v)
    assert second.contacts == whole.contacts


def test_damaged_checkpoints_are_refused():
    model, state = ball()
    sim = lw.FullDynamics(model, state, contact=lw.Contact())
    sim.advance(1e-3, 10)
    before = sim.state
    for name, bad in (("contact_ids", np.zeros((1, 3), dtype=np.int64)), ("contact_impulses", np.zeros((2, 3)))):
        with pytest.raises(lw.StateError, match="its contacts do not fit"):
            sim.restore({**sim.checkpoint(), name: bad})
    with pytest.raises(lw.StateError, match="other contact_settings"):
        lw.FullDynamics(model, state, contact=lw.Contact(friction=0.1)).restore(sim.checkpoint())
    assert np.array_equal(sim.state.q, before.q)


def bounced(height):
    """A ball that a step of 50 ms took from above the floor and back up."""
    model, state = ball(height)
    sim = lw.FullDynamics(
        model,
        lw.State(state.q, np.array([0.0, 0.0, 0.0, 0.0, 0.0, -20.0])),
        contact=lw.Contact(restitution=0.5),
        integrator="variational",
    )
    sim.step(0.05)
    return sim


def test_checkpoints_whose_lists_of_contacts_have_other_lengths_are_refused():
    """A contact that is listed is not one that has parted, nor the reverse, and one that has parted gave an impulse."""
    model, state = ball()
    resting, left = lw.FullDynamics(model, state, contact=lw.Contact()), bounced(0.3)
    resting.advance(1e-3, 10)
    assert [point.state for point in resting.contacts + left.contacts] == ["sticking", "apart"]
    names = ("contact_states", "contact_impulses")
    saved = resting.checkpoint()
    shorter = {name: saved[name][:-1] for name in names}
    saved = left.checkpoint()
    longer = {name: np.zeros((1, *saved[name].shape[1:]), dtype=saved[name].dtype) for name in names}
    nothing = {"contact_sums": np.zeros_like(saved["contact_sums"])}
    for sim, damage in ((resting, shorter), (left, longer), (left, nothing)):
        saved, before = sim.checkpoint(), sim.contacts
        with pytest.raises(lw.StateError, match="its contacts do not fit"):
            sim.restore({**saved, **damage})
        assert sim.contacts == before
        sim.restore(saved)
        assert sim.contacts == before


def test_contacts_say_who_touches_where():
    model, state = ball()
    sim = lw.FullDynamics(model, state, contact=lw.Contact())
    assert sim.contacts == ()
    report = sim.step(1e-3)
    (point,) = sim.contacts
    assert (point.body, point.other, point.state) == ("body", "floor", "sticking")
    assert point.normal == pytest.approx((0, 0, 1))
    assert point.point == pytest.approx((0, 0, 0), abs=1e-12)
    assert point.force == pytest.approx((0, 0, 9.81))
    assert point.impulse == pytest.approx((0, 0, 9.81e-3))
    assert report.contact.contacts == 1
    assert report.contact.not_converged == 0
    assert lw.FullDynamics(model, state).contacts == ()


def test_without_touching_a_step_is_one_without_contact():
    """High above the floor contact changes no bit."""
    model, state = ball(10.0)
    state.v[:] = 1.0
    free = lw.FullDynamics(model, state)
    able = lw.FullDynamics(model, state, contact=lw.Contact())
    free.advance(1e-3, 50)
    able.advance(1e-3, 50)
    # the two are compiled apart, and may fuse products differently: one rounding per step
    assert able.state.q == pytest.approx(free.state.q, rel=0, abs=1e3 * np.finfo(float).eps * 10.0)


def test_steps_far_too_long_do_not_explode():
    """A hundred times the step of the other tests: inaccurate, but no energy comes from nowhere."""
    model = chain(6).compile()
    start = model.neutral()
    start.q[2] = 0.3
    sim = lw.FullDynamics(model, start, contact=lw.Contact(restitution=0.5))
    begin = sim.energy.total
    for _ in range(100):
        sim.advance(0.02)
        assert sim.energy.total < begin + 0.05 * 6 * 0.1 * 9.81 * 0.3
    assert math.isfinite(sim.energy.total)


def test_importing_linkwork_does_not_import_contact():
    code = "import sys, linkwork; print([m for m in sys.modules if m.startswith('linkwork.simulation.contact_step')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_contact_wrenches_are_the_sum_of_the_contacts():
    linkage = lw.Linkage()
    box = lw.Inertia.box(2.0, (0.2, 0.2, 0.2))
    for k in range(2):
        linkage.add_body(f"box_{k}", joint=lw.Free(), inertia=box, shapes=[lw.Box((0.2, 0.2, 0.2))])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2], q[9], q[7] = 0.1, 0.3, 0.05
    sim = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
    assert not sim.contact_wrenches().any()
    sim.step(2e-3, 100)
    poses = lw.body_poses(model, sim.state)
    meant = np.zeros((2, 6))
    for point in sim.contacts:
        for name, sign in ((point.body, 1.0), (point.other, -1.0)):
            if name in model.body_names:
                i, force = model.body(name), sign * np.array(point.force)
                meant[i, 3:] += force
                meant[i, :3] += np.cross(np.array(point.point) - poses[i, :3, 3], force)
    np.testing.assert_allclose(sim.contact_wrenches(), meant, atol=1e-12)
    rows = sim.contact_rows()
    assert rows.ids.shape == (len(sim.contacts), 3)
    assert rows.numbers.shape == (len(sim.contacts), 11)
    np.testing.assert_array_equal(rows.numbers[:, :3], [point.point for point in sim.contacts])
    np.testing.assert_allclose(meant[:, 5], 2.0 * 9.81, rtol=1e-5)  # either box is at rest
