"""Steps and gradients of a search that keep couplings, C x = 0, by responses beside those of the tree:

    x = x₀ + Y y,   Y = (H + damping D)⁻¹ Cᵀ,   (C Y) y = -(C x₀ + gap)                                         (1)
    g ← g - Cᵀ λ,   (C D⁻¹ Cᵀ) λ = C D⁻¹ g                                                                      (2)

H + damping D: what the step was solved with, D the metric, both of the joints that are free to move. A coupling does no
work in a step that keeps it, so (2) leaves the step as it is, and says which joints press on their limits.
"""

from linkwork.core.jit import routine
from linkwork.loops.forces import factor_rows, solve_rows
from linkwork.model.layout import DOF, V
from linkwork.reaching import arrays as at
from linkwork.reaching.arrays import reaching_of
from linkwork.reaching.sweeps import lift_leaf_to_root, substitute_root_to_leaf
from linkwork.spatial.memory import store6
from linkwork.spatial.vectors import ZERO6


@routine
def project_gradient(table):
    """Takes what couplings hold out of the gradient: (2)."""
    s = reaching_of(table)
    p = s.offset.shape[0]
    for k in range(p):
        clear_coupled(s, k)
        for e in range(s.first[k], s.first[k + 1]):
            j = s.coupled[e]
            if s.blocked[j] == at.FREE_TO_MOVE:
                s.response[k, j] = s.coefficient[e] / s.dof[j, at.METRIC]
    solve_coupled(s, s.gradient, False)
    for k in range(p):
        for e in range(s.first[k], s.first[k + 1]):
            s.gradient[s.coupled[e]] += s.force[k] * s.coefficient[e]


@routine
def keep_couplings(table):
    """The step with its couplings kept: (1); returns the largest gap it leaves, where held joints contradict."""
    s = reaching_of(table)
    p = s.offset.shape[0]
    copy_step(s, s.response[p])
    for k in range(p):
        for n in range(s.path.shape[0]):
            i = s.path[n]
            store6(s.node, n, at.BIAS, ZERO6)
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                s.response[k, j] = 0.0
                if s.blocked[j] != at.FREE_TO_MOVE:
                    s.step[j] = 0.0
        for e in range(s.first[k], s.first[k + 1]):
            s.response[k, s.coupled[e]] = s.coefficient[e]
        lift_leaf_to_root(s, s.response[k])
        substitute_root_to_leaf(s)
        copy_step(s, s.response[k])
    solve_coupled(s, s.response[p], True)
    for n in range(s.path.shape[0]):
        i = s.path[n]
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            x = s.response[p, j]
            for k in range(p):
                x += s.force[k] * s.response[k, j]
            s.step[j] = x
    worst = 0.0
    for k in range(p):
        gap = coupling_gap(s, k)
        for e in range(s.first[k], s.first[k + 1]):
            gap += s.coefficient[e] * s.step[s.coupled[e]]
        worst = max(worst, abs(gap))
    return worst


@routine
def coupling_gap(s, k):
    gap = -s.offset[k]
    for e in range(s.first[k], s.first[k + 1]):
        gap += s.coefficient[e] * s.q[s.coupled_place[e]]
    return gap


@routine
def clear_coupled(s, k):
    """Response k, at all coupled joints."""
    for e in range(s.coupled.shape[0]):
        s.response[k, s.coupled[e]] = 0.0


@routine
def copy_step(s, out):
    for n in range(s.path.shape[0]):
        i = s.path[n]
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            out[j] = s.step[j]


@routine
def solve_coupled(s, x, closes):
    """force ← -(C Y)⁺ C x, Y the responses; closes: with the gaps at q."""
    p = s.offset.shape[0]
    for r in range(p):
        s.right[r] = -coupling_gap(s, r) if closes else 0.0
        for e in range(s.first[r], s.first[r + 1]):
            if closes:
                s.right[r] -= s.coefficient[e] * x[s.coupled[e]]
            else:
                s.right[r] -= s.response[r, s.coupled[e]] * x[s.coupled[e]]
        for k in range(p):
            s.A[r, k] = 0.0
            for e in range(s.first[r], s.first[r + 1]):
                s.A[r, k] += s.coefficient[e] * s.response[k, s.coupled[e]]
    for r in range(p):
        for k in range(r):
            s.A[r, k] = s.A[k, r] = 0.5 * (s.A[r, k] + s.A[k, r])
        s.free[r] = 1.0 if not s.A[r, r] > 0.0 else s.A[r, r]
    factor_rows(s)
    solve_rows(s)
