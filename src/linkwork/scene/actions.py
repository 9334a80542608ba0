"""What acts in a scene: loads, springs, motors. Found and checked against the model once, then applied to simulations.

Every action has a value at each time, in plain numbers; `start` and `update` hand a value to a simulation. Whether it acts
at all is a function of its value: a force of the world that is zero is taken away, since a load that the world holds costs
a simulation work in every step, however small it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import StateError
from linkwork.model.joints import Free, Spherical
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath
from linkwork.scene.signals import Signal, constant, make_signal
from linkwork.scene.targets import find_bodies, find_joints
from linkwork.simulation.loading.loads import Load
from linkwork.simulation.protocol import LoadedSimulation, Motorized

NOTHING = constant((0.0, 0.0, 0.0))
Values = tuple[float, ...]  # of an action at one time


@dataclass(frozen=True)
class Push:
    """A force and a torque on a body."""

    body: str
    at: Values
    frame: str
    force: Signal
    torque: Signal

    @property
    def is_constant(self) -> bool:
        return self.force.is_constant and self.torque.is_constant

    def value(self, t: float) -> Values:
        """Force [N] and torque [N·m], six numbers."""
        return self.force.at(t) + self.torque.at(t)

    def acts(self, value: Values) -> bool:
        return self.frame != "world" or any(value)

    def start(self, sim: LoadedSimulation, value: Values) -> Load:
        return sim.apply_wrench(self.body, value[:3], value[3:], frame=self.frame, at=self.at)

    def update(self, sim: LoadedSimulation, load: Load | None, value: Values) -> None:
        assert load is not None  # as `start` returned it
        sim.change_wrench(load, force=value[:3], torque=value[3:])


@dataclass(frozen=True)
class Pull:
    """A spring from a point of a body to a point of the world."""

    body: str
    at: Values
    stiffness: float
    base: FloatArray  # (3,) [m]
    to: Signal

    @property
    def is_constant(self) -> bool:
        return self.to.is_constant

    def value(self, t: float) -> Values:
        """Where it pulls to, from `base` on [m]."""
        return self.to.at(t)

    def acts(self, value: Values) -> bool:
        return True

    def start(self, sim: LoadedSimulation, value: Values) -> Load:
        return sim.apply_spring(self.body, self.base + np.array(value), self.stiffness, at=self.at)

    def update(self, sim: LoadedSimulation, load: Load | None, value: Values) -> None:
        assert load is not None  # as `start` returned it
        sim.move_target(load, self.base + np.array(value))


@dataclass(frozen=True)
class Effort:
    """An effort on a joint."""

    joint: str
    effort: Signal

    @property
    def is_constant(self) -> bool:
        return self.effort.is_constant

    def value(self, t: float) -> Values:
        """[N·m or N], one number per degree of freedom."""
        return self.effort.at(t)

    def acts(self, value: Values) -> bool:
        return True

    def start(self, sim: LoadedSimulation, value: Values) -> None:
        sim.set_effort(self.joint, value)

    def update(self, sim: LoadedSimulation, load: Load | None, value: Values) -> None:
        sim.set_effort(self.joint, value)


@dataclass(frozen=True)
class Motor:
    """A motor on a joint, which follows targets."""

    joint: str
    position: Signal | None
    velocity: Signal | None
    stiffness: float
    damping: float

    @property
    def is_constant(self) -> bool:
        return all(signal is None or signal.is_constant for signal in (self.position, self.velocity))

    def value(self, t: float) -> Values:
        """Position, then velocity, as far as it has them: one number per degree of freedom each."""
        return tuple(x for signal in (self.position, self.velocity) if signal is not None for x in signal.at(t))

    def acts(self, value: Values) -> bool:
        return True

    def start(self, sim: LoadedSimulation, value: Values) -> None:
        self.update(sim, None, value)

    def update(self, sim: LoadedSimulation, load: Load | None, value: Values) -> None:
        if not isinstance(sim, Motorized):
            raise StateError(f"the motor of joint '{self.joint}' has a target, and {type(sim).__name__} follows none.")
        count = 0 if self.position is None else self.position.size
        sim.set_motor(
            self.joint,
            position=value[:count] if self.position is not None else None,
            velocity=value[count:] if self.velocity is not None else None,
            stiffness=self.stiffness,
            damping=self.damping,
        )


Action = Push | Pull | Effort | Motor


def find_actions(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> list[Action]:
    """Everything that acts, in the order of the file. state: the start, for springs that begin where a point is."""
    actions: list[Action] = []
    for k, table in enumerate(scene["load"]):
        actions += _pushes(model, table, ("load", k), faults)
    for k, table in enumerate(scene["spring"]):
        actions += _pulls(model, state, table, ("spring", k), faults)
    for k, table in enumerate(scene["motor"]):
        actions += _motors(model, table, ("motor", k), faults)
    return actions


def _pushes(model: Model, table: Mapping[str, Any], path: KeyPath, faults: Faults) -> list[Push]:
    bodies = find_bodies(model, table, path, faults)
    n = len(bodies)
    force, torque = table.get("force"), table.get("torque")
    if isinstance(force, Mapping) and "magnitude" in force:
        directions = np.random.default_rng(force["seed"]).normal(size=(n, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        forces = [make_signal(force["magnitude"], i, n).along(directions[i]) for i in range(n)]
    else:
        forces = [NOTHING if not force else make_signal(force, i, n) for i in range(n)]
    at = tuple(table["at"])
    return [
        Push(body, at, table["frame"], forces[i], make_signal(torque, i, n) if torque else NOTHING)
        for i, body in enumerate(bodies)
    ]


def _pulls(model: Model, state: State | None, table: Mapping[str, Any], path: KeyPath, faults: Faults) -> list[Pull]:
    bodies = find_bodies(model, table, path, faults)
    at, n = tuple(table["at"]), len(bodies)
    if not bodies or state is None or "stiffness" not in table:
        return []
    starts = np.zeros((n, 3))
    if "to" not in table:
        starts = np.array([point_place(model, state, body, at) for body in bodies])
    to = table.get("to", table.get("offset", [0.0, 0.0, 0.0]))
    return [Pull(body, at, table["stiffness"], starts[i], make_signal(to, i, n)) for i, body in enumerate(bodies)]


def point_place(model: Model, state: State, body: str, at: Values) -> FloatArray:
    """Where a point of a body or frame is in the world [m], shape (3,)."""
    index, pose = model.frame(body)
    T = body_poses(model, state)[index] @ pose.matrix
    return T[:3, :3] @ np.array(at) + T[:3, 3]


def _motors(model: Model, table: Mapping[str, Any], path: KeyPath, faults: Faults) -> list[Effort | Motor]:
    if "joint" not in table:
        return []
    joints = find_joints(model, table["joint"], (*path, "joint"), faults)
    has_target = "position" in table or "velocity" in table
    found: list[Effort | Motor] = []
    n = len(joints)
    for i, joint in enumerate(joints):
        rows = model.v_slice(joint)
        size = rows.stop - rows.start
        made = {key: make_signal(table[key], i, n) for key in ("effort", "position", "velocity") if key in table}
        wrong = next((key for key, signal in made.items() if signal.size != size), None)
        if wrong is not None:
            given = made[wrong].size
            faults.add((*path, wrong), f"joint '{joint}' has {size} degrees of freedom, and {wrong} gives {given}.")
            return found
        if has_target and isinstance(model.joints[model.joint(joint)], Spherical | Free):
            faults.add(
                (*path, "joint"), f"joint '{joint}' is a ball or free joint; motors follow targets on others only."
            )
            return found
        if "effort" in made:
            found.append(Effort(joint, made["effort"]))
        if has_target:
            gains = table.get("stiffness", 0.0), table.get("damping", 0.0)
            found.append(Motor(joint, made.get("position"), made.get("velocity"), *gains))
    return found
