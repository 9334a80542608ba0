"""SnakeCrawl: a snake on the ground that bends its joints to get forward along x."""

from __future__ import annotations

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.envs.task import Member, Task, Verdict
from linkwork.model.actuators import Actuator
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.model.layout import INERTIA
from linkwork.model.library.chains import snake
from linkwork.model.shapes import Plane
from linkwork.model.state import State
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import add3, matvec3, scale3
from linkwork.spatial.vectors import compose_pose

BEND = 0.8  # [rad] largest angle that is asked for
RADIUS = 0.02  # [m]
EFFORT_COST = 1e-3  # of the squares of actions, per action
BASE_Q, BASE_V = 7, 6  # numbers of the free joint of the first link


@kernel
def read_snake(tree, body, screws, q, v, out):
    """x of the centre of mass [m], then what is observed. Links follow one another, and the first one has a free joint."""
    R, p = body_pose(tree, body, screws, 0, q)
    mass, moment = 0.0, (0.0, 0.0, 0.0)
    for i in range(tree.shape[0]):
        if i > 0:
            in_parent, place = body_pose(tree, body, screws, i, q)
            R, p = compose_pose(R, p, in_parent, place)
        mass += body[i, INERTIA]
        moment = add3(moment, add3(matvec3(R, load3(body, i, INERTIA + 1)), scale3(body[i, INERTIA], p)))
    out[0] = moment[0] / mass
    at = 1
    for k in range(2, BASE_Q):
        out[at] = q[k]
        at += 1
    for k in range(BASE_V):
        out[at] = v[k]
        at += 1
    for k in range(BASE_Q, q.shape[0]):
        out[at] = q[k]
        at += 1
    for k in range(BASE_V, v.shape[0]):
        out[at] = v[k]
        at += 1


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
        self._tree, self._body, self._screws = self.model.arrays[:3]
        self._rest = self.rest().q
        # The ground is a half-space, which nothing passes, and links are thicker than their way in a step.
        self.contact = Contact(friction=friction, continuous=False)

    def rest(self) -> State:
        q = self.model.neutral().q.copy()
        q[2] = RADIUS
        return self.model.state(q)

    def begin(self, member: Member, rng: np.random.Generator) -> State:
        q, v = self._rest.copy(), np.zeros(self.model.nv)
        sideways = q[BASE_Q::2]  # hinges about z keep it flat on the ground
        sideways[:] = rng.uniform(-0.1, 0.1, sideways.size)
        member.memory["x"] = float(self._read(q, v)[0])
        return State(q, v)

    def _read(self, q: FloatArray, v: FloatArray) -> FloatArray:
        out = np.empty(1 + self.observations)
        read_snake(self._tree, self._body, self._screws, q, v, out)
        return out

    def _readings(self, member: Member) -> FloatArray:
        """Read once for reward and observation."""
        if member.readings is None:
            member.readings = self._read(member.q, member.v)
        return member.readings

    def observe(self, member: Member) -> FloatArray:
        return self._readings(member)[1:]

    def judge(self, member: Member, action: FloatArray) -> Verdict:
        x = self._readings(member).item(0)
        way = x - member.memory["x"]
        member.memory["x"] = x
        return Verdict(way - EFFORT_COST * float(action @ action), False, {"x": x})
