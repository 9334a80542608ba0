"""Numbering bodies: depth first, so that parents come before children and every subtree is one run of indices."""

import numpy as np

from linkwork.core.jit import kernel


@kernel(allocates=True)
def depth_first_order(parent):
    """Bodies in depth-first order, children in the order given; -1 is the ground. Bodies in cycles are left out."""
    n = parent.shape[0]
    first_child = np.full(n + 1, -1, dtype=np.int64)  # slot n is the ground
    next_sibling = np.full(n, -1, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        p = parent[i] if parent[i] >= 0 else n
        next_sibling[i] = first_child[p]
        first_child[p] = i
    order = np.empty(n, dtype=np.int64)
    stack = np.empty(n + 1, dtype=np.int64)
    top = 0
    count = 0
    stack[0] = first_child[n]
    while top >= 0:
        i = stack[top]
        if i < 0:
            top -= 1
            continue
        stack[top] = next_sibling[i]
        order[count] = i
        count += 1
        top += 1
        stack[top] = first_child[i]
    return order[:count]
