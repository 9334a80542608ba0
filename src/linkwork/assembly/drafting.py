"""Making the nodes of an assembly tree, in any order: heavy paths, joined two by two where both sides balance.

Both kinds of binary tree are cut where the two sides balance, an element of height h counting 2^h: that keeps the whole
tree within a few levels of the lowest possible. Branches may be added in any order: the tallest come first, which makes
their tree the lowest there is.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.assembly.node_table import BODY, HANG, JOIN, SUM
from linkwork.core.bundles import Float1, Int1, Int2, reader
from linkwork.core.jit import kernel, routine


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


draft_of = reader(Draft)


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


@routine
def join_stretches(welded, items, joints, heights, length, draft, count, weights, stack):
    """Joins the elements of a path that are welded to one another; returns the numbers of elements and nodes then."""
    listed = 0
    start = 0
    while start < length:
        end = start + 1
        while end < length and welded[joints[end]]:
            end += 1
        node, h = items[start], heights[start]
        if end > start + 1:
            node, count, h = halve(JOIN, items, joints, heights, start, end, draft, count, weights, stack)
        items[listed], joints[listed], heights[listed] = node, joints[start], h
        listed += 1
        start = end
    return listed, count


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
