"""What is assembled ahead of the next update of the region, and how much of it still holds then."""

from __future__ import annotations

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.dynamics.region.choice import ALL_BUT_DIRTY, ALL_READY, MATRICES_READY, NOT_READY


class Ahead:
    """READY of the next update (`choice`)."""

    def __init__(self, tree: AdaptiveTree):
        self._tree = tree
        self._ready = NOT_READY
        self._opened = 0  # how many nodes were open then
        self._are_placed = False  # whether these had their poses in the world then, which loads held there need

    def note(self, is_ready: bool) -> None:
        """Everything was assembled, or that failed."""
        counts = self._tree.run.counts
        self._ready = ALL_READY if is_ready else NOT_READY
        self._opened = counts.item(ws.OPEN_COUNT)
        self._are_placed = counts.item(ws.LOAD_COUNT) > 0

    def forget(self) -> None:
        """The linkage moved, or joints move otherwise."""
        self._ready = NOT_READY

    def note_other_biases(self) -> None:
        """Efforts or loads changed: matrices still hold."""
        if self._ready == ALL_READY:
            self._ready = ALL_BUT_DIRTY

    def still_ready(self) -> int:
        """READY of an update that would be made now."""
        if self._ready != ALL_BUT_DIRTY:
            return self._ready
        counts = self._tree.run.counts
        is_placed = self._are_placed or counts.item(ws.LOAD_COUNT) == 0
        return self._ready if is_placed and counts.item(ws.OPEN_COUNT) == self._opened else MATRICES_READY
