"""The assembly plan level by level, for machines that do all nodes of a level at once: index arrays only.

A node stands one level above the higher of its children; bodies without branches stand below all levels and need no
slot. In a level, nodes of one kind stand together, and within a kind first the upper clusters of the joints above, then the
lower ones, each in the order of those joints. So the children of neighbouring nodes are neighbours, on both sides. On a
chain of 2^k bodies this is the bit-reversed order of the leaves: the first half are the upper clusters of the first level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP, UP
from linkwork.assembly.plan import Assembly
from linkwork.core.arrays import IntArray
from linkwork.core.jit import kernel

Int32Array = NDArray[np.int32]

SEVERAL, IS_TOP = 4, 8  # flags beside the kind in `Levels.code`
NO_NODE = -1
GROUPS = 9  # nodes inside strands, kinds, and kinds whose joint has several freedoms
KINDS = 4


class Levels(NamedTuple):
    """Slots of nodes, level by level, lowest first. A level's nodes with joints of several freedoms come last in it."""

    code: Int32Array  # (slots,)  kind | SEVERAL | IS_TOP; NO_NODE where alignment leaves a slot empty
    left: Int32Array  # (slots,)  slot of the child, or -1 - its body (in `order`) when it is a body without branches
    right: Int32Array  # (slots,)
    body: Int32Array  # (slots,)  body, or body the joint carries, in `order`
    first: IntArray  # (levels + 1,)  first slot of each level
    alone: IntArray  # (levels,)  where its nodes outside strands begin
    several: IntArray  # (levels,)  where its nodes with joints of several freedoms begin
    slot: IntArray  # (nodes,)  slot of each node of the assembly; NO_NODE for bodies without branches
    order: IntArray  # (n,)  bodies in the order of their first use: those without branches, then the others
    place: IntArray  # (n,)  its inverse
    strand_slot: Int32Array  # (strands,)  slot of the node over all bodies of each strand
    strand_body: Int32Array  # (length, strands)  its bodies in `order`, from the first to the last; then NO_BODY

    @property
    def height(self) -> int:
        """How many levels there are."""
        return self.several.size

    @property
    def root(self) -> int:
        """Slot of the node that hangs on the world."""
        return int(self.slot[-1])


