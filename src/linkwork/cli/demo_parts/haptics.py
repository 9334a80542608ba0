"""Part: a hand pulls a hanging chain of 50,000 joints along a path, and feels it."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.demo_parts.setup import Panel, Setup
from linkwork.cli.screen import count, seconds, working
from linkwork.haptics.clock import now_ns
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.tick.coupling import couple_many
from linkwork.haptics.tick.scratch import SCRATCH

TITLE = "a hand on a hanging chain: the force it feels"
SAYS = "A hand pulls a chain aside and feels its force a thousand times per second, whatever the size of the chain."

JOINTS, DURATION = 50_000, 3.0
QUICK_JOINTS, QUICK_DURATION = 200, 0.2
BELOW = 100  # links below the one that is held
STEP = 1e-3  # [s]
ACTIVE = 100  # joints that move
TICKS = 1000  # timed


def hand_path(t: float) -> tuple[float, float, float]:
    """Where the hand goes [m]: aside, round in a circle, and back; smoothly."""
    share = 0.5 - 0.5 * math.cos(2.0 * math.pi * min(t / DURATION, 1.0))
    return (0.4 * share, 0.15 * share * math.sin(4.0 * math.pi * t / DURATION), 0.1 * share)


def show(setup: Setup) -> list[Panel]:
    joints = QUICK_JOINTS if setup.quick else JOINTS
    duration = QUICK_DURATION if setup.quick else DURATION
    with working("building a chain"):
        model = lw.library.chain(joints=joints).compile()
        sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=ACTIVE)
    hand = lw.haptics.ScriptedMotion(hand_path)
    with working("compiling kernels (the first time only)"):
        grasp = lw.haptics.grasp(sim, joints - BELOW, hand, stiffness=400.0, damping=4.0)
        grasp.session.step(STEP)
    start = time.perf_counter()
    with working("pulling"):
        trace = grasp.session.run(duration, h=STEP, rate=1000.0)
    took = time.perf_counter() - start
    felt = np.linalg.norm(trace.felt[:, 0, 3:], axis=1)
    tick = _tick_time(grasp.session)
    setup.print(
        f"{count(joints)} joints, held at link {count(grasp.body)}; {duration:g} s of motion in {seconds(took)}"
    )
    setup.print(f"felt: up to {felt.max():.1f} N; the hand did {-grasp.energy[0]:.2f} J of work on the chain")
    setup.print(f"one coupling tick {seconds(tick)}: {1.0 / tick:,.0f} forces per second, whatever the simulation does")
    return [Panel(f"force felt at a chain of {count(joints)} joints", _drawing(trace))]


def _tick_time(session: lw.haptics.Session) -> float:
    """Time of one tick of the coupling loop on the session's last snapshot [s]."""
    scratch, memory = np.zeros(SCRATCH), session.memory.copy()
    words = memory.view(np.int64)
    for mailbox, room, when in (  # virtual time has stopped
        (at.SNAPSHOT, at.SNAPSHOT_WORDS, at.S_TIME), (at.READINGS, at.READING_WORDS, at.D_TIME),
    ):  # fmt: skip
        words[mailbox + at.P_BUFFERS + words[mailbox + at.P_LATEST] * room + when] = now_ns()
    couple_many(memory, scratch, 1)
    start = time.perf_counter()
    couple_many(memory, scratch, TICKS)
    return (time.perf_counter() - start) / TICKS


def _drawing(trace: lw.haptics.Trace) -> Any:
    def draw(axes: Any) -> None:
        for k, (name, color) in enumerate((("x", "#c2541d"), ("y", "#1b4f8a"), ("z", "#3a7d44"))):
            axes.plot(trace.times, trace.felt[:, 0, 3 + k], color=color, linewidth=1.4, label=f"force felt, {name}")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("force [N]")
        way = axes.twinx()
        moved = np.linalg.norm(trace.hand[:, 0] - trace.hand[0, 0], axis=1)
        way.plot(trace.times, moved, color="#9aa0a6", linewidth=1.0, linestyle="--", label="way of the hand")
        way.set_ylabel("way of the hand [m]", color="#6b7176")
        axes.legend(loc="lower left", fontsize=8, frameon=False)

    return draw
