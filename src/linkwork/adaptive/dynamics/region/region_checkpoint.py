"""What an active region must remember to go on in the same bits: its open nodes, pins, turns, and forces on the metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.region import region
from linkwork.adaptive.dynamics.region.active_region import ActiveRegion
from linkwork.adaptive.dynamics.region.turns import HAS_TURN
from linkwork.assembly.node_table import UP
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.loops.system import constrained_bodies
from linkwork.simulation.parts.part import Entry, Saved, copies, entry_of, write

OF_RUN = ("q", "v", "qdd", "metric_sums", "counts", "waits", "turns", "wrench")  # arrays that a checkpoint keeps


class RegionCheckpoint:
    """The part of an adaptive simulation that saves, checks, restores and resets its region."""

    fault = "the checkpoint is damaged: its nodes, pins and counts do not fit the model or each other."

    def __init__(self, active: ActiveRegion):
        self._active, self._model, self._tree = active, active.model, active.tree

    def _saved_arrays(self) -> dict[str, NDArray[Any]]:
        run = self._tree.run
        forces = {"force_bodies": run.loop_body, "forces": run.loop_wrench} if self._active.has_contact else {}
        return {**{name: getattr(run, name) for name in OF_RUN}, "floor": self._active.floor, **forces}

    def schema(self) -> tuple[Entry, ...]:
        ranges = dict.fromkeys(("counts", "metric_sums", "floor"), (0, np.inf))
        ranges["force_bodies"] = (-1, self._model.n_bodies - 1)
        arrays = (entry_of(name, array) for name, array in self._saved_arrays().items())
        return (
            *(Entry(*x[:3], *ranges.get(x.name, ())) for x in arrays),
            *self._tree.schema_of_nodes(),
            Entry("pins", ("pins", 2), "i"),
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        """All that depends on history; the linkage that moves was renewed and collected before."""
        run = self._tree.run
        return {
            **copies(self._saved_arrays()),
            **self._tree.saved_nodes(np.sort(run.opened[: run.counts[ws.OPEN_COUNT]])),
            "pins": self._active.pins.as_rows(),  # in the order of their impulses
        }

    def fits(self, saved: Saved) -> bool:
        nodes, bodies = self._tree.plan.nodes.shape[0], self._model.n_bodies
        opened, counts, pins = saved["opened"], saved["counts"], saved["pins"]
        most = [ws.SORTED_COUNT, ws.HEAP_COUNT, ws.JOINT_COUNT, ws.ACTIVE_COUNT]
        return (
            bool((np.diff(opened) > 0).all())
            and opened.size == counts[ws.OPEN_COUNT]
            and bool((counts[most] <= nodes).all())
            and counts[ws.CURSOR] < max(1, bodies)
            and counts[ws.LOAD_COUNT] == saved["load_table"].shape[0]
            and bool(0.0 < saved["metric_sums"][ws.UNIT] < np.inf)
            and bool(((pins[:, 0] >= 0) & (pins[:, 0] < bodies) & (np.abs(pins[:, 1]) == 1)).all())
        )

    def restore(self, saved: Saved) -> None:
        """After loads, joints, the linkage that moves and forces from Python; before contact."""
        active, run = self._active, self._tree.run
        active.forget_update()
        write(self._saved_arrays(), saved)
        active.pins.release()
        active.want_what_moves_others()
        active.pins.restore(saved["pins"])
        active.prepare()
        run.waits[...] = saved["waits"]
        self._count_turns(saved["turns"])
        self._tree.holds_again(saved)
        run.counts[...] = saved["counts"]
        active.count_motors()
        active.open_volumes()
        self._reopen(saved["opened"], saved["flag"])
        write(self._saved_arrays(), saved)  # what was formed on the way is not what was saved
        active.moving.restore(saved)
        active.forces.restore(saved)
        run.counts[ws.CHANGED] = 0
        active.are_waiting = True  # or not: the next step finds out

    def _reopen(self, opened: IntArray, flags: NDArray[np.uint8]) -> None:
        """Opens nodes (ascending) with their flags, on coefficients that were just prepared."""
        run = self._tree.run
        run.flag[:], run.relative[...] = 0, 0.0
        active = opened[flags & ws.ACTIVE != 0]
        run.flag[opened], run.opened[: opened.size], run.active[: active.size] = flags, opened, active
        run.counts[[ws.OPEN_COUNT, ws.SORTED_COUNT, ws.ACTIVE_COUNT]] = opened.size, opened.size, active.size
        self._active.perform(region.REOPEN)

    def _count_turns(self, turns: FloatArray) -> None:
        """How many joints below each node have a turn."""
        called, plan = self._tree.run.called, self._tree.plan
        called[...] = 0
        for i in np.flatnonzero(turns[:, ws.TURN] == HAS_TURN).tolist():
            node = plan.joint[i]
            while node >= 0:
                called[node] += 1
                node = plan.nodes[node, UP]

    def reset(self) -> None:
        """All that depends on history is forgotten, pins too, so that a region can begin anew."""
        active, run = self._active, self._tree.run
        active.pins.release()
        active.forget_update()
        active.floor[:] = 0.0
        run.loop_body[constrained_bodies(self._model).size :] = -1
        for array in (run.qdd, run.counts, run.metric_sums, run.metric_qdd, run.required_open, run.loop_wrench):
            array[...] = 0
        for table in (run.waits, run.turns, run.called):
            table[...] = 0
        active.forces.leave_metric()
        active.open_volumes()
