"""The assembly plan level by level: a permutation of the nodes, children below parents, neighbours beside neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.assembly.levels import IS_TOP, NO_NODE, SEVERAL, plan_levels
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.assembly.plan import assemble


def parents(shape: str, n: int) -> np.ndarray:
    body = np.arange(n)
    anywhere = (np.random.default_rng(3).random(n) * body).astype(np.int64)
    return {
        "chain": body - 1,
        "star": np.minimum(body - 1, 0),
        "forest": np.where(body % 7 == 0, -1, body - 1),
        "binary": (body - 1) // 2 if n > 1 else body - 1,
        "random": np.where(body == 0, -1, anywhere),
    }[shape]


def numbered_depth_first(parent: np.ndarray) -> np.ndarray:
    children: dict[int, list[int]] = {}
    for i, p in enumerate(parent.tolist()):
        children.setdefault(p, []).append(i)
    order, stack = [], list(reversed(children.get(-1, [])))
    while stack:
        i = stack.pop()
        order.append(i)
        stack += reversed(children.get(i, []))
    place = {i: k for k, i in enumerate(order)}
    return np.array([place.get(int(parent[i]), -1) for i in order], dtype=np.int64)


@pytest.mark.parametrize("shape", ["chain", "star", "forest", "binary", "random"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 400])
@pytest.mark.parametrize("align", [1, 32])
def test_every_node_has_one_slot_above_its_children(shape, n, align):
    assembly = assemble(numbered_depth_first(parents(shape, n)))
    several = np.random.default_rng(5).random(n) < 0.3
    levels = plan_levels(assembly, several, align)
    nodes = assembly.nodes
    is_plain = (nodes[:, NODE_KIND] == BODY) & (nodes[:, LEFT] < 0)
    assert (levels.slot[is_plain] == NO_NODE).all()
    slots = levels.slot[~is_plain]
    assert np.unique(slots).size == slots.size
    assert (np.sort(np.flatnonzero(levels.code != NO_NODE)) == np.sort(slots)).all()
    level_of = np.searchsorted(levels.first, np.arange(levels.code.size), side="right") - 1
    for k in np.flatnonzero(~is_plain).tolist():
        s = levels.slot[k]
        kind, index = nodes[k, NODE_KIND], nodes[k, INDEX]
        has_joint = kind in (JOIN, HANG)
        flags = (SEVERAL if has_joint and several[index] else 0) | (IS_TOP if nodes[k, ROLE] == TOP else 0)
        assert levels.code[s] == kind | flags
        assert (s >= levels.several[level_of[s]]) == bool(levels.code[s] & SEVERAL)
        if kind == BODY or has_joint:
            assert levels.order[levels.body[s]] == index
        for child, reference in ((nodes[k, LEFT], levels.left[s]), (nodes[k, RIGHT], levels.right[s])):
            if child < 0:
                continue
            if is_plain[child]:
                assert levels.order[-1 - reference] == nodes[child, INDEX]
            else:
                assert reference == levels.slot[child]
                assert level_of[reference] < level_of[s]
    assert levels.first[-1] == levels.code.size
    assert levels.code[levels.root] != NO_NODE
    assert level_of[levels.root] == levels.height - 1
    assert (np.sort(levels.order) == np.arange(n)).all()
    assert (levels.place[levels.order] == np.arange(n)).all()
    if align > 1:  # kinds never share a warp
        groups = levels.code & (3 | SEVERAL)
        for start in range(0, levels.code.size, align):
            assert np.unique(groups[start : start + align][levels.code[start : start + align] != NO_NODE]).size <= 1


@pytest.mark.parametrize("k", [1, 4, 9])
def test_a_chain_has_its_leaves_in_bit_reversed_order(k):
    n = 2**k
    levels = plan_levels(assemble(np.arange(n) - 1), np.zeros(n, dtype=bool))
    reverse = np.array([int(f"{i:0{k}b}"[::-1], 2) for i in range(n)])
    assert (levels.order == reverse).all()
    for level in range(k):  # upper clusters are the first half of the level below, lower ones the second
        a, b = levels.first[level], levels.first[level + 1]
        half = np.arange(b - a)
        below = -1 - half if level == 0 else levels.first[level - 1] + half
        beyond = -1 - half - half.size if level == 0 else levels.first[level - 1] + half.size + half
        assert (levels.left[a:b] == below).all()
        assert (levels.right[a:b] == beyond).all()


def test_a_model_without_bodies_has_no_levels():
    levels = plan_levels(assemble(np.zeros(0, dtype=np.int64)), np.zeros(0, dtype=bool))
    assert levels.height == 0
    assert levels.code.size == 0
