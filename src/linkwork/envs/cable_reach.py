"""CableReach: a cable that hangs from a carriage, whose free end is to be brought to a point and held there."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.frames import frame_poses
from linkwork.envs.task import Member, Task, Verdict, joint_readings
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


class CableReach(Task):
    """Actions: speeds of the carriage along x and y, ±1 m/s. Reward: -distance of the cable's end from the target [m], and
    10 where it is held there (within 2 cm, slower than 0.1 m/s), which ends the episode.

    joints: of the cable, which turn about x and y by turns.
    Observed: coordinates and velocities of carriage and cable, end and its velocity, target less end.
    """

    h, steps = 4e-3, 5

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
        super().__init__(model, np.full(2, -SPEED), np.full(2, SPEED), 2 * model.nv + 9)

    def begin(self, member: Member, rng: np.random.Generator) -> State:
        model = self.model
        q = np.zeros(model.nq)
        q[2:] = rng.normal(scale=0.02, size=model.nq - 2)
        target = np.array([*rng.uniform(-0.8, 0.8, 2), -LENGTH])
        state = model.state(q)
        member.memory |= {"target": target, "end": self._end(state), "speed": np.zeros(3)}
        return state

    def _end(self, state: State) -> FloatArray:
        return np.asarray(frame_poses(self.model, state, "end")[:3, 3])

    def observe(self, member: Member) -> FloatArray:
        memory = member.memory
        joints = joint_readings(member, slice(0, self.model.nv))
        return np.concatenate([joints, memory["end"], memory["speed"], memory["target"] - memory["end"]])

    def judge(self, member: Member, action: FloatArray) -> Verdict:
        end, memory = self._end(member.state), member.memory
        memory["speed"] = (end - memory["end"]) / self.action_time
        memory["end"] = end
        away = float(np.linalg.norm(memory["target"] - end))
        there = away < NEAR and float(np.linalg.norm(memory["speed"])) < SLOW
        return Verdict(10.0 * there - away, there, {"distance": away})
