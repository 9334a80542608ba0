"""The field of a quasi-static simulation: one more load on every body, found anew wherever coordinates are others.

A field changes all loads at once, so that every coefficient of the tree must be formed again: O(n), and one evaluation of
the field per solve. Which joints are computed, and with what bound, is decided as under any other loads.
"""

from __future__ import annotations

import numpy as np

from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.workspace import CLOSING, DIRTY, OPEN, OPEN_COUNT, SORTED_COUNT
from linkwork.core.arrays import IntArray
from linkwork.dynamics.dca.nodes import H_F
from linkwork.dynamics.kinematics import world_poses
from linkwork.model.model import Model
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.loading.loads import LoadTable
from linkwork.simulation.parts.python_forces import PythonForces


class FieldLoads(PythonForces):
    """A field on the assembly tree; without one it does nothing."""

    def __init__(self, model: Model, field: Field | None):
        super().__init__(model, field, None)
        self._wrenches = np.zeros((0 if field is None else model.n_bodies, 6))  # where it was evaluated last
        self._found_at, self._acts = b"", False  # coordinates of that; whether the tree has these wrenches

    def act_on(self, tree: AdaptiveTree, loads: LoadTable) -> None:
        """Wrenches on bodies become those of loads and of the field."""
        self._tree, self._loads = tree, loads
        if self.field is not None:
            tree.replace(wrench=loads.wrench.copy())

    def refresh(self) -> None:
        if self.field is None:
            return
        q = self._tree.run.q
        here = q.tobytes()
        if here == self._found_at:
            return
        self.forget()  # what fails below is not there
        tree, body, screws, *_ = self.model.arrays
        self.energy = float(self.field.wrenches(np.asarray(world_poses(tree, body, screws, q)), self._wrenches))
        self._found_at = here

    def load_all(self) -> bool:
        """Before a solve: whether the field loads bodies in another way than in the last one.

        Closed nodes are opened for that; the solve closes them again once their coefficients are up to date.
        """
        if self.field is None:
            return False
        self.refresh()
        if self._acts:
            return False
        run = self._tree.run
        np.add(self._loads.wrench, self._wrenches, out=run.wrench)
        self._tree.coefficients.joint_data[:, H_F : H_F + 6] = run.wrench
        is_closed = run.flag & OPEN == 0
        run.flag[:] |= DIRTY
        run.flag[is_closed] |= OPEN | CLOSING
        run.opened[:] = np.arange(run.opened.size)
        run.counts[[OPEN_COUNT, SORTED_COUNT]] = run.opened.size
        self._acts = True
        return True

    def load_bodies(self, bodies: IntArray) -> None:
        """Loads fixed in these bodies are others; the field adds to them."""
        if self.field is not None:
            self._tree.run.wrench[bodies] = self._loads.wrench[bodies] + self._wrenches[bodies]

    def forget(self) -> None:
        """Coordinates are others, or the tree was formed anew."""
        self._found_at, self._acts = b"", False

    def reset(self) -> None:
        super().reset()
        self.forget()
