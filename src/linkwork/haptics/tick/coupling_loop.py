"""The coupling loop by the clock: ticks, and how long they took."""

import math

from linkwork.core.jit import inlined, kernel
from linkwork.haptics.clock import clock_ns, wait_until
from linkwork.haptics.sharing import layout
from linkwork.haptics.sharing.atomics import load_integer, store_integer
from linkwork.haptics.tick.coupling import couple


@inlined
def count_time(memory, histogram, duration):
    """Counts a time [ns] in one of the histograms."""
    base = layout.STATISTICS + histogram * layout.HISTOGRAM
    k = min(max(int(layout.BINS_PER_OCTAVE * math.log2(float(max(duration, 1)))), 0), layout.BINS - 1)
    store_integer(memory, base + k, load_integer(memory, base + k) + 1)
    if duration > load_integer(memory, base + layout.LONGEST):
        store_integer(memory, base + layout.LONGEST, duration)


@kernel
def run_coupling(memory, scratch):
    """The loop: ticks at the period of the header until H_STOP is set. Takes no interpreter lock, makes no memory."""
    store_integer(memory, layout.H_RUNS, 1)
    period = load_integer(memory, layout.H_PERIOD)
    spin = load_integer(memory, layout.H_SPIN)
    last = clock_ns()
    due = last
    while load_integer(memory, layout.H_STOP) == 0:
        start = clock_ns()
        age = couple(memory, scratch, start)
        end = clock_ns()
        count_time(memory, layout.T_TICK, end - start)
        count_time(memory, layout.T_INTERVAL, start - last)
        if age >= 0:
            count_time(memory, layout.T_AGE, age)
        last = start
        due += period
        if end >= due + period:  # late by a whole period: the ticks between are lost, not made up for
            lost = (end - due) // period
            store_integer(memory, layout.H_MISSED, load_integer(memory, layout.H_MISSED) + lost)
            due += lost * period
        wait_until(due, spin)
    store_integer(memory, layout.H_RUNS, 0)
