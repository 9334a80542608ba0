"""The picture of docs/integrators.md: energy of a chain of 100 links let go from the horizontal, a minute at h = 1e-3 s."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import matplotlib
import numpy as np

import linkwork as lw

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLORS = {
    "semi_implicit_euler": "#d62728",
    "rk4": "#1f77b4",
    "implicit_midpoint": "#9467bd",
    "variational": "#2ca02c",
}
STEP, BETWEEN = 1e-3, 20  # [s] and steps between two points
LARGEST = 60.0  # [J] shown
PICTURE = Path(__file__).parent / "pictures" / "energy_chain.png"


def energies(integrator: str, seconds: float) -> tuple[list[float], list[float], float, str]:
    """Times [s], energy above the start [J] for as long as the integrator goes on, most in motion [J], why it stopped."""
    model = lw.library.chain(100).compile()
    start = model.neutral()
    q = start.q.copy()
    q[0] = 0.5 * np.pi
    sim = lw.FullDynamics(model, model.state(q, start.v), integrator=integrator)
    first, times, gains, kinetic, stopped = sim.energy.total, [0.0], [0.0], 0.0, ""
    try:
        while sim.time < seconds - 0.5 * STEP:
            gain = sim.step(STEP, BETWEEN).energy - first
            kinetic = max(kinetic, sim.energy.kinetic)
            times.append(sim.time)
            gains.append(gain)
            if abs(gain) > 100.0 * LARGEST:
                stopped = "more than 6 kJ off"
                break
    except lw.StateError as fault:
        stopped = str(fault)
    return times, gains, kinetic, stopped


def main(seconds: float, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for integrator, color in COLORS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times, gains, kinetic, stopped = energies(integrator, seconds)
        print(f"{integrator:20s} to {times[-1]:6.2f} s, largest change {np.abs(gains).max():.3g} J of {kinetic:.3g} J")
        if stopped:
            print(f"    {stopped}")
        shown = [k for k, gain in enumerate(gains) if abs(gain) <= LARGEST]
        last = shown[-1] + 2 if not stopped else next(k for k, gain in enumerate(gains) if abs(gain) > LARGEST) + 1
        axes.plot(times[:last], gains[:last], color=color, lw=1.4, label=integrator)
        if stopped:
            axes.plot(times[-1], np.clip(gains[-1], -0.97 * LARGEST, 0.97 * LARGEST), "x", color=color, ms=11, mew=3)
    axes.set(xlim=(0, seconds), ylim=(-LARGEST, LARGEST), xlabel="time [s]", ylabel="energy above the start [J]")
    axes.set_title(
        "100 links let go from the horizontal, h = 1 ms\nUp to 486 J are in motion; × more than 6 kJ too much",
        fontsize=12,
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right", fontsize=10.5)
    axes.tick_params(labelsize=11)
    axes.xaxis.label.set_size(12)
    axes.yaxis.label.set_size(12)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--to", type=Path, default=PICTURE)
    given = parser.parse_args()
    main(given.seconds, given.to)
