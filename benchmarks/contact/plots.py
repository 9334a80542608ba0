"""Time of a step over active joints, as a picture: the paper's figure 7."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def save_plot(results: list[dict[str, Any]], folder: Path) -> str:
    """Draws the results of the case "active"; returns a note on where."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed."
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    found = [result for result in results if result["case"] == "active"]
    for scene in dict.fromkeys(result["scene"] for result in found):
        points = [(result["active"], 1e6 * result["per_step_s"]) for result in found if result["scene"] == scene]
        axes.loglog(*zip(*points, strict=True), marker="o", label=scene)
    axes.set(xlabel="active joints", ylabel="step with contact [µs]", title="cost of contact over active joints")
    axes.legend()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "contact_by_active.png"
    figure.savefig(path, dpi=80)
    return f"picture: {path}"
