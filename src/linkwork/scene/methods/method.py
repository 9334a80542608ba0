"""What a method of scenes is: its keys, what it checks, and the simulation it builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.actions import Action
from linkwork.scene.model import build_model
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.keys import Keys
from linkwork.scene.simulation import SceneSimulation
from linkwork.simulation.protocol import LoadedSimulation, Simulation

Options = dict[str, Any]  # arguments of a simulation by name


@dataclass(frozen=True)
class Found:
    """What a scene without faults comes to: everything its simulation is built from."""

    h: float  # time step [s]
    model: Model
    state: State
    options: Options  # as the method's `check` returned them
    actions: list[Action]


@dataclass(frozen=True)
class Method:
    """One way to compute a motion.

    name: the value of `method.kind`. keys: of the table [method], besides `kind`.
    refused: tables and lists of a scene that it has no use for, and what to say to one that has them.
    build_model: from scene and folder to the model; the usual one unless given.
    check: what must hold between scene, model and state (None after a fault in it); returns the options of `build`.
    build: the simulation, with everything that acts on it.
    units: what stands for each SI unit in its scenes; empty where SI units hold.
    """

    name: str
    keys: Keys
    check: Callable[[Mapping[str, Any], Model, State | None, Faults], Options]
    build: Callable[[Found], Simulation]
    refused: Mapping[str, str] = field(default_factory=dict)
    build_model: Callable[[Mapping[str, Any], Path, Faults], Model | None] = build_model
    units: Mapping[str, str] = field(default_factory=dict)


def with_actions(sim: LoadedSimulation, found: Found) -> SceneSimulation:
    """The simulation with the loads and motors of its scene."""
    return SceneSimulation(sim, found.actions, found.h)


def plain_options(scene: Mapping[str, Any]) -> Options:
    """The keys of [method] as they stand, without its kind."""
    return {name: value for name, value in scene["method"].items() if name != "kind"}


def refuse_loops(scene: Mapping[str, Any], model: Model, faults: Faults) -> None:
    if model.is_constrained:
        kind = scene["method"]["kind"]
        faults.add(("method", "kind"), f"'{kind}' computes no closed loops, and the model has some; choose 'full'.")


ONLY_ADAPTIVE_PINS = "joints are pinned only with method.kind = 'adaptive'."
IMPLICIT_JOINTS = "springs, dampers and motors of joints are taken implicitly: no gain is too stiff for the step"
KEEP_MOMENTUM = (
    "semi_implicit_euler corrects the bases of floating trees, so that momentum changes by external impulses only"
)
LIMITS = "whether joint limits stop joints; by default where the model has some"
NO_CONTACT = "contact is computed only with method.kind = 'full' or 'adaptive'."
NO_WATER = "drag needs velocities: water acts with method.kind = 'full' or 'adaptive', and at rest in lw.settle."
