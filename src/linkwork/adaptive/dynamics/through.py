"""Steps with contact that go on through updates of the region: all of a call at once, where no update needs Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from linkwork.adaptive.dynamics.region.choice import ASKED, HORIZON, PASSES, PATIENCE, SETTINGS
from linkwork.adaptive.dynamics.region.floor import form_floor, is_wanted
from linkwork.adaptive.measures import MEASURES
from linkwork.adaptive.workspace import UNTIL_ASKED
from linkwork.core.checks import not_negative, positive, whole

if TYPE_CHECKING:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
    from linkwork.simulation.touching.front import ContactState

PARTS_OF_PATIENCE = 3  # of `update_every`: contacts ask for an update no sooner than a third of it after the last one


def patience_of(every: int) -> int:
    """Steps that a contact may rest without being a broken one, and that follow an update before another one."""
    return -(-every // PARTS_OF_PATIENCE)


class StepsThrough:
    """Has steps of a simulation make the updates between them. contact: its part of that name, if it has one."""

    def __init__(self, sim: AdaptiveDynamics, contact: ContactState | None):
        self._sim, self._contact = sim, contact
        self._settings = np.zeros(SETTINGS)  # by which updates choose; what depends on the moment the kernel adds
        self._chosen: tuple[float | None, ...] = ()  # the same, to know a change
        self._is_asked = False
        self._is_tree = not sim.model.is_constrained

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Calls of steps that a report follows, so that their last update measures its bound."""
        self._is_asked = True
        try:
            yield
        finally:
            self._is_asked = False

    @property
    def leaves_bound(self) -> bool:
        """Whether an update while something is touched leaves its bound to whoever asks for it later (`floor.bound_now`).

        `aba`, which tells it then, knows of nothing that holds joints. Without touch the bound has a part in the choice of
        joints that get a turn.
        """
        sim = self._sim
        is_free = self._is_tree and not sim._region.pins
        return sim.contact is not None and sim.max_active_joints is not None and is_free and not self._is_asked

    def get_ready(self) -> None:
        """Loads the kernels before they are needed: no step waits for them."""
        if self._sim.contact is not None and self._sim.max_active_joints is not None:
            self._sim._region.load_updates()

    def is_possible(self) -> bool:
        """Whether updates need nothing from Python: with contact, for a number of joints that is not all of them, and with
        a floor of rounding that is known."""
        sim = self._sim
        contact, most = self._contact, sim.max_active_joints
        if contact is None or sim.contact is None or most is None or sim.water is not None:
            return False
        if not contact.touch.calls[-1] or sim._region.are_waiting:  # the first step finds the kernels that steps call
            return False
        return whole(most, 0, "max_active_joints") < sim._counted and not is_wanted(sim)

    def begin(self, h: float, every: int) -> None:
        """Before steps of h [s], of a call that `end` is to follow."""
        sim = self._sim
        horizon = every * h if sim.horizon is None else positive(sim.horizon, "horizon")
        tolerance = 0.0 if sim.tolerance is None else not_negative(sim.tolerance, "tolerance")
        chosen = (MEASURES[sim.measure], tolerance, sim.max_active_joints, horizon)
        if chosen != self._chosen:
            self._settings[: HORIZON + 1] = self._chosen = chosen
        self._settings[PATIENCE] = patience_of(every)
        self._settings[ASKED] = not self.leaves_bound
        sim._tree.run.counts[UNTIL_ASKED] = 0
        sim._region.begin_turns(self._settings, every, sim._since_update, sim.steps_done - sim._updated_at)

    def end(self, status: int) -> None:
        """After the steps were counted: what updates among them leave."""
        sim = self._sim
        since, made, updates, failed = sim._region.end_turns()
        sim._since_update, sim._updated_at = since, sim.steps_done - made
        if updates:
            sim._is_proven = not self._settings[PASSES]
            if sim._is_proven:
                form_floor(sim, nothing_hidden=False)
        if failed:
            sim._moving.has_noted = False
            sim._fail(status, status)
