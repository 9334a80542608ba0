"""The one driver of steps: begin, evaluate and resume as often as the integrator asks, close, finish.

`make_loop` makes the loop over steps; all others are made of it. `make_advance` puts an integrator and a way to evaluate
together. What it returns makes n steps without leaving compiled code, and is compiled with that integrator alone. A step
that fails is taken back: the state is that of the last good one. Steps with contact (`contact_step.driver`), and what a run
does between two steps, are other steps in the same loop. `make_advance_stage` makes a step in parts, for forces and
accelerations that come from Python, where the loop itself runs as Python (`from_python`).

Stages, arrays and files, in order: docs/theory/step.md.
"""

from __future__ import annotations

from typing import Any

from linkwork.core.jit import inlined, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.simulation.stepping.saving import is_finite, save_start, take_back_state

BEGIN, END = -101, -102  # status of a step that has not begun, and after the last one; others: `integrators.chart`


@inlined
def nothing_to_close(table):
    return DONE


def make_finish(integrator: Integrator) -> Any:
    """finish_step(table, status), the end of a step: OK or the failure."""
    end_step, steps = integrator.end_step, 0 if integrator.counts_substeps else 1

    @routine
    def finish_step(table, status):
        """What the integrator does after a step, and whether anything overflowed; a step that failed is taken back.

        Returns OK or the failure.
        """
        s = moving_of(table)
        s.counts[mv.SUBSTEPS] += steps
        if status == DONE:
            end_step(table)
            if is_finite(table):
                return mv.OK
            status = mv.OVERFLOW
        take_back_state(table)
        return status

    return finish_step


def make_step(integrator: Integrator, evaluate: Any, close: Any = nothing_to_close, again: Any = None) -> Any:
    """step(table, h), one step of h [s] or none: OK, or why it failed.

    evaluate(table, where, h): accelerations at (q, v) into `qdd`; OK or a failure. close(table): what constraints need at
    the end of a step; DONE or a failure. again: `evaluate` where only velocities are others than at the last one, if that
    can be done for less.
    """
    begin, resume, where_joints_act = integrator.begin, integrator.resume, integrator.where_joints_act
    finish_step = make_finish(integrator)
    evaluate = evaluate if again is None else make_evaluate_where(integrator, evaluate, again)

    @routine
    def step(table, h):
        save_start(table)
        status = begin(table, h)
        while status == EVALUATE:
            status = resume(table, h, evaluate(table, where_joints_act(table), h))
        if status == DONE:
            status = close(table)
        return finish_step(table, status)

    @routine
    def step_without_evaluations(table, h):
        save_start(table)
        return finish_step(table, begin(table, h))

    return step if resume is not None else step_without_evaluations


def make_evaluate_where(integrator: Integrator, evaluate: Any, again: Any) -> Any:
    """`evaluate`, or `again` where the integrator stays at the coordinates of the last evaluation."""
    stays_at_q = integrator.stays_at_q

    @inlined
    def evaluate_where(table, where, h):
        if stays_at_q(table):
            return again(table, where, h)
        return evaluate(table, where, h)

    return evaluate_where


@inlined
def is_made(status):
    """Whether a step was made. After CONTACTS_CHANGED it was, and its caller has something to do."""
    return status == mv.OK or status == mv.CONTACTS_CHANGED


def make_loop(step: Any) -> Any:
    """loop(table, h, n), up to n times step(table, h): OK or why it stopped, and the number of steps that were made.

    Called from Python it is Python, and so may `step` be; `table` is whatever that takes.
    """

    @inlined
    def loop(table, h, n):
        status, made = mv.OK, 0
        while made < n and status == mv.OK:
            status = step(table, h)
            made += is_made(status)
        return status, made

    return loop


def make_steps(step: Any, begin_steps: Any, end_steps: Any, record_efforts: Any) -> Any:
    """advance(table, h, n), which is `make_loop` of compiled code with what comes before and after: `Integrator`."""
    loop = make_loop(step)

    @routine
    def advance(table, h, n):
        mode = flush_subnormals()
        begin_steps(table, h, n)
        status, made = loop(table, h, n)
        end_steps(table, status, made)
        if is_made(status):
            record_efforts(table, h)
        restore_mode(mode)
        return status, made

    return advance


def make_advance(integrator: Integrator, evaluate: Any = None, close: Any = nothing_to_close, again: Any = None) -> Any:
    """advance(table, h, n), up to n steps of h [s]: OK or why it stopped, and the number of steps that were made."""
    step = make_step(integrator, evaluate, close, again)
    return make_steps(step, integrator.begin_steps, integrator.end_steps, integrator.record_efforts)


def make_advance_stage(integrator: Integrator, evaluate: Any, close: Any, again: Any = None) -> Any:
    """advance_stage(table, h, status, bad, is_given): a step of h [s] up to where Python gives forces: EVALUATE then.

    status: BEGIN at first, then EVALUATE; END after the last of some steps, to record what acted in it. bad: OK, or why
    Python found no forces. is_given: Python has put accelerations into `qdd`; otherwise they are evaluated here. Returns OK
    or a failure where the step has ended.
    """
    begin, resume, where_joints_act = integrator.begin, integrator.resume, integrator.where_joints_act
    stays_at_q, record_efforts = integrator.stays_at_q, integrator.record_efforts
    finish_step = make_finish(integrator)
    evaluate = evaluate if again is None else make_evaluate_where(integrator, evaluate, again)

    @inlined
    def accelerate(table, h, bad, is_given):
        return bad if is_given or bad != mv.OK else evaluate(table, where_joints_act(table), h)

    @routine
    def advance_stage(table, h, status, bad, is_given):
        if status == END:
            record_efforts(table, h)
            return mv.OK
        if status == BEGIN:
            save_start(table)
            status = begin(table, h)
        else:
            status = resume(table, h, accelerate(table, h, bad, is_given))
            while status == EVALUATE and not is_given and bad == mv.OK and stays_at_q(table):
                status = resume(table, h, accelerate(table, h, bad, is_given))
        if status == EVALUATE:
            return status
        if status == DONE:
            status = close(table)
        return finish_step(table, status)

    return advance_stage
