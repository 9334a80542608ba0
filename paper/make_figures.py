"""Draws the figures of the paper from the stored results of benchmarks (docs/results): `python paper/make_figures.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(cell: str) -> float | None:
    """A time as tables show it, "23.8 µs", in seconds; None for an empty cell."""
    found = re.match(r"([\d.,]+) (ns|µs|ms|s)\b", cell)
    return float(found[1].replace(",", "")) * UNITS[found[2]] if found else None


def tables(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def by_size() -> dict[str, list[tuple[float, float]]]:
    """Joints and seconds of each program: one call of forward dynamics of a chain, and one adaptive step."""
    table = tables("compare")[0]
    sizes = [float(column.replace(",", "")) for column in table["columns"][1:]]
    return {
        row[0]: [(n, t) for n, cell in zip(sizes, row[1:], strict=True) if (t := seconds(cell))]
        for row in table["rows"]
    }


def by_active() -> tuple[list[tuple[float, float]], float]:
    """Active joints and seconds per step of a molecule of 50,000 joints, and the seconds of one `aba` of all joints."""
    (table,) = [
        t for t in tables("adaptive_dynamics") if t["title"].startswith("molecule, 50,000 joints, force still; full")
    ]
    rows = [(float(re.match(r"[\d,]+", row[0])[0].replace(",", "")), seconds(row[1])) for row in table["rows"]]
    return rows, seconds(table["title"].rpartition("aba ")[2])


def draw(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    for name, points in by_size().items():
        left.loglog(
            *zip(*points, strict=True), "o-" if name.startswith("Linkwork") else "s--", ms=3, lw=1.2, label=name
        )
    left.set(xlabel="joints of a chain", ylabel="seconds per call or step", ylim=(2e-7, None))  # room for the legend
    left.legend(fontsize=7, loc="lower right", ncol=2)
    points, whole = by_active()
    right.loglog(*zip(*points, strict=True), "o-", ms=3, lw=1.2, label="adaptive step")
    right.axhline(whole, color="0.5", ls="--", lw=1.0, label="aba of all joints")
    right.set(xlabel="active joints of 50,000", ylabel="seconds per step")
    right.legend(fontsize=7)
    for axes in (left, right):
        axes.grid(alpha=0.3, lw=0.5)
    figure.savefig(path, dpi=160)


if __name__ == "__main__":
    draw(HERE / "times.png")
