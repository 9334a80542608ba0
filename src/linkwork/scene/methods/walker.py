"""method.kind = "walker": the compass walker on a slope."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.methods.method import Found, Method, Options
from linkwork.scene.model import build_model
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key
from linkwork.scene.reading.faults import Faults
from linkwork.simulation.protocol import Simulation


def walker_model(scene: Mapping[str, Any], folder: Path, faults: Faults) -> Model | None:
    """The model that a recording of the walker holds."""
    from linkwork.scenarios.walker.gait import Walker
    from linkwork.scenarios.walker.simulation import recorded_model

    if scene["model"].get("library") != "compass_biped":
        faults.add(("model", "library"), "method.kind = 'walker' needs model.library = 'compass_biped'.")
        return None
    if build_model(scene, folder, faults) is None or "slope" not in scene["method"]:
        return None
    return recorded_model(Walker(scene["method"]["slope"], **scene["model"]["parameters"]))


def check(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> Options:
    method = scene["method"]
    walker = {"slope": method.get("slope"), **scene["model"]["parameters"]}
    return {"walker": walker, "disturbance": method.get("disturbance")}


def build(found: Found) -> Simulation:
    from linkwork.scenarios.walker.gait import Walker
    from linkwork.scenarios.walker.simulation import WalkerSimulation

    return WalkerSimulation(Walker(**found.options["walker"]), found.options["disturbance"])


WALKER = Method(
    name="walker",
    keys={
        "slope": Key(must_be.number(0.0, 0.5, above=True), "of the ground, downwards along x", "rad", default=0.0524),
        "disturbance": Key(must_be.number(-0.2, 0.2), "of the start, relative to the gait", default=0.01),
    },
    check=check,
    build=build,
    refused={
        name: f"a walker has no '{name}': it starts from its gait, and only gravity acts on it."
        for name in ("load", "spring", "joint", "motor", "pin", "state", "contact", "obstacle", "water")
    },
    build_model=walker_model,
)
