"""All that the method of virtual work keeps for one model: links, constant blocks, workspaces."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.dca.nodes import HINGE_COLUMNS, SCRATCH
from linkwork.dynamics.dca.solver import aligned_zeros
from linkwork.dynamics.inputs import explain_failure
from linkwork.dynamics.virtual_work import sweeps as vw
from linkwork.errors import LinkworkError, ModelError, StateError
from linkwork.model import layout
from linkwork.model.compile.split import split_links
from linkwork.model.model import Model

MOST_PAIR_BYTES = 4 * 2**30  # of memory for pairs of joints on one link; splitting needs none of it


class VirtualWorkSolver:
    """Accelerations and all constraint forces of one model in O(n). Not for use by two threads at once.

    split: divide bodies with more than three joints into welded pieces (default). Without it a body with k children costs
    O(k³) time and O(k²) memory: that is what splitting is for.
    Memory: some 3.3 kB a link.
    """

    def __init__(self, model: Model, split: bool = True):
        self.model = model
        plan = split_links(model.parent, split)
        m = plan.body.size
        counts = np.diff(plan.child_start)
        couples = counts * (counts - 1) // 2
        if couples.sum() * vw.PAIR_SIZE * 8 > MOST_PAIR_BYTES:
            hub = model.body_names[plan.body[int(np.argmax(counts))]]
            raise ModelError(
                f"body '{hub}' carries {counts.max():,} joints, which takes "
                f"{couples.sum() * vw.PAIR_SIZE * 8 / 2**30:.0f} GiB without link splitting. Use split=True."
            )
        self.links = np.zeros((m, vw.LINK_COLUMNS), dtype=np.int64)
        self.links[:, vw.BODY] = plan.body
        self.links[:, vw.PARENT] = plan.parent
        self.links[:, vw.IS_WELD] = plan.is_weld
        self.links[:, vw.CHILDREN] = plan.child_start[:-1]
        self.links[:, vw.COUNT] = counts
        pair = (np.cumsum(couples) - couples) * vw.PAIR_SIZE
        self._tree = vw.LinkTree(self.links, plan.child, pair, plan.pieces)
        n, nv = model.n_bodies, model.nv
        self._work = vw.LinkWork(
            twist=np.zeros((n, 6)),
            joint_data=np.zeros((n, HINGE_COLUMNS)),
            S=np.zeros((nv, 6)),
            effort_sum=np.zeros(nv),
            link_data=aligned_zeros(m * vw.LINK_SIZE),
            pairs=aligned_zeros(int(couples.sum()) * vw.PAIR_SIZE),
            load=np.zeros((m, vw.LOAD_COLUMNS)),
            E=np.zeros((nv, 6)),
            scratch=aligned_zeros(SCRATCH),
            matrix=np.zeros((6, 14)),
        )
        bad = vw.prepare_links(model.arrays, self._tree, self._work)
        if bad >= 0:
            raise ModelError(
                f"body '{model.body_names[bad]}' has a singular inertia, which the method of virtual work must invert. "
                "Give it moments > 0 about all three axes, or use algorithm='aba'."
            )

    def accelerations(self, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
        """Joint accelerations [rad/s² or m/s²], shape (nv,); keeps the constraint forces."""
        qdd = np.empty(self.model.nv)
        bad = vw.virtual_work(self.model.arrays, q, v, effort, wrenches, self._tree, self._work, qdd)
        if bad >= 0 or not np.isfinite(qdd.sum()):
            raise self._failure(bad, q, v, effort, wrenches)
        return qdd

    def _failure(
        self, bad: int, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
    ) -> LinkworkError:
        finite = all(np.isfinite(x).all() for x in (q, v, effort, wrenches))
        if finite and bad >= 0 and self.model.arrays.tree[bad, layout.KIND] == layout.COMPOUND:
            return StateError(
                f"virtual_work cannot solve joint '{self.model.joint_names[bad]}': its axes depend on each other at this "
                "state (gimbal lock), so that some of its velocities move nothing. Use algorithm='aba' with armature."
            )
        return explain_failure(
            self.model, "virtual_work", bad, {"state.q": q, "state.v": v, "effort": effort}, wrenches
        )

    def reactions(self) -> FloatArray:
        """The wrench [n; f] each joint passes to the body it carries, in that body's frame at its origin, shape (n, 6)."""
        out = np.empty((self.model.n_bodies, 6))
        vw.reactions_of(self.links, self._work.link_data, self._work.load, out)
        return out
