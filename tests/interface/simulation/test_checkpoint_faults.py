"""Checkpoints that are damaged in one number: refused, and nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import Strings
from tests.helpers.step_hashes import closed_on_table, loop, swinging

import linkwork as lw
from linkwork.adaptive.workspace import LOAD_COUNT
from linkwork.simulation.parts.part import check


def simulation(kind: str) -> lw.FullDynamics | lw.AdaptiveDynamics | lw.QuasiStatics:
    model = lw.library.chain(joints=8).compile()
    make = {"full": lw.FullDynamics, "adaptive": lw.AdaptiveDynamics, "quasi-static": lw.QuasiStatics}[kind]
    sim = make(model, model.neutral())
    sim.apply_wrench(3, force=(0.0, 0.0, 1.0))
    sim.step(1e-3, 3)
    return sim


@pytest.mark.parametrize("kind", ["full", "adaptive", "quasi-static"])
@pytest.mark.parametrize("counter", ["time", "steps_done"])
def test_counters_that_are_nothing_are_refused(kind, counter):
    sim = simulation(kind)
    with pytest.raises(lw.StateError, match=f"{counter} is None"):
        sim.restore({**sim.checkpoint(), counter: None})
    sim.step(1e-3)


@pytest.mark.parametrize("kind", ["adaptive", "quasi-static"])
def test_a_count_of_loads_that_do_not_exist_is_refused(kind):
    sim = simulation(kind)
    saved = sim.checkpoint()
    counts = saved["counts"].copy()
    counts[LOAD_COUNT] = 10**6
    with pytest.raises(lw.StateError, match="the checkpoint is damaged"):
        sim.restore({**saved, "counts": counts})
    sim.step(1e-3)


@pytest.mark.parametrize("kind", ["adaptive", "quasi-static"])
def test_a_restore_that_fails_on_the_way_changes_nothing(kind):
    """Each number is sound by itself; with efforts like these no coefficients can be formed."""
    sim = simulation(kind)
    saved, before = sim.checkpoint(), np.concatenate(sim.state).tobytes()
    with pytest.raises(lw.StateError):
        sim.restore({**saved, "effort": np.full_like(saved["effort"], 1e308)})
    assert np.concatenate(sim.state).tobytes() == before
    sim.step(1e-3, 2)
    other = simulation(kind)
    other.restore(saved)
    other.step(1e-3, 2)
    assert np.concatenate(sim.state).tobytes() == np.concatenate(other.state).tobytes()


# ------------------------------------------------------------------------------------------------------- by their schemas


def with_parts(kind: str) -> lw.FullDynamics | lw.AdaptiveDynamics | lw.QuasiStatics:
    """Simulations that have every part: loads, motors, contact, limits, loops, a field, a thermostat, pins."""
    if kind in ("field", "few active, field"):
        model, state = swinging()
        bath = lw.Langevin(300.0, 1.0, seed=1, boltzmann=1e-6)
        make = lw.FullDynamics if kind == "field" else lw.AdaptiveDynamics
        sim = make(model, state, field=Strings(), thermostat=bath)
    elif kind == "quasi-static":
        model, state = loop()
        sim = lw.QuasiStatics(model, lw.close_loops(model, model.state(state.q, np.zeros(model.nv))))
    else:
        model, state = closed_on_table()
        options = {"contact": lw.Contact(), "integrator": "semi_implicit_euler"}
        if kind == "contact":
            sim = lw.FullDynamics(model, state, **options)
        else:
            sim = lw.AdaptiveDynamics(model, state, max_active_joints=2, **options)
            sim.pin_active(model.joint_names[1])
    sim.apply_wrench(1, force=(0.0, 0.1, 0.0))
    sim.set_motor(model.joint_names[-1], position=0.1, stiffness=0.1)
    sim.step(1e-3, 4)
    return sim


pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")  # a ring begins inside its table
KINDS = ("contact", "few active, contact", "field", "few active, field", "quasi-static")


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_list_what_parts_save_and_a_checkpoint_fits_them(kind):
    sim = with_parts(kind)
    parts, saved = sim.view.parts, sim.checkpoint()
    for part in parts:
        assert {entry.name for entry in part.schema()} == set(part.saved())
        assert part.fits(saved)
    named = [entry.name for part in parts for entry in part.schema()]
    assert len(named) == len(set(named))
    assert set(named) < set(saved)
    check(saved, parts, {}, {})


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_of_a_checkpoint_is_refused_where_it_is_not_as_its_schema_says(kind):
    sim = with_parts(kind)
    saved, before = sim.checkpoint(), np.concatenate(sim.state).tobytes()
    tried = 0
    for part in sim.view.parts:
        for entry in part.schema():
            array = saved[entry.name]
            wrong = {
                "kind": array.astype(complex),
                "dimension": array[None],
                "none": None,
                "words": "abc",
            }
            if array.size and entry.name not in ("load_sizes", "driven", "pins"):  # one less is a checkpoint, too
                wrong["rows"] = array[:-1]
            if array.size and entry.least > -np.inf:
                wrong["below"] = array.astype(np.int64 if array.dtype.kind in "iu" else float)
                wrong["below"].flat[0] = entry.least - 1
            if array.size and entry.most < np.inf:
                wrong["above"] = np.full_like(array, entry.most + 1, dtype=np.int64)
            if array.size and entry.finite:
                wrong["not finite"] = np.full_like(array, np.nan)
            for what, other in wrong.items():
                with pytest.raises(lw.StateError):
                    sim.restore({**saved, entry.name: other})
                tried += 1
                assert np.concatenate(sim.state).tobytes() == before, (entry.name, what)
    assert tried > 60
    with pytest.raises(lw.StateError, match="lacks effort"):
        sim.restore({name: x for name, x in saved.items() if name != "effort"})
    sim.restore(saved)
    sim.step(1e-3, 2)


def test_random_numbers_that_no_generator_has_are_refused():
    sim = with_parts("field")
    saved = sim.checkpoint()
    words = saved["random"].copy()
    words[-2] = 7
    with pytest.raises(lw.StateError, match="random numbers"):
        sim.restore({**saved, "random": words})
