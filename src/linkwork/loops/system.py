"""The constraints of all loops of a model at one state: rows, gaps, slips, and how bodies answer constraint forces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import describe
from linkwork.dynamics import kinematics
from linkwork.dynamics import path_queries as paths
from linkwork.dynamics.path_data import Answers, solver_paths
from linkwork.errors import ModelError, StateError
from linkwork.loops import frames as fr
from linkwork.model.inertia import Inertia
from linkwork.model.layout import INERTIA
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.spatial.matrices import motion_matrix, rigid_matrix
from linkwork.spatial.pose import Pose

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ANY_BODY = Inertia.sphere(1.0, 1.0)  # something for cut joints to carry in their table; no result depends on it


class LoopPlan:
    """What does not change with the state: the cut joints as a table like a model's, their frames, the bodies they join."""

    def __init__(self, model: Model):
        cut = Linkage("cut joints")
        for k, loop in enumerate(model.loops):
            cut.add_body(f"{k}", joint=loop.joint, inertia=_ANY_BODY)
        joints = cut.compile(merge_fixed=False)
        if joints.body_names != tuple(str(k) for k in range(len(model.loops))):
            raise ModelError("the cut joints were renumbered; this is a fault of Linkwork.")
        self.model = model
        self.joints = joints
        self.ends: IntArray = np.array([(loop.body_a, loop.body_b) for loop in model.loops], dtype=np.int64).reshape(
            -1, 2
        )
        self.frames = np.array(
            [(*_twelve(loop.placement_a), *_twelve(loop.placement_b)) for loop in model.loops], dtype=np.float64
        ).reshape(-1, 24)
        self.bodies, where = np.unique(self.ends, return_inverse=True)
        self.where: IntArray = where.reshape(self.ends.shape)  # ends as numbers in `bodies`
        counts = [6 - loop.joint.nv for loop in model.loops]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.rows = [slice(a, b) for a, b in pairwise(starts.tolist())]
        self.count = int(starts[-1])
        self.mobility = np.array([_inverse_inertia(model, int(b)) for b in self.bodies])  # (m, 6, 6)
        self.to_frame = [(_motion(loop.placement_a), _motion(loop.placement_b)) for loop in model.loops]


