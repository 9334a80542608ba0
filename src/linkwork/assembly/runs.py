"""The assembly tree cut for several cores, and the memory that a sweep over it takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.assembly.node_table import FIRST, LEFT, RIGHT
from linkwork.assembly.plan import Assembly
from linkwork.core.arrays import IntArray
from linkwork.core.jit import kernel


class Runs(NamedTuple):
    """A cut of the assembly tree for sweeping it on several cores: subtrees that do not touch, and what is above them."""

    subtrees: list[IntArray]  # each of shape (1, 2): first node, last node + 1
    above: IntArray  # (k, 2) runs of the remaining nodes, in order


def cut_into_runs(assembly: Assembly, pieces: int) -> Runs:
    """Subtrees of at most 1/pieces of all nodes, as large as that allows."""
    count = assembly.nodes.shape[0]
    limit = max(1, count // pieces)
    first = assembly.nodes[:, FIRST]
    subtrees, above, stack = [], [], [assembly.root] if count else []
    while stack:
        node = stack.pop()
        if node + 1 - first[node] <= limit:
            subtrees.append(np.array([[first[node], node + 1]], dtype=np.int64))
        else:
            above.append((node, node + 1))
            stack += [child for child in assembly.nodes[node, [LEFT, RIGHT]].tolist() if child >= 0]
    return Runs(subtrees, np.array(sorted(above), dtype=np.int64).reshape(-1, 2))


def stack_slots(assembly: Assembly, runs: Runs | None) -> tuple[IntArray, int]:
    """Memory slots for what a node hands to its parent, reused as on a stack, and how many are needed.

    A parent takes the slot of its left child. Subtrees that are swept at the same time get slots of their own.
    """
    everything = np.array([[0, assembly.nodes.shape[0]]], dtype=np.int64)
    subtrees = np.concatenate(runs.subtrees) if runs is not None and runs.subtrees else everything
    slot = np.full(assembly.nodes.shape[0], -1, dtype=np.int64)
    return slot, number_slots(assembly.nodes, subtrees, slot)


@kernel
def number_slots(nodes, subtrees, slot):
    """Sets the slot of each node, -1 before; returns how many slots there are."""
    base = 0
    for r in range(subtrees.shape[0]):
        top = base
        highest = base
        for node in range(subtrees[r, 0], subtrees[r, 1]):
            if nodes[node, LEFT] < 0:
                slot[node] = top
                top += 1
                highest = max(highest, top)
            else:
                slot[node] = slot[nodes[node, LEFT]]
                if nodes[node, RIGHT] >= 0:
                    top -= 1
        base = highest
    for node in range(nodes.shape[0]):
        if slot[node] < 0:
            slot[node] = slot[nodes[node, LEFT]]
    return base
