"""The constraints of loops and couplings of a model at one state: rows, gaps, slips, how bodies respond to their forces."""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.dynamics import kinematics
from linkwork.dynamics.paths import path_queries as paths
from linkwork.dynamics.paths.path_data import PathData
from linkwork.dynamics.remembered import remembered
from linkwork.errors import ModelError, StateError
from linkwork.loops import frames as fr
from linkwork.loops.frames import constraint_gaps, constraint_rows
from linkwork.model.couplings import Coupling
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint
from linkwork.model.kernels.joint_kernels import joint_motion
from linkwork.model.layout import DOF, INERTIA, PARENT, V
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.spatial.matrices import motion_matrix, rigid_matrix
from linkwork.spatial.pose import Pose
from linkwork.spatial.vectors import cross_motion

_ANY_BODY = Inertia.sphere(1.0, 1.0)  # something for cut joints to carry in their table; no result depends on it


class CoupledJoint(NamedTuple):
    """One joint of one coupling."""

    coupling: int
    bodies: tuple[int, int]  # parent, -1: the world, and the body on the joint
    freedom: int  # place in v
    place: int  # place in q
    first: int  # of the joint's velocities
    size: int  # how many it has
    coefficient: float  # over the largest of the coupling: rows are of one size, whatever the gear


def coupled_joints(model: Model) -> list[CoupledJoint]:
    """All joints of all couplings, coupling by coupling."""
    tree = model.arrays.tree
    found = []
    for k, coupling in enumerate(model.couplings):
        largest = largest_coefficient(coupling)
        for joint, coefficient in coupling.joints:
            i = model.joint(joint)
            freedom, place = model.v_slice(joint).start, model.q_slice(joint).start
            bodies = (int(tree[i, PARENT]), i)
            found.append(
                CoupledJoint(k, bodies, freedom, place, int(tree[i, V]), int(tree[i, DOF]), coefficient / largest)
            )
    return found


def constrained_bodies(model: Model) -> IntArray:
    """Both bodies of every loop, then parent and body of every joint of every coupling; -1 is the world."""
    loops = [end for loop in model.loops for end in (loop.body_a, loop.body_b)]
    return np.array([*loops, *(i for one in coupled_joints(model) for i in one.bodies)], dtype=np.int64)


def largest_coefficient(coupling: Coupling) -> float:
    return max(abs(coefficient) for _, coefficient in coupling.joints)


def _relative(poses: FloatArray, a: int, b: int) -> tuple[FloatArray, FloatArray]:
    """Pose of body b in body a, as nine and three numbers."""
    Rb, pb = poses[b, :9].reshape(3, 3), poses[b, 9:]
    if a < 0:
        return Rb.ravel(), pb
    Ra, pa = poses[a, :9].reshape(3, 3), poses[a, 9:]
    return (Ra.T @ Rb).ravel(), Ra.T @ (pb - pa)


class LoopPlan:
    """What does not change with the state: the cut joints as a table like a model's, their frames, the bodies they join."""

    def __init__(self, model: Model):
        joints = _cut_joints(tuple(loop.joint for loop in model.loops))
        self.model = model
        self.joints = joints
        self.is_constant: bool | None = None  # whether blocked directions stay; None: not looked at yet
        self.ends: IntArray = np.array([(loop.body_a, loop.body_b) for loop in model.loops], dtype=np.int64).reshape(
            -1, 2
        )
        self.frames = np.array(
            [(*_twelve(loop.placement_a), *_twelve(loop.placement_b)) for loop in model.loops], dtype=np.float64
        ).reshape(-1, 24)
        self.coupled = coupled_joints(model)
        self.bodies = np.unique([*self.ends.ravel().tolist(), *(i for one in self.coupled for i in one.bodies)])
        self.end_body: IntArray = np.searchsorted(self.bodies, self.ends)  # ends as numbers in `bodies`
        counts = [6 - loop.joint.nv for loop in model.loops]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.rows = [slice(a, b) for a, b in pairwise(starts.tolist())]
        self.loop_rows = int(starts[-1])
        self.count = self.loop_rows + len(model.couplings)  # a row per coupling behind those of loops
        names = [f"loop '{loop.name}'" for loop in model.loops] + [f"coupling '{x.name}'" for x in model.couplings]
        last = [slice(r, r + 1) for r in range(self.loop_rows, self.count)]
        self.named = list(zip(names, [*self.rows, *last], strict=True))  # what each row belongs to
        self.starts = starts  # first row of each loop, and one more
        self.closed = joints.neutral().q  # coordinates that the search for those of cut joints starts from
        self.still = np.zeros((model.n_bodies, 6))  # twists at rest

    @cached_property
    def mobility(self) -> FloatArray:
        """Inverse inertias of the joined bodies, (m, 6, 6)."""
        return np.array([_inverse_inertia(self.model, int(b)) for b in self.bodies])

    @cached_property
    def to_frame(self) -> list[tuple[FloatArray, FloatArray]]:
        """From the twist of each body of a loop to that of the loop's frame in it."""
        return [(_motion(loop.placement_a), _motion(loop.placement_b)) for loop in self.model.loops]


