"""The clock of the coupling loop, read in compiled code: CLOCK_MONOTONIC, the same in every process of a machine."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from linkwork.core.calls import function_named, local
from linkwork.core.jit import inlined
from linkwork.errors import StateError

HAS_COMPILED_CLOCK = sys.platform.startswith(("linux", "darwin"))
_MONOTONIC = 6 if sys.platform == "darwin" else 1  # CLOCK_MONOTONIC in <time.h>
_LONG = ir.IntType(64)
_TIMESPEC = ir.LiteralStructType([_LONG, _LONG])  # seconds, nanoseconds
NANOSECONDS = 1_000_000_000

LEAST_PRIORITY = 1  # of real-time threads: above ordinary ones, below everything else that asked
# [ns] before its time a loop that sleeps wakes up, and waits for the clock: what waking may be late by. With real-time
# priority it is less, and the loop must sleep: the system takes the processor away from one that never does.
SPIN, REAL_TIME_SPIN = 200_000, 40_000


def now_ns() -> int:
    """The time that `clock_ns` reads in compiled code [ns]."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if HAS_COMPILED_CLOCK else time.monotonic_ns()


def take_real_time_priority() -> None:
    """The calling thread goes before all ordinary programs from now on (Linux, SCHED_FIFO); refuses where it may not."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(LEAST_PRIORITY))
    except (AttributeError, OSError) as error:
        raise StateError(
            f"this process may not take real-time priority ({error}); leave real_time out, or allow it (ulimit -r)."
        ) from error


def _call(builder: Any, name: str, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    return builder.call(function_named(builder, kind, name), arguments)


@intrinsic
def clock_ns(typing_context):
    """Time [ns] since some moment in the past."""

    def generate(context, builder, signature, args):
        spot = local(builder, _TIMESPEC)
        _call(builder, "clock_gettime", [ir.IntType(32)(_MONOTONIC), spot])
        zero, one = ir.IntType(32)(0), ir.IntType(32)(1)
        seconds = builder.load(builder.gep(spot, [zero, zero]))
        rest = builder.load(builder.gep(spot, [zero, one]))
        return builder.add(builder.mul(seconds, _LONG(NANOSECONDS)), rest)

    return types.int64(), generate


@intrinsic
def sleep_ns(typing_context, duration):
    """Lets others run for some time [ns], at least."""

    def generate(context, builder, signature, args):
        spot = local(builder, _TIMESPEC)
        zero, one = ir.IntType(32)(0), ir.IntType(32)(1)
        whole = _LONG(NANOSECONDS)
        builder.store(builder.sdiv(args[0], whole), builder.gep(spot, [zero, zero]))
        builder.store(builder.srem(args[0], whole), builder.gep(spot, [zero, one]))
        nothing = ir.Constant(_TIMESPEC.as_pointer(), None)
        _call(builder, "nanosleep", [spot, nothing])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@inlined
def wait_until(deadline, spin):
    """Returns when the clock shows `deadline` [ns] or more. spin: of it, by busy-waiting."""
    left = deadline - clock_ns()
    if left > spin:
        sleep_ns(left - spin)
    if spin > 0:
        while clock_ns() < deadline:
            pass
