"""Makes the picture of docs/sweeps.md: `python docs/make_sweep_picture.py`. Needs the extras `plots` and `sweep`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

FILE = Path(__file__).parent / "pictures" / "walker_bifurcation.png"
STEPS, KEPT = 60, 16  # that the walker makes on each slope; of which the last are drawn


def last_steps(slope: float) -> dict[str, float]:
    """Durations of the last of many steps, begun a little beside the gait; and the largest multiplier of the gait."""
    from linkwork.scenarios.walker.gait import Walker, walk
    from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at

    walker = Walker(slope, 1.0, 2.0, 1.0, 0.5)
    gait = find_gait(walker)
    steps = walk(walker, stance_at(walker, gait.start * 1.001), STEPS)[-KEPT:]
    return {"multiplier": float(abs(gait.multipliers).max())} | {f"step_{k}": s.duration for k, s in enumerate(steps)}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        table = lw.Sweep(last_steps, {"slope": "0.05:0.0912:52"}).run(Path(scratch) / "s", workers=2, progress=False)
        slope = np.asarray(table["slope"])
        durations = np.array([table[f"step_{k}"] for k in range(KEPT)])
        figure, (upper, lower) = plt.subplots(
            2, 1, figsize=(6.8, 5.2), dpi=110, sharex=True, height_ratios=(2.2, 1.0), layout="constrained"
        )
        for row in durations:
            upper.plot(slope, row, ".", color="#1b4f8a", markersize=2.2)
        upper.set_ylabel("duration of a step [s]")
        lower.plot(slope, table["multiplier"], color="#c2541d", lw=1.4)
        lower.axhline(1.0, color="#6b7176", lw=0.8, ls=":")
        lower.set_ylabel("largest multiplier")
        lower.set_xlabel("slope [rad]")
        for axes in (upper, lower):
            axes.grid(alpha=0.25)
        figure.savefig(FILE)
        print(FILE, table.failed)


if __name__ == "__main__":
    main()