@lru_cache(maxsize=64)
def _cut_joints(joints: tuple[Joint, ...]) -> Model:
    """A table like a model's of cut joints, side by side; cables, nets and robots of a kind have the same."""
    cut = Linkage("cut joints")
    for k, joint in enumerate(joints):
        cut.add_body(f"{k}", joint=joint, inertia=_ANY_BODY)
    table = cut.compile(merge_fixed=False)
    if table.body_names != tuple(str(k) for k in range(len(joints))):
        raise ModelError("the cut joints were renumbered; this is a fault of Linkwork.")
    return table


class LoopSystem:
    """Constraints at a state: C a = right, with a the stacked accelerations of the joined bodies, 6 each.

    gap (p,): how far loops are open [rad, m]; slip (p,): how fast they open; bias (p,).
    """

    def __init__(self, plan: LoopPlan, q: FloatArray, v: FloatArray, poses: FloatArray | None = None):
        """poses (n, 12): of all bodies in the world, where they are known, and the linkage is at rest."""
        self.plan = plan
        tree, body, screws, dof, _, _ = plan.joints.arrays
        if poses is None:
            mtree, mbody, mscrews, *_ = plan.model.arrays
            poses = kinematics.world_poses(mtree, mbody, mscrews, q)
            twists = kinematics.local_twists(mtree, mbody, mscrews, q, v)
        else:
            twists = plan.still
        count, nv = len(plan.rows), plan.joints.nv
        self.z, rate = plan.closed.copy(), np.zeros(nv)
        self.loop = np.zeros((count, fr.LOOP_COLUMNS))
        S, E, B = np.zeros((nv, 6)), np.zeros((nv, 6)), np.zeros(48 * count)
        scratch = np.zeros((6, 14)), self.z.copy()
        cut = fr.CutJoints(tree, body, screws, dof, plan.ends, plan.frames, self.z, rate, S, E, B, *scratch, self.loop)
        bad = fr.relate_frames(cut, poses, twists)
        if bad >= 0:
            raise StateError(
                f"the joint of loop '{plan.model.loops[bad].name}' is singular at this state (gimbal lock); move away from "
                "it, or use a ball joint."
            )
        self.basis, blocks = B, B.reshape(count, 6, 8)
        self.bases = [block[:, : 6 - loop.joint.nv] for block, loop in zip(blocks, plan.model.loops, strict=True)]
        self.gap, self.slip, self.bias = (np.zeros(plan.count) for _ in range(3))
        constraint_gaps(self.loop, plan.frames, B, plan.starts, self.gap, self.slip, self.bias)
        self._coupled = self._couple(q, v, poses, twists) if plan.coupled else []

    @cached_property
    def C(self) -> FloatArray:
        """Rows on the stacked accelerations of the joined bodies, in their frames, shape (p, 6 m)."""
        plan = self.plan
        C = np.zeros((plan.count, plan.bodies.size, 6))
        constraint_rows(self.loop, plan.frames, self.basis, plan.starts, plan.end_body, C.reshape(plan.count, -1))
        for row, body, part in self._coupled:
            C[row, body] += part
        return C.reshape(plan.count, -1)

    def _couple(
        self, q: FloatArray, v: FloatArray, poses: FloatArray, twists: FloatArray
    ) -> list[tuple[int, int, FloatArray]]:
        """Rows of couplings: a coordinate's acceleration is Tᵀ (a_child - X a_parent - c), T dual to its motion.

        Their parts of C: row, place of the body, six numbers.
        """
        plan = self.plan
        found: list[tuple[int, int, FloatArray]] = []
        arrays = plan.model.arrays
        for k, coupling in enumerate(plan.model.couplings):
            self.gap[plan.loop_rows + k] = -coupling.offset / largest_coefficient(coupling)
        for one in plan.coupled:
            i, row, d = one.bodies[1], plan.loop_rows + one.coupling, one.freedom - one.first
            S = np.zeros((plan.model.nv, 6))
            moving, bias = joint_motion(arrays.tree, arrays.body, arrays.screws, i, q, v, S)
            dual = np.linalg.pinv(S[one.first : one.first + one.size])
            T = np.asarray(one.coefficient * dual[:, d], dtype=np.float64)
            R, p = _relative(poses, *one.bodies)
            parent, child = (int(x) for x in np.searchsorted(plan.bodies, one.bodies))
            found += [(row, child, T), (row, parent, -T @ motion_matrix(R, p))]
            self.bias[row] += T @ (np.array(bias) + cross_motion(tuple(twists[i]), tuple(moving)))
            self.gap[row] += one.coefficient * q[one.place]
            self.slip[row] += one.coefficient * v[one.freedom]
        return found

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

    def matrix(self, data: PathData, leaf: IntArray) -> FloatArray:
        """J M⁻¹ Jᵀ, shape (p, p), from coefficients of an assembly tree at the same q. Cost: O(p² log n).

        leaf: node of each body.
        """
        plan = self.plan
        leaves = self._leaves(leaf)
        responses = np.zeros((6 * plan.bodies.size, 6 * plan.bodies.size))
        paths.response_matrix(describe(data), leaves, responses)
        A = self.C @ responses @ self.C.T
        return 0.5 * (A + A.T)

    def free_responses(self) -> FloatArray:
        """The diagonal of J M⁻¹ Jᵀ if bodies were free of their joints, shape (p,)."""
        rows = self.C.reshape(self.plan.count, -1, 6)
        return np.asarray(np.einsum("pmi,mij,pmj->p", rows, self.plan.mobility, rows))

    def accelerations(self, data: PathData, leaf: IntArray) -> FloatArray:
        """Of the joined bodies under the loads in `data`, stacked, shape (6 m,), in a world that accelerates by -g."""
        out = np.zeros((self.plan.bodies.size, 6))
        table = describe(data)
        for row, node in zip(out, self._leaves(leaf).tolist(), strict=True):
            if node < 0:
                row[3:] = -self.plan.model.gravity
            else:
                row[:] = paths.actual_acceleration(table, node)
        return out.ravel()

    def _leaves(self, leaf: IntArray) -> IntArray:
        bodies = self.plan.bodies
        return np.where(bodies >= 0, leaf[bodies], -1).astype(np.int64)


def loop_plan(model: Model) -> LoopPlan:
    """The plan of a model with loops, made once a thread."""
    if not model.is_constrained:
        raise StateError(f"model '{model.name}' has no loops; use lw.forward_dynamics, or add a loop or a coupling.")
    return remembered(model, "loops", LoopPlan)


def _inverse_inertia(model: Model, body: int) -> FloatArray:
    """I⁻¹ of a body, shape (6, 6); zero for the world."""
    if body < 0:
        return np.zeros((6, 6))
    return np.asarray(np.linalg.pinv(rigid_matrix(model.arrays.body[body, INERTIA : INERTIA + 10])))


def _twelve(pose: Pose) -> tuple[float, ...]:
    return (*pose.rotation, *pose.xyz)


def _motion(pose: Pose) -> FloatArray:
    return motion_matrix(pose.rotation, pose.xyz)
