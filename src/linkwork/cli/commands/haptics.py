"""Holds a hanging chain with a simulated hand, all loops by the clock, and says how regularly they ran.

linkwork haptics --stats
linkwork haptics --joints 50000 --sim-rate 100 --process --stats
linkwork haptics --check-lock 10000000
"""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING

from linkwork.cli.exit_codes import DONE, REFUSED
from linkwork.cli.screen import console, count, table, working

if TYPE_CHECKING:
    from linkwork.haptics import Session

NAME = "haptics"
SUMMARY = "holds a linkage with a simulated hand: rates and latencies of the loops"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, default=857, help="of the chain (857)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long (3)")
    parser.add_argument("--rate", type=float, default=10_000.0, help="of the coupling loop [1/s] (10000)")
    parser.add_argument("--sim-rate", type=float, default=1000.0, help="of the simulation [1/s] (1000)")
    parser.add_argument("--device-rate", type=float, default=1000.0, help="of the device [1/s] (1000)")
    parser.add_argument("--real-time", action="store_true", help="the coupling loop goes before ordinary programs")
    parser.add_argument("--process", action="store_true", help="the coupling loop as a process of its own")
    parser.add_argument(
        "--sleep", action="store_true", help="the coupling loop sleeps between ticks: no core of its own"
    )
    parser.add_argument(
        "--stats", action="store_true", help="median, 99 %%, 99.9 %%, longest and missed ticks of each loop"
    )
    parser.add_argument(
        "--check-lock", metavar="READS", type=int, help="only prove the lock between loops by so many reads"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.check_lock is not None:
        return _check_lock(arguments.check_lock)
    return _hold(arguments)


def _check_lock(reads: int) -> int:
    from linkwork.core.checks import integer
    from linkwork.haptics.sharing.lock_check import check_lock

    with working("reading while another thread writes"):
        result = check_lock(integer(reads, 1, "--check-lock"))
    console().print(
        f"{count(result.reads)} reads beside {count(result.writes)} writes: {result.torn} torn, {result.older} older than "
        f"the one before, {count(result.retries)} begun anew, {result.given_up} given up",
        markup=False,
    )
    return DONE if result.torn == result.older == result.given_up == 0 else REFUSED


def _hold(arguments: argparse.Namespace) -> int:
    import linkwork as lw
    from linkwork.core.checks import integer, positive
    from linkwork.haptics import HumanHand, grasp

    seconds, sim_rate = positive(arguments.seconds, "--seconds"), positive(arguments.sim_rate, "--sim-rate")
    joints = integer(arguments.joints, 2, "--joints")
    screen = console()
    with working("building the chain"):
        model = lw.library.chain(joints=joints).compile()
        sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=min(joints, 100))
    hand = HumanHand(lambda t: (0.2 * math.sin(2.0 * t), 0.1 * math.sin(3.0 * t), 0.0))
    with working("compiling kernels (the first time only)"):
        held = grasp(sim, max(joints // 2, joints - 400), hand, stiffness=100.0, damping=2.0)
        h = min(1.0 / sim_rate, 1e-3)
        n = max(1, round(1.0 / (sim_rate * h)))
        held.session.step(h)
        spins = not arguments.sleep
        rates = {"rate": arguments.rate, "device_rate": arguments.device_rate, "sim_rate": sim_rate}
        held.session.start(h, n, **rates, in_process=arguments.process, spins=spins, real_time=arguments.real_time)
    most = 0.0
    with held.session as session, working("holding the chain"):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            most = max(most, float((held.felt[3:] ** 2).sum()) ** 0.5)
            time.sleep(0.02)
        state = held.state
    screen.print(
        f"{count(joints)} joints, body {held.body} {state} at the end; largest force felt {most:.3g} N; the device gave "
        f"the hand {held.energy[0]:.3g} J",
        markup=False,
    )
    if arguments.stats:
        _print_statistics(session)
    return DONE


def _print_statistics(session: Session) -> None:
    rows = []
    for loop in session.statistics():
        for what, times in (("work", loop.busy), ("interval", loop.interval)):
            numbers = [f"{value * 1e6:,.1f}" for value in times]
            made = [count(loop.ticks), count(loop.missed), f"{loop.rate:,.0f}"] if what == "work" else ["", "", ""]
            rows.append([loop.name, what, *numbers, *made])
    columns = ["loop", "time [µs]", "median", "99 %", "99.9 %", "longest", "ticks", "missed", "ticks per second"]
    console().print(table("loops by the clock", columns, rows, left=2))
