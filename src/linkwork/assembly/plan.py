"""The plan of the binary assembly tree over a model: index arrays only, built once, shared by every solver.

The kinematic tree is cut into heavy paths. Along a path, clusters of bodies are joined two by two (JOIN). A finished path
hangs from the body that carries it by its top joint (HANG); the branches of one body are added up two by two (SUM) and
taken over by the body (BODY), which is then an element of its own path. The world is the body that carries the last ones.

Because branches are *added* (each is a 6x6 inertia seen by its carrier), a body with very many children needs no splitting
into welded pieces: the sum tree gives it logarithmic depth, with no extra bodies and no stiff joints.

Both kinds of binary tree are cut where the two sides balance, an element of height h counting 2^h: that keeps the whole
tree within a few levels of the lowest possible. Branches may be added in any order: the tallest come first, which makes
their tree the lowest there is.

Bodies of a path that are welded to one another are joined first: such a stretch is rigid, and its inertias add (SOLID).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import Float1, Int1, Int2, describe, reader
from linkwork.core.jit import kernel, routine
from linkwork.model.layout import FIXED, KIND
from linkwork.model.model import Model

IntArray = NDArray[np.int64]

BODY, JOIN, HANG, SUM = range(4)  # kinds of nodes

# Columns of the node table, one row per node; children are numbered before parents, every subtree is one run of numbers.
NODE_KIND = 0
LEFT = 1  # JOIN: upper cluster. HANG: the cluster. SUM: a branch. BODY: its branches, or -1
RIGHT = 2  # JOIN: lower cluster. SUM: a branch. otherwise -1
INDEX = 3  # BODY: the body. JOIN, HANG: the joint (by the body it carries). SUM: -1
UP = 4  # parent node, -1 at the root
ROLE = 5  # how the parent uses a cluster: UPPER, LOWER (of a JOIN) or TOP (of a HANG)
FIRST = 6  # first node of the subtree
SOLID = 7  # 1: BODY or JOIN of a rigid stretch of welded bodies; HANG: such a stretch, welded to its carrier. Else 0
NODE_COLUMNS = 8

UPPER, LOWER, TOP = range(3)


class Assembly(NamedTuple):
    """The assembly tree of one topology."""

    nodes: IntArray  # (N, 8)  the node table
    leaf: IntArray  # (n,)    BODY node of each body
    joint: IntArray  # (n,)    JOIN or HANG node of each body's joint

    @property
    def root(self) -> int:
        """The branch node that hangs on the world; -1 for a model without bodies."""
        return self.nodes.shape[0] - 1

    @property
    def depth(self) -> int:
        """Nodes on the longest way from the root to a leaf."""
        return int(node_depths(self.nodes).max(initial=0))


def assemble_model(model: Model) -> Assembly:
    """The assembly plan of a compiled model."""
    return assemble(model.parent, model.arrays.tree[:, KIND] == FIXED)


def assemble(parent: IntArray, welded: NDArray[np.bool_] | None = None) -> Assembly:
    """The assembly plan of a kinematic tree whose bodies are numbered depth first (`parent[i] < i`, -1 is the world).

    welded: whether each body's joint is a weld, shape (n,); none are by default.
    Cost: O(n log n), some 0.3 µs per body.
    """
    parents = np.ascontiguousarray(parent, dtype=np.int64)
    welds = np.zeros(parents.shape[0], dtype=np.bool_) if welded is None else np.ascontiguousarray(welded)
    nodes, leaf, joint = _plan_nodes(parents, welds)
    for array in (nodes, leaf, joint):
        array.setflags(write=False)
    return Assembly(nodes, leaf, joint)


class Draft(NamedTuple):
    """Nodes in any order, before they are numbered, and the memory that making them takes; n bodies.

    At most n bodies, and one joining node for each of the n joints plus one sum for each light branch but the first.
    Memory comes from NumPy: kernels that make arrays take Numba twice as long to compile.
    """

    node: Int2  # (3n + 1, 4)  kind, left, right, index
    size: Int1  # (n,)         bodies in the subtree of each
    heavy: Int1  # (n + 1,)     child with the largest subtree; slot n is the world's, here and below
    first_light: Int1  # (n + 1,)     linked lists of the other children
    next_light: Int1  # (n + 1,)
    height: Float1  # (n + 1,)     of the HANG node of each path, by its top body
    hang: Int1  # (n + 1,)     HANG node of each path
    item: Int1  # (n + 1,)     nodes to be joined: elements of a path, or branches of a body
    joint: Int1  # (n + 1,)     the joint above each element
    item_height: Float1  # (n + 1,)
    weight: Float1  # (n + 1,)
    spare: Int1  # (n + 1,)
    stack: Int2  # (132 + 2n, 5)


class Numbering(NamedTuple):
    """What numbering the nodes writes, and the memory it takes; N nodes, n bodies."""

    nodes: Int2  # (N, 8)    the node table
    leaf: Int1  # (n,)      as in Assembly
    joint: Int1  # (n,)
    number: Int1  # (N,)      of each node of the draft
    first: Int1  # (N,)      first node of its subtree
    stack: Int1  # (N + 1,)
    visited: Int1  # (N,)


draft_of = reader(Draft)
numbering_of = reader(Numbering)


def _plan_nodes(parent: IntArray, welded: NDArray[np.bool_]) -> tuple[IntArray, IntArray, IntArray]:
    """The arrays of an Assembly."""
    n = parent.shape[0]

    def none(*shape: int) -> IntArray:
        return np.full(shape, -1, dtype=np.int64)

    def room(*shape: int) -> IntArray:
        return np.empty(shape, dtype=np.int64)

    draft = Draft(
        node=none(3 * n + 1, 4),
        size=np.ones(n, dtype=np.int64),
        heavy=none(n + 1),
        first_light=none(n + 1),
        next_light=none(n + 1),
        height=np.zeros(n + 1),
        hang=none(n + 1),
        item=room(n + 1),
        joint=room(n + 1),
        item_height=np.empty(n + 1),
        weight=np.empty(n + 1),
        spare=room(n + 1),
        stack=room(2 * 64 + 2 * n + 4, 5),
    )
    count = draft_nodes(parent, welded, describe(draft))
    made = Numbering(
        nodes=none(count, NODE_COLUMNS),
        leaf=room(n),
        joint=room(n),
        number=none(count),
        first=room(count),
        stack=room(count + 1),
        visited=np.zeros(count, dtype=np.int64),
    )
    done = number_nodes(draft.node, draft.hang[n], welded, describe(made))
    return made.nodes[:done], made.leaf, made.joint


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


@kernel
def draft_nodes(parent, welded, table):
    """Makes all nodes of the plan, in any order; returns how many. The world's is `hang[n]`."""
    n = parent.shape[0]
    w = draft_of(table)
    heavy, next_light, first_light = w.heavy, w.next_light, w.first_light
    draft, height, hang = w.node, w.height, w.hang
    items, joints, heights, weights, spare, stack = w.item, w.joint, w.item_height, w.weight, w.spare, w.stack
    heavy_paths(parent, w.size, heavy, next_light, first_light)
    count = 0
    for top in range(n - 1, -2, -1):  # -1 is the world; light branches of a path have larger numbers than its top
        if top >= 0 and parent[top] >= 0 and heavy[parent[top]] == top:
            continue
        if top == -1:
            branches = gather_branches(first_light[n], next_light, hang, height, items, heights, 0)
            if branches > 0:
                sort_tallest_first(items, heights, 0, branches, spare, weights)
                root, count, _ = halve(SUM, items, joints, heights, 0, branches, draft, count, weights, stack)
                hang[n] = root
            continue
        # The branches of each body are summed first, in the space behind the elements collected so far; then the path is
        # joined.
        body = top
        length = 0
        while body >= 0:
            branches = gather_branches(first_light[body], next_light, hang, height, items, heights, length)
            branch, h = -1, 0.0
            if branches > 0:
                sort_tallest_first(items, heights, length, length + branches, spare, weights)
                branch, count, h = halve(
                    SUM, items, joints, heights, length, length + branches, draft, count, weights, stack
                )
                h += 1.0
            draft[count, 0] = BODY
            draft[count, 1] = branch
            draft[count, 3] = body
            items[length] = count
            joints[length] = body
            heights[length] = h
            count += 1
            length += 1
            body = heavy[body]
        length, count = join_stretches(welded, items, joints, heights, length, draft, count, weights, stack)
        cluster, count, h = halve(JOIN, items, joints, heights, 0, length, draft, count, weights, stack)
        draft[count, 0] = HANG
        draft[count, 1] = cluster
        draft[count, 3] = top
        hang[top] = count
        height[top] = h + 1.0
        count += 1
    return count


