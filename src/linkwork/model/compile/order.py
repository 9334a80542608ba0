"""Numbering bodies: depth first, so that parents come before children and every subtree is one run of indices."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import IntArray
from linkwork.core.jit import kernel

FEW = 10_000  # bodies, which Python numbers in 5 ms; compiling the kernel takes 0.2 s, and reading it back 10 ms


def depth_first_order(parent: IntArray) -> IntArray:
    """Bodies in depth-first order, children in the order given; -1 is the ground. Bodies in cycles are left out.

    parent: of each body, shape (n,). Returns at most n numbers.
    """
    n = parent.shape[0]
    first_child, next_sibling = np.full(n + 1, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    order, stack = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    write = getattr(order_depth_first, "py_func", order_depth_first) if n <= FEW else order_depth_first
    return order[: write(parent, first_child, next_sibling, stack, order)]


@kernel
def order_depth_first(parent, first_child, next_sibling, stack, order):
    """Writes the bodies in depth-first order; returns how many. First children and siblings are -1 before."""
    n = parent.shape[0]
    for i in range(n - 1, -1, -1):
        p = parent[i] if parent[i] >= 0 else n  # slot n is the ground
        next_sibling[i] = first_child[p]
        first_child[p] = i
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
    return count
