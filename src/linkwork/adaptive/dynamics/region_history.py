"""What an adaptive simulation needs to go on from where it was, and to begin anew: checkpoints of a region."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics import region
from linkwork.adaptive.dynamics.region_simulation import RegionSimulation
from linkwork.adaptive.dynamics.turns import HAS_TURN
from linkwork.adaptive.workspace import (
    ACTIVE_COUNT,
    CURSOR,
    HEAP_COUNT,
    JOINT_COUNT,
    LOAD_COUNT,
    OPEN_COUNT,
    SORTED_COUNT,
    TOUCHED,
    TURN,
)
from linkwork.assembly.node_table import UP
from linkwork.errors import StateError
from linkwork.simulation import moving as mv
from linkwork.simulation.constraints import allocate_constraints


class RegionHistory(RegionSimulation):
    """A region that can be saved, brought back and left: all of it that depends on history."""

    def _kept(self) -> dict[str, NDArray[Any]]:
        run = self._run
        names = ("q", "v", "qdd", "metric_sums", "counts", "waits", "turns")
        return {
            **{name: getattr(run, name) for name in names},
            "wrench": run.wrench,
            "floor": self._floor,
            **({} if self._pieces is None else {"metric_wrenches": self._pieces.metric_wrenches}),
            **self._outside_kept(),
            "loop_forces": self._constraints.acting,
            **({"force_bodies": run.loop_body, "forces": run.loop_wrench} if self.contact is not None else {}),
            "loop_coordinates": self._constraints.z,
            "kept_momentum": self._moving.kept,
            "energy_debt": self._moving.numbers[mv.STEP_PAST],
            "substep": self._moving.numbers[mv.SUBSTEP_WISH : mv.SUBSTEP_WISH + 1],
            **mv.past_of(self._moving),
        }

    def checkpoint(self) -> dict[str, object]:
        """All that depends on history, loads, efforts, motors, contacts and pins included."""
        self._renew(whole=True)
        self._collect()
        run = self._run
        opened = np.sort(run.opened[: run.counts[OPEN_COUNT]])
        held, wanted = np.flatnonzero(run.held_open), sorted(self._pins.items())
        return {
            **super().checkpoint(),
            "opened": opened,
            "flag": run.flag[opened],
            "held": held,
            "held_open": run.held_open[held],
            "pins": np.array(wanted, dtype=np.int64).reshape(-1, 2),
            **(self._touching.saved() if self._touching is not None else {}),
        }

    def _refuse_other(self, saved: dict[str, Any]) -> None:
        super()._refuse_other(saved)
        nodes, bodies = self._plan.nodes.shape[0], self.model.n_bodies
        opened, held, pins = (np.asarray(saved[name]) for name in ("opened", "held", "pins"))
        counts = np.asarray(saved["counts"])
        sound = (
            opened.ndim == held.ndim == 1
            and pins.ndim == 2
            and pins.shape[1] == 2
            and np.asarray(saved["flag"]).shape == opened.shape
            and np.asarray(saved["held_open"]).shape == held.shape
            and all(x.dtype.kind == "i" for x in (opened, held, pins))
            and all(bool(((x >= 0) & (x < nodes)).all()) for x in (opened, held))
            and bool((np.diff(opened) > 0).all())
            and opened.size == counts[OPEN_COUNT]
            and bool((counts >= 0).all())
            and bool((np.asarray(saved["metric_sums"]) >= 0.0).all())
            and bool((counts[[SORTED_COUNT, HEAP_COUNT, JOINT_COUNT, ACTIVE_COUNT]] <= nodes).all())
            and counts[CURSOR] < max(1, bodies)
            and counts[LOAD_COUNT] == np.shape(saved["load_table"])[0]
            and all(np.asarray(saved[name]).dtype.kind in "iu" for name in ("flag", "held_open"))
            and bool(((np.asarray(saved["flag"]) >= 0) & (np.asarray(saved["flag"]) < 256)).all())
            and bool(((pins[:, 0] >= 0) & (pins[:, 0] < bodies) & (np.abs(pins[:, 1]) == 1)).all())
        )
        if not sound:
            raise StateError(
                "the checkpoint is damaged: its nodes, pins and counts do not fit the model or each other."
            )
        if self._touching is not None:
            self._touching.refuse_other(saved)

    def _restored(self, saved: dict[str, Any]) -> None:
        run = self._run
        kept = {name: array.copy() for name, array in self._kept().items()}
        for joint in list(self._pins):
            self._freeze(joint, False)
        self._pins = {}
        run.wanted[...] = 0
        for i in self._always_active():
            region.want_path(self._table, self._plan.joint[i], 1)
        for joint, pin in saved["pins"].tolist():
            self._pins[joint] = pin
            if pin > 0:
                region.want_path(self._table, self._plan.joint[joint], 1)
            else:
                self._freeze(joint, True)
        run.q[...], run.v[...] = kept["q"], kept["v"]
        self._prepare()
        run.waits[...] = kept["waits"]
        self._count_turns(kept["turns"])
        run.held_open[...] = 0
        run.held_open[saved["held"]] = saved["held_open"]
        run.counts[...] = kept["counts"]
        self._moving.counts[mv.MOTORS] = len(self._driven)
        if self.contact is not None:
            self._pieces_in_contact.open_all(self._table, self._moving_table)
        self._perform(region.REOPEN, opened=saved["opened"].copy(), flags=saved["flag"].copy())
        for name, array in self._kept().items():
            array[...] = kept[name]
        self._run.counts[TOUCHED] = 0
        self._outside_restored()
        self._energy_watch.forget()
        if self._touching is not None:
            self._touching.restore(saved)
            self._describe_moving()
        if self.contact is not None:
            self._pieces_in_contact.show_all_forces(self._table, run.loop_body.shape[0])

    def _count_turns(self, turns: NDArray[np.float64]) -> None:
        """How many joints below each node have a turn."""
        called, nodes = self._run.called, self._plan.nodes
        called[...] = 0
        for i in np.flatnonzero(turns[:, TURN] == HAS_TURN).tolist():
            node = self._plan.joint[i]
            while node >= 0:
                called[node] += 1
                node = nodes[node, UP]

    def _leave_everything(self) -> dict[int, int]:
        """Forgets all that depends on history, so that a region can begin anew; returns the pins that there were."""
        run, pins = self._run, self._pins
        for joint, pin in pins.items():
            if pin < 0:
                self._freeze(joint, False)
        self._pins = {}
        run.loop_body[2 * len(self.model.loops) :] = -1
        for array in (run.qdd, run.counts, run.metric_sums, run.metric_qdd, run.wanted, run.held_open, run.loop_wrench):
            array[...] = 0
        for table in (run.waits, run.turns, run.called):
            table[...] = 0
        if self._pieces is not None:
            self._pieces.metric_wrenches[...] = 0.0
            run.wrench[...] = self._loads.wrench
        fresh = allocate_constraints(self.model, self.model.n_bodies, self.model.nv, answers=False)
        self._constraints.z[...], self._constraints.acting[...] = fresh.z, 0.0
        self._moving.numbers[mv.SUBSTEP_WISH] = math.inf
        mv.forget_past(self._moving)
        if self._touching is not None:
            self._touching.forget()
            if self.contact is not None:
                self._pieces_in_contact.open_all(self._table, self._moving_table)
        return pins

    def _forget_outside(self) -> None:
        self._set_outside(self._field, self.thermostat)
        self._prepare_outside()

    def _clear_everything(self) -> None:
        for joint in list(self._pins):
            self.unpin(self.model.joint_names[joint])
        super()._clear_everything()
