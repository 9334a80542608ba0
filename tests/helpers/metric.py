"""The metric of accelerations, taken the long way."""

import numpy as np

from linkwork.assembly.node_table import BODY, HANG, INDEX, LEFT, NODE_KIND, RIGHT, SUM
from linkwork.reference import node_equations as eq


def by_sum(dca, weights, node, f1, f2):
    """A(C) the long way: substitutes down to the last joint and adds up q̈ᵀ A q̈."""
    kind, left, right, i = dca.assembly.nodes[node, [NODE_KIND, LEFT, RIGHT, INDEX]].tolist()
    nothing = np.zeros(6)
    if kind == BODY:
        cluster = dca.nodes[node]
        return by_sum(dca, weights, left, cluster.phi11 @ (f1 + f2) + cluster.b1, nothing) if left >= 0 else 0.0
    if kind == SUM:
        return by_sum(dca, weights, left, f1, f2) + by_sum(dca, weights, right, f1, f2)
    joint, rows = dca.joints[i], dca.model.v_slice(i)
    if kind == HANG:
        x, f = eq.pass_hang(dca.nodes[left], joint, f1)
        return weights[rows] @ x**2 + by_sum(dca, weights, left, f, nothing)
    x, f = eq.pass_join(dca.nodes[left], dca.nodes[right], joint, f1, f2)
    below = by_sum(dca, weights, left, f1, -joint.X.T @ f) + by_sum(dca, weights, right, f, f2)
    return weights[rows] @ x**2 + below
