"""Pictures of the adaptive dynamics benchmark: time by active joints and by size, error, updates. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Results = Sequence[dict[str, Any]]

COLORS = ("#1b4f8a", "#c2541d", "#3b8f52", "#8f2f6e")
GREY = "#888888"
LINKAGES = ("millipede", "molecule", "crowd")
LOADS = {"still": (COLORS[0], "o-", "force still"), "travelling": (COLORS[1], "s-", "force travelling")}


def save_pictures(results: Results, folder: Path) -> str:
    """Draws what the results allow; returns a line that says where, or why not."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no pictures: matplotlib is not installed (pip install '.[plots]')."
    saved = []
    folder.mkdir(parents=True, exist_ok=True)
    timed = [f for f in results if f["case"] in LINKAGES]
    linkages = len({f["case"] for f in timed})
    pictures: tuple[tuple[str, Callable[[Any, Any], None], float, float, Results], ...] = (
        ("active", _by_active, 1.2 + 4.2 * linkages, 4.0, timed),
        ("size", _by_size, 5.8, 4.2, [f for f in results if f["case"] == "scaling"]),
        ("accuracy", _accuracy, 5.8, 4.2, [f for f in results if f["case"] == "accuracy"]),
        ("updates", _updates, 5.8, 4.2, [f for f in results if f["case"] == "updates"]),
        ("energy", _energy, 5.8, 4.2, [f for f in results if f["case"] == "defaults"]),
    )
    for name, draw, width, height, wanted in pictures:
        if wanted:
            figure = Figure(figsize=(width, height), layout="constrained")
            FigureCanvasAgg(figure)
            draw(figure, wanted)
            figure.savefig(folder / f"adaptive_dynamics_{name}.png", dpi=110)
            saved.append(f"adaptive_dynamics_{name}.png")
    return f"pictures saved to {folder}: {', '.join(saved)}." if saved else "no pictures: nothing here to draw."


def _by_active(figure: Any, runs: Results) -> None:
    names = [name for name in LINKAGES if any(run["case"] == name for run in runs)]
    for axes, name in zip(figure.subplots(1, len(names), sharey=True, squeeze=False)[0], names, strict=True):
        of_case = [run for run in runs if run["case"] == name]
        for load, (color, style, label) in LOADS.items():
            chosen = [run for run in of_case if run["load"] == load]
            count, times = [run["active_joints"] for run in chosen], [run["step_s"] for run in chosen]
            axes.loglog(count, times, style, color=color, markersize=4, label=label)
        for which, dashes in (("dca", "--"), ("aba", ":")):
            middle = sorted(run[f"{which}_s"] for run in of_case)[len(of_case) // 2]
            axes.axhline(middle, color=GREY, linestyle=dashes, linewidth=1.3, label=f"all joints by {which}")
        axes.set_title(of_case[0]["linkage"], fontsize=10)
        axes.set_xlabel("active joints")
        axes.grid(True, which="major", alpha=0.3)
    first = figure.axes[0]
    first.set_ylabel("time of a step, updates included [s]")
    first.legend(fontsize=8, loc="lower right")


def _by_size(figure: Any, rows: Results) -> None:
    axes = figure.subplots()
    for load, (color, style, label) in LOADS.items():
        chosen = [row for row in rows if row["load"] == load]
        name = f"{chosen[0]['active_joints']} active, {label}"
        axes.loglog(
            [r["joints"] for r in chosen], [r["step_s"] for r in chosen], style, color=color, markersize=4, label=name
        )
    full = [row for row in rows if row["load"] == "still"]
    axes.loglog([r["joints"] for r in full], [r["aba_s"] for r in full], "^:", color=GREY, label="all joints by aba")
    axes.set_xlabel("joints of the molecule")
    axes.set_ylabel("time of a step, updates included [s]")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left")


def _accuracy(figure: Any, rows: Results) -> None:
    axes = figure.subplots()
    active = [row["active_joints"] for row in rows]
    axes.loglog(active, [row["position_error"] for row in rows], "o-", color=COLORS[0], label="positions of the bodies")
    axes.loglog(
        active, [row["velocity_error"] for row in rows], "s-", color=COLORS[1], label="velocities of the bodies"
    )
    axes.annotate(
        "all active: rounding", (active[-1], rows[-1]["velocity_error"]), textcoords="offset points", xytext=(4, -14),
        ha="right", fontsize=8, color="#444444",
    )  # fmt: skip
    axes.set_ylim(bottom=axes.get_ylim()[0] / 10)  # room for those words
    axes.set_xlabel(f"active joints, of {rows[0]['joints']:,}")
    axes.set_ylabel("largest error / largest motion")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="lower left")


def _energy(figure: Any, rows: Results) -> None:
    axes, row = figure.subplots(), rows[0]
    for color, (integrator, energies) in zip(COLORS, row["energies"].items(), strict=False):
        times = [row["seconds"] * (k + 1) / len(energies) for k in range(len(energies))]
        axes.semilogy(times, [max(abs(x), 1e-16) for x in energies], color=color, linewidth=1.2, label=integrator)
    axes.axhline(0.01, color=GREY, linestyle="--", linewidth=1.3, label="1 %")
    axes.set_title(f"{row['linkage']}, {row['active']} active, default settings", fontsize=10)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("change of the energy / energy of motion")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")


def _updates(figure: Any, rows: Results) -> None:
    axes = figure.subplots()
    changes = [row["changes_per_update"] for row in rows]
    for color, style, key, label in (
        (COLORS[0], "o-", "update_s", "an update of the region"),
        (COLORS[1], "s-", "steps_s", "ten steps"),
    ):
        axes.plot(changes, [1e6 * row[key] for row in rows], style, color=color, markersize=4, label=label)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("joints that enter or leave at an update")
    axes.set_ylabel("time [µs]")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
