"""Every option of a method reaches the simulation, and scenes reach every option."""

import inspect

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.errors import FormatError
from linkwork.scene import Scene
from linkwork.scene.methods import METHODS
from linkwork.scene.methods.method import WEIGHTS
from linkwork.simulation.protocol import Report

CLASSES = {"quasi-statics": lw.QuasiStatics, "full": lw.FullDynamics, "adaptive": lw.AdaptiveDynamics}
RENAMED = {"full": {"rtol": "tolerance"}}  # argument of the class → key of the scene


def scene(method, **more):
    return Scene({
        "model": {"library": "chain", "parameters": {"joints": 5, "joint": "universal"}},
        "load": [{"body": "link_4", "force": [0.5, 0.2, 0]}],
        "method": method,
        "run": {"h": 1e-3, "steps": 5},
        **more,
    })  # fmt: skip


ELSEWHERE = (
    "model",
    "state",
    "field",
    "thermostat",
    "contact",
    "device",
    "water",
)  # of the scene, or of the method for molecules; water is for programs


def model_of(kind):
    """A model that a method can compute."""
    if kind == "molecule":
        proteins.need_packages()
        return {"library": "peptide", "parameters": {"sequence": "AG"}}
    return {"library": "compass_biped" if kind == "walker" else "chain"}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_argument_of_the_class_has_a_key(kind):
    arguments = [name for name in inspect.signature(CLASSES[kind]).parameters if name not in ELSEWHERE]
    keys = [RENAMED.get(kind, {}).get(name, name) for name in arguments]
    assert sorted(keys) == sorted(METHODS[kind].keys)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("full", "atol", 1e-5),
        ("full", "keep_momentum", False),
        ("full", "integrator", "dormand_prince"),
        ("adaptive", "integrator", "rk4"),
        ("adaptive", "keep_momentum", False),
        ("adaptive", "horizon", 0.25),
        ("quasi-statics", "max_active_joints", 3),
    ],
)
def test_options_reach_the_simulation(kind, key, value):
    assert getattr(scene({"kind": kind, key: value}).build().sim, key) == value
    assert getattr(scene({"kind": kind}).build().sim, key) != value


def test_tolerance_of_full_dynamics_is_the_relative_one():
    sim = scene({"kind": "full", "integrator": "dormand_prince", "tolerance": 1e-3, "atol": 1e-4}).build()
    assert (sim.rtol, sim.atol) == (1e-3, 1e-4)


@pytest.mark.parametrize("key", WEIGHTS)
def test_weights(key):
    """A number for all, or by joint: patterns first, names over them, lists by degree of freedom; the rest has one."""
    kind = "quasi-statics" if key == "weights" else "adaptive"

    def weights(value):
        return scene({"kind": kind, key: value}).build().sim.checkpoint()[key]

    assert weights(2.5).tolist() == [2.5] * 10
    by_joint = weights({"link_3": [3.0, 4.0], "link_[1-3]": 2.0, "link_4": 5})
    assert by_joint.tolist() == [1, 1, 2, 2, 2, 2, 3, 4, 5, 5]


def test_weights_choose_who_is_active():
    """The joint whose acceleration counts most is the one that moves, and the bits of a resumed run are the same."""
    method = {"kind": "adaptive", "max_active_joints": 5, "update_every": 1}
    chain = {
        "model": {"library": "chain", "parameters": {"joints": 16}},
        "load": [{"body": "link_15", "force": [0.5, 0.2, 0]}],
    }
    weights = {"weights": {"link_5": 1e6}, "velocity_weights": {"link_5": 1e6}}
    loud = scene({**method, **weights}, **chain)
    sim, plain = loud.build(), scene(method, **chain).build()
    sim.step(1e-3, 5)
    plain.step(1e-3, 5)
    assert "link_5" in sim.active_joints
    assert "link_5" not in plain.active_joints
    again = loud.build()
    again.restore(sim.checkpoint())
    sim.step(1e-3, 5)
    again.step(1e-3, 5)
    assert np.concatenate(again.state).tobytes() == np.concatenate(sim.state).tobytes()


def test_kept_momentum_is_that_of_external_impulses():
    """A floating chain in empty space, pushed along x for a while: its momentum is the impulse to rounding, or not."""
    method = {"kind": "full", "integrator": "semi_implicit_euler"}
    more = {
        "gravity": [0, 0, 0],
        "load": [{"body": "link_2", "force": ["pulse(t, 0, 0.05)", 0, 0]}],
        "state": {"kind": "random", "seed": 1, "speed": 2.0},
        "model": {"library": "chain", "parameters": {"joints": 5}, "floating": True},
    }
    errors = {}
    for keep in (True, False):
        sim = scene({**method, "keep_momentum": keep}, **more).build()
        before = lw.momentum(sim.model, sim.state).linear
        sim.step(1e-3, 100)
        gained = lw.momentum(sim.model, sim.state).linear - before
        errors[keep] = np.abs(gained - [0.05, 0.0, 0.0]).max()
    assert errors[True] < rounding(condition=1e2, steps=100)  # momenta of order one
    assert errors[False] > 1e-6


@pytest.mark.parametrize("kind", METHODS)
def test_every_method_builds_a_simulation(kind):
    """Whatever the method: the same protocol, a run of the whole scene without a recording, a report of it."""
    scene = Scene({"model": model_of(kind), "method": {"kind": kind}, "run": {"h": 1e-3, "steps": 30}})
    sim = scene.build()
    assert (sim.model.body_names, sim.time, sim.steps_done) == (scene.model.body_names, 0.0, 0)
    assert sim.settings()["simulation"] == type(getattr(sim, "sim", sim)).__name__
    assert sim.work_per_step >= 1
    assert "energy" in sim.scalars()
    seen = []
    report = scene.run(progress=False, callback=lambda sim, report: seen.append(sim.steps_done))
    assert (report.status, report.steps, report.path) == ("finished", 30, None)
    assert isinstance(report.last, Report)
    assert seen[-1] == 30
    sim.advance(scene.h, 30)
    assert sim.steps_done == 30


@pytest.mark.parametrize("kind", METHODS)
def test_methods_refuse_what_they_have_no_use_for(kind):
    given = {"model": model_of(kind), "method": {"kind": kind}, "run": {"h": 1e-3, "steps": 1}}
    tables = {
        "pin": [{"joint": "*", "to": "active"}],
        "state": {"seed": 1},
        "load": [{"body": "*", "force": [0, 0, 1]}],
    }
    for name, why in METHODS[kind].refused.items():
        if name in tables:
            with pytest.raises(FormatError) as caught:
                Scene({**given, name: tables[name]})
            assert why in str(caught.value)


def test_names_of_weights_and_pins_are_looked_up_when_the_scene_is_read():
    for wrong in (
        {"method": {"kind": "adaptive", "velocity_weights": {"elbow": 2.0}}},
        {"pin": [{"joint": "elbow", "to": "active"}]},
    ):
        given = {"model": {"library": "chain"}, "method": {"kind": "adaptive"}, "run": {"h": 1e-3, "steps": 1}}
        with pytest.raises(FormatError, match="no joint is called 'elbow'"):
            Scene({**given, **wrong})
