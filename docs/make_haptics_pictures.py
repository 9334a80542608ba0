"""Makes the pictures of docs/haptics.md: `python docs/make_haptics_pictures.py [NAME ...]`. Needs the extra `plots`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw
from linkwork.cli.commands.bench import benchmark_folder, load_benchmark
from linkwork.haptics.clock import now_ns
from linkwork.haptics.tick.coupling import couple_once

FOLDER = Path(__file__).parent / "pictures"
BLUE, ORANGE, GREY = "#1b4f8a", "#c2541d", "#6b7176"
HELD = ((0.1, 0.25), (0.4, 0.6), (0.75, 0.9))  # parts of the time in which the hand holds an atom
STEPS, H = 2000, 1e-3
TICKS = 20  # averaged for one point of the coupling loop


def loops() -> Any:
    """Figure 5 of Morin and Redon: what a step of each loop takes, while a hand takes hold and lets go."""
    figure, panels = plt.subplots(2, 1, figsize=(7.2, 6.4), layout="constrained")
    for axes, joints, most in zip(panels, (40, 857), (40, 857), strict=True):
        model = lw.library.molecule(joints=joints, seed=1).compile()
        sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=most, update_every=1)
        device = lw.haptics.Pointer()
        session = lw.haptics.session_of(sim)
        session.step(H)  # compiles
        grasp, times = None, np.full((STEPS, 2), np.nan)
        for k in range(STEPS):
            share = k / STEPS
            wants = any(a <= share < b for a, b in HELD)
            if wants and grasp is None:
                grasp = lw.haptics.grasp(sim, model.n_bodies // 2, device, stiffness=1.0, damping=0.05, watchdog=1e3)
            elif grasp is not None and not wants:
                grasp.release()
                grasp = None
            if joints > 40 and k == STEPS // 2:
                sim.max_active_joints = 48
            device.move((0.05 * np.sin(4e-3 * k), 0.0, 0.05 * np.cos(4e-3 * k)))
            start = time.perf_counter()
            session.step(H)
            times[k, 0] = time.perf_counter() - start
            if grasp is not None:
                session.read_devices()
                start = time.perf_counter()
                for _ in range(TICKS):
                    couple_once(session.memory, session.scratch, now_ns())
                times[k, 1] = (time.perf_counter() - start) / TICKS
        steps = np.arange(STEPS)
        axes.plot(steps, _smooth(times[:, 0]) * 1e6, color=BLUE, linewidth=1.0, label="simulation loop, one step")
        axes.plot(steps, _smooth(times[:, 1]) * 1e6, color=ORANGE, linewidth=1.2, label="coupling loop, one tick")
        for a, b in HELD:
            axes.axvspan(a * STEPS, b * STEPS, color="#f3e3d6", zorder=0)
        axes.axhline(50.0, color=GREY, linewidth=0.8, linestyle=":")
        axes.text(0.255 * STEPS, 54.0, "coupling loop in the paper", color=GREY, fontsize=8)
        note = ", 857 active joints, then 48" if joints > 40 else ", all active"
        axes.set_title(f"molecule of {joints} joints{note}", fontsize=10)
        axes.set_yscale("log")
        axes.set_ylabel("time [µs]")
        axes.grid(alpha=0.25)
    panels[0].legend(fontsize=8, frameon=False, loc="center", bbox_to_anchor=(0.5, 0.3))
    panels[1].set_xlabel("step of the simulation; shaded: a hand holds an atom")
    return figure


def _smooth(values: np.ndarray) -> np.ndarray:
    """Median of five: single steps that other programs delayed would hide the rest."""
    padded = np.pad(values, 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)


def region() -> Any:
    """Stiffness up to which the coupling gives out no energy, against the rate of the simulation."""
    bench = load_benchmark(benchmark_folder(), "haptics")
    rates = np.array([30.0, 60.0, 100.0, 200.0, 300.0, 600.0, 1000.0])
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained", sharey=True)
    for axes, feel in zip(panels, ("spring", "reactions"), strict=True):
        for damping, color in ((0.3, BLUE), (1.0, ORANGE)):
            for implicit, style in ((True, "-o"), (False, "--s")):
                reached = [bench.largest_passive(rate, damping, implicit, 1.2, feel) for rate in rates]
                name = f"damping {damping:g} N·s/m, {'implicit' if implicit else 'explicit'}"
                axes.loglog(rates, reached, style, color=color, markersize=4, linewidth=1.3, label=name)
            axes.loglog(rates, damping * rates, ":", color=color, linewidth=1.0)
        axes.set_title(f'feel="{feel}"', fontsize=10)
        axes.set_xlabel("snapshots per second")
        axes.grid(alpha=0.25, which="both")
    panels[0].set_ylabel("largest passive stiffness [N/m]")
    panels[0].legend(fontsize=8, frameon=False, title="dotted: the stated region, damping · rate", title_fontsize=8)
    return figure


def felt() -> Any:
    """What the demo shows: a hand pulls a hanging chain of 50,000 joints."""
    from linkwork.cli.demo_parts import PARTS, Setup
    from linkwork.cli.screen import console

    (panel,) = PARTS["haptics"].show(Setup(console()))
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    panel.draw(axes)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {"haptics_loops": loops, "haptics_region": region, "haptics_felt": felt}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().savefig(FOLDER / f"{name}.png", dpi=110)
        print(FOLDER / f"{name}.png")
