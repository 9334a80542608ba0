"""Sweeps for searches that hold rows besides the targets of bodies: loops, and the centre of mass.

A row is a set of wrenches on bodies; its Jacobian is Sᵀ F, F the sum of those that hang from a joint. One elimination
answers any number of right sides.
"""

from linkwork.core.jit import kernel
from linkwork.model.layout import DOF, V
from linkwork.reaching.arrays import BIAS, BLOCKED, SCREW, reaching_of
from linkwork.reaching.sweeps import (
    eliminate_leaf_to_root,
    lift_leaf_to_root,
    place_root_to_leaf,
    pull_bodies,
    substitute_root_to_leaf,
)
from linkwork.spatial.memory import add_to6, load6, store6
from linkwork.spatial.vectors import ZERO6, dot6


@kernel
def place_at(table, q):
    """Poses at q, into the first rows; returns Σ w e² of the targets."""
    return place_root_to_leaf(table, q, 0)


@kernel
def row_jacobian(table, nodes, wrenches, J):
    """J (p, nv) of rows that put wrenches (p, m, 6), in the axes of the world about the origin, on m nodes."""
    s = reaching_of(table)
    for r in range(wrenches.shape[0]):
        for k in range(s.path.shape[0]):
            store6(s.node, k, BIAS, ZERO6)
        for m in range(nodes.shape[0]):
            if nodes[m] >= 0:
                F = (
                    wrenches[r, m, 0], wrenches[r, m, 1], wrenches[r, m, 2],
                    wrenches[r, m, 3], wrenches[r, m, 4], wrenches[r, m, 5],
                )  # fmt: skip
                add_to6(s.node, nodes[m], BIAS, F)
        for k in range(s.path.shape[0] - 1, -1, -1):
            i = s.path[k]
            F = load6(s.node, k, BIAS)
            for d in range(s.tree[i, DOF]):
                J[r, s.tree[i, V] + d] = dot6(load6(s.freedom, s.tree[i, V] + d, SCREW), F)
            if s.up[k] >= 0:
                add_to6(s.node, s.up[k], BIAS, F)


@kernel
def solve_rows(table, damping, right, moves, out):
    """(H + damping D)⁻¹ of the efforts right (r, nv), into out (r, nv); held joints move by `moves` in the first only."""
    s = reaching_of(table)
    pull_bodies(table, 0)
    eliminate_leaf_to_root(s, damping, False)
    for r in range(right.shape[0]):
        for k in range(s.path.shape[0]):
            i = s.path[k]
            store6(s.node, k, BIAS, ZERO6)
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                if s.blocked[j] == BLOCKED:
                    s.step[j] = moves[j] if r == 0 else 0.0
        lift_leaf_to_root(s, right[r])
        substitute_root_to_leaf(s)
        for k in range(s.path.shape[0]):
            i = s.path[k]
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                out[r, j] = s.step[j]
