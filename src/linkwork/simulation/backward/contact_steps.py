"""Contact and joint limits with any integrator, backwards: steps of two rules.

A step in which nothing meets is the integrator's own. In runs with gradients one in which something does is made whole by
semi-implicit Euler with impulses (`contact_step.by_integrator`), and so is its way back (`backward.contact`).
"""

from __future__ import annotations

from typing import Any

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.stepping.floating import FloatingTrees
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.model.compile.floating_trees import floating_trees
from linkwork.model.state import State
from linkwork.simulation.backward.contact import ContactStep, Found


class StepWithContact(StepMap):
    """The map of one step of h [s] of a simulation with contact or limits of joints. own: of its integrator."""

    def __init__(self, own: StepMap, sim: Any):
        self.own, self.model, self.h = own, own.model, own.h
        self.euler = ContactStep(sim, own.h)
        if sim.view.moving.base.size:  # momentum is kept while something touches
            self.euler.floating = FloatingTrees(self.model.without_loops, *floating_trees(self.model))

    def remember(self, sim: Any) -> tuple[bool, Found | None, Any]:
        """Whether something touched in the last step, what pressed, and what its integrator keeps."""
        from linkwork.simulation.contact_step.arrays import HAD_CONTACT  # not before there is contact

        met = bool(sim.view.contact.arrays.balance[HAD_CONTACT] != 0.0)
        return met, self.euler.remember(sim) if met else None, self.own.remember(sim)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        first, last = seen
        if last[0]:
            return self.euler.back(before, after, effort, by_q, by_v, (first[1], last[1]))
        return self.own.back(before, after, effort, by_q, by_v, (first[2], last[2]))


def with_contact(kind: Any) -> Any:
    """The step of an integrator, with contact and limits of joints where a simulation has them."""

    def made(sim: Any, h: float) -> StepMap:
        step: StepMap = kind(sim, h)
        return StepWithContact(step, sim) if sim.contact is not None or sim.limits else step

    return made
