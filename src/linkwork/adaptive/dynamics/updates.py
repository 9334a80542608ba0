"""Updates of the active region: when it is chosen anew, and by what; what of an update is left to the calls around it.

With contact, updates that need nothing from Python are made between steps, all of a call at once (`updating`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.adaptive.dynamics.region import region
from linkwork.adaptive.dynamics.region.choice import ASKED, HORIZON, PASSES, SETTINGS, TIMEOUT
from linkwork.adaptive.dynamics.region.everything import EVALUATIONS, count_needed, is_dear, keeps_all_joints
from linkwork.adaptive.dynamics.region.floor import (
    UNPROVEN,
    Asked,
    Bound,
    asked_of,
    bound_of_update,
    form_floor,
    is_wanted,
)
from linkwork.adaptive.dynamics.report import AdaptiveReport, give_bound
from linkwork.adaptive.measures import MEASURES, NO_LIMIT
from linkwork.adaptive.workspace import ACTIVE_COUNT, JOINT_COUNT, UNTIL_ASKED
from linkwork.core.checks import integer, not_negative, positive
from linkwork.simulation.moving import OK

if TYPE_CHECKING:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
    from linkwork.simulation.contact_step.contact_state import ContactState

TIMEOUTS_PER_UPDATE = 3  # of `update_every`: contacts ask for an update no sooner than a third of it after the last one


def timeout_of(every: int) -> int:
    """Steps that a contact may rest without being a broken one, and that follow an update before another one."""
    return -(-every // TIMEOUTS_PER_UPDATE)


class Updates:
    """Chooses the region of a simulation anew. contact: its part of that name, if it has one."""

    def __init__(self, sim: AdaptiveDynamics, contact: ContactState | None):
        self._sim, self._contact = sim, contact
        self.are_asked = (
            False  # whether a report follows the call of steps, so that their last update measures its bound
        )
        self._is_tree = not sim.model.is_constrained
        self._choice = np.zeros(SETTINGS)  # by which updates choose
        self._chosen: tuple[float, ...] = ()  # the same, to find a change
        self._in_steps = np.zeros(SETTINGS)  # of those between steps; what depends on the moment the kernel adds
        self._chosen_in_steps: tuple[float | None, ...] = ()
        self._known: tuple[Asked, Bound] | None = None  # the bound of the last update, and what it was judged by
        self._awaiting: tuple[AdaptiveReport, Asked] | None = None  # the last report, where its bound is to be measured

    # ---------------------------------------------------------------------------------------------------------- one of them

    def make(self, horizon: float, passes: bool = False, is_asked: bool = False) -> None:
        """Chooses the active region. passes: another update is sure to follow before anyone can ask for the bound."""
        sim, contact = self._sim, self._contact
        sim._region.complete_update()
        most = NO_LIMIT if sim.max_active_joints is None else integer(sim.max_active_joints, 0, "max_active_joints")
        tolerance = 0.0 if sim.tolerance is None else not_negative(sim.tolerance, "tolerance")
        counts, every = sim._tree.run.counts, integer(sim.update_every, 1, "update_every")
        evaluations = every * EVALUATIONS.get(sim.integrator, 1.0)
        wants_all = tolerance == 0.0 and most >= sim._counted
        may_be_all = not wants_all and most >= sim._counted
        if not may_be_all:
            counts[UNTIL_ASKED] = 0
        elif counts.item(UNTIL_ASKED):
            wants_all = keeps_all_joints(counts, every, evaluations, lambda: self.count_needed(tolerance, horizon))
        is_in_contact = contact is not None and contact.is_in_contact
        passes = passes or (is_in_contact and not is_asked and self._leaves_bound)
        if is_wanted(sim):  # as before the first step
            passes = False
            self._get_ready()
        timeout = timeout_of(every)
        stepped, sim._updated_at = sim.steps_done > sim._updated_at, sim.steps_done
        sim._since_update = 0
        if wants_all and counts[ACTIVE_COUNT] == sim._tree.plan.nodes.shape[0]:
            if contact is not None:
                contact.watch(timeout)
            return  # nothing is hidden, and nothing could change
        free = evaluations if may_be_all else 0.0
        chosen = (
            MEASURES[sim.measure], tolerance, most, horizon, wants_all, passes, timeout, stepped, is_in_contact, free,
        )  # fmt: skip
        if chosen != self._chosen:
            self._choice[: len(chosen)] = self._chosen = chosen  # the region itself adds the rest
        if not wants_all:
            sim._forces.load_metric()
        is_plain = not sim._forces.are_any and sim.contact is None  # with contact it brought nothing
        few_at_a_time = is_plain and not may_be_all and not wants_all and self._is_long
        sim._region.update(self._choice, few_at_a_time, not passes and self._leaves_rest)
        covers_all = wants_all or counts.item(UNTIL_ASKED) > 0
        sim._is_proven = covers_all or not passes
        if sim._is_proven and not sim._region.is_pending:
            self._known = asked_of(sim), form_floor(sim, covers_all)
        if not wants_all:
            sim._region.updates += 1

    def count_needed(self, tolerance: float, horizon: float) -> tuple[int, int]:
        """`everything.count_needed` at the present state."""
        tables = self._sim._tree.table, self._sim._moving.table
        needed, joints = count_needed(*tables, MEASURES[self._sim.measure], tolerance, horizon)
        return int(needed), int(joints)

    # ------------------------------------------------------------------------------------------------ the calls around them

    @property
    def _is_long(self) -> bool:
        return is_dear(self._sim._tree.run.counts.item(JOINT_COUNT), self._sim.model.n_bodies)

    @property
    def _leaves_rest(self) -> bool:
        """Whether the next update may leave the measuring of its bound to the call after it."""
        return self._is_long and not self._sim._forces.are_any and self._sim._region.floor_is_small

    def after_update(self, status: int) -> None:
        """The bound of an update was measured after it. status: OK, or else there is none."""
        sim = self._sim
        sim._is_proven = status == OK
        if sim._is_proven:
            self._known = asked_of(sim), form_floor(sim, nothing_hidden=False, may_measure=False)
        if self._awaiting is not None:
            report, asked = self._awaiting
            self._awaiting = None
            give_bound(report, *(self.bound(asked) if sim._is_proven else UNPROVEN))

    def bound(self, asked: Asked) -> Bound:
        """The bound of the last update, which was measured, judged by what is asked for."""
        if self._known is None or self._known[0] != asked:
            self._known = asked, bound_of_update(self._sim, asked)
        return self._known[1]

    def forget_bound(self) -> None:
        """After the simulation went back or began anew."""
        self._known = None

    def leave_bound(self, report: AdaptiveReport) -> AdaptiveReport:
        """That report gets its bound once it is measured."""
        self._awaiting = report, asked_of(self._sim)
        return report

    def assemble_ahead(self) -> None:
        """Before the call that begins with an update: what the update will need of the present state, where it is long."""
        sim = self._sim
        has_all_joints = sim._tree.run.counts.item(ACTIVE_COUNT) == sim._tree.plan.nodes.shape[0]
        if sim.water is None and not has_all_joints and self._is_long:  # forces of water are found only by the update
            sim._region.perform(region.ASSEMBLE)

    def idle(self, every: int) -> int:
        """How many updates after the present one are sure to change nothing, for all joints are active until then.

        Steps go on through these in one call: each part of one that is cut costs a part of an evaluation.
        """
        counts = self._sim._tree.run.counts
        if self._contact is not None or counts.item(ACTIVE_COUNT) < self._sim._tree.plan.nodes.shape[0]:
            return 0
        return max(0, (counts.item(UNTIL_ASKED) - 1) // every)

    def pass_over(self, passed: int, every: int) -> None:
        """Takes note of updates that steps went through."""
        sim = self._sim
        sim._tree.run.counts[UNTIL_ASKED] -= passed * every
        sim._since_update -= passed * every
        sim._updated_at = sim.steps_done - sim._since_update

    def ask_before_contact(self) -> None:
        """Before steps: where a tolerance alone says what may stay inactive, a contact that begins asks first."""
        sim = self._sim
        if self._contact is not None:
            hides = sim._tree.run.counts.item(ACTIVE_COUNT) < sim._tree.plan.nodes.shape[0]
            self._contact.ask_before_contact(hides and sim.contact is not None and sim.max_active_joints is None)

    # -------------------------------------------------------------------------------------------------------- between steps

    @property
    def _leaves_bound(self) -> bool:
        """Whether an update while something touches leaves its bound until it is asked for (`floor.bound_now`).

        `aba`, by which it is found then, cannot hold joints. Without contact the bound is used in the choice of
        joints that get a turn.
        """
        sim = self._sim
        is_free = self._is_tree and not sim._region.pins
        return sim.contact is not None and sim.max_active_joints is not None and is_free and not self.are_asked

    def _get_ready(self) -> None:
        """Loads the kernels before they are needed: no step waits for them."""
        if self._sim.contact is not None and self._sim.max_active_joints is not None:
            self._sim._region.load_updates()

    def may_be_in_steps(self) -> bool:
        """Whether updates need nothing from Python: with contact, for a number of joints that is not all of them, and with
        a floor of rounding that is known."""
        sim = self._sim
        contact, most = self._contact, sim.max_active_joints
        if contact is None or sim.contact is None or most is None or sim.water is not None:
            return False
        if not contact.arrays.calls[-1] or sim._region.are_waiting:  # the first step finds the kernels that steps call
            return False
        return integer(most, 0, "max_active_joints") < sim._counted and not is_wanted(sim)

    def begin_in_steps(self, h: float, every: int) -> None:
        """Before steps of h [s], of a call that `end_in_steps` is to follow."""
        sim = self._sim
        horizon = every * h if sim.horizon is None else positive(sim.horizon, "horizon")
        tolerance = 0.0 if sim.tolerance is None else not_negative(sim.tolerance, "tolerance")
        chosen = (MEASURES[sim.measure], tolerance, sim.max_active_joints, horizon)
        if chosen != self._chosen_in_steps:
            self._in_steps[: HORIZON + 1] = self._chosen_in_steps = chosen
        self._in_steps[TIMEOUT] = timeout_of(every)
        self._in_steps[ASKED] = not self._leaves_bound
        sim._tree.run.counts[UNTIL_ASKED] = 0
        made = sim.steps_done - sim._updated_at
        sim._region.begin_turns(self._in_steps, every, sim._since_update, made, self._leaves_rest)

    def end_in_steps(self, status: int) -> None:
        """After the steps were counted: what updates among them leave."""
        sim = self._sim
        since, made, updates, failed = sim._region.end_turns(self._in_steps)
        sim._since_update, sim._updated_at = since, sim.steps_done - made
        if updates:
            sim._is_proven = not self._in_steps[PASSES]
            if sim._is_proven and not sim._region.is_pending:
                self._known = asked_of(sim), form_floor(sim, nothing_hidden=False)
        if failed:
            sim._moving.has_recorded = False
            sim._fail(status, status)
