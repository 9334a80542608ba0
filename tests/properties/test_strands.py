"""Strands of an assembly tree: bodies one behind the other, as many as fit, in the order of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.assembly.levels import plan_levels
from linkwork.assembly.node_table import BODY, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import assemble


def random_parents(n: int, bend: float, seed: int) -> np.ndarray:
    """Depth first: a body hangs from the one before it, or with chance `bend` from one of that body's ancestors."""
    rng = np.random.default_rng(seed)
    parent = np.arange(n) - 1
    for i in range(1, n):
        while rng.random() < bend and parent[i] >= 0:
            parent[i] = parent[parent[i]]
        parent[i] = max(parent[i], 0)
    return parent


@pytest.mark.parametrize("length", [1, 2, 3, 8, 32])
@pytest.mark.parametrize("bend", [0.0, 0.05, 0.5])
def test_strands_are_runs_of_parents_and_children(length, bend):
    n, rng = 300, np.random.default_rng(3)
    parent, several = random_parents(n, bend, 4), rng.random(n) < 0.05
    assembly = assemble(parent)
    levels = plan_levels(assembly, several, 32, length)
    nodes, seen = assembly.nodes, []
    node_of_slot = {int(s): k for k, s in enumerate(levels.slot) if s >= 0}
    for r, slot in enumerate(levels.strand_slot.tolist()):
        column = levels.strand_body[:, r]
        members = levels.order[column[column >= 0]]
        assert (column[members.size :] < 0).all()
        assert 2 <= members.size <= length
        assert (parent[members[1:]] == members[:-1]).all()
        assert not several[members[1:]].any()
        assert (np.sort(members) == np.sort(leaves_below(nodes, node_of_slot[slot]))).all()
        seen += members.tolist()
    assert len(seen) == len(set(seen))
    inside = sum(int(alone - first) for first, alone in zip(levels.first, levels.alone, strict=False))
    assert (levels.code[levels.strand_slot] & 3 == JOIN).all()
    assert inside >= len(seen) - levels.strand_slot.size  # their nodes, and what alignment leaves empty
    if bend == 0.0 and length > 1:
        assert len(seen) > 0.5 * n


def leaves_below(nodes: np.ndarray, node: int) -> list[int]:
    """Bodies under a JOIN whose leaves have no branches."""
    found, stack = [], [node]
    while stack:
        k = stack.pop()
        if nodes[k, NODE_KIND] == BODY:
            assert nodes[k, LEFT] < 0
            found.append(int(nodes[k, INDEX]))
        else:
            assert nodes[k, NODE_KIND] == JOIN
            stack += [int(nodes[k, LEFT]), int(nodes[k, RIGHT])]
    return found
