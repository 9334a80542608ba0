"""From the table [method] of a scene to the simulation it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.faults import Faults
from linkwork.scene.targets import find_joints
from linkwork.scene.weights import WEIGHTS, metric_weights


def make_simulation(scene: Mapping[str, Any], model: Model, state: State) -> Any:
    """A simulation without its loads."""
    method = scene["method"]
    options = {name: value for name, value in method.items() if name != "kind"}
    for name in WEIGHTS:
        if name in options:  # checked when the scene was read
            options[name] = metric_weights(model, options[name], ("method", name), Faults("scene"))
    return MAKERS[method["kind"]](scene, model, state, options)


def _quasi_statics(scene: Mapping[str, Any], model: Model, state: State, options: dict[str, Any]) -> Any:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

    return QuasiStatics(model, state, **options)


def _full(scene: Mapping[str, Any], model: Model, state: State, options: dict[str, Any]) -> Any:
    from linkwork.full.simulation import FullDynamics

    if "tolerance" in options:
        options["rtol"] = options.pop("tolerance")
    return FullDynamics(model, state, **options)


def _adaptive(scene: Mapping[str, Any], model: Model, state: State, options: dict[str, Any]) -> Any:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics

    sim = AdaptiveDynamics(model, state, **options)
    for k, table in enumerate(scene["pin"]):
        pin = sim.pin_active if table["to"] == "active" else sim.pin_inactive
        for joint in find_joints(model, table["joint"], ("pin", k, "joint"), Faults("scene")):
            pin(joint)
    return sim


MAKERS: dict[str, Callable[[Mapping[str, Any], Model, State, dict[str, Any]], Any]] = {
    "quasi-statics": _quasi_statics,
    "full": _full,
    "adaptive": _adaptive,
}
