"""Steps with forces or accelerations that Python finds, between two parts of a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.errors import LinkworkError
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.moving import OK, OVERFLOW
from linkwork.simulation.stepping.driver import BEGIN, END, make_loop

Ended = tuple[int, LinkworkError | None]  # OK or why a step failed, and the error where one was raised on the way


def _call(step: Callable[[float], int], h: float) -> int:
    return step(h)


_loop = make_loop(_call)  # the loop of all steps, as Python


def step_in_parts(
    advance_stage: Any, table: Any, h: float, refresh: Callable[[], None], accelerate: Callable[[], None] | None = None
) -> Ended:
    """One step of h [s] or none.

    advance_stage: of `choice.advance_stage_of`. refresh() brings forces up to date before every evaluation; accelerate()
    then puts accelerations into `qdd`, or compiled code evaluates them.
    """
    fault: LinkworkError | None = None
    status = advance_stage(table, h, BEGIN, OK, False)
    while status == EVALUATE:
        bad, fault = OK, None
        try:
            refresh()
            if accelerate is not None:
                accelerate()
        except LinkworkError as error:
            bad, fault = OVERFLOW, error
        status = advance_stage(table, h, EVALUATE, bad, accelerate is not None)
    return status, fault


def record_efforts(advance_stage: Any, table: Any, h: float) -> None:
    """Records what acted on the joints in the last of some steps."""
    advance_stage(table, h, END, OK, False)


def advance_in_python(
    step: Callable[[float], Ended], h: float, n: int, after: Callable[[float], None]
) -> tuple[int, int, LinkworkError | None]:
    """Up to n steps of h [s], each followed by after(h).

    Returns OK or why it stopped, the steps that were made, and the error where one was raised on the way.
    """
    fault: LinkworkError | None = None

    def step_and_after(h: float) -> int:
        nonlocal fault
        status, fault = step(h)
        if status == OK:
            after(h)
        return status

    status, made = _loop(step_and_after, h, n)
    return status, made, fault
