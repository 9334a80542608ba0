"""SnakeCrawl: a snake on the ground that bends its joints to get forward along x."""

from __future__ import annotations

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.dynamics.kinematics import mass_moment
from linkwork.envs.task import Member, Task, Verdict
from linkwork.model.actuators import Actuator
from linkwork.model.library.chains import snake
from linkwork.model.shapes import Plane
from linkwork.model.state import State

BEND = 0.8  # [rad] largest angle that is asked for
RADIUS = 0.02  # [m]
EFFORT_COST = 1e-3  # of the squares of actions, per action


class SnakeCrawl(Task):
    """Actions: target angles of the joints, ±0.8 rad. Reward: way of the centre of mass along x [m], less 1e-3 |action|².

    joints: of the snake, which turn about z and y by turns. friction: Coulomb's, between snake and ground.
    Observed: height and orientation of the first link and its twist, angles and velocities of the joints.
    """

    h, steps = 2.5e-3, 8

    def __init__(self, joints: int = 12, friction: float = 0.7):
        linkage = snake(joints, radius=RADIUS)
        linkage.add_obstacle("ground", Plane())
        for name in [body.joint_name for body in linkage][1:]:
            linkage.actuators.append(
                Actuator(f"{name}_drive", name, "position", stiffness=2.0, damping=0.1, effort_limit=1.0)
            )
        model = linkage.compile()
        super().__init__(model, np.full(joints, -BEND), np.full(joints, BEND), 11 + 2 * joints)
        self._tables = self.model.arrays[:3]
        # The ground is a half-space, which nothing passes, and links are thicker than their way in a step.
        self.contact = Contact(friction=friction, continuous=False)

    def rest(self) -> State:
        q = self.model.neutral().q.copy()
        q[2] = RADIUS
        return self.model.state(q)

    def begin(self, member: Member, rng: np.random.Generator) -> State:
        model, q = self.model, self.rest().q.copy()
        hinges = np.arange(7, model.nq)
        sideways = hinges[::2]  # those about z keep it flat on the ground
        q[sideways] = rng.uniform(-0.1, 0.1, sideways.size)
        member.memory["x"] = self._place(q)
        return model.state(q)

    def _place(self, q: FloatArray) -> float:
        """Of the centre of mass, along x [m]. The coordinates are a simulation's: nothing about them is checked again."""
        mass, moment, *_ = mass_moment(*self._tables, q)
        return float(moment / mass)

    def observe(self, member: Member) -> FloatArray:
        q, v = member.q, member.v
        return np.concatenate([q[2:7], v[:6], q[7:], v[6:]])

    def judge(self, member: Member, action: FloatArray) -> Verdict:
        x = self._place(member.q)
        way = x - member.memory["x"]
        member.memory["x"] = x
        return Verdict(way - EFFORT_COST * float(action @ action), False, {"x": x})
