"""A step with contact ends, whatever it meets: its work is counted, and beyond a bound it is an error that names bodies."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest
from benchmarks.adversary import contact_runs

import linkwork as lw
from linkwork.contact.tables import DISTANCES, SEARCHES
from linkwork.simulation import moving
from linkwork.simulation.contact_step.search.finding import DISTANCES_PER_SHAPE, MOST_DISTANCES, MOST_SEARCHES


def made_for_an_endless_step():
    """Three bodies, one of them a million times too light or heavy, that begin inside hills: run 473 of seed 2917."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return contact_runs.make(random.Random("2917/contact/473"))[:2]


def test_a_step_that_would_take_thousands_of_parts_says_so_and_changes_nothing():
    sim, h = made_for_an_endless_step()
    before = sim.state
    with pytest.raises(lw.StateError) as raised:
        sim.step(h)
    named = re.findall(r"'(\w+)'", str(raised.value))
    assert set(named) & set(sim.model.body_names)
    assert (sim.state.q == before.q).all()
    assert np.isfinite(sim.state.v).all()
    finder = sim.view.contact.finder
    most = MOST_DISTANCES + DISTANCES_PER_SHAPE * len(finder.table.kind)
    assert finder.query[SEARCHES] <= MOST_SEARCHES + 1
    assert finder.query[DISTANCES] <= 2 * most  # what the last search asked for is not cut off


def test_what_steps_say_has_numbers_of_its_own():
    """Two were one once: an endless step was taken for one that asks for another active region, and made again for ever."""
    said = [value for name, value in vars(moving).items() if name.isupper() and isinstance(value, int) and value < 0]
    assert len(said) >= 13
    assert len(said) == len(set(said))


def test_work_is_counted_anew_in_every_step():
    linkage = lw.Linkage("ball")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    state = model.neutral()
    state.q[2] = 0.1
    sim = lw.FullDynamics(model, state, contact=lw.Contact())
    query, found = sim.view.contact.finder.query, set()
    for _ in range(5):
        sim.step(1e-3)
        found.add((query[SEARCHES], query[DISTANCES]))
    assert found == {(1.0, 1.0)}
