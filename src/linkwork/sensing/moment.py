"""What a simulation is like right after a step and was right before it: all that sensors look at, each formed once.

Accelerations are those of the step: (v⁺ - v) / h. They hold what contact, limits and loops did in it, whichever simulation
made the step, and by them alone joints are balanced:

    wrench of a joint on its body = Σ over what it carries of  I a + v × I v - (loads + contact forces)               (1)

at the state before the step, where semi-implicit Euler takes its forces; other integrators differ by O(h).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from linkwork.contact.points import BODY, IMPULSE, NORMAL, OTHER, POINT, STEP, ContactRows
from linkwork.core.arrays import FloatArray
from linkwork.dynamics import kinematics
from linkwork.dynamics.digits import joint_wrenches
from linkwork.errors import StateError
from linkwork.model.model import Frame, Model
from linkwork.model.state import State
from linkwork.simulation.loading.load_wrenches import load_wrenches


class Placed:
    """A state with the poses (n, 12) and twists (n, 6, in body frames) of all bodies."""

    def __init__(self, model: Model, state: State):
        self.model, self.state = model, state

    @cached_property
    def poses(self) -> FloatArray:
        tree, body, screws, *_ = self.model.arrays
        return np.asarray(kinematics.world_poses(tree, body, screws, self.state.q))

    @cached_property
    def twists(self) -> FloatArray:
        tree, body, screws, *_ = self.model.arrays
        return np.asarray(kinematics.local_twists(tree, body, screws, self.state.q, self.state.v))

    def frame(self, frame: Frame) -> tuple[FloatArray, FloatArray]:
        """Rotation (3, 3) and origin (3,) of a frame in the world."""
        R, p = frame.pose.matrix[:3, :3], frame.pose.matrix[:3, 3]
        if frame.body < 0:
            return R, p
        row = self.poses[frame.body]
        turn = row[:9].reshape(3, 3)
        return turn @ R, turn @ p + row[9:]

    def motion(self, frame: Frame) -> tuple[FloatArray, FloatArray]:
        """Angular velocity of a frame and velocity of its origin, in the axes of the world."""
        if frame.body < 0:
            return np.zeros(3), np.zeros(3)
        turn, twist = self.poses[frame.body, :9].reshape(3, 3), self.twists[frame.body]
        return turn @ twist[:3], turn @ (twist[3:] + np.cross(twist[:3], frame.pose.matrix[:3, 3]))


class Moment:
    """A simulation after a step from `before`, at `time` [s], with the step's length h [s]."""

    def __init__(self, sim: Any, before: State, h: float):
        self.sim, self.model, self.h, self.time = sim, sim.model, h, float(sim.time)
        self.before = Placed(sim.model, before)
        self.now = Placed(sim.model, sim.state)

    @cached_property
    def contacts(self) -> ContactRows | None:
        """Of the step; None where the simulation has no contact."""
        known = getattr(self.sim, "contact_rows", None)
        return None if known is None else known()

    @cached_property
    def effort(self) -> FloatArray:
        """All that acted on joints in the step, shape (nv,)."""
        return np.asarray(self.sim.applied_effort)

    @cached_property
    def reactions(self) -> FloatArray:
        """The wrench each joint passed to its body, in the body's frame, shape (n, 6): equation (1)."""
        if self.model.loops:
            raise StateError(
                f"model '{self.model.name}' has loops, whose forces are not known joint by joint; force and torque sensors "
                "are for trees."
            )
        before = self.before.state
        qdd = (self.now.state.v - before.v) / self.h
        return joint_wrenches(self.model, before.q, before.v, self._wrenches(), qdd)

    def _wrenches(self) -> FloatArray:
        """Loads and contact forces on all bodies in their frames before the step, shape (n, 6)."""
        poses = self.before.poses
        total = load_wrenches(self.sim.view.loads, poses)
        for body, point, force in self._contact_forces():
            R, p = poses[body, :9].reshape(3, 3), poses[body, 9:]
            f = R.T @ force
            total[body] += np.concatenate([np.cross(R.T @ (point - p), f), f])
        return total

    def _contact_forces(self) -> list[tuple[int, FloatArray, FloatArray]]:
        """Body, point and force of each contact, on both bodies that touch."""
        found: list[tuple[int, FloatArray, FloatArray]] = []
        if self.contacts is None:
            return found
        for (body, other, _), row in zip(self.contacts.ids.tolist(), self.contacts.numbers, strict=True):
            force = row[IMPULSE : IMPULSE + 3] / row[STEP] if row[STEP] > 0.0 else np.zeros(3)
            found.append((body, row[POINT : POINT + 3], force))
            if other < self.model.n_bodies:
                found.append((other, row[POINT : POINT + 3], -force))
        return found

    def touch(self, body: int) -> tuple[FloatArray, float]:
        """Sum of the contact forces on a body in the world [N], and of what presses along the normals [N]."""
        force, pressing = np.zeros(3), 0.0
        if self.contacts is None or not self.contacts.ids.shape[0]:
            return force, pressing
        ids, rows = self.contacts
        step = rows[:, STEP, None]
        forces = np.divide(rows[:, IMPULSE : IMPULSE + 3], step, out=np.zeros((len(rows), 3)), where=step > 0.0)
        sign = (ids[:, BODY] == body).astype(float) - (ids[:, OTHER] == body)
        along = np.einsum("ij,ij->i", forces, rows[:, NORMAL : NORMAL + 3])
        return sign @ forces, float(np.abs(sign) @ along)
