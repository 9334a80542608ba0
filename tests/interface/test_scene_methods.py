"""Every option of a method reaches the simulation, and scenes reach every option."""

import inspect

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.scene import Scene
from linkwork.scene.schema import METHODS
from linkwork.scene.weights import WEIGHTS

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


@pytest.mark.parametrize("kind", CLASSES)
def test_every_argument_of_the_class_has_a_key(kind):
    arguments = [name for name in inspect.signature(CLASSES[kind]).parameters if name not in ("model", "state")]
    keys = [RENAMED.get(kind, {}).get(name, name) for name in arguments]
    assert sorted(keys) == sorted(METHODS[kind])


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("full", "atol", 1e-5),
        ("full", "keep_momentum", False),
        ("full", "integrator", "dormand_prince"),
        ("adaptive", "integrator", "rk4"),
        ("adaptive", "keep_momentum", False),
        ("adaptive", "horizon", 0.25),
        ("quasi-statics", "max_joints", 3),
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
    column = "velocity_weight" if key == "velocity_weights" else "weight"

    def weights(value):
        return getattr(scene({"kind": kind, key: value}).build().sim._mechanism, column)

    assert weights(2.5).tolist() == [2.5] * 10
    by_joint = weights({"link_3": [3.0, 4.0], "link_[1-3]": 2.0, "link_4": 5})
    assert by_joint.tolist() == [1, 1, 2, 2, 2, 2, 3, 4, 5, 5]


def test_weights_choose_who_is_active():
    """The joint whose acceleration counts most is the one that moves, and the bits of a resumed run are the same."""
    method = {"kind": "adaptive", "active_joints": 5, "update_every": 1}
    chain = {
        "model": {"library": "chain", "parameters": {"joints": 16}},
        "load": [{"body": "link_15", "force": [0.5, 0.2, 0]}],
    }
    weights = {"acceleration_weights": {"link_5": 1e6}, "velocity_weights": {"link_5": 1e6}}
    loud = scene({**method, **weights}, **chain)
    sim, plain = loud.build(), scene(method, **chain).build()
    sim.step(1e-3, 5)
    plain.step(1e-3, 5)
    assert "link_5" in sim.active
    assert "link_5" not in plain.active
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