def plan_levels(assembly: Assembly, several: NDArray[np.bool_], align: int = 1, strand_length: int = 1) -> Levels:
    """Levels of an assembly tree.

    several: whether the joint of each body has two degrees of freedom or more, shape (n,).
    align: every group of a level begins at a multiple of it, so that threads of one warp do the same.
    strand_length: most bodies of a strand (`plan_strands`); 1 for none. Nodes inside strands come first in their level.
    Cost: O(n log n).
    """
    nodes = assembly.nodes
    kind, role = nodes[:, NODE_KIND], nodes[:, ROLE]
    height = node_heights(nodes)
    levels = int(height.max(initial=0))
    has_joint = (kind == JOIN) | (kind == HANG)
    flag = np.zeros(kind.size, dtype=np.int64)
    flag[has_joint] = np.asarray(several, dtype=bool)[nodes[has_joint, INDEX]]
    strands = plan_strands(nodes, height, several, strand_length)
    group = np.where(strands.inside, 0, 1 + flag * KINDS + kind)
    counts = np.bincount((height - 1)[height > 0] * GROUPS + group[height > 0], minlength=levels * GROUPS)
    padded = -(-counts // align) * align
    starts = np.cumsum(padded) - padded
    total = int(padded.sum())
    slot = np.full(kind.size, NO_NODE, dtype=np.int64)
    by_height = np.argsort(height, kind="stable")
    ends = np.searchsorted(height[by_height], np.arange(levels + 2))
    for level in range(levels, 0, -1):
        members = by_height[ends[level] : ends[level + 1]]
        members = members[np.lexsort((_slot_above(nodes, slot, members), role[members], group[members]))]
        before = (
            np.cumsum(counts[(level - 1) * GROUPS : level * GROUPS]) - counts[(level - 1) * GROUPS : level * GROUPS]
        )
        of = group[members]
        slot[members] = starts[(level - 1) * GROUPS + of] + np.arange(members.size) - before[of]
    order, place = _body_order(nodes, slot, height)
    first = np.append(starts[::GROUPS], total).astype(np.int64)
    alone, middle = (starts[k::GROUPS].astype(np.int64) for k in (1, 1 + KINDS))
    code, left, right, index = (np.full(total, NO_NODE, dtype=np.int32) for _ in range(4))
    inner = np.flatnonzero(height > 0)
    at = slot[inner]
    code[at] = kind[inner] | flag[inner] * SEVERAL | np.where(role[inner] == TOP, IS_TOP, 0)
    left[at] = _child(nodes, slot, place, nodes[inner, LEFT])
    right[at] = _child(nodes, slot, place, nodes[inner, RIGHT])
    body = nodes[inner, INDEX]
    index[at] = np.where(body >= 0, place[body], 0) if place.size else 0
    by_slot = np.argsort(slot[strands.top], kind="stable")  # neighbouring threads then read neighbouring bodies
    strand_body = np.where(strands.body >= 0, place[strands.body], NO_BODY) if place.size else strands.body
    tables = (table.astype(np.int32) for table in (slot[strands.top][by_slot], strand_body[:, by_slot]))
    return Levels(code, left, right, index, first, alone, middle, slot, order, place, *tables)


def _slot_above(nodes: IntArray, slot: IntArray, members: IntArray) -> IntArray:
    up = nodes[members, UP]
    return np.where(up >= 0, slot[up], 0)


def _body_order(nodes: IntArray, slot: IntArray, height: IntArray) -> tuple[IntArray, IntArray]:
    """Bodies in the order in which the lowest levels use them, and the inverse."""
    leaves = np.flatnonzero(height == 0)
    leaves = leaves[np.lexsort((_slot_above(nodes, slot, leaves), nodes[leaves, ROLE]))]
    fat = np.flatnonzero((nodes[:, NODE_KIND] == BODY) & (height > 0))
    fat = fat[np.argsort(slot[fat], kind="stable")]
    order = nodes[np.concatenate([leaves, fat]), INDEX]
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return order, place


def _child(nodes: IntArray, slot: IntArray, place: IntArray, child: IntArray) -> IntArray:
    """How a node refers to a child: its slot, or -1 - body; NO_NODE where there is none (never read)."""
    is_there = child >= 0
    at = np.where(is_there, slot[child], NO_NODE)
    is_leaf = is_there & (at < 0)
    return np.where(is_leaf, -1 - place[nodes[child, INDEX]], at)


@kernel(allocates=True)
def node_heights(nodes):
    """Levels below each node: 0 for a body without branches."""
    height = np.zeros(nodes.shape[0], dtype=np.int64)
    for k in range(nodes.shape[0]):
        if nodes[k, LEFT] >= 0:
            height[k] = height[nodes[k, LEFT]] + 1
        if nodes[k, RIGHT] >= 0:
            height[k] = max(height[k], height[nodes[k, RIGHT]] + 1)
    return height


NO_BODY = -1


class Strands(NamedTuple):
    """Subtrees of JOIN nodes over so few bodies, with joints of at most one freedom."""

    inside: NDArray[np.bool_]  # (nodes,)  whether a node is a JOIN of a strand
    top: IntArray  # (strands,)  the node over all bodies of each strand
    body: IntArray  # (length, strands)  its bodies from the first to the last, then NO_BODY


def plan_strands(nodes: IntArray, height: IntArray, several: NDArray[np.bool_], length: int) -> Strands:
    """The largest strands of at most `length` bodies; none when that is 1.

    nodes, height: node table and levels below each node. several: whether the joint of each body has two freedoms or more.
    """
    kind = nodes[:, NODE_KIND]
    size = np.where((kind == BODY) & (height == 0), 1, length + 1)
    can = kind == JOIN
    can[can] = ~np.asarray(several, dtype=bool)[nodes[can, INDEX]]
    inside = np.zeros(kind.size, dtype=bool)
    levels = [np.flatnonzero(can & (height == level)) for level in range(1, length)]
    for members in levels:
        total = size[nodes[members, LEFT]] + size[nodes[members, RIGHT]]
        fits = total <= length
        size[members[fits]] = total[fits]
        inside[members[fits]] = True
    above = nodes[:, UP]
    top = np.flatnonzero(inside & ~np.where(above >= 0, inside[above], False))
    strand, offset = np.full(kind.size, NO_BODY), np.zeros(kind.size, dtype=np.int64)
    strand[top] = np.arange(top.size)
    for members in reversed(levels):
        within = members[inside[members]]
        left, right = nodes[within, LEFT], nodes[within, RIGHT]
        strand[left] = strand[right] = strand[within]
        offset[left], offset[right] = offset[within], offset[within] + size[left]
    leaves = np.flatnonzero((strand >= 0) & (height == 0))
    body = np.full((length, top.size), NO_BODY, dtype=np.int64)
    body[offset[leaves], strand[leaves]] = nodes[leaves, INDEX]
    return Strands(inside, top, body)
