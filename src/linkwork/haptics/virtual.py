"""Virtual time: all loops of a session one after the other, with the same result on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from linkwork.core.checks import integer, positive, shown
from linkwork.errors import StateError
from linkwork.haptics.tick.device_io import DeviceIO
from linkwork.haptics.trace import Trace

if TYPE_CHECKING:
    from linkwork.haptics.session import Session

MOST_TICKS = 1e12  # of one run
MOST_STEPS = 10**9  # at a time
LONGEST = 1e8  # [s] at a time: clocks count nanoseconds in 64 bits
START = 1_000_000_000  # [ns] zero means "never" in the memory


def run(session: Session, duration: float, h: float, rate: float, n: int, record_every: int) -> Trace:
    """As `Session.run`."""
    duration, h, rate = positive(duration, "duration"), positive(h, "h"), positive(rate, "rate")
    n, record_every = steps(n), integer(record_every, 1, "record_every")
    if duration * rate > MOST_TICKS:
        raise StateError(f"{duration:g} s at {rate:g} ticks per second are more than {MOST_TICKS:g} ticks.")
    if not duration <= MOST_TICKS * h:
        raise StateError(f"{duration:g} s in steps of {h:g} s are more than {MOST_TICKS:g} steps; take longer ones.")
    leave_the_clock(session, "run()")
    trace = Trace(tuple(session.grasps))
    start = session.now()
    session._hold = h * n
    done = 0  # steps of the simulation
    session.is_in_run = True
    try:
        session.publish()
        for k in range(max(1, round(duration * rate))):
            session.virtual_time = start + round(1e9 * k / rate)
            done = _step_until(session, k / rate, h, n, done)
            session.tick()
            if k % record_every == 0:
                trace.add(k / rate, session)
        session.virtual_time = start + round(1e9 * duration)
        _step_until(session, duration, h, n, done)
    finally:
        session.virtual_time, session.is_in_run = start + round(1e9 * duration), False
    return trace.finish()


def _step_until(session: Session, time: float, h: float, n: int, done: int) -> int:
    """Steps that are due by the time [s] of a run in which `done` were made; how many are made then."""
    while (done + n) * h <= time * (1.0 + 1e-12):
        session.step(h, n)
        done += n
    return done


def move_on(session: Session, h: float, n: int, advance: Callable[[float, int], None] | None) -> None:
    """As `Session.move_on`."""
    with session.lock:
        if not h * n <= LONGEST:
            raise StateError(f"{n:,} steps of {h:g} s are {h * n:g} s; a hand holds a body for {LONGEST:g} s at most.")
        leave_the_clock(session, "move_on()")
        session.virtual_time = session.now() + round(1e9 * h * n)
        if session._hold != h * n:  # how far bodies yield meanwhile is another number
            session._hold = h * n
            session.publish()
        session.tick()
        session.step(h, n, advance)


def rest(session: Session) -> None:
    """As `Session.rest`."""
    with session.lock:
        leave_the_clock(session, "rest()")
        session.publish()
        session.tick()


def steps(n: int) -> int:
    """How many steps of the simulation are made at a time; refuses what is not a number of them."""
    count = integer(n, 1, "n")
    if count > MOST_STEPS:
        raise StateError(f"n is {shown(n)}; at most {MOST_STEPS:,} steps are made at a time.")
    return count


def leave_the_clock(session: Session, what: str) -> None:
    """From now on time is virtual, until `start`; it begins at the same number, so that runs repeat themselves."""
    if session.is_running:
        raise StateError(f"the loops of this session run by the clock; stop() them before {what}.")
    if session.virtual_time is not None:
        return
    session.virtual_time = START
    for grasp in session.grasps:
        if hasattr(grasp.device, "follow"):
            grasp.device.follow(session.clock)
        session._device_io[grasp.slot] = DeviceIO(grasp.device, grasp.slot)
