"""Link splitting (Yamane and Nakamura, section 4): bodies with many joints as trees of welded pieces.

A body with more than two children becomes pieces in the same place, each with an equal share of its inertia, welded to each
other as a balanced binary tree; no piece then carries more than three joints. The paper welds them in a row; the balanced
tree has as many pieces, but k of them lie only log k welds apart, which keeps rounding small (docs/theory/virtual_work.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import IntArray


class LinkTree(NamedTuple):
    """Links, parents before children: whole bodies, or pieces of them. Link `first[b]` hangs from the joint of body b."""

    body: IntArray  # (m,)    body the link is a piece of
    parent: IntArray  # (m,)    link that carries it; -1 is the world
    first: IntArray  # (n,)    link of each body that its joint carries; the body's other pieces are welded on
    pieces: IntArray  # (n,)    how many links a body is made of
    child_start: IntArray  # (m+1,)  where the children of each link stand in `child`
    child: IntArray  # (m,)    children of all links, world's not among them

    @property
    def is_weld(self) -> NDArray[np.bool_]:
        """Which links hang from another piece of their own body, shape (m,)."""
        weld = np.ones(self.body.size, dtype=bool)
        weld[self.first] = False
        return weld


def split_links(parent: IntArray, split: bool = True) -> LinkTree:
    """The links of a tree of bodies.

    parent: parent body of each body, parents first, -1 for the world, shape (n,).
    split: divide bodies with more than two children; otherwise every body is one link.
    Cost: O(n). At most 2 n links.
    """
    parent = np.asarray(parent, dtype=np.int64)
    n = parent.size
    inner = parent >= 0
    children = np.bincount(parent[inner], minlength=n)
    pieces = np.maximum(children - 1, 1) if split else np.ones(n, dtype=np.int64)
    first = np.cumsum(pieces) - pieces
    body = np.repeat(np.arange(n), pieces)
    link_parent = np.full(body.size, -1, dtype=np.int64)
    link_parent[first[inner]] = first[parent[inner]]  # right for bodies of one piece; the others follow
    if (pieces > 1).any():
        order = np.argsort(parent, kind="stable")
        starts = np.searchsorted(parent[order], np.arange(n))
        for b in np.flatnonzero(pieces > 1).tolist():
            kids = order[starts[b] : starts[b] + children[b]]
            _share_out(first[kids].tolist(), int(first[b]), link_parent)
    child_start, child = _children(link_parent)
    return LinkTree(body, link_parent, first, pieces, child_start, child)


def _share_out(kids: list[int], piece: int, link_parent: IntArray) -> None:
    """Hangs `kids` from a balanced binary tree of pieces numbered from `piece` on, parents first."""
    free = piece + 1
    waiting = [(piece, 0, len(kids))]
    while waiting:
        here, low, high = waiting.pop()
        middle = (low + high) // 2
        for start, stop in ((low, middle), (middle, high)):
            if stop - start == 1:
                link_parent[kids[start]] = here
            else:
                link_parent[free] = here
                waiting.append((free, start, stop))
                free += 1


def _children(parent: IntArray) -> tuple[IntArray, IntArray]:
    inner = np.flatnonzero(parent >= 0)
    counts = np.bincount(parent[inner], minlength=parent.size)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return start, inner[np.argsort(parent[inner], kind="stable")]
