"""Forces that Python finds between two pieces of the compiled step, on the rigid pieces of the linkage that moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.piece_field import PieceField
from linkwork.adaptive.dynamics.reduced import COORDINATES, PIECES, VELOCITIES, Reduced
from linkwork.adaptive.nodes import touch_bodies
from linkwork.adaptive.tree_simulation import TreeSimulation
from linkwork.core.bundles import describe
from linkwork.simulation.fields import OutsideForces
from linkwork.simulation.momentum import read_momentum
from linkwork.simulation.moving import Moving


class PieceForces(OutsideForces, TreeSimulation):
    """A field and a thermostat on the linkage that moves; the field also loads the metric."""

    _moving: Moving
    _reduced: Reduced
    _moving_table: NDArray[np.int64]
    _bases: NDArray[np.int64]

    def _prepare_outside(self) -> None:
        """Arrays of their own for what a field or Fixman's potential adds to."""
        self._pieces = None if self._field is None else PieceField(self._field, self.model)
        if self._pieces is not None:
            self._run = self._run._replace(wrench=self._loads.wrench.copy())
            self._table = describe(self._plan, self._mechanism, self._coefficients, self._run, *self._more)
            self._all_bodies = np.arange(self.model.n_bodies)
        self._given_effort = np.zeros(0)  # efforts on the linkage that moves, without Fixman's
        self._refreshed_q = np.zeros(0)
        self._is_refreshed = False

    def _load_metric(self) -> None:
        """The field's wrenches at the present coordinates become loads on all bodies, for the metric."""
        assert self._pieces is not None
        self._pieces.find_metric_wrenches(self._moving_table)
        np.add(self._loads.wrench, self._pieces.metric_wrenches, out=self._run.wrench)
        touch_bodies(self._table, self._all_bodies, 0, self._marks)

    def _load_present(self) -> None:
        """The same for whoever asks for coefficients between two updates."""
        if self._pieces is None:
            return
        self._refresh()
        self._pieces.find_present_wrenches(self._moving_table)
        np.add(self._loads.wrench, self._pieces.metric_wrenches, out=self._run.wrench)
        touch_bodies(self._table, self._all_bodies, 0, self._marks)

    def _follow_pieces(self) -> None:
        """The linkage that moves was gathered anew."""
        if not self._has_outside_forces:
            return
        counts = self._reduced.counts
        self._refreshed_q, self._is_refreshed = np.zeros(int(counts[COORDINATES])), False
        self._given_effort = self._moving.effort[: counts[VELOCITIES]].copy()
        if self._pieces is not None:
            self._pieces.follow(self._table, self._moving_table, self._moving, int(counts[PIECES]), self._loads.wrench)

    def _refresh(self) -> None:
        """Brings wrenches of the field and efforts of Fixman's potential to the present coordinates."""
        if not self._has_outside_forces:
            return
        moving, counts = self._moving, self._reduced.counts
        q = moving.q[: counts[COORDINATES]]
        if self._is_refreshed and np.array_equal(q, self._refreshed_q):
            return
        self._is_refreshed = False
        if self._pieces is not None:
            self._pieces.evaluate(self._moving_table, self._moving, self._loads.wrench)
            self._field_energy = self._pieces.energy
        if self._thermostat is not None and self._thermostat.has_forces:
            velocities = int(counts[VELOCITIES])
            more = self._thermostat.efforts(moving, int(counts[PIECES]), velocities)
            np.add(self._given_effort, more, out=moving.effort[:velocities])
        self._refreshed_q[:] = q
        self._is_refreshed = True

    def _after_step(self, h: float) -> None:
        if self._thermostat is None:
            return
        counts = self._reduced.counts
        self._thermostat.relax(self._moving_table, int(counts[PIECES]), int(counts[VELOCITIES]), h)
        if self._bases.size:
            read_momentum(self._moving_table)
