"""The plan of the binary assembly tree over a model: index arrays only, built once, shared by every solver.

The kinematic tree is cut into heavy paths. Along a path, clusters of bodies are joined two by two (JOIN). A finished path
hangs from the body that carries it by its top joint (HANG); the branches of one body are added up two by two (SUM) and
taken over by the body (BODY), which is then an element of its own path. The world is the body that carries the last ones.

Because branches are *added* (each is a 6x6 inertia seen by its carrier), a body with very many children needs no splitting
into welded pieces: the sum tree gives it logarithmic depth, with no extra bodies and no stiff joints.

Bodies of a path that are welded to one another are joined first: such a stretch is rigid, and its inertias add (SOLID).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.drafting import Draft, draft_nodes
from linkwork.assembly.node_table import NODE_COLUMNS
from linkwork.assembly.numbering import Numbering, node_depths, number_nodes
from linkwork.core.arrays import IntArray
from linkwork.core.bundles import describe
from linkwork.model.layout import FIXED, KIND
from linkwork.model.model import Model


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
