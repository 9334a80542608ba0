"""Task: what an environment is about, without a word of Gymnasium. One object serves any number of members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.full.simulation import FullDynamics
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.actuating import Actuators
from linkwork.simulation.loading.following import scale_action


class Verdict(NamedTuple):
    """What became of an action."""

    reward: float
    terminated: bool  # the aim is reached, or nothing can be gained any more
    info: dict[str, float]


class Member:
    """One linkage at work on a task: its simulation, its drives, and what the task remembers of it.

    state: of the simulation after its last action, read once for all who ask; q (nq,), v (nv,): the same, to read at once,
    in the memory of the simulation. readings: what the task has found out about it, None after every action.
    """

    def __init__(self, task: Task):
        self.sim = FullDynamics(task.model, task.rest(), contact=task.contact, **task.options)
        self.drives = Actuators(self.sim)
        self.memory: dict[str, Any] = {}
        moving = self.sim.view.moving
        self.q, self.v = moving.q, moving.v
        self._state: State | None = None
        self.readings: FloatArray | None = None

    def look(self) -> None:
        """The state is another one."""
        self._state = self.readings = None

    @property
    def state(self) -> State:
        if self._state is None:
            self._state = self.sim.state
        return self._state


class Task:
    """A model, what its drives are asked for, what is observed and what is rewarded.

    model: with actuators; an action is their controls, scaled to [-1, 1] over `low` to `high`.
    h: time step [s]; steps: per action. contact: None where nothing touches.
    """

    h = 2e-3
    steps = 10
    contact: Contact | None = None
    options: dict[str, Any]

    def __init__(self, model: Model, low: FloatArray, high: FloatArray, observations: int):
        self.model, self.low, self.high, self.observations = model, low, high, observations
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self.actions = len(model.actuators)
        self.options = {"integrator": "semi_implicit_euler"}  # one evaluation per step

    def rest(self) -> State:
        """A state in which nothing overlaps, which members are made with."""
        return self.model.neutral()

    def begin(self, member: Member, rng: np.random.Generator) -> State:
        """A first state; what the member must remember goes into its memory."""
        raise NotImplementedError

    def observe(self, member: Member) -> FloatArray:
        """What is seen, shape (observations,)."""
        raise NotImplementedError

    def judge(self, member: Member, action: FloatArray) -> Verdict:
        """After the steps of an action."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------- what environments do

    def reset(self, member: Member, rng: np.random.Generator) -> FloatArray:
        member.memory.clear()
        member.sim.reset()
        member.sim.set_state(self.begin(member, rng))
        member.look()
        member.drives.control = self._middle
        return self.observe(member)

    def give(self, member: Member, action: FloatArray) -> None:
        """Controls for an action within [-1, 1]."""
        given = np.asarray(action, dtype=float)
        if given.shape != self._middle.shape:
            given = np.array(np.broadcast_to(given, self._middle.shape))
        control = np.empty(given.shape)
        scale_action(given, self._middle, self._half, control)
        member.drives.control = control

    def move(self, member: Member) -> None:
        """The steps of an action, in compiled code."""
        try:
            member.sim.advance(self.h, self.steps)
        finally:
            member.look()

    @property
    def action_time(self) -> float:
        """[s]"""
        return self.h * self.steps


def joint_readings(member: Member, rows: slice) -> FloatArray:
    """Coordinates and velocities of hinges and sliders with these places in v, which stand as far from the end of q."""
    ahead = member.q.size - member.v.size
    return np.concatenate([member.q[rows.start + ahead : rows.stop + ahead], member.v[rows]])
