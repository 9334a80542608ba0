"""What an integrator is to the driver of steps (`simulation.stepping.driver`): the functions that it gives."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.core.jit import inlined
from linkwork.simulation.loading.accelerate import EXPLICIT
from linkwork.simulation.loading.applied_efforts import record_efforts_at_end


@inlined
def explicitly(table):
    return EXPLICIT


@inlined
def never(table):
    return False


@inlined
def nothing_before(table, h, n):
    pass


@inlined
def nothing_after(table, status, made):
    pass


@inlined
def nothing_to_do(table):
    pass


class Integrator(NamedTuple):
    """Functions of compiled code; `begin` and `resume` return EVALUATE, DONE (`chart`) or a failure (`moving`)."""

    begin: Any  # (table, h): starts a step of h [s]
    resume: Any = (
        None  # (table, h, bad): goes on after an evaluation, which failed where `bad` is not OK; None: needs none
    )
    where_joints_act: Any = explicitly  # (table): where in the step springs, dampers and motors are taken: `accelerate`
    record_efforts: Any = (
        record_efforts_at_end  # (table, h): what acted on the joints in the last step into `applied_efforts`
    )
    stays_at_q: Any = never  # (table): whether the next evaluation is at the same coordinates as the last one
    end_step: Any = nothing_to_do  # (table): after a step that succeeded
    begin_steps: Any = nothing_before  # (table, h, n): before the first of up to n steps
    end_steps: Any = nothing_after  # (table, status, made): after the last one
    counts_substeps: bool = False  # whether it counts SUBSTEPS; else each step is one
