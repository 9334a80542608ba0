"""CableReach: a cable that hangs from a carriage, whose free end is to be brought to a point and held there."""

from __future__ import annotations

import math

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.envs.member_steps import task_of
from linkwork.envs.reading import point_in_world
from linkwork.envs.task import Task
from linkwork.model.actuators import Actuator
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.linkage import Linkage
from linkwork.model.state import State
from linkwork.spatial.pose import Pose

LENGTH, MASS = 1.0, 0.2  # of the cable [m, kg]
SPEED = 1.0  # [m/s] of the carriage
NEAR = 0.02  # [m] from the target, which counts as there
SLOW = 0.1  # [m/s] of the end, which counts as held
TARGET, END, DISTANCE, MEMORIES = 0, 3, 6, 7  # what is remembered


@kernel
def look_at_cable(table, q, v, memory, action, seen, is_first):
    """`Task.look`"""
    t = task_of(table)
    end = point_in_world(t, q, t.tree.shape[0] - 1, (t.numbers[0], t.numbers[1], t.numbers[2]))
    n, away, speed = q.shape[0], 0.0, 0.0
    for k in range(n):
        seen[k], seen[n + k] = q[k], v[k]
    for e in range(3):
        left = memory[TARGET + e] - end[e]
        rate = 0.0 if is_first else (end[e] - memory[END + e]) / t.numbers[3]
        memory[END + e] = end[e]
        seen[2 * n + e], seen[2 * n + 3 + e], seen[2 * n + 6 + e] = end[e], rate, left
        away, speed = away + left * left, speed + rate * rate
    memory[DISTANCE] = math.sqrt(away)
    there = memory[DISTANCE] < NEAR and math.sqrt(speed) < SLOW
    return (10.0 if there else 0.0) - memory[DISTANCE], 1.0 if there else 0.0


class CableReach(Task):
    """Actions: speeds of the carriage along x and y, ±1 m/s. Reward: -distance of the cable's end from the target [m], and
    10 where it is held there (within 2 cm, slower than 0.1 m/s), which ends the episode.

    joints: of the cable, which turn about x and y by turns.
    Observed: coordinates and velocities of carriage and cable, end and its velocity, target less end.
    """

    h, steps = 4e-3, 5
    memories, info_columns = MEMORIES, {"distance": DISTANCE}
    compiled_look = staticmethod(look_at_cable)

    def __init__(self, joints: int = 20):
        linkage = Linkage("cable")
        carriage = Inertia.box(1.0, (0.1, 0.1, 0.05))
        linkage.add_body("bridge", "world", Prismatic((1, 0, 0)), inertia=carriage, joint_name="x")
        linkage.add_body("carriage", "bridge", Prismatic((0, 1, 0)), inertia=carriage, joint_name="y")
        each = LENGTH / joints
        link = Inertia.box(MASS / joints, (0.01, 0.01, each)).at(Pose((0, 0, -0.5 * each)))
        for k in range(joints):
            hinge = Revolute((0, 1, 0) if k % 2 else (1, 0, 0), damping=2e-4, stiffness=1e-3)
            place = Pose((0, 0, -each if k else 0.0))
            linkage.add_body(f"link_{k}", f"link_{k - 1}" if k else "carriage", hinge, place, link)
        linkage.add_frame("end", f"link_{joints - 1}", Pose((0, 0, -each)))
        for axis in "xy":
            linkage.actuators.append(Actuator(f"drive_{axis}", axis, "velocity", damping=200.0, limits=(-SPEED, SPEED)))
        model = linkage.compile()
        numbers = (0.0, 0.0, -each, self.action_time)
        super().__init__(model, np.full(2, -SPEED), np.full(2, SPEED), 2 * model.nv + 9, numbers=numbers)

    def begin(self, rng: np.random.Generator, memory: FloatArray) -> State:
        model = self.model
        q = np.zeros(model.nq)
        q[2:] = rng.normal(scale=0.02, size=model.nq - 2)
        memory[TARGET:END] = *rng.uniform(-0.8, 0.8, 2), -LENGTH
        return model.state(q)
