"""Numbering the nodes of an assembly tree: children before parents, every subtree one run of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.assembly import node_table as at
from linkwork.core.arrays import IntArray
from linkwork.core.bundles import Int1, Int2, reader
from linkwork.core.jit import kernel, routine


class Numbering(NamedTuple):
    """What numbering the nodes writes, and the memory it takes; N nodes, n bodies."""

    nodes: Int2  # (N, 8)    the node table
    leaf: Int1  # (n,)      as in Assembly
    joint: Int1  # (n,)
    number: Int1  # (N,)      of each node of the draft
    first: Int1  # (N,)      first node of its subtree
    stack: Int1  # (N + 1,)
    visited: Int1  # (N,)


numbering_of = reader(Numbering)


@kernel
def number_nodes(draft, root, welded, table):
    """Numbers the nodes of a draft in post-order and marks the rigid ones; returns how many there are."""
    w = numbering_of(table)
    done = number_in_post_order(draft, root, w)
    mark_solid(w.nodes, done, welded)
    return done


@routine
def number_in_post_order(draft, root, w):
    nodes, leaf, joint = w.nodes, w.leaf, w.joint
    number, first, stack, visited = w.number, w.first, w.stack, w.visited
    done = 0
    top = -1
    if root >= 0:
        top = 0
        stack[0] = root
    while top >= 0:
        d = stack[top]
        if visited[d] == 0:
            visited[d] = 1
            first[d] = done
            for side in (2, 1):
                if draft[d, side] >= 0:
                    top += 1
                    stack[top] = draft[d, side]
            continue
        top -= 1
        number[d] = done
        kind = draft[d, 0]
        nodes[done, at.NODE_KIND] = kind
        nodes[done, at.INDEX] = draft[d, 3]
        nodes[done, at.FIRST] = first[d]
        for side in (1, 2):
            child = draft[d, side]
            if child >= 0:
                c = number[child]
                nodes[done, at.LEFT if side == 1 else at.RIGHT] = c
                nodes[c, at.UP] = done
                nodes[c, at.ROLE] = at.TOP if kind == at.HANG else (at.UPPER if side == 1 else at.LOWER)
        if kind == at.BODY:
            leaf[draft[d, 3]] = done
        elif kind != at.SUM:
            joint[draft[d, 3]] = done
        done += 1
    return done


@routine
def mark_solid(nodes, count, welded):
    """Marks the nodes of rigid stretches: welds between bodies, and their bodies."""
    for node in range(count):
        nodes[node, at.SOLID] = 0
    for node in range(count):
        kind = nodes[node, at.NODE_KIND]
        if (kind != at.JOIN and kind != at.HANG) or not welded[nodes[node, at.INDEX]]:
            continue
        left = nodes[node, at.LEFT]
        right = nodes[node, at.RIGHT] if kind == at.JOIN else left
        if is_rigid(nodes, left) and is_rigid(nodes, right):
            nodes[node, at.SOLID] = 1
            nodes[left, at.SOLID] = 1
            nodes[right, at.SOLID] = 1


@routine
def is_rigid(nodes, node):
    """Whether a cluster is one body or a stretch of welded ones."""
    return nodes[node, at.NODE_KIND] == at.BODY or (nodes[node, at.NODE_KIND] == at.JOIN and nodes[node, at.SOLID] == 1)


def node_depths(nodes: IntArray) -> IntArray:
    """Depth of each node below the root, the root counting one; shape (N,)."""
    depth = np.ones(nodes.shape[0], dtype=np.int64)
    count_depths(nodes, depth)
    return depth


@kernel
def count_depths(nodes, depth):
    """Sets the depth of each node; all are one before."""
    for i in range(nodes.shape[0] - 2, -1, -1):
        depth[i] = depth[nodes[i, at.UP]] + 1
