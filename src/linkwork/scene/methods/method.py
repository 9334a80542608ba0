"""What a method of scenes is: its keys, what it checks, and the simulation it builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.actions import Action
from linkwork.scene.model import build_model
from linkwork.scene.reading.checks import Keys
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath
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

    name: the value of `kind` in the table [method]. keys: of that table, besides `kind`.
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


ONLY_ADAPTIVE_PINS = "joints are pinned only with method.kind = 'adaptive'."
IMPLICIT_JOINTS = "springs, dampers and motors of joints are taken implicitly: no gain is too stiff for the step"
KEEP_MOMENTUM = (
    "semi_implicit_euler corrects the bases of floating trees, so that momentum changes by external impulses only"
)
LIMITS = "whether joint limits stop joints; by default where the model has some"
NO_CONTACT = "contact is computed only with method.kind = 'full' or 'adaptive'."
NO_WATER = "drag needs velocities: water acts with method.kind = 'full' or 'adaptive', and at rest in lw.settle."


WEIGHTS = ("weights", "velocity_weights")  # keys of [method] that hold them


def metric_weights(model: Model, given: float | Mapping[str, Any], path: KeyPath, faults: Faults) -> FloatArray:
    """Weight of each squared acceleration or velocity, shape (nv,); one where nothing is said. Names win over patterns."""
    if not isinstance(given, Mapping):
        return np.full(model.nv, float(given))
    weights = np.ones(model.nv)
    names = [*model.joint_names, *model.joint_parts]
    for pattern, value in sorted(given.items(), key=lambda item: item[0] in names):
        found = [model.v_slice(names[k]) for k in matching(pattern, names)]
        if not found:
            faults.add((*path, pattern), f"no joint is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        for rows in found:
            size = rows.stop - rows.start
            if isinstance(value, list) and len(value) != size:
                faults.add(
                    (*path, pattern), f"{len(value)} weights are given for a joint with {size}; give one, or {size}."
                )
                break
            weights[rows] = value
    return weights


def with_weights(options: Mapping[str, Any], model: Model, faults: Faults) -> dict[str, Any]:
    """The options of a method with its weights as vectors of shape (nv,)."""
    return {
        name: metric_weights(model, value, ("method", name), faults) if name in WEIGHTS else value
        for name, value in options.items()
    }
