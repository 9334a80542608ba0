"""CatheterInsert: a catheter that is pushed and steered through a vessel with two bends."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel, routine
from linkwork.envs.member_steps import task_of
from linkwork.envs.reading import point_in_world
from linkwork.envs.task import Task
from linkwork.model.actuators import Actuator
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box, Capsule
from linkwork.model.state import State
from linkwork.spatial.pose import Pose

LINK, RADIUS, DENSITY = 0.02, 0.003, 2000.0  # of the catheter [m, m, kg/m³]
STIFFNESS, DAMPING = 0.02, 2e-4  # of a joint [N·m/rad, N·m·s/rad]
TIP = 5  # joints that are steered
WIDE, WALL = 0.016, 0.004  # of the vessel, and its walls' thickness [m]
CENTRE = ((0.0, 0.0), (0.2, 0.0), (0.33, 0.075), (0.48, 0.075))  # its centre line [m]
SPEED, STEER = 0.1, 0.35  # [m/s] of insertion, [rad] per steered joint
PUSH, STEERING = range(2)  # of an action
EFFORT_COST = 1e-3  # of the squares of actions, per action
DEEP = 0.97  # part of the centre line that counts as all of it


@routine
def depth_along(line, x, y):
    """How far along the centre line its nearest point to (x, y) is [m]; and how long the line is. line: x, y of corners."""
    best, depth, gone = math.inf, 0.0, 0.0
    for k in range(0, line.shape[0] - 2, 2):
        a, b = x - line[k], y - line[k + 1]
        p, q = line[k + 2] - line[k], line[k + 3] - line[k + 1]
        length = math.sqrt(p * p + q * q)
        share = min(max((a * p + b * q) / (length * length), 0.0), 1.0)
        away = math.sqrt((a - share * p) ** 2 + (b - share * q) ** 2)
        if away < best:
            best, depth = away, gone + share * length
        gone += length
    return depth, gone


@kernel
def look_at_catheter(table, q, v, memory, action, seen, is_first):
    """`Task.look`"""
    t = task_of(table)
    tip = point_in_world(t, q, t.tree.shape[0] - 1, (LINK, 0.0, 0.0))
    depth, length = depth_along(t.numbers, tip[0], tip[1])
    way, n = depth - memory[0], q.shape[0]
    memory[0] = depth
    for k in range(n):
        seen[k], seen[n + k] = q[k], v[k]
    seen[2 * n], seen[2 * n + 1], seen[2 * n + 2] = tip[0], tip[1], depth
    there = depth > DEEP * length
    effort = action[PUSH] * action[PUSH] + action[STEERING] * action[STEERING]
    return 10.0 * way - EFFORT_COST * effort + (5.0 if there else 0.0), 1.0 if there else 0.0


class CatheterInsert(Task):
    """Actions: speed of insertion, ±0.1 m/s, and how far the tip is bent. Reward: way of the tip along the vessel [m] times
    10, less 1e-3 |action|², and 5 at its end, where the episode ends.

    links: of the catheter. It moves in a plane, between walls.
    Observed: insertion, angles of the joints and their velocities, tip, how deep it is.
    """

    h, steps = 2e-3, 10
    memories, info_columns = 1, {"depth": 0}  # of the tip [m]
    compiled_look = staticmethod(look_at_catheter)

    def __init__(self, links: int = 24):
        linkage = Linkage("catheter", gravity=(0.0, 0.0, 0.0))
        mass = DENSITY * math.pi * RADIUS**2 * LINK
        link = Inertia.box(mass, (LINK, 2 * RADIUS, 2 * RADIUS)).at(Pose((0.5 * LINK, 0, 0)))
        shape = Capsule(RADIUS, LINK, placement=Pose((0.5 * LINK, 0, 0), rpy=(0.0, 0.5 * math.pi, 0.0)))
        for k in range(links):
            hinge = (
                Revolute((0, 0, 1), stiffness=STIFFNESS, damping=DAMPING) if k else Prismatic((1, 0, 0), damping=0.1)
            )
            place = Pose((LINK if k else -LINK * (links - 1), 0, 0))
            linkage.add_body(f"link_{k}", f"link_{k - 1}" if k else "world", hinge, place, link, shapes=[shape])
        linkage.add_frame("tip", f"link_{links - 1}", Pose((LINK, 0, 0)))
        names = [f"link_{k}" for k in range(links)]
        linkage.ignore_contact += [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        linkage.actuators.append(Actuator("insert", "link_0", "velocity", damping=20.0, limits=(-SPEED, SPEED)))
        steered = names[-TIP:]
        linkage.actuators += [
            Actuator(f"steer_{k}", name, "position", stiffness=0.1, damping=1e-3) for k, name in enumerate(steered)
        ]
        _add_vessel(linkage)
        model = linkage.compile()
        low = np.array([-SPEED, *[-STEER] * TIP])
        super().__init__(model, low, -low, 2 * model.nv + 3, [PUSH] + [STEERING] * TIP, np.ravel(CENTRE))
        self.contact = Contact(friction=0.1, self_contact=False)

    def begin(self, rng: np.random.Generator, memory: FloatArray) -> State:
        q = np.zeros(self.model.nq)
        q[0] = rng.uniform(0.0, 0.03)
        return self.model.state(q)


def _add_vessel(linkage: Linkage) -> None:
    """Walls on both sides of the centre line."""
    corners = np.array(CENTRE)
    for k, (a, b) in enumerate(pairwise(corners)):
        way = b - a
        length, angle = float(np.linalg.norm(way)), math.atan2(way[1], way[0])
        across = np.array([-way[1], way[0]]) / length
        for side in (-1, 1):
            middle = 0.5 * (a + b) + side * 0.5 * (WIDE + WALL) * across
            box = Box((length + WALL, WALL, 0.05))
            linkage.add_obstacle(
                f"wall_{k}_{'right' if side < 0 else 'left'}", box, Pose((*middle, 0.0), rpy=(0, 0, angle))
            )