@kernel
def number_nodes(draft, root, welded, table):
    """Numbers the nodes of a draft in post-order and marks the rigid ones; returns how many there are."""
    w = numbering_of(table)
    done = number_in_post_order(draft, root, w)
    mark_solid(w.nodes, done, welded)
    return done


@routine
def join_stretches(welded, items, joints, heights, length, draft, count, weights, stack):
    """Joins the elements of a path that are welded to one another; returns the numbers of elements and nodes then."""
    kept = 0
    start = 0
    while start < length:
        end = start + 1
        while end < length and welded[joints[end]]:
            end += 1
        node, h = items[start], heights[start]
        if end > start + 1:
            node, count, h = halve(JOIN, items, joints, heights, start, end, draft, count, weights, stack)
        items[kept], joints[kept], heights[kept] = node, joints[start], h
        kept += 1
        start = end
    return kept, count


@routine
def mark_solid(nodes, count, welded):
    """Marks the nodes of rigid stretches: welds between bodies, and their bodies."""
    for node in range(count):
        nodes[node, SOLID] = 0
    for node in range(count):
        kind = nodes[node, NODE_KIND]
        if (kind != JOIN and kind != HANG) or not welded[nodes[node, INDEX]]:
            continue
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT] if kind == JOIN else left
        if is_rigid(nodes, left) and is_rigid(nodes, right):
            nodes[node, SOLID] = 1
            nodes[left, SOLID] = 1
            nodes[right, SOLID] = 1


