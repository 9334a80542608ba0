"""Whether an adaptive step ever takes longer than a full one: linkages, tolerances and loads in a grid, and a plot.

A full step is one `aba` of all joints and a step of Euler's rule, in compiled code (`FullDynamics.advance`). Adaptive and
full steps take turns; the first ten adaptive steps are for learning and are not timed. Before any timing the accelerations
of the last solve are compared with those of `aba`.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkWarning

from .harness import Requirement, TableReport, fill_in, progress

SIZES, QUICK_SIZES = (100, 1_000, 10_000, 100_000), (100,)
EXPONENTS, QUICK_EXPONENTS = (0, 6, 11, 14, 16, 19, 24, 30), (0, 16)
LOADS = (1, 100, 0)  # bodies that are pushed; 0: all
LEARNING = 10  # steps
TURNS, QUICK_TURNS = 7, 2
MOST_PER_TURN = 20_000  # joints times steps of a turn, about: small linkages make more steps
H = 1e-5  # [s]
LIMIT = 1.15
COLORS = {"chain": "tab:blue", "tree": "tab:green", "molecule": "tab:orange", "millipede": "tab:red"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, nargs="+", help="sizes (default: 100 to 100,000)")
    parser.add_argument("--linkage", choices=tuple(COLORS), nargs="+", help="these only")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="write the plot there")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def make(name: str, joints: int) -> lw.Model:
    linkage: lw.Linkage
    if name == "chain":
        linkage = lw.library.chain(joints)
    elif name == "tree":
        linkage = lw.library.random_tree(joints, seed=1)
    elif name == "molecule":
        linkage = lw.library.molecule(joints, floating=True)
    else:
        legs = max(1, joints // 13)
        linkage = lw.library.millipede(segments=legs, spine=joints - 10 * legs)
    return linkage.compile()


def run(options: argparse.Namespace) -> TableReport:
    sizes = tuple(options.joints or (QUICK_SIZES if options.quick else SIZES))
    exponents = QUICK_EXPONENTS if options.quick else EXPONENTS
    turns = QUICK_TURNS if options.quick else TURNS
    report = TableReport("never_slower", {"joints": sizes, "exponents": exponents}, is_judged=not options.quick)
    for name, joints in itertools.product(options.linkage or COLORS, sizes):
        model = make(name, joints)
        for count in LOADS:
            if count >= joints:
                continue
            progress(f"{name} of {joints:,}, {count or 'all'} pushed")
            for exponent in exponents:
                report.results.append(point(model, name, joints, count, exponent, turns))
    judge(report)
    if options.out is not None:
        plot(report.results, options.out / "never_slower.png")
    if options.page is not None:
        fill_in(options.page, report)
    return report


def point(model: lw.Model, name: str, joints: int, count: int, exponent: int, turns: int) -> dict[str, Any]:
    """One point of the grid: the time of an adaptive step over that of a full one, proven right before."""
    state = model.random_state(1, speed=0.0)
    bodies = np.unique(np.linspace(0, model.n_bodies - 1, count or model.n_bodies).astype(int))
    random = np.random.default_rng(exponent)
    wrenches = np.zeros((model.n_bodies, 6))
    wrenches[bodies, 3:] = 1e-3 * random.normal(size=(bodies.size, 3))
    sim = lw.QuasiStatics(model, state, tolerance=2.0**-exponent)
    for body in bodies.tolist():
        sim.apply_wrench(body, force=tuple(wrenches[body, 3:]), frame="body")
    steps = max(1, min(200, MOST_PER_TURN // joints))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)  # of tolerances below rounding
        sim.step(H, LEARNING)
        report = sim.solve()
        error = check(model, sim, wrenches)
        full = lw.FullDynamics(model, state, integrator="semi_implicit_euler", keep_momentum=False)
        for body in bodies.tolist():
            full.apply_wrench(body, force=tuple(wrenches[body, 3:]), frame="body")
        full.advance(H)
        adaptive_s, full_s = [], []
        for _ in range(turns):
            began = time.process_time()
            sim.advance(H, steps)
            between = time.process_time()
            full.advance(H, steps)
            adaptive_s.append((between - began) / steps)
            full_s.append((time.process_time() - between) / steps)
            full.set_state(state)
    ratios = [a / b for a, b in zip(adaptive_s, full_s, strict=True)]
    return {
        "case": name,
        "joints": joints,
        "pushed": count or joints,
        "exponent": exponent,
        "computed": sim.step(H).n_computed,
        "adaptive_s": statistics.median(adaptive_s),
        "full_s": statistics.median(full_s),
        "ratio": statistics.median(ratios),
        "spread": [min(ratios), max(ratios)],
        "bound": report.error_bound,
        "error": error,
    }


def check(model: lw.Model, sim: lw.QuasiStatics, wrenches: np.ndarray) -> float:
    """The error of the last solve, by the measure it was made with, against `aba`; stops the benchmark beyond the bound."""
    exact = lw.forward_dynamics(model, sim.state, wrenches=wrenches, algorithm="aba")
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    off, whole = (float(np.sqrt(np.bincount(joint, x**2).max())) for x in (sim.acceleration - exact, exact))
    error = off / whole
    bound = sim.solve().error_bound
    if not error <= bound * (1 + 1e-6):
        raise AssertionError(f"{model.name}: an error of {error:.2e} above its bound {bound:.2e}")
    return error


def judge(report: TableReport) -> None:
    rows = []
    for name in dict.fromkeys(result["case"] for result in report.results):
        for joints in dict.fromkeys(result["joints"] for result in report.results if result["case"] == name):
            points = [r for r in report.results if (r["case"], r["joints"]) == (name, joints)]
            worst = max(points, key=lambda r: r["ratio"])
            at = f"2^-{worst['exponent']}, {worst['pushed']:,} pushed, {worst['computed']:,} computed"
            report.requirements.append(
                Requirement(
                    f"{name} of {joints:,}, worst of {len(points)}",
                    worst["ratio"],
                    "times a full step",
                    f"≤ {LIMIT:g}",
                    worst["ratio"] <= LIMIT,
                    detail=at,
                )
            )
            best = min(points, key=lambda r: r["ratio"])
            full = statistics.median(r["full_s"] for r in points) * 1e6
            above = sum(r["ratio"] > LIMIT for r in points)
            rows.append(
                [
                    name,
                    f"{joints:,}",
                    f"{full:,.0f} µs",
                    f"{best['ratio']:.2g}",
                    f"{worst['ratio']:.2f}",
                    at,
                    f"{above}",
                ]
            )
    columns = ["linkage", "joints", "a full step", "best ratio", "worst ratio", "at", f"points above {LIMIT:g}"]
    report.add_table("grid", "time of an adaptive step over that of a full one", columns, rows)


def plot(results: list[dict[str, Any]], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
    except ImportError:
        progress("no picture: matplotlib is not installed (pip install '.[plots]')")
        return
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for result in results:
        size = 12.0 + 14.0 * (np.log10(result["joints"]) - 2.0)
        marker = {1: "o", 100: "s"}.get(result["pushed"], "^")
        shift = 0.25 * (list(COLORS).index(result["case"]) - 1.5)
        axes.scatter(
            result["exponent"] + shift, result["ratio"], s=size, marker=marker, color=COLORS[result["case"]], alpha=0.75
        )
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.axhline(LIMIT, color="tab:red", linewidth=0.8, linestyle="--")
    axes.text(0.0, LIMIT * 1.06, f"{LIMIT:g} times a full step", color="tab:red", fontsize=8)
    axes.set_yscale("log")
    axes.set_xlabel("tolerance 2^-k, k")
    axes.set_ylabel("time of an adaptive step / a full step")
    handles = [Line2D([], [], marker="o", linestyle="", color=c, label=n) for n, c in COLORS.items()]
    marks = (("o", "one body pushed"), ("s", "100"), ("^", "all"))
    handles += [Line2D([], [], marker=m, linestyle="", color="0.4", label=n) for m, n in marks]
    axes.legend(handles=handles, fontsize=8, ncols=2, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
