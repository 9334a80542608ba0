"""The last solve compared with `aba`, all at once or a few bodies per step.

`aba` adds inertias where divide and conquer takes differences: what both say of the same accelerations shows what rounding
did to the solve. All bodies are needed for that. So that no step has to wait for them, what acts and where everything
stands is copied once; the three sweeps of `aba` then go on by a number of bodies with every step that follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.adaptive.measures import ABSOLUTE_JOINT, ABSOLUTE_LINKAGE, bound_of
from linkwork.adaptive.metric.missed import missed_accelerations
from linkwork.adaptive.metric.rounding_floor import UNIT_ROUNDOFF
from linkwork.adaptive.nodes import carries_joint
from linkwork.adaptive.workspace import HELD, LOAD_COUNT, OPEN_COUNT, coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX
from linkwork.core.arrays import FloatArray, lazy_zeros
from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2, describe, reader
from linkwork.core.jit import inlined, kernel
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.aba import (
    BIAS,
    BODY_WORK,
    DOF_WORK,
    accelerate_body,
    inertia_to_parent,
    prepare_body,
)
from linkwork.dynamics.dca.nodes import H_C, H_F
from linkwork.model.layout import ARMATURE, DOF, V
from linkwork.model.state import State
from linkwork.simulation.loading.applied_efforts import BY_GIVEN, BY_MOTOR
from linkwork.spatial.memory import load6, store6
from linkwork.spatial.vectors import ZERO6

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

VELOCITIES, INERTIAS, ACCELERATIONS, FINISHED = range(4)  # the sweeps
SWEEP, BODIES, FAILED = range(3)  # entries of `place`: the sweep, bodies done in it, whether `aba` has no answer
# Entries of `sums`: squares and largest of the differences over computed joints, over the others; the largest acceleration;
# bounds on what the solve hides, of the linkage and of a joint.
KNOWN, MOST_KNOWN, HIDDEN, MOST_HIDDEN, LARGEST, LINKAGE_BOUND, JOINT_BOUND = range(7)
SUMS = 7
# Flags of a body: the solve computed its joint; it has a row in `wrench`; a limit held a freedom of its joint.
COMPUTED, LOADED, HAS_HELD = 1, 2, 4


class Compared(NamedTuple):
    """A solve as it was, and `aba` on its way."""

    tree: Int2
    body: Float2
    screws: Float2
    dof: Float2
    rest: Float1
    gravity: Float1
    weight: Float1  # (nv,)  of each squared acceleration in the metric
    q: Float1  # (nq,)
    still: Float1  # (nv,)  zeros
    effort: Float1  # (nv,)  given, and of motors
    wrench: Float2  # (n, 6)  on each body, in its frame
    qdd: Float1  # (nv,)  of the solve
    bias: Float2  # (n, 6)  of joints that are held at limits
    flag: Byte1  # (n,)  COMPUTED, LOADED, HAS_HELD
    work: Float2
    dof_work: Float2
    found: Float1  # (nv,)  by `aba`
    place: Int1  # (3,)
    sums: Float1  # (7,)


compared_of = reader(Compared)


@inlined
def compare_joint(x, i):
    """Adds the differences at joint i to the sums; False where `aba` found no number."""
    largest = MOST_KNOWN if x.flag[i] & COMPUTED else MOST_HIDDEN
    total = KNOWN if x.flag[i] & COMPUTED else HIDDEN
    ok = True
    for d in range(x.tree[i, DOF]):
        j = x.tree[i, V] + d
        weight = x.weight[j]
        if x.dof[j, ARMATURE] == HELD:
            x.found[j] = x.qdd[j]  # as it had to be in both
        found = weight * x.found[j] * x.found[j]
        difference = weight * (x.qdd[j] - x.found[j]) * (x.qdd[j] - x.found[j])
        ok = ok and found < np.inf
        x.sums[total] += difference
        x.sums[largest] = max(x.sums[largest], difference)
        x.sums[LARGEST] = max(x.sums[LARGEST], found)
    return ok


@inlined
def keep_wrench(x, joint_data, i):
    x.flag[i] |= LOADED
    store6(x.wrench, i, 0, load6(joint_data, i, H_F))


@kernel
def copy_solve(table, tree_table, has_moved, has_fixed):
    """Coordinates, efforts, accelerations and wrenches of the last solve, and which joints it computed.

    has_moved: a step has followed it. has_fixed: any body may have a wrench, not only those that the world loads.
    """
    x = compared_of(table)
    plan = plan_of(tree_table)
    run = run_of(tree_table)
    joint_data = coefficients_of(tree_table).joint_data
    q = run.saved_q if has_moved else run.q
    for j in range(x.q.shape[0]):
        x.q[j] = q[j]
    for j in range(x.qdd.shape[0]):
        x.qdd[j] = run.qdd[j]
        x.effort[j] = run.effort[j]
        x.dof[j, ARMATURE] = mechanism_of(tree_table).dof[j, ARMATURE]
    for i in range(x.flag.shape[0]):
        if x.flag[i] & LOADED:
            store6(x.wrench, i, 0, ZERO6)
        x.flag[i] = 0
    for k in range(run.counts[OPEN_COUNT]):
        if carries_joint(plan, run.opened[k]):
            i = plan.nodes[run.opened[k], INDEX]
            x.flag[i] = COMPUTED
            for d in range(x.tree[i, DOF]):
                if x.dof[x.tree[i, V] + d, ARMATURE] == HELD:
                    x.flag[i] |= HAS_HELD
                    store6(x.bias, i, 0, load6(joint_data, i, H_C))
    if has_fixed:
        for i in range(x.flag.shape[0]):
            keep_wrench(x, joint_data, i)
    else:
        for k in range(run.counts[LOAD_COUNT]):
            keep_wrench(x, joint_data, run.load_body[k])
        for k in range(run.loop_body.shape[0]):
            if run.loop_body[k] >= 0:
                keep_wrench(x, joint_data, run.loop_body[k])
    x.place[:] = 0
    x.sums[:] = 0.0
    x.sums[LINKAGE_BOUND] = bound_of(ABSOLUTE_LINKAGE, run)
    x.sums[JOINT_BOUND] = bound_of(ABSOLUTE_JOINT, run)
    if x.flag.shape[0] == 0:
        x.place[SWEEP] = FINISHED


@kernel
def compare_some(table, visits):
    """Goes on by so many bodies in the sweeps of `aba`; True where all of them are done, or it has no answer."""
    mode = flush_subnormals()
    x = compared_of(table)
    n = x.tree.shape[0]
    for _ in range(visits):
        i = x.place[BODIES]
        ok = True
        if x.place[SWEEP] == VELOCITIES:
            prepare_body(x, x.dof, x.q, x.still, x.effort, x.wrench, x.work, x.dof_work, i, False)
            if x.flag[i] & HAS_HELD:
                store6(x.work, i, BIAS, load6(x.bias, i, 0))
        elif x.place[SWEEP] == INERTIAS:
            ok = inertia_to_parent(x.tree, x.body, x.dof, n - 1 - i, x.work, x.dof_work)
        elif x.place[SWEEP] == ACCELERATIONS:
            accelerate_body(x.tree, x.body, x.gravity, x.work, x.dof_work, x.found, i)
            ok = compare_joint(x, i)
        else:
            break
        x.place[BODIES] += 1
        if x.place[BODIES] == n:
            x.place[BODIES] = 0
            x.place[SWEEP] += 1
        if not ok:
            x.place[FAILED] = 1
            x.place[SWEEP] = FINISHED
    restore_mode(mode)
    return x.place[SWEEP] == FINISHED


class Comparison:
    """Compares one solve after the other with `aba`. Its memory is taken when it is first needed."""

    def __init__(self) -> None:
        self.is_running = False
        self.joints, self.total, self.largest, self.loads = 0, 0.0, 0.0, 0.0
        self._arrays: Compared | None = None

    def begin(self, sim: QuasiStatics, joints: int, total: float, largest: float, loads: float = 0.0) -> None:
        """Takes the last solve of `sim`, which computed so many joints and whose floor was estimated so.

        loads: how often loads had changed until then. Cost: O(n), that of copies.
        """
        self._copy(sim)
        self.loads = loads
        self.joints, self.total, self.largest = joints, total, largest
        self.is_running = True

    def what_is_missed(self, sim: QuasiStatics) -> FloatArray:
        """How far a solve by `aba` is from the equations of motion: (root of the sum of squares, largest) in the metric.

        A comparison that was begun is given up. Cost: O(n).
        """
        run, model = sim._tree.run, sim.model
        self.is_running = False
        x = self._copy(sim)
        missed = missed_accelerations(model, State(x.q, x.still), x.effort, x.wrench, run.qdd)
        if missed is None:
            return np.full(2, np.inf)
        parts = np.sqrt(x.weight) * (np.abs(missed) + UNIT_ROUNDOFF * np.abs(run.qdd))
        return np.array([float(np.sqrt(parts @ parts)), float(parts.max(initial=0.0))])

    def visit_more(self, visits: int) -> bool:
        """So many bodies further; whether it is done."""
        if self.is_running:
            self.is_running = not compare_some(self._table, visits)
        return not self.is_running

    def finish(self) -> None:
        assert self._arrays is not None
        self.visit_more(3 * self._arrays.tree.shape[0] + 1)

    def difference(self) -> tuple[float, float] | None:
        """How far the solve was from `aba`: over computed joints, and by how much others exceed their bound.

        (root of the sum of squares, largest) in the metric; None where `aba` has no answer.
        """
        assert self._arrays is not None
        if self._arrays.place[FAILED]:
            return None
        sums = self._arrays.sums.tolist()  # a step waits for this: plain numbers, not arrays of two
        known, most_known, hidden, most_hidden, size = map(math.sqrt, sums[: LARGEST + 1])
        total = known + max(hidden - sums[LINKAGE_BOUND], 0.0)
        largest = max(most_known, most_hidden - sums[JOINT_BOUND])
        return total + UNIT_ROUNDOFF * size, largest + UNIT_ROUNDOFF * size

    def _allocate(self, sim: QuasiStatics) -> Compared:
        model = sim.model
        n, nv = model.n_bodies, model.nv
        arrays = Compared(
            *model.arrays._replace(dof=model.arrays.dof.copy()),
            weight=sim._tree.mechanism.weight,
            q=np.zeros(model.nq),
            still=np.zeros(nv),
            effort=np.zeros(nv),
            wrench=np.zeros((n, 6)),
            qdd=np.zeros(nv),
            bias=lazy_zeros(n, 6),
            flag=np.zeros(n, dtype=np.uint8),
            work=lazy_zeros(n, BODY_WORK),
            dof_work=lazy_zeros(nv, DOF_WORK),
            found=np.zeros(nv),
            place=np.zeros(3, dtype=np.int64),
            sums=np.zeros(SUMS),
        )
        self._table = describe(arrays)
        return arrays

    def _copy(self, sim: QuasiStatics) -> Compared:
        """The last solve. Efforts are given and of motors, at its coordinates; springs act in `aba` itself."""
        x = self._arrays = self._arrays or self._allocate(sim)
        copy_solve(self._table, sim._tree.table, sim._has_moved, sim._loads.has_fixed or sim.field is not None)
        if sim._joints.motor_joints:
            parts = sim._tree.efforts_at(x.q, x.still, x.still)
            x.effort[...] = parts[:, BY_GIVEN] + parts[:, BY_MOTOR]
        return x
