"""What a quasi-static simulation must remember of its assembly tree to go on in the same bits: which nodes are open.

Coefficients and factors are functions of the coordinates, the loads and these, and are formed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.measures import ABSOLUTE_JOINT, NO_LIMIT
from linkwork.adaptive.quasi_statics.limits import AT_UPPER, FREE
from linkwork.adaptive.quasi_statics.solve import advance
from linkwork.adaptive.quasi_statics.update import prepare_all
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.dca.nodes import H_C
from linkwork.dynamics.inputs import explain_failure
from linkwork.model.layout import ARMATURE
from linkwork.model.model import Model
from linkwork.simulation.parts.part import Entry, Saved, copies, entry_of, write

# Arrays that a checkpoint holds, under the same names but for one.
OF_RUN = (
    "q", "saved_q", "qdd", "counts", "metric_sums", "wrench", "loop_wrench", "held", "held_qdd", "limit_effort"
)  # fmt: skip
STORED_AS = {"held": "at_limits"}  # the tree has nodes that are held


class OpenNodes:
    """The open nodes of an assembly tree, and what solves on them left behind: a part of a quasi-static simulation.

    floor, measured_floor: what is known of rounding. check(bad): raises the error of a body that failed.
    """

    fault = "the checkpoint is damaged: its open nodes do not fit the model, or its counts do not fit them."

    def __init__(
        self,
        model: Model,
        tree: AdaptiveTree,
        floor: FloatArray,
        measured_floor: FloatArray,
        check: Callable[[int], None],
    ):
        self._model, self._tree, self._check = model, tree, check
        self._floors = {"floor": floor, "measured_floor": measured_floor}

    def _saved_arrays(self) -> dict[str, NDArray[Any]]:
        return {**{STORED_AS.get(name, name): getattr(self._tree.run, name) for name in OF_RUN}, **self._floors}

    def schema(self) -> tuple[Entry, ...]:
        arrays = (entry_of(name, array) for name, array in self._saved_arrays().items())
        counted = (entry._replace(least=0.0) if entry.name == "counts" else entry for entry in arrays)
        return (*counted, *self._tree.schema_of_nodes())

    def saved(self) -> dict[str, NDArray[Any]]:
        return {**copies(self._saved_arrays()), **self.opened()}

    def opened(self) -> dict[str, NDArray[Any]]:
        """The open nodes, ascending, but for those opened since the last step."""
        run = self._tree.run
        return self._tree.saved_nodes(run.opened[: run.counts[ws.OPEN_COUNT]].copy())

    def fits(self, saved: Saved) -> bool:
        opened, counts, nodes = saved["opened"], saved["counts"], self._tree.plan.nodes.shape[0]
        return (
            np.unique(opened).size == opened.size == counts[ws.OPEN_COUNT]
            and counts[ws.SORTED_COUNT] <= opened.size
            and bool((np.diff(opened[: counts[ws.SORTED_COUNT]]) > 0).all())
            and bool((counts[[ws.HEAP_COUNT, ws.JOINT_COUNT]] <= nodes).all())
            and counts[ws.LOAD_COUNT] == saved["load_table"].shape[0]
            and bool(0.0 < saved["metric_sums"][ws.UNIT] < np.inf)
            and counts[ws.HELD_COUNT] == np.count_nonzero(saved["at_limits"])
            and bool((saved["at_limits"] <= AT_UPPER).all())
        )

    def restore(self, saved: Saved) -> None:
        write(self._saved_arrays(), saved)
        self._hold_again()
        self.open_again(saved)
        self._check(self.form_coefficients(saved["opened"]))
        write(self._saved_arrays(), saved)  # what was formed on the way is not what was saved
        self.open_again(saved)

    def _hold_again(self) -> None:
        """What `held` says; biases of held joints are formed with coefficients."""
        armature = self._tree.mechanism.armature
        self._tree.mechanism.dof[: armature.size, ARMATURE] = np.where(self._tree.run.held == FREE, armature, ws.HELD)
        self._tree.coefficients.joint_data[:, H_C : H_C + 6] = 0.0

    def open_again(self, saved: Saved) -> None:
        run, opened = self._tree.run, saved["opened"]
        self._tree.holds_again(saved)
        run.opened[: opened.size] = opened
        run.flag[...] = 0
        # Factors of clean nodes are those of the constructor here; so they are formed when such a node closes.
        clean = saved["flag"] & ws.DIRTY == 0
        run.flag[opened] = saved["flag"] | np.where(clean, ws.STALE, 0).astype(np.uint8)

    def form_coefficients(self, opened: IntArray) -> int:
        """Coefficients of all nodes and factors of closed ones, by the very code a step uses; a body that failed, or -1.

        Another kernel would do the same operations, but a compiler may fuse products and sums differently in each of them,
        and a last bit would distinguish what was formed first from what was formed later. So everything is opened, and
        closed again in a solve, but for `opened`. What that leaves in the state is for the caller to put right.
        """
        tree, run = self._tree, self._tree.run
        count = tree.plan.nodes.shape[0]
        prepare_all(tree.table)
        run.flag[...] = ws.OPEN | ws.DIRTY | ws.CLOSING
        run.flag[opened] = ws.OPEN | ws.DIRTY
        run.opened[...] = np.arange(count)
        run.step_part[0] = -1.0
        run.counts[ws.OPEN_COUNT] = run.counts[ws.SORTED_COUNT] = count
        bad, *_ = advance(tree.table, 1, 0.0, ABSOLUTE_JOINT, math.inf, NO_LIMIT, NO_LIMIT, False)
        return int(bad)

    def assemble_everything(self) -> None:
        """Coefficients and factors of all nodes; nothing is open, nothing was solved."""
        run = self._tree.run
        bad = self.form_coefficients(np.zeros(0, dtype=np.int64))
        if bad >= 0:
            raise explain_failure(self._model, "dca", bad, {"state.q": run.q}, np.zeros((0, 6)))
        for array in (run.flag, run.counts, run.metric_sums, run.qdd):
            array[...] = 0
        run.metric_sums[ws.UNIT] = 1.0

    def hold_root_open(self) -> None:
        """The root is open in every solve."""
        run, root = self._tree.run, self._tree.plan.nodes.shape[0] - 1
        if root < 0:  # no bodies
            return
        run.flag[root] |= ws.OPEN | ws.DIRTY
        run.required_open[root] += 1
        run.opened[0] = root
        run.counts[[ws.OPEN_COUNT, ws.CHANGED]] = 1

    def reset(self) -> None:
        """Nothing is held open, and nothing is known of rounding; the tree is to be assembled anew."""
        run = self._tree.run
        run.required_open[...] = 0
        run.loop_wrench[...] = 0.0
        for array in (run.held, run.held_qdd, run.limit_effort):
            array[...] = 0
        self._hold_again()
        self._floors["floor"][:] = 0.0
