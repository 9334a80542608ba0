"""Strands: bodies without branches one behind the other, whose joining nodes one thread of a device does in one go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import BODY, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.arrays import IntArray

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
