"""Makes docs/pictures/gradients_*.png, of the examples that use gradients: `python docs/make_gradient_pictures.py`.

Runs the examples themselves and draws what they leave behind. Needs the extras `plots` and `dev`.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

HERE = Path(__file__).parent


def results(name: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(HERE.parent / "examples" / f"{name}.py"))


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(HERE / "pictures" / f"gradients_{name}.png", dpi=110)
    plt.close(figure)


def identify() -> None:
    found = results("identify_cable")
    truth, guess, answer = found["truth"], np.exp(found["guess"]), np.exp(found["answer"].x)
    figure, axes = plt.subplots(figsize=(7, 3))
    places, names = np.arange(truth.size), [*(f"mass {k}" for k in range(found["PARTS"])), "stiffness", "damping"]
    axes.bar(places - 0.2, guess / truth, 0.4, label="guess", color="#c8c8c8")
    axes.bar(places + 0.2, answer / truth, 0.4, label="found", color="#3b6ea5")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(places, names)
    axes.set_ylabel("over the true value")
    axes.legend(frameon=False)
    save(figure, "identify")


def swing() -> None:
    found = results("swing_to_target")
    figure, axes = plt.subplots(figsize=(7, 3))
    axes.semilogy(found["history"], color="#3b6ea5")
    axes.set_xlabel("run there and back")
    axes.set_ylabel("loss")
    save(figure, "swing")


def balance() -> None:
    found = results("balance_inverted_chain")
    upright, K, start, h = found["upright"], found["K"], found["start"], found["H"]
    rows: dict[str, list[float]] = {"alone": [], "with the regulator": []}
    sims = {name: upright(start) for name in rows}
    for _ in range(round(2.0 / h)):
        for name, sim in sims.items():
            if name != "alone":
                sim.set_efforts(-K @ np.concatenate(sim.state))
            rows[name].append(float(np.abs(sim.state.q).max()))
            sim.advance(h)
    figure, axes = plt.subplots(figsize=(7, 3))
    for (name, row), color in zip(rows.items(), ("#b04a3a", "#3b6ea5"), strict=True):
        axes.semilogy(h * np.arange(len(row)), row, label=name, color=color)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("largest angle [rad]")
    axes.legend(frameon=False)
    save(figure, "balance")


def design() -> None:
    found = results("design_rod")
    points, rod, wanted = found["points"], found["rod"], found["wanted"]
    first = rod(np.exp(found["first"]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
    shapes = {
        "wanted": (wanted, "black", "--"),
        "one stiffness": (points(first, lw.settle(first, first.neutral()).state), "#b04a3a", "-"),
        "found": (points(found["model"], found["settled"].state), "#3b6ea5", "-"),
    }
    for name, (shape, color, line) in shapes.items():
        left.plot(
            [0, *shape[:, 0]], [0, *shape[:, 2]], line, label=name, color=color, zorder=3 if name == "wanted" else 2
        )
    left.set_aspect("equal")
    left.set_xlabel("x [m]")
    left.set_ylabel("z [m]")
    left.legend(frameon=False)
    right.semilogy(found["stiffness"], "o-", markersize=3, color="#3b6ea5")
    right.set_xlabel("joint")
    right.set_ylabel("stiffness [N·m]")
    save(figure, "design")


def policy() -> None:
    try:
        found = results("torch_policy")
    except SystemExit:
        print("PyTorch is not installed: the picture of the policy stays as it is")
        return
    figure, axes = plt.subplots(figsize=(7, 3))
    axes.semilogy(1e3 * np.array(found["history"]), color="#3b6ea5")
    axes.set_xlabel("round")
    axes.set_ylabel("the tip misses by [mm]")
    save(figure, "policy")


if __name__ == "__main__":
    for make in (identify, swing, balance, design, policy):
        if len(sys.argv) < 2 or make.__name__ in sys.argv[1:]:
            make()
