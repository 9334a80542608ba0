"""The coupling loop by the clock, beside a simulation on the other core."""

from __future__ import annotations

import math
import os
import threading
import time

import linkwork as lw
from linkwork.haptics.clock import take_real_time_priority

from ..harness import Requirement, TableReport, progress

RATE = 10_000.0  # [1/s] that the coupling loop must hold
SIM_RATES = (1000.0, 100.0, 10.0)
HELD_PART = 0.99  # of all ticks


def may_take_real_time() -> bool:
    """Whether a thread of this process may go before ordinary programs, as a loop for a person's hand should."""
    allowed = []

    def ask() -> None:
        try:
            take_real_time_priority()
            allowed.append(True)
        except lw.StateError:
            pass

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return bool(allowed)


def rates(report: TableReport, joints: int, seconds: float) -> None:
    """The coupling loop by the clock, beside a simulation on the other core at several rates."""
    if len(os.sched_getaffinity(0)) < 2:
        report.notes.append("this process may use one core only: rates are left out.")
        return
    model = lw.library.chain(joints=joints).compile()
    real_time = may_take_real_time()
    report.notes.append(f"the coupling loop runs with {'real-time' if real_time else 'ordinary'} priority.")
    work = {}
    for sim_rate in SIM_RATES:
        progress(f"loops by the clock, simulation at {sim_rate:g} per second")
        sim = lw.AdaptiveDynamics(
            model, model.neutral(), max_active_joints=min(joints, 100), integrator="semi_implicit_euler"
        )
        hand = lw.haptics.HumanHand(lambda t: (0.1 * math.sin(3.0 * t), 0.05 * math.sin(4.0 * t), 0.0))
        grasp = lw.haptics.grasp(sim, max(joints // 2, joints - 400), hand, stiffness=100.0, damping=2.0, watchdog=5.0)
        n = max(1, round(1000.0 / sim_rate))
        session = grasp.session
        session.step(1e-3)
        with session.start(1e-3, n, RATE, sim_rate=sim_rate, real_time=real_time):
            time.sleep(seconds)
        coupling, simulation, _ = session.statistics()
        work[sim_rate] = coupling.busy[0]
        report.results.append(
            {
                "case": f"loops by the clock, simulation at {sim_rate:g} per second", "joints": joints,
                "contestant": "coupling loop", "ticks": coupling.ticks, "missed": coupling.missed,
                "work_s": coupling.busy, "interval_s": coupling.interval, "simulation_work_s": simulation.busy,
                "simulation_interval_s": simulation.interval, "state": grasp.state,
            }
        )  # fmt: skip
        report.requirements.append(
            Requirement(
                f"coupling loop beside a simulation of {joints:,} joints at {sim_rate:g} per second", coupling.rate,
                "ticks per second", f"≥ {HELD_PART * RATE:,.0f}", coupling.rate >= HELD_PART * RATE,
                detail=f"tick {coupling.busy[0] * 1e6:.2f} µs, 99.9 % {coupling.busy[2] * 1e6:.2f} µs; interval median "
                f"{coupling.interval[0] * 1e6:.0f} µs, 99 % {coupling.interval[1] * 1e6:.0f} µs",
            )
        )  # fmt: skip
    spread = max(work.values()) / min(work.values())
    report.requirements.append(
        Requirement(
            "median tick over simulation rates", spread, "largest / smallest", "≤ 2", spread <= 2.0,
            detail="bins of 4 %",
        )
    )  # fmt: skip
    report.notes.append(
        f"load of the machine during the run: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; other programs take "
        "ticks away from a loop that needs a core."
    )
