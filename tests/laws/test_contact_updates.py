"""Which changes of contacts cause an update of the active region, and when."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.updates import Updates
from linkwork.contact import contact_list as cl
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.search.contact_events import age_events, record_all_pressing

from ..helpers.contact_setups import chain

BREAK_TIMEOUT = 5
LINK = 0.05  # half the length of a link of `chain`, and so the largest half size of its shape [m]


class Watched:
    """The watch over contacts of a chain on a table, with pairs that press by order of the test."""

    def __init__(self):
        model = chain(8).compile()
        self.sim = lw.AdaptiveDynamics(
            model, model.neutral(), max_active_joints=2, contact=lw.Contact(), update_every=15
        )
        self.contacts, self.arrays = self.sim.view.contact.contacts, self.sim.view.contact.arrays
        self.sim.view.contact.watch(BREAK_TIMEOUT)
        self.table_shape = 8

    def step(self, *pressing):
        """A step in which links press at places (link, x) on the table; whether it asks for an update."""
        for k, (link, x) in enumerate(pressing):
            self.contacts.ids[k] = link, -1, link, self.table_shape
            self.contacts.data[k, cl.POINT : cl.POINT + 3] = x, 0.0, 0.0
            self.contacts.data[k, cl.NORMAL : cl.NORMAL + 3] = 0.0, 0.0, 1.0
            self.contacts.data[k, cl.SIZE] = LINK
            self.contacts.impulse[k] = 0.0, 0.0, 1.0
        self.contacts.number[cl.COUNT] = len(pressing)
        record_all_pressing(self.arrays, self.contacts)
        return bool(age_events(self.arrays))

    def settle(self):
        """The update that was asked for; steps pass until the next may be."""
        self.sim.view.contact.watch(BREAK_TIMEOUT)


@pytest.fixture
def watched():
    found = Watched()
    for _ in range(BREAK_TIMEOUT):  # nothing presses, nothing changes
        assert not found.step()
    return found


def test_a_new_contact_asks_at_once(watched):
    assert watched.step((0, 0.0))
    watched.settle()
    assert not any(watched.step((0, 0.0)) for _ in range(4 * BREAK_TIMEOUT))


def test_changes_soon_after_an_update_wait_and_are_not_forgotten(watched):
    assert watched.step((0, 0.0))
    watched.settle()
    asked = [watched.step((0, 0.0), (5, 0.5)) for _ in range(BREAK_TIMEOUT)]
    assert asked == [False] * (BREAK_TIMEOUT - 1) + [True]


def test_a_contact_that_rattles_does_not_break(watched):
    watched.step((0, 0.0))
    watched.settle()
    for step in range(6 * BREAK_TIMEOUT):
        assert not watched.step(*([(0, 0.0)] if step % BREAK_TIMEOUT == 0 else []))


def test_a_contact_breaks_after_so_many_steps_without_impulse(watched):
    watched.step((0, 0.0))
    watched.settle()
    watched.step((0, 0.0))
    asked = [watched.step() for _ in range(BREAK_TIMEOUT)]
    assert asked == [False] * (BREAK_TIMEOUT - 1) + [True]
    assert watched.arrays.counts[ca.RECENT] == 0


def test_a_contact_that_slides_on_to_the_next_link_is_the_same(watched):
    """Links pass over one place of the table: no update, however many."""
    watched.step((0, 0.0))
    watched.settle()
    for step in range(8 * BREAK_TIMEOUT):
        assert not watched.step((step // BREAK_TIMEOUT, 0.01 * math.sin(step)))


def test_a_contact_elsewhere_on_the_same_shape_is_another(watched):
    watched.step((0, 0.0))
    watched.settle()
    for _ in range(BREAK_TIMEOUT):
        watched.step((0, 0.0))
    assert not watched.step((0, 0.0), (1, 1.9 * LINK))
    assert watched.step((0, 0.0), (1, 1.9 * LINK), (4, 4.0 * LINK))


def test_a_contact_breaks_where_no_other_is_left_near(watched):
    watched.step((0, 0.0), (1, 1.9 * LINK), (4, 8.0 * LINK))
    watched.settle()
    left = [watched.step((0, 0.0), (4, 8.0 * LINK)) for _ in range(3 * BREAK_TIMEOUT)]
    assert not any(left)
    assert any(watched.step((0, 0.0)) for _ in range(BREAK_TIMEOUT + 1))


def test_pairs_beyond_the_list_count_as_a_change(watched):
    """More pairs than the list has room for."""
    watched.arrays.recent[:] = -7
    watched.arrays.counts[ca.RECENT] = ca.MOST_RECENT
    assert watched.step((0, 0.0))


def dropped(update_every, joints=3):
    model = chain(10).compile()
    start = model.neutral()
    q = start.q.copy()
    q[2] += 0.05
    q[7:] = 0.02 * np.cos(np.arange(q.size - 7))
    contact = lw.Contact(restitution=0.5)
    return lw.AdaptiveDynamics(
        model, lw.State(q, start.v), max_active_joints=joints, update_every=update_every, contact=contact
    )


def test_a_chain_that_falls_asks_for_updates_when_it_lands_and_seldom_afterwards():
    """At most one update every third of `update_every` steps, whatever bounces; and one that the landing asked for."""
    sim, every = dropped(30), 30
    landed, updates = [], []
    for step in range(300):
        sim.advance(1e-3)
        updates.append(sim.checkpoint()["updated_at"])  # steps done then
        pressing = any(point.force[2] > 0.0 for point in sim.contacts)
        landed += [step] if pressing else []
        if landed and step == landed[0] + every // 3 + 1:
            assert len(set(updates)) > 1
    assert landed
    assert 300 // every <= len(set(updates)) <= 300 // (every // 3) + 1


@pytest.mark.parametrize("at", [4, 86, 91, 97, 130])
def test_a_checkpoint_between_contacts_goes_on_in_the_same_bits(at):
    """The known contacts, their ages and a change that waits are part of it."""
    whole, first, second = (dropped(9) for _ in range(3))
    whole.advance(1e-3, at + 100)
    first.advance(1e-3, at)
    second.restore(first.checkpoint())
    second.advance(1e-3, 100)
    assert second.state.q.tobytes() == whole.state.q.tobytes()
    assert second.state.v.tobytes() == whole.state.v.tobytes()
    assert whole.state.v.any()
    known, again = whole.checkpoint(), second.checkpoint()
    for name in ("known_contacts", "known_places", "contact_counts"):
        assert known[name].tobytes() == again[name].tobytes()


def test_a_checkpoint_with_other_known_contacts_is_refused():
    sim = dropped(9)
    sim.advance(1e-3, 60)
    saved = sim.checkpoint()
    q = sim.state.q
    for name, bad in (
        ("known_contacts", np.zeros((1, 2), dtype=np.int64)),
        ("known_places", np.zeros((3, 4))),
        ("known_contacts", np.zeros((ca.MOST_RECENT + 1, 3), dtype=np.int64)),
    ):
        with pytest.raises(lw.StateError, match="its contacts do not fit"):
            sim.restore({**saved, name: bad})
    assert sim.state.q.tobytes() == q.tobytes()


@pytest.mark.parametrize("integrator", ["auto", "semi_implicit_euler"])
@pytest.mark.parametrize("count", [1, 7, 60])
def test_steps_through_updates_are_those_of_one_update_at_a_time(monkeypatch, integrator, count):
    """One call that goes on through updates, and calls that come back to Python for each of them: the same bits."""
    linkage = chain(16)
    model = linkage.compile()
    state = model.neutral()
    state.q[7::3] = 0.2
    sims = [
        lw.AdaptiveDynamics(
            model, state, max_active_joints=4, update_every=6, contact=lw.Contact(), integrator=integrator
        )
        for _ in range(2)
    ]
    for _ in range(120 // count):
        sims[0].advance(1e-3, count)
        with monkeypatch.context() as patched:
            patched.setattr(Updates, "may_be_in_steps", lambda self: False)
            sims[1].advance(1e-3, count)
    through, one_by_one = sims
    assert through.contacts
    assert np.array_equal(through.state.q, one_by_one.state.q)
    assert np.array_equal(through.state.v, one_by_one.state.v)
    assert through.report == one_by_one.report
    assert through.active_joints == one_by_one.active_joints
