"""Joints that users keep active or inactive, whatever the metrics say of them."""

from __future__ import annotations

import numpy as np

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.dynamics.region import region
from linkwork.adaptive.nodes import mark_joints
from linkwork.core.arrays import IntArray
from linkwork.errors import StateError
from linkwork.model.layout import DOF, FIXED, KIND
from linkwork.model.model import Model


class Pins(dict[int, int]):
    """1: active, -1: inactive, by the bodies that joints carry; in the order in which they were pinned."""

    def __init__(self, model: Model, tree: AdaptiveTree):
        super().__init__()
        self._model, self._tree = model, tree

    def free_joint(self, name: str) -> int:
        """The body of a joint that is not pinned."""
        i = self._model.joint(name)
        if i in self:
            raise StateError(f"joint '{name}' is pinned already; unpin it first.")
        return i

    def pinned_joint(self, name: str) -> int:
        """The body of a joint that is pinned."""
        i = self._model.joint(name)
        if i not in self:
            raise StateError(f"joint '{name}' is not pinned.")
        return i

    def add(self, i: int, active: bool) -> None:
        """An active one is wanted from now on; an inactive one is still to be stopped."""
        self[i] = 1 if active else -1
        if active:
            self._want(i, 1)

    def remove(self, i: int) -> int:
        """What it was."""
        pin = self.pop(i)
        if pin > 0:
            self._want(i, -1)
        else:
            self._freeze(i, False)
        return pin

    def rebuild(self, i: int) -> None:
        """The joint moves otherwise than before: the matrices of all nodes that it is part of are others."""
        mark_joints(self._tree.table, np.array([i], dtype=np.int64), ws.STALE | ws.RENEW | ws.REBUILD)

    def release(self) -> None:
        """No joint is pinned, and none is wanted."""
        for i, pin in self.items():
            if pin < 0:
                self._freeze(i, False)
        self.clear()
        self._tree.run.wanted[...] = 0

    def restore(self, saved: IntArray) -> None:
        """Pins of a checkpoint, where none is; those that are inactive stand still there."""
        for i, pin in saved.tolist():
            self.add(i, pin > 0)
            if pin < 0:
                self._freeze(i, True)

    def as_rows(self) -> IntArray:
        """Bodies and what they are, shape (pins, 2)."""
        return np.array(list(self.items()), dtype=np.int64).reshape(-1, 2)

    def _want(self, i: int, change: int) -> None:
        region.want_path(self._tree.table, self._tree.plan.joint[i], change)

    def _freeze(self, i: int, frozen: bool) -> None:
        """Marks a joint as held inactive, or not."""
        self._tree.run.frozen[i] = frozen
        model_tree, tree = self._tree.mechanism.model_tree[i], self._tree.mechanism.tree
        tree[i, KIND], tree[i, DOF] = (FIXED, 0) if frozen else (model_tree[KIND], model_tree[DOF])
