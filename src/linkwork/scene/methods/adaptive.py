"""method.kind = "adaptive"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.adaptive.measures import MEASURES
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.methods.method import (
    IMPLICIT_JOINTS,
    KEEP_MOMENTUM,
    LIMITS,
    Found,
    Method,
    Options,
    plain_options,
    with_actions,
    with_weights,
)
from linkwork.scene.obstacles import contact_of
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key
from linkwork.scene.reading.faults import Faults
from linkwork.scene.targets import find_joints
from linkwork.scene.waters import water_of
from linkwork.simulation.integrators.names import AUTO, INTEGRATORS
from linkwork.simulation.protocol import Simulation

PINS = "pins"  # among the options: joints and whether each is pinned active, in the order of the file


def check(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> Options:
    options = with_weights(plain_options(scene), model, faults)
    options["contact"], options["water"] = contact_of(scene, faults), water_of(scene, faults)
    options[PINS] = [
        (joint, table.get("to") == "active")
        for k, table in enumerate(scene["pin"])
        for joint in find_joints(model, table.get("joint", ()), ("pin", k, "joint"), faults)
    ]
    return options


def build(found: Found) -> Simulation:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics

    options = dict(found.options)
    pins = options.pop(PINS)
    sim = AdaptiveDynamics(found.model, found.state, **options)
    for joint, active in pins:
        (sim.pin_active if active else sim.pin_inactive)(joint)
    return with_actions(sim, found)


ADAPTIVE = Method(
    name="adaptive",
    keys={
        "tolerance": Key(must_be.number(0.0), "error allowed by the measure"),
        "measure": Key(must_be.choice(*MEASURES), "of the error"),
        "max_active_joints": Key(must_be.integer(0), "how many joints move at most"),
        "update_every": Key(must_be.integer(1), "steps between updates of the active region"),
        "horizon": Key(must_be.number(0.0, above=True), "time over which accelerations count as velocities", "s"),
        "integrator": Key(must_be.choice(*INTEGRATORS, AUTO), "of the step"),
        "implicit_joints": Key(must_be.boolean, IMPLICIT_JOINTS),
        "rtol": Key(must_be.number(0.0, above=True), "relative error allowed per substep of dormand_prince"),
        "atol": Key(must_be.number(0.0, above=True), "absolute error allowed per substep of dormand_prince"),
        "keep_momentum": Key(must_be.boolean, KEEP_MOMENTUM),
        "limits": Key(must_be.boolean, LIMITS),
        "weights": Key(must_be.weights, "of squared accelerations: a number, or numbers by joint"),
        "velocity_weights": Key(must_be.weights, "of squared velocities, likewise"),
    },
    check=check,
    build=build,
)