class LoopSystem:
    """Constraints at a state: C a = right, with a the stacked accelerations of the joined bodies, 6 each.

    C: (p, 6 m) rows in body frames; gap (p,): how far loops are open [rad, m]; slip (p,): how fast they open; bias (p,).
    """

    def __init__(self, plan: LoopPlan, q: FloatArray, v: FloatArray):
        self.plan = plan
        tree, body, screws, dof, _, _ = plan.joints.arrays
        mtree, mbody, mscrews, *_ = plan.model.arrays
        poses = kinematics.world_poses(mtree, mbody, mscrews, q)
        twists = kinematics.local_twists(mtree, mbody, mscrews, q, v)
        count, nv = len(plan.rows), plan.joints.nv
        self.z, rate = plan.joints.neutral().q, np.zeros(nv)
        self.loop = np.zeros((count, fr.LOOP_COLUMNS))
        S, E, B = np.zeros((nv, 6)), np.zeros((nv, 6)), np.zeros(48 * count)
        bad = fr.relate_frames(
            tree, body, screws, dof, plan.ends, plan.frames, poses, twists, self.z, rate, S, E, B,
            np.zeros((6, 14)), self.z.copy(), self.loop,
        )  # fmt: skip
        if bad >= 0:
            raise StateError(
                f"the joint of loop '{plan.model.loops[bad].name}' is singular at this state (gimbal lock); move away from "
                "it, or use a ball joint."
            )
        self.C = np.zeros((plan.count, 6 * plan.bodies.size))
        blocks = B.reshape(count, 6, 8)
        self.bases = [block[:, : 6 - loop.joint.nv] for block, loop in zip(blocks, plan.model.loops, strict=True)]
        self.gap, self.slip, self.bias = (np.zeros(plan.count) for _ in range(3))
        for k, (rows, T) in enumerate(zip(plan.rows, self.bases, strict=True)):
            row = self.loop[k]
            X = motion_matrix(row[fr.L_R : fr.L_R + 9], row[fr.L_P : fr.L_P + 3])
            to_a, to_b = plan.to_frame[k]
            a, b = plan.where[k]
            self.C[rows, 6 * a : 6 * a + 6] = -T.T @ X @ to_a
            self.C[rows, 6 * b : 6 * b + 6] = T.T @ to_b
            self.gap[rows] = T.T @ row[fr.L_GAP : fr.L_GAP + 6]
            self.slip[rows] = T.T @ row[fr.L_TWIST : fr.L_TWIST + 6]
            self.bias[rows] = T.T @ row[fr.L_BIAS : fr.L_BIAS + 6]

    def wrenches(self, force: FloatArray) -> FloatArray:
        """What constraint forces (p,) do to all bodies, shape (n, 6), each in its body's frame."""
        plan = self.plan
        on_ends = (self.C.T @ force).reshape(-1, 6)
        out = np.zeros((plan.model.n_bodies, 6))
        moving = plan.bodies >= 0
        out[plan.bodies[moving]] = on_ends[moving]
        return out

    def reactions(self, force: FloatArray) -> FloatArray:
        """The wrench each loop's joint passes to body b, in frame B at its origin, shape (loops, 6)."""
        pairs = zip(self.plan.rows, self.bases, strict=True)
        return np.array([T @ force[rows] for rows, T in pairs]).reshape(-1, 6)

    def matrix(self, solver: Answers) -> FloatArray:
        """J M⁻¹ Jᵀ, shape (p, p), from the coefficients of a solver assembled at the same q. Cost: O(p² log n)."""
        plan = self.plan
        leaves = self._leaves(solver)
        answers = np.zeros((6 * plan.bodies.size, 6 * plan.bodies.size))
        data = solver_paths(solver)
        paths.response_matrix(describe(data), leaves, answers)
        A = self.C @ answers @ self.C.T
        return 0.5 * (A + A.T)

    def free_answers(self) -> FloatArray:
        """The diagonal of J M⁻¹ Jᵀ if bodies were free of their joints, shape (p,)."""
        rows = self.C.reshape(self.plan.count, -1, 6)
        return np.asarray(np.einsum("pmi,mij,pmj->p", rows, self.plan.mobility, rows))

    def accelerations(self, solver: Answers) -> FloatArray:
        """Of the joined bodies at the solver's loads, stacked, shape (6 m,), in a world that accelerates by -g."""
        out = np.zeros((self.plan.bodies.size, 6))
        data = solver_paths(solver)
        table = describe(data)
        for row, leaf in zip(out, self._leaves(solver).tolist(), strict=True):
            if leaf < 0:
                row[3:] = -self.plan.model.gravity
            else:
                row[:] = paths.actual_acceleration(table, leaf)
        return out.ravel()

    def _leaves(self, solver: Answers) -> IntArray:
        bodies = self.plan.bodies
        return np.where(bodies >= 0, solver.assembly.leaf[bodies], -1).astype(np.int64)


def loop_plan(model: Model) -> LoopPlan:
    """The plan of a model with loops, made once a thread."""
    if not model.loops:
        raise StateError(f"model '{model.name}' has no loops; use lw.forward_dynamics, or add one with add_loop.")
    kept = model.workspaces.__dict__
    if "loops" not in kept:
        kept["loops"] = LoopPlan(model)
    plan: LoopPlan = kept["loops"]
    return plan


def _inverse_inertia(model: Model, body: int) -> FloatArray:
    """I⁻¹ of a body, shape (6, 6); zero for the world."""
    if body < 0:
        return np.zeros((6, 6))
    return np.asarray(np.linalg.pinv(rigid_matrix(model.arrays.body[body, INERTIA : INERTIA + 10])))


def _twelve(pose: Pose) -> tuple[float, ...]:
    return (*pose.rotation, *pose.xyz)


def _motion(pose: Pose) -> FloatArray:
    return motion_matrix(pose.rotation, pose.xyz)
