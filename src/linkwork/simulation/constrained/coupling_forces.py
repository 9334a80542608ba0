"""Couplings of joints in the step: rows Σ c q = offset on joint coordinates, behind those of loops in the same system.

The force λ of a coupling is the effort λ c on each of its joints (`joint_rows`). With contact, how the linkage responds
to a unit force comes from the articulated inertias that `aba` left behind:

    up:    u = c - Sᵀp,  p_λ += Xᵀ (p + U D⁻¹ u)          down:  a' = X a_λ,  x = D⁻¹ (u - Uᵀ a'),  a = a' + S x

Joints that do not move in an adaptive simulation count with the coordinate they have. Theory: docs/theory/loops.md.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.linear.semidefinite import REDUNDANT
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.constrained.responses import clear_members, respond_members
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load6, store6
from linkwork.spatial.vectors import scale6


@inlined
def coupling_rows(table):
    """Gaps and slips of couplings; their biases are zero."""
    s = moving_of(table)
    x = constraints_of(table)
    for k in range(x.offset.shape[0]):
        r = x.row.shape[0] + k
        gap, slip = -x.offset[k], 0.0
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            if x.coupled_body[e] >= 0:
                gap += x.coefficient[e] * s.q[x.coupled_place[e]]
                slip += x.coefficient[e] * s.v[x.coupled_freedom[e]]
        x.gap[r], x.slip[r], x.bias[r] = gap, slip, 0.0


@inlined
def coupled_sum(x, k, values):
    """Σ c of values (nv,) over the moving joints of coupling k."""
    total = 0.0
    for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
        if x.coupled_body[e] >= 0:
            total += x.coefficient[e] * values[x.coupled_freedom[e]]
    return total


@inlined
def add_coupling_efforts(x, k, force):
    """push += the efforts of coupling k."""
    for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
        if x.coupled_body[e] >= 0:
            x.push[x.coupled_freedom[e]] += force * x.coefficient[e]


@inlined
def clear_coupling_efforts(x):
    """push ← 0 at all coupled joints."""
    for e in range(x.coupled_body.shape[0]):
        if x.coupled_body[e] >= 0:
            x.push[x.coupled_freedom[e]] = 0.0


@inlined
def gather_coupling_efforts(x):
    """push ← Eᵀ of `force`: efforts of all couplings."""
    clear_coupling_efforts(x)
    for k in range(x.offset.shape[0]):
        add_coupling_efforts(x, k, x.force[x.row.shape[0] + k])


@inlined
def unmet_couplings(table):
    """`right` of couplings; returns the squared size of what they are made of, in units of the diagonal."""
    s = moving_of(table)
    x = constraints_of(table)
    total = 0.0
    for k in range(x.offset.shape[0]):
        r = x.row.shape[0] + k
        size = 0.0
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            if x.coupled_body[e] >= 0:
                size += abs(x.coefficient[e] * s.qdd[x.coupled_freedom[e]])
        x.right[r] = -coupled_sum(x, k, s.qdd)
        total += (size * x.scale[r]) ** 2
    return total


# ------------------------------------------------------------------------------------------------------------ with contact


@routine
def response_to_coupling(table, k, count):
    """What a unit force of coupling k does: accelerations of `count` listed bodies in `response`, of joints in `change`."""
    s = moving_of(table)
    x = constraints_of(table)
    clear_coupling_efforts(x)  # those of the last solution
    add_coupling_efforts(x, k, 1.0)
    clear_members(x, count)
    respond_members(s, x, count, x.push, x.change)
    clear_coupling_efforts(x)


@routine
def project_couplings(table):
    """How the linkage moves along the efforts of its couplings: vectors ŷ with M_c⁻¹ = M⁻¹ - Σ ŷ ŷᵀ.

    M_c⁻¹ is the response to impulses with the joints coupled. ŷ_k = (y_k - Σ ŷ_l (E_k ŷ_l)) / √(E_k ŷ_k), l < k, with
    y_k = M⁻¹E_kᵀ: Gram and Schmidt's method in the metric of M. A coupling that says what those before say gets ŷ = 0.
    Joints are in `coupled_change` (c, nv), bodies in their frames in `coupled_response` (c n, 6). Cost: O(c n + c² n).
    """
    s = moving_of(table)
    x = constraints_of(table)
    n = s.tree.shape[0]
    for i in range(n):
        x.members[i] = i
    for k in range(x.offset.shape[0]):
        response_to_coupling(table, k, n)
        total = coupled_sum(x, k, x.change)
        for l in range(k):
            along = coupled_sum(x, k, x.coupled_change[l])
            for j in range(s.v.shape[0]):
                x.change[j] -= along * x.coupled_change[l, j]
            for i in range(n):
                add_to6(x.response, i, 0, scale6(-along, load6(x.coupled_response, l * n + i, 0)))
        left = coupled_sum(x, k, x.change)
        size = 1.0 / math.sqrt(left) if left > REDUNDANT * total else 0.0
        for j in range(s.v.shape[0]):
            x.coupled_change[k, j] = size * x.change[j]
        for i in range(n):
            store6(x.coupled_response, k * n + i, 0, scale6(size, load6(x.response, i, 0)))
