"""The last solve compared with `aba`, all at once or a few bodies per step.

`aba` adds inertias where divide and conquer takes differences: what both say of the same accelerations shows what rounding
did to the solve. All bodies are needed for that. So that no step has to wait for them, what acts and where everything
stands is copied once; the three sweeps of `aba` then go on by a number of bodies with every step that follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.measures import MEASURES, bound_of
from linkwork.adaptive.metric.rounding_floor import UNIT_ROUNDOFF
from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2, describe, reader
from linkwork.core.jit import inlined, kernel
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.aba import (
    BODY_WORK,
    DOF_WORK,
    EFFORT_D,
    S_D,
    SINGULAR,
    aba,
    accelerate_body,
    inertia_to_parent,
    prepare_body,
)
from linkwork.dynamics.dca.nodes import H_F
from linkwork.dynamics.rnea import rnea
from linkwork.model.layout import DAMPING, DOF, STIFFNESS, V
from linkwork.simulation.acting import BY_GIVEN, BY_MOTOR
from linkwork.simulation.moving import untouched

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

FloatArray = NDArray[np.float64]

VELOCITIES, INERTIAS, ACCELERATIONS, FINISHED = range(4)  # the sweeps
SWEEP, BODIES, FAILED = range(3)  # entries of `place`: the sweep, bodies done in it, whether `aba` has no answer
# Entries of `sums`: squares and largest of the differences over computed joints, over the others; the largest acceleration.
KNOWN, MOST_KNOWN, HIDDEN, MOST_HIDDEN, LARGEST = range(5)
SUMS = 5


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
    computed: Byte1  # (n,)  whether the solve computed a body's joint
    work: Float2
    dof_work: Float2
    found: Float1  # (nv,)  by `aba`
    place: Int1  # (3,)
    sums: Float1  # (5,)


compared_of = reader(Compared)


@inlined
def compare_joint(x, i):
    """Adds the differences at joint i to the sums; False where `aba` found no number."""
    largest = MOST_KNOWN if x.computed[i] != 0 else MOST_HIDDEN
    total = KNOWN if x.computed[i] != 0 else HIDDEN
    ok = True
    for d in range(x.tree[i, DOF]):
        j = x.tree[i, V] + d
        weight = x.weight[j]
        found = weight * x.found[j] * x.found[j]
        difference = weight * (x.qdd[j] - x.found[j]) * (x.qdd[j] - x.found[j])
        ok = ok and found < np.inf
        x.sums[total] += difference
        x.sums[largest] = max(x.sums[largest], difference)
        x.sums[LARGEST] = max(x.sums[LARGEST], found)
    return ok


@kernel
def compare_some(table, visits):
    """Goes on by so many bodies in the sweeps of `aba`; True where all of them are done, or it has no answer."""
    mode = flush_subnormals()
    x = compared_of(table)
    n = x.tree.shape[0]
    S = x.dof_work[:, S_D : S_D + 6]
    total = x.dof_work[:, EFFORT_D]
    base = (0.0, 0.0, 0.0, -x.gravity[0], -x.gravity[1], -x.gravity[2])
    for _ in range(visits):
        i = x.place[BODIES]
        ok = True
        if x.place[SWEEP] == VELOCITIES:
            prepare_body(x.tree, x.body, x.screws, x.dof, x.rest, x.q, x.still, x.effort, x.wrench, x.work, S, total, i)
        elif x.place[SWEEP] == INERTIAS:
            ok = inertia_to_parent(x.tree, x.body, x.dof, n - 1 - i, x.work, x.dof_work)
        elif x.place[SWEEP] == ACCELERATIONS:
            accelerate_body(x.tree, x.body, base, x.work, x.dof_work, x.found, i)
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
        self.joints, self.total, self.largest = 0, 0.0, 0.0
        self._arrays: Compared | None = None
        self._bounds = (0.0, 0.0)
        self._loaded = np.zeros(0, dtype=np.int64)  # bodies with a row in `wrench`

    def begin(self, sim: QuasiStatics, joints: int, total: float, largest: float) -> None:
        """Takes the last solve of `sim`, which computed so many joints and whose floor was estimated so.

        Cost: copies of coordinates, efforts and accelerations; of wrenches too where any are fixed in bodies.
        """
        x = self._arrays = self._arrays or self._allocate(sim)
        run = sim._tree.run
        x.q[...] = run.kept_q if sim._has_moved else run.q
        x.qdd[...] = run.qdd
        self._copy_efforts(sim, x)
        self._copy_wrenches(sim, x)
        x.computed[...] = 0
        x.computed[sim._tree.computed_bodies()] = 1
        x.place[...] = 0
        x.sums[...] = 0.0
        if not sim.model.n_bodies:
            x.place[SWEEP] = FINISHED
        self._bounds = (
            float(bound_of(MEASURES["absolute_linkage"], run)),
            float(bound_of(MEASURES["absolute_joint"], run)),
        )
        self.joints, self.total, self.largest = joints, total, largest
        self.is_running = True

    def what_is_missed(self, sim: QuasiStatics) -> FloatArray:
        """How far a solve by `aba` is from the equations of motion: (root of the sum of squares, largest) in the metric.

        Efforts that its accelerations miss, by inverse dynamics, and the accelerations that these would cause. A comparison
        that was begun is given up. Cost: O(n).
        """
        x = self._arrays = self._arrays or self._allocate(sim)
        run, model = sim._tree.run, sim.model
        self.is_running = False
        x.q[...] = run.kept_q if sim._has_moved else run.q
        self._copy_efforts(sim, x)
        self._copy_wrenches(sim, x)
        S = np.zeros((model.nv, 6))
        rnea(*model.arrays, x.q, x.still, run.qdd, x.wrench, x.work, S, x.found)
        missed = x.effort - x.found
        loose = model.arrays.dof.copy()
        loose[:, [STIFFNESS, DAMPING]] = 0.0
        tables = (*model.arrays[:3], loose, x.rest, np.zeros(3))
        status, _ = aba(*tables, x.q, x.still, missed, np.zeros((0, 6)), x.work, x.dof_work, x.found)
        if status == SINGULAR:
            return np.full(2, np.inf)
        parts = np.sqrt(x.weight) * (np.abs(x.found) + UNIT_ROUNDOFF * np.abs(run.qdd))
        return np.array([float(np.sqrt(parts @ parts)), float(parts.max(initial=0.0))])

    def go_on(self, visits: int) -> bool:
        """So many bodies further; whether it is done."""
        if self.is_running:
            self.is_running = not compare_some(self._table, visits)
        return not self.is_running

    def finish(self) -> None:
        assert self._arrays is not None
        self.go_on(3 * self._arrays.tree.shape[0] + 1)

    def difference(self) -> FloatArray | None:
        """How far the solve was from `aba`: over computed joints, and by how much others exceed their bound.

        (root of the sum of squares, largest) in the metric; None where `aba` has no answer.
        """
        assert self._arrays is not None
        if self._arrays.place[FAILED]:
            return None
        roots = np.sqrt(self._arrays.sums)
        total = roots[KNOWN] + max(roots[HIDDEN] - self._bounds[0], 0.0)
        largest = max(roots[MOST_KNOWN], roots[MOST_HIDDEN] - self._bounds[1])
        return np.array([total, largest]) + UNIT_ROUNDOFF * roots[LARGEST]

    def _allocate(self, sim: QuasiStatics) -> Compared:
        model = sim.model
        n, nv = model.n_bodies, model.nv
        arrays = Compared(
            *model.arrays,
            weight=sim._tree.mechanism.weight,
            q=np.zeros(model.nq),
            still=np.zeros(nv),
            effort=np.zeros(nv),
            wrench=np.zeros((n, 6)),
            qdd=np.zeros(nv),
            computed=np.zeros(n, dtype=np.uint8),
            work=untouched(n, BODY_WORK),
            dof_work=untouched(nv, DOF_WORK),
            found=np.zeros(nv),
            place=np.zeros(3, dtype=np.int64),
            sums=np.zeros(SUMS),
        )
        self._table = describe(arrays)
        return arrays

    def _copy_efforts(self, sim: QuasiStatics, x: Compared) -> None:
        """Efforts given and of motors at the coordinates of the solve; springs act in `aba` itself."""
        x.effort[...] = sim._tree.run.effort
        if sim.view.joints.driven:
            parts = sim._tree.efforts_at(x.q, x.still, x.still)
            x.effort[...] = parts[:, BY_GIVEN] + parts[:, BY_MOTOR]

    def _copy_wrenches(self, sim: QuasiStatics, x: Compared) -> None:
        data, run = sim._tree.coefficients.joint_data, sim._tree.run
        if sim.view.loads.has_fixed:
            x.wrench[...] = data[:, H_F : H_F + 6]
            self._loaded = np.arange(x.wrench.shape[0])
            return
        x.wrench[self._loaded] = 0.0
        bodies = np.concatenate([run.load_body, run.loop_body])
        self._loaded = np.unique(bodies[bodies >= 0])
        x.wrench[self._loaded] = data[self._loaded, H_F : H_F + 6]
