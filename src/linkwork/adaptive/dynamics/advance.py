"""Steps of an adaptive simulation with updates of its region between them: the loop of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from linkwork.adaptive.workspace import CHANGED
from linkwork.core.arrays import IntArray
from linkwork.core.checks import integer, positive
from linkwork.errors import LinkworkError
from linkwork.simulation import moving as mv

if TYPE_CHECKING:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics


Advance = Callable[[IntArray, float, int], tuple[int, int]]


def advance_with_updates(sim: AdaptiveDynamics, advance: Advance, h: float, n: int) -> None:
    """n steps of h seconds, by advance(table, h, count) where no force comes from Python.

    Raises StateError where a step cannot be made, at the last good one.
    """
    left, every = n, integer(sim.update_every, 1, "update_every")
    if sim._tree.run.counts.item(CHANGED):
        sim._region.renew()
    is_alone = not sim._forces.are_any
    to_close = 0  # steps since nodes were closed last
    while left > 0:
        goes_through = is_alone and left > every - sim._since_update and sim._updates.may_be_in_steps()
        if sim._since_update >= every and not goes_through:
            if sim._region.are_waiting:
                sim._region.close_some(to_close)
            to_close = -1  # none in a call of one step that begins with an update
            horizon = every * h if sim.horizon is None else positive(sim.horizon, "horizon")
            sim._updates.make(horizon, passes=left > every)
        status, done, fault = _some_steps(sim, advance if is_alone else None, h, left, every, goes_through)
        to_close += done
        left -= done
        _after_steps(sim, status, every, fault)
    if to_close > 0 and sim._region.are_waiting:
        sim._region.close_some(to_close)
    if sim._since_update >= every and is_alone:
        sim._updates.assemble_ahead()


def _some_steps(
    sim: AdaptiveDynamics, advance: Advance | None, h: float, left: int, every: int, goes_through: bool
) -> tuple[int, int, LinkworkError | None]:
    """Steps up to the next update, `left` at most; why they ended, how many were made, and an error that ended them.

    advance: as above; None where forces come from Python. goes_through: updates are made between these steps, so that all
    are made at once.
    """
    count, fault = every * (1 + sim._updates.idle(every)) - sim._since_update, None
    if count > left:
        count = left
    if sim.water is not None and sim.water.changes:
        sim._fluid.follow(sim.time)  # type: ignore[union-attr]
        count = 1
    if goes_through:
        sim._updates.begin_in_steps(h, every)
        count = left
    if advance is not None:
        sim._updates.ask_before_contact()
        status, done = advance(sim._moving.table, h, count)
    else:
        status, done, fault = sim._forces.advance(h, count)
    sim.steps_done += done
    sim.time += done * h
    sim._region.ahead.forget()
    if goes_through:
        sim._updates.end_in_steps(status)
    else:
        sim._since_update += done
    if sim._since_update > every:
        sim._updates.pass_over((sim._since_update - 1) // every, every)
    return status, done, fault


def _after_steps(sim: AdaptiveDynamics, status: int, every: int, fault: LinkworkError | None) -> None:
    """What follows from how some steps ended: an update, more room for contacts, or the error that says why."""
    sim._moving.has_recorded = True
    if status == mv.OK:
        return
    if status == mv.CONTACTS_CHANGED or status == mv.CONTACTS_BEGIN:
        sim._since_update = every
        return
    sim._moving.has_recorded = False
    if status == mv.CONTACTS_GROW:
        sim._moving.grow()
        sim._moving.describe_again()
        return
    body = sim._reduced.joint[status] if status >= 0 else -1
    sim._fail(status, body, " Take a smaller step.", fault)
