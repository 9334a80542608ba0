"""SnakeCrawl: a snake on the ground that bends its joints to get forward along x."""

from __future__ import annotations

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.envs.member_steps import task_of
from linkwork.envs.task import Task
from linkwork.model.actuators import Actuator
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.model.layout import INERTIA
from linkwork.model.library.chains import snake
from linkwork.model.shapes import Plane
from linkwork.model.state import State
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import add3, matvec3, scale3

BEND = 0.8  # [rad] largest angle that is asked for
RADIUS = 0.02  # [m]
EFFORT_COST = 1e-3  # of the squares of actions, per action
BASE_Q, BASE_V = 7, 6  # numbers of the free joint of the first link


@kernel
def look_at_snake(table, q, v, memory, action, seen, is_first):
    """`Task.look`. Each link carries the next one."""
    t = task_of(table)
    mass, moment, effort = 0.0, (0.0, 0.0, 0.0), 0.0
    for i in range(t.tree.shape[0] - 1, -1, -1):
        mass, moment = mass + t.body[i, INERTIA], add3(moment, load3(t.body, i, INERTIA + 1))
        R, at = body_pose(t.tree, t.body, t.screws, i, q)
        moment = add3(matvec3(R, moment), scale3(mass, at))
    x, before = moment[0] / mass, memory[0]
    memory[0] = x
    for k in range(action.shape[0]):
        effort += action[k] * action[k]
    joints = q.shape[0] - BASE_Q
    for k in range(BASE_Q - 2):
        seen[k] = q[2 + k]
    for k in range(BASE_V):
        seen[BASE_Q - 2 + k] = v[k]
    for k in range(joints):
        seen[BASE_Q - 2 + BASE_V + k] = q[BASE_Q + k]
        seen[BASE_Q - 2 + BASE_V + joints + k] = v[BASE_V + k]
    return x - before - EFFORT_COST * effort, 0.0


class SnakeCrawl(Task):
    """Actions: target angles of the joints, ±0.8 rad. Reward: way of the centre of mass along x [m], less 1e-3 |action|².

    joints: of the snake, which turn about z and y by turns. friction: Coulomb's, between snake and ground.
    Observed: height and orientation of the first link and its twist, angles and velocities of the joints.
    """

    h, steps = 2.5e-3, 8
    memories, info_columns = 1, {"x": 0}  # of the centre of mass [m]
    compiled_look = staticmethod(look_at_snake)

    def __init__(self, joints: int = 12, friction: float = 0.7):
        linkage = snake(joints, radius=RADIUS)
        linkage.add_obstacle("ground", Plane())
        for name in [body.joint_name for body in linkage][1:]:
            linkage.actuators.append(
                Actuator(f"{name}_drive", name, "position", stiffness=2.0, damping=0.1, effort_limit=1.0)
            )
        model = linkage.compile()
        super().__init__(model, np.full(joints, -BEND), np.full(joints, BEND), 11 + 2 * joints)
        self._rest, self._sideways = self.rest().q, (joints + 1) // 2
        # The ground is a half-space, which nothing passes, and links are thicker than their way in a step.
        self.contact = Contact(friction=friction, continuous=False)

    def rest(self) -> State:
        q = self.model.neutral().q.copy()
        q[2] = RADIUS
        return self.model.state(q)

    def begin(self, rng: np.random.Generator, memory: FloatArray) -> State:
        q = self._rest.copy()
        q[BASE_Q::2] += 0.2 * rng.random(self._sideways) - 0.1  # hinges about z keep it flat on the ground
        return State(q, np.zeros(self.model.nv))
