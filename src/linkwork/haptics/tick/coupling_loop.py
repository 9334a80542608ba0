"""The coupling loop by the clock: ticks, and how long they took."""

import math

from linkwork.core.jit import inlined, kernel
from linkwork.haptics.clock import clock_ns, wait_until
from linkwork.haptics.sharing.atomics import load_integer, store_integer
from linkwork.haptics.sharing.layout import (
    BINS,
    BINS_PER_OCTAVE,
    H_MISSED,
    H_PERIOD,
    H_RUNS,
    H_SPIN,
    H_STOP,
    HISTOGRAM,
    LONGEST,
    STATISTICS,
    T_AGE,
    T_INTERVAL,
    T_TICK,
)
from linkwork.haptics.tick.coupling import couple


@inlined
def count_time(memory, histogram, duration):
    """Counts a time [ns] in one of the histograms."""
    base = STATISTICS + histogram * HISTOGRAM
    k = min(max(int(BINS_PER_OCTAVE * math.log2(float(max(duration, 1)))), 0), BINS - 1)
    store_integer(memory, base + k, load_integer(memory, base + k) + 1)
    if duration > load_integer(memory, base + LONGEST):
        store_integer(memory, base + LONGEST, duration)


@kernel
def run_coupling(memory, scratch):
    """The loop: ticks at the period of the header until told to stop. Holds no interpreter lock and makes no memory."""
    store_integer(memory, H_RUNS, 1)
    period = load_integer(memory, H_PERIOD)
    spin = load_integer(memory, H_SPIN)
    last = clock_ns()
    due = last
    while load_integer(memory, H_STOP) == 0:
        start = clock_ns()
        age = couple(memory, scratch, start)
        end = clock_ns()
        count_time(memory, T_TICK, end - start)
        count_time(memory, T_INTERVAL, start - last)
        if age >= 0:
            count_time(memory, T_AGE, age)
        last = start
        due += period
        if end >= due + period:  # late by a whole period: the ticks between are lost, not made up for
            lost = (end - due) // period
            store_integer(memory, H_MISSED, load_integer(memory, H_MISSED) + lost)
            due += lost * period
        wait_until(due, spin)
    store_integer(memory, H_RUNS, 0)