@routine
def is_rigid(nodes, node):
    """Whether a cluster is one body or a stretch of welded ones."""
    return nodes[node, NODE_KIND] == BODY or (nodes[node, NODE_KIND] == JOIN and nodes[node, SOLID] == 1)


@routine
def heavy_paths(parent, size, heavy, next_light, first_light):
    """The child with the largest subtree of each body, and linked lists of the others; all are -1 before, sizes 1."""
    n = parent.shape[0]
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    for i in range(n):
        p = parent[i]
        if p >= 0 and (heavy[p] < 0 or size[i] > size[heavy[p]]):
            heavy[p] = i
    for i in range(n - 1, -1, -1):
        p = parent[i] if parent[i] >= 0 else n
        if heavy[p] != i:
            next_light[i] = first_light[p]
            first_light[p] = i


@routine
def gather_branches(child, next_light, hang, height, items, heights, start):
    """Writes the HANG nodes of a body's light children to items[start:]; returns how many."""
    count = 0
    while child >= 0:
        items[start + count] = hang[child]
        heights[start + count] = height[child]
        count += 1
        child = next_light[child]
    return count


@routine
def sort_tallest_first(items, heights, lo, hi, spare_items, spare_heights):
    """Sorts items[lo:hi] by falling height; equals keep their order, so that a plan can be repeated.

    Runs of 1, 2, 4, ... are merged into spare space and copied back. (NumPy's sorts take Numba 3 s to compile.)
    """
    width = 1
    while width < hi - lo and hi - lo > 2:  # a pair has one tree only
        for start in range(lo, hi, 2 * width):
            middle = min(start + width, hi)
            end = min(start + 2 * width, hi)
            left, right = start, middle
            for k in range(start, end):
                if left < middle and (right >= end or heights[left] >= heights[right]):
                    take = left
                    left += 1
                else:
                    take = right
                    right += 1
                spare_items[k] = items[take]
                spare_heights[k] = heights[take]
        for k in range(lo, hi):
            items[k] = spare_items[k]
            heights[k] = spare_heights[k]
        width *= 2


@routine
def halve(kind, items, joints, heights, lo, hi, draft, count, weights, stack):
    """Joins items[lo:hi], in order, by a balanced binary tree of nodes; returns its root, the node count, its height."""
    for i in range(lo, hi):
        weights[i] = 2.0 ** heights[i]
    root = -1
    tallest = 0.0
    top = 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = lo, hi, -1, 0, 0
    while top >= 0:
        a, b, up, side, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        top -= 1
        if b - a == 1:
            node = items[a]
            tallest = max(tallest, depth + heights[a])
        else:
            cut = balanced_cut(weights, a, b)
            node = count
            count += 1
            draft[node, 0] = kind
            if kind == JOIN:
                draft[node, 3] = joints[cut]
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = cut, b, node, 1, depth + 1
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = a, cut, node, 0, depth + 1
        if up < 0:
            root = node
        else:
            draft[up, 1 + side] = node
    return root, count, tallest


@routine
def balanced_cut(weights, a, b):
    """The cut between a and b, exclusive, at which the heavier side is lightest.

    Both sides grow from their ends, the lighter one next. (Differences of running sums would be cheaper and wrong: beside
    an element of height 60 a thousand bodies weigh nothing in double precision.)
    """
    left, right = weights[a], weights[b - 1]
    lo, hi = a + 1, b - 1
    while lo < hi:
        if left <= right:
            left += weights[lo]
            lo += 1
        else:
            hi -= 1
            right += weights[hi]
    return lo


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
        nodes[done, NODE_KIND] = kind
        nodes[done, INDEX] = draft[d, 3]
        nodes[done, FIRST] = first[d]
        for side in (1, 2):
            child = draft[d, side]
            if child >= 0:
                c = number[child]
                nodes[done, LEFT if side == 1 else RIGHT] = c
                nodes[c, UP] = done
                nodes[c, ROLE] = TOP if kind == HANG else (UPPER if side == 1 else LOWER)
        if kind == BODY:
            leaf[draft[d, 3]] = done
        elif kind != SUM:
            joint[draft[d, 3]] = done
        done += 1
    return done


def node_depths(nodes: IntArray) -> IntArray:
    """Depth of each node below the root, the root counting one; shape (N,)."""
    depth = np.ones(nodes.shape[0], dtype=np.int64)
    count_depths(nodes, depth)
    return depth


@kernel
def count_depths(nodes, depth):
    """Sets the depth of each node; all are one before."""
    for i in range(nodes.shape[0] - 2, -1, -1):
        depth[i] = depth[nodes[i, UP]] + 1
