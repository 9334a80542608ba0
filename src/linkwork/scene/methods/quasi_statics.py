"""method.kind = "quasi-statics"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.adaptive.measures import MEASURES
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.methods.method import (
    NO_CONTACT,
    NO_WATER,
    ONLY_ADAPTIVE_PINS,
    Found,
    Method,
    Options,
    plain_options,
    with_actions,
    with_weights,
)
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key
from linkwork.scene.reading.faults import Faults
from linkwork.simulation.protocol import Simulation


def check(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> Options:
    if state is not None and state.v.any():
        faults.add(("state",), "a quasi-static run begins at rest; leave velocities out, or choose another method.")
    for k, motor in enumerate(scene["motor"]):
        if "velocity" in motor:
            faults.add(
                ("motor", k, "velocity"),
                "a target velocity means nothing at rest; give 'position' alone, or method.kind = 'full' or 'adaptive'.",
            )
    return with_weights(plain_options(scene), model, faults)


def build(found: Found) -> Simulation:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

    return with_actions(QuasiStatics(found.model, found.state, **found.options), found)


QUASI_STATICS = Method(
    name="quasi-statics",
    keys={
        "tolerance": Key(must_be.number(0.0), "error allowed by the measure"),
        "measure": Key(must_be.choice(*MEASURES), "of the error"),
        "max_active_joints": Key(must_be.integer(1), "joints computed per step at most"),
        "deadline": Key(must_be.number(0.0, above=True), "time a step may take", "s"),
        "weights": Key(must_be.weights, "of squared accelerations in the measure: a number, or numbers by joint"),
    },
    check=check,
    build=build,
    refused={"pin": ONLY_ADAPTIVE_PINS, "contact": NO_CONTACT, "water": NO_WATER},
)
