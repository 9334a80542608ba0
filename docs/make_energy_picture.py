"""The picture of docs/integrators.md: energy of a chain of 100 links let go from the horizontal, h = 1e-3 s."""

from __future__ import annotations

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
PICTURE = Path(__file__).parent / "pictures" / "energy_chain.png"


def energies(integrator: str, seconds: float) -> tuple[list[float], list[float]]:
    """Times [s] and energy above the start [J], for as long as the integrator can go on."""
    model = lw.library.chain(100).compile()
    start = model.neutral()
    q = start.q.copy()
    q[0] = 0.5 * np.pi
    sim = lw.FullDynamics(model, model.state(q, start.v), integrator=integrator)
    first, times, gains = sim.energy.total, [0.0], [0.0]
    try:
        while sim.time < seconds:
            gain = sim.step(STEP, BETWEEN).energy - first
            times.append(sim.time)
            gains.append(gain)
    except lw.StateError:
        pass
    return times, gains


def main(seconds: float = 30.0) -> None:
    figure, axes = plt.subplots(figsize=(8, 3.6))
    for integrator, color in COLORS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times, gains = energies(integrator, seconds)
        print(f"{integrator:20s} to {times[-1]:6.2f} s, largest change {np.abs(gains).max():.3g} J")
        axes.plot(times, gains, color=color, lw=1.2, label=integrator)
        if times[-1] < seconds - 1e-9:
            axes.plot(times[-1], np.clip(gains[-1], -60, 60), "x", color=color, ms=9, mew=2)
    axes.set(xlim=(0, seconds), ylim=(-60, 60), xlabel="time [s]", ylabel="energy above the start [J]")
    axes.set_title(
        "100 links let go from the horizontal, h = 1e-3 s; ×: it stops there. Up to 486 J are in motion.", fontsize=9
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
