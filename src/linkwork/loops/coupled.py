"""Forward dynamics of a tree whose joints are coupled: efforts λ c on its joints keep Σ c q̈ = 0 of every coupling.

With q̈₀ the accelerations of the tree alone and the factors that `aba` left behind, Y = M⁻¹ Cᵀ is one more right side per
coupling, and (C Y) λ = -(C q̈₀ + 2 r C v + r² gap), q̈ = q̈₀ + Y λ. Cost: O(p n + p³) for p couplings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.bundles import Float1, Float2, Int1, Int2, describe, reader
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.api import aba_accelerations, aba_work
from linkwork.dynamics.linear.semidefinite import span_idle
from linkwork.dynamics.one_more_right_side import from_parent, push_leaf_to_root, solved_twist
from linkwork.dynamics.remembered import remembered
from linkwork.loops.forces import factor_rows, solve_rows, take_out_idle
from linkwork.loops.system import coupled_joints, largest_coefficient
from linkwork.model.model import Model
from linkwork.spatial.memory import store6

GAP, SLIP, RESIDUAL, UNMET, NUMBERS = 0, 1, 2, 3, 4  # what is found beside accelerations


class Coupled(NamedTuple):
    """A model with p couplings, what `aba` leaves of it, and memory; rows are over their largest coefficient."""

    tree: Int2
    body: Float2
    work: Float2
    dof_work: Float2
    first: Int1  # (p + 1,)  of each coupling in the lists of coupled joints
    freedom: Int1  # (m,)  place of each coupled joint in v
    place: Int1  # (m,)  in q
    coefficient: Float1  # (m,)
    offset: Float1  # (p,)
    acting: Float2  # (n, 6)
    twist: Float2  # (n, 6)
    effort: Float1  # (nv,)  Σ λ c
    Y: Float2  # (p, nv)
    gap: Float1  # (p,)
    found: Float1  # (NUMBERS,)
    A: Float2  # (p, p), and on, as `LoopRows`
    free: Float1
    right: Float1
    force: Float1
    scale: Float1
    order: Int1
    left: Float1
    L: Float2
    rank: Int1


coupled_of = reader(Coupled)


class CoupledTree:
    """The arrays of a coupled model and their table; kept per model and thread."""

    def __init__(self, model: Model):
        joints, p, n = coupled_joints(model), len(model.couplings), model.n_bodies
        work, dof_work = aba_work(model)
        self.largest = np.array([largest_coefficient(x) for x in model.couplings])
        self.arrays = Coupled(
            tree=model.arrays.tree,
            body=model.arrays.body,
            work=work,
            dof_work=dof_work,
            first=np.searchsorted([one.coupling for one in joints], np.arange(p + 1)).astype(np.int64),
            freedom=np.array([one.freedom for one in joints], dtype=np.int64),
            place=np.array([one.place for one in joints], dtype=np.int64),
            coefficient=np.array([one.coefficient for one in joints]),
            offset=np.array([x.offset for x in model.couplings]) / self.largest,
            acting=np.zeros((n, 6)),
            twist=np.zeros((n, 6)),
            effort=np.zeros(model.nv),
            Y=np.zeros((p, model.nv)),
            gap=np.zeros(p),
            found=np.zeros(NUMBERS),
            A=np.zeros((p, p)),
            free=np.zeros(p),
            right=np.zeros(p),
            force=np.zeros(p),
            scale=np.zeros(p),
            order=np.zeros(p, dtype=np.int64),
            left=np.zeros(p),
            L=np.zeros((p, p)),
            rank=np.zeros(1, dtype=np.int64),
        )
        self.table = describe(self.arrays)

    def accelerate(
        self, model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray, rate: float
    ) -> FloatArray:
        """q̈, shape (nv,); forces, gaps and how much stays unmet are in `arrays`."""
        qdd = aba_accelerations(model, q, v, effort, wrenches)
        couple(self.table, q, v, qdd, rate)
        return qdd


def coupled_tree(model: Model) -> CoupledTree:
    return remembered(model, "coupled", CoupledTree)


@kernel
def couple(table, q, v, qdd, rate):
    """qdd of the tree alone becomes that of the coupled one."""
    s = coupled_of(table)
    p = s.offset.shape[0]
    gap = slip = 0.0
    for k in range(p):
        s.gap[k], s.right[k] = -s.offset[k], 0.0
        rate_of_gap = 0.0
        for e in range(s.first[k], s.first[k + 1]):
            s.gap[k] += s.coefficient[e] * q[s.place[e]]
            rate_of_gap += s.coefficient[e] * v[s.freedom[e]]
            s.right[k] -= s.coefficient[e] * qdd[s.freedom[e]]
        s.right[k] -= 2.0 * rate * rate_of_gap + rate * rate * s.gap[k]
        gap, slip = max(gap, abs(s.gap[k])), max(slip, abs(rate_of_gap))
        respond_to_coupling(s, k)
    for k in range(p):
        for r in range(p):
            s.A[r, k] = 0.0
            for e in range(s.first[r], s.first[r + 1]):
                s.A[r, k] += s.coefficient[e] * s.Y[k, s.freedom[e]]
    for k in range(p):
        for r in range(k):
            s.A[r, k] = s.A[k, r] = 0.5 * (s.A[r, k] + s.A[k, r])
        s.free[k] = s.A[k, k] if s.A[k, k] > 0.0 else 1.0
    factor_rows(s)
    span_idle(s.scale, s.order, s.L, s.rank[0])
    solve_rows(s)
    take_out_idle(s)
    s.found[GAP], s.found[SLIP] = gap, slip
    s.found[RESIDUAL], s.found[UNMET] = unmet_rows(s, qdd)
    s.effort[:] = 0.0
    for k in range(p):
        for e in range(s.first[k], s.first[k + 1]):
            s.effort[s.freedom[e]] += s.force[k] * s.coefficient[e]
        for j in range(qdd.shape[0]):
            qdd[j] += s.force[k] * s.Y[k, j]


@inlined
def respond_to_coupling(s, k):
    """Y of coupling k: M⁻¹ c."""
    s.effort[:] = 0.0
    for e in range(s.first[k], s.first[k + 1]):
        s.effort[s.freedom[e]] += s.coefficient[e]
    s.acting[:, :] = 0.0
    push_leaf_to_root(s.tree, s.body, s.work, s.dof_work, s.acting, 0, s.effort)
    for i in range(s.tree.shape[0]):
        above = from_parent(s.tree, i, s.work, s.twist, 0)
        store6(s.twist, i, 0, solved_twist(s.tree, s.body, i, above, s.work, s.dof_work, s.Y[k]))


@inlined
def unmet_rows(s, qdd):
    """Largest acceleration that is left of a row, and its size as a part of the accelerations involved; qdd of the tree."""
    largest = left2 = involved2 = 0.0
    for k in range(s.offset.shape[0]):
        left, involved = -s.right[k], 0.0
        for r in range(s.offset.shape[0]):
            left += s.A[k, r] * s.force[r]
        for e in range(s.first[k], s.first[k + 1]):
            involved += abs(s.coefficient[e] * qdd[s.freedom[e]])
        largest = max(largest, abs(left))
        left2 += (left * s.scale[k]) ** 2
        involved2 += (involved * s.scale[k]) ** 2
    return largest, math.sqrt(left2) / max(math.sqrt(involved2), 1e-300)
