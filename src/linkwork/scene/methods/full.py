"""method.kind = "full"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.dynamics.api import ALGORITHMS
from linkwork.full.simulation import FULL_INTEGRATORS
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.methods.method import (
    IMPLICIT_JOINTS,
    KEEP_MOMENTUM,
    LIMITS,
    ONLY_ADAPTIVE_PINS,
    Found,
    Method,
    Options,
    plain_options,
    with_actions,
)
from linkwork.scene.obstacles import contact_of
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key
from linkwork.scene.reading.faults import Faults
from linkwork.scene.waters import water_of
from linkwork.simulation.integrators.names import AUTO
from linkwork.simulation.protocol import Simulation


def check(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> Options:
    options = {"rtol" if name == "tolerance" else name: value for name, value in plain_options(scene).items()}
    return {**options, "contact": contact_of(scene, faults), "water": water_of(scene, faults)}


def build(found: Found) -> Simulation:
    from linkwork.full.simulation import FullDynamics

    return with_actions(FullDynamics(found.model, found.state, **found.options), found)


FULL = Method(
    name="full",
    keys={
        "algorithm": Key(must_be.choice(*ALGORITHMS), "of forward dynamics"),
        "integrator": Key(must_be.choice(*FULL_INTEGRATORS, AUTO), "of the step"),
        "tolerance": Key(must_be.number(0.0, above=True), "relative error allowed per substep of dormand_prince"),
        "atol": Key(must_be.number(0.0, above=True), "absolute error allowed per substep of dormand_prince"),
        "implicit_joints": Key(must_be.boolean, IMPLICIT_JOINTS),
        "keep_momentum": Key(must_be.boolean, KEEP_MOMENTUM),
        "limits": Key(must_be.boolean, LIMITS),
    },
    check=check,
    build=build,
    refused={"pin": ONLY_ADAPTIVE_PINS},
)
