"""Whether an adaptive step ever takes longer than a full one: linkages, tolerances and loads in a grid, and a plot.

For `QuasiStatics` a full step is one `aba` of all joints and a step of Euler's rule, in compiled code; for
`AdaptiveDynamics` it is a step of `FullDynamics`, both with default settings. Adaptive and full steps take turns; the
first ten adaptive steps are for learning and are not timed. A point above the limit takes four times as many turns more,
all of which count, so that no single moment of a busy machine decides. Before any timing the accelerations of a solve are
compared with those of `aba`; of a motion, what its region hides with the bound of its last update.

The grid is done point by point, small linkages first. With `--keep FILE` each point is written down when it is there, one
line each, and those in the file are not measured again: a run that was stopped, or one for each size, goes on from there,
and the tables and the picture are made of all of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkWarning

from .harness import Requirement, TableReport, as_they_come, fill_in, progress

SIZES, QUICK_SIZES = (100, 1_000, 10_000, 100_000), (100,)
EXPONENTS, QUICK_EXPONENTS = tuple(range(0, 31, 2)), (0, 16)
LOADS = (1, 100, 0)  # bodies that are pushed; 0: all
LEARNING = 10  # steps
MORE = 4  # times as many turns more for a point above the limit
TURNS, QUICK_TURNS = 7, 2
MOST_PER_TURN = 20_000  # joints times steps of a turn, about: small linkages make more steps
H = 1e-5  # [s]
LIMIT = 1.15
SIMULATIONS = ("QuasiStatics", "AdaptiveDynamics")
# Of linkages so large, and of those ten times as large.
LARGE, LARGE_EXPONENTS, LARGE_TURNS, LARGEST_TURNS = 10_000, (*range(0, 29, 4), 30), 5, 3
LEAST_TURNS, POINT_TIME = (
    3,
    30.0,
)  # turns that a point takes in any case; processor time [s] after which it takes no more
COLORS = {"chain": "tab:blue", "tree": "tab:green", "molecule": "tab:orange", "millipede": "tab:red"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, nargs="+", help="sizes (default: 100 to 100,000)")
    parser.add_argument("--exponents", type=int, nargs="+", help="k of the tolerances 2^-k")
    parser.add_argument("--linkage", choices=tuple(COLORS), nargs="+", help="these only")
    parser.add_argument("--simulation", choices=SIMULATIONS, nargs="+", help="these only")
    parser.add_argument("--workers", type=int, default=1, help="points at a time, each on a core of its own (1)")
    parser.add_argument(
        "--point-time", type=float, default=POINT_TIME, help=f"[s] of the turns of one ({POINT_TIME:g})"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="after these no point begins (none)")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="of points, one line each: read, and added to")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="write the plot there")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


@lru_cache(maxsize=1)
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
    sizes = tuple(sorted(options.joints or (QUICK_SIZES if options.quick else SIZES)))
    report = TableReport("never_slower", {"joints": sizes}, is_judged=not options.quick)
    found = kept_points(options.keep)
    known = {key_of(point) for point in found}
    tasks = [task for task in tasks_of(options, sizes) if (*task[:3], task[3] or task[2], task[4]) not in known]
    if options.workers > 1 and tasks:  # kernels are compiled once, not by every process that comes to them
        for simulation in options.simulation or SIMULATIONS:
            point(simulation, make("molecule", QUICK_SIZES[0]), 1, 16, 1)
    end = time.monotonic() + options.seconds
    for k, found_point in as_they_come(timed_point, [(*task, end) for task in tasks], options.workers):
        if found_point is None:
            continue
        found.append(found_point)
        progress(f"point {k + 1} of {len(tasks)}: {found_point['case']} of {found_point['joints']:,}")
        if options.keep is not None:
            with options.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found_point) + "\n")
    missing = len(tasks) + len(known) - len(found)
    if missing:
        report.notes.append(f"{missing} points were not begun within {options.seconds:g} s.")
    order = {simulation: k for k, simulation in enumerate(SIMULATIONS)}
    found.sort(key=lambda r: (order[r["simulation"]], list(COLORS).index(r["case"]), *key_of(r)[2:]))
    report.results += found
    judge(report)
    if options.out is not None:
        plot(report.results, options.out / "never_slower.png")
    if options.page is not None:
        fill_in(options.page, report)
    return report


def kept_points(path: Path | None) -> list[dict[str, Any]]:
    """Points of earlier runs; nothing where there is no file yet."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def key_of(point: dict[str, Any]) -> tuple[str, str, int, int, int]:
    """What tells a point of the grid from others."""
    return point["simulation"], point["case"], point["joints"], point["pushed"], point["exponent"]


def tasks_of(options: argparse.Namespace, sizes: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Arguments of `timed_point`, all but the end: small linkages first, those of one linkage one behind the other."""
    tasks = []
    for joints, name in itertools.product(sizes, options.linkage or COLORS):
        turns = TURNS if joints < LARGE else LARGE_TURNS if joints < 10 * LARGE else LARGEST_TURNS
        exponents = EXPONENTS if joints < LARGE else LARGE_EXPONENTS
        if options.quick:
            turns, exponents = QUICK_TURNS, QUICK_EXPONENTS
        for simulation in options.simulation or SIMULATIONS:
            loads = [count for count in LOADS if count < joints]
            for count, exponent in itertools.product(loads, options.exponents or exponents):
                tasks.append((simulation, name, joints, count, exponent, turns, options.point_time))
    return tasks


def timed_point(
    simulation: str, name: str, joints: int, count: int, exponent: int, turns: int, point_time: float, end: float
) -> dict[str, Any] | None:
    """One point of the grid; nothing after the `end`, by the clock that all processes share."""
    if time.monotonic() > end:
        return None
    where = {"simulation": simulation, "case": name, "joints": joints}
    return {**where, **point(simulation, make(name, joints), count, exponent, turns, point_time)}


def point(
    simulation: str, model: lw.Model, count: int, exponent: int, turns: int, point_time: float = POINT_TIME
) -> dict[str, Any]:
    """The time of an adaptive step over that of a full one, proven right before.

    turns: of both, at least; point_time: processor time [s] after which no more are taken.
    """
    state = model.random_state(1, speed=0.0)
    bodies = np.unique(np.linspace(0, model.n_bodies - 1, count or model.n_bodies).astype(int))
    random = np.random.default_rng(exponent)
    wrenches = np.zeros((model.n_bodies, 6))
    wrenches[bodies, 3:] = 1e-3 * random.normal(size=(bodies.size, 3))
    sim: lw.QuasiStatics | lw.AdaptiveDynamics
    if simulation == "QuasiStatics":
        sim = lw.QuasiStatics(model, state, tolerance=2.0**-exponent)
        full = lw.FullDynamics(model, state, integrator="semi_implicit_euler", keep_momentum=False)
    else:
        sim, full = lw.AdaptiveDynamics(model, state, tolerance=2.0**-exponent), lw.FullDynamics(model, state)
    for one in (sim, full):
        one.apply_wrenches(bodies, wrenches[bodies], frame="body")
    steps = LEARNING * max(1, min(200, MOST_PER_TURN // model.n_bodies) // LEARNING)  # whole rounds of updates
    if isinstance(sim, lw.QuasiStatics) and model.n_bodies > LARGE:
        steps = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)  # of tolerances below rounding
        sim.step(H, LEARNING)
        check = check_solve if isinstance(sim, lw.QuasiStatics) else check_motion
        error, bound = check(model, sim, wrenches)
        full.advance(H)
        adaptive_s, full_s = [], []
        ratios: list[float] = []
        is_above = False  # after the first turns
        last_turn = time.process_time() + point_time
        while len(ratios) < turns or (len(ratios) < (1 + MORE) * turns and is_above):
            began = time.process_time()
            if len(ratios) >= LEAST_TURNS and began > last_turn:
                break
            sim.advance(H, steps)
            between = time.process_time()
            full.advance(H, steps)
            adaptive_s.append((between - began) / steps)
            full_s.append((time.process_time() - between) / steps)
            ratios.append(adaptive_s[-1] / full_s[-1])
            if len(ratios) == turns:
                is_above = statistics.median(ratios) > LIMIT
            if simulation == "QuasiStatics":
                full.set_state(state)
        last = sim.step(H)
    return {
        "pushed": count or model.n_bodies,
        "exponent": exponent,
        "computed": last.n_computed if simulation == "QuasiStatics" else last.n_active,
        "adaptive_s": statistics.median(adaptive_s),
        "full_s": statistics.median(full_s),
        "ratio": statistics.median(ratios),
        "turns": len(ratios),
        "spread": [min(ratios), max(ratios)],
        "bound": bound,
        "error": error,
    }


def check_solve(model: lw.Model, sim: lw.QuasiStatics, wrenches: np.ndarray) -> tuple[float, float]:
    """The error of a solve by its measure, against `aba`, and its bound; stops the benchmark beyond it."""
    bound = sim.solve().error_bound
    exact = lw.forward_dynamics(model, sim.state, wrenches=wrenches, algorithm="aba")
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    off, whole = (float(np.sqrt(np.bincount(joint, x**2).max())) for x in (sim.acceleration - exact, exact))
    error = off / whole
    if not error <= bound * (1 + 1e-6):
        raise AssertionError(f"{model.name}: an error of {error:.2e} above its bound {bound:.2e}")
    return error, bound


def check_motion(model: lw.Model, sim: lw.AdaptiveDynamics, wrenches: np.ndarray) -> tuple[float, float]:
    """What joints at rest hide after an update, by the measure, against `aba`, and its bound; stops beyond that."""
    report = sim.update_region(LEARNING * H)
    exact = lw.forward_dynamics(model, sim.state, wrenches=wrenches, algorithm="aba")
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    parts = np.bincount(joint, exact**2, minlength=model.n_bodies)
    still = np.ones(model.n_bodies, dtype=bool)
    still[sim.active_bodies] = False
    error = float(np.sqrt(parts[still].max(initial=0.0) / parts.max()))
    if not error <= report.error_bound * (1 + 1e-6):
        raise AssertionError(f"{model.name}: {error:.2e} hidden, above the bound {report.error_bound:.2e}")
    return error, report.error_bound


def judge(report: TableReport) -> None:
    rows: dict[str, list[list[str]]] = {}
    groups = dict.fromkeys((r["simulation"], r["case"], r["joints"]) for r in report.results)
    for simulation, name, joints in groups:
        points = [r for r in report.results if (r["simulation"], r["case"], r["joints"]) == (simulation, name, joints)]
        worst = max(points, key=lambda r: r["ratio"])
        done = "computed" if simulation == "QuasiStatics" else "active"
        at = f"2^-{worst['exponent']}, {worst['pushed']:,} pushed, {worst['computed']:,} {done}"
        report.requirements.append(
            Requirement(
                f"{simulation}, {name} of {joints:,}, worst of {len(points)}",
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
        ratios = [f"{best['ratio']:.2g}", f"{worst['ratio']:.2f}"]
        rows.setdefault(simulation, []).append([name, f"{joints:,}", f"{full:,.0f} µs", *ratios, at, f"{above}"])
    columns = ["linkage", "joints", "a full step", "best ratio", "worst ratio", "at", f"points above {LIMIT:g}"]
    for simulation, table in rows.items():
        report.add_table("grid", f"{simulation}: time of an adaptive step over that of a full one", columns, table)


def plot(results: list[dict[str, Any]], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
    except ImportError:
        progress("no picture: matplotlib is not installed (pip install '.[plots]')")
        return
    simulations = [name for name in SIMULATIONS if any(r["simulation"] == name for r in results)]
    figure = Figure(figsize=(5.2 * len(simulations) + 0.6, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    for name, axes in zip(
        simulations, figure.subplots(1, len(simulations), squeeze=False, sharey=True)[0], strict=True
    ):
        draw(axes, [r for r in results if r["simulation"] == name])
        axes.set_title(name, fontsize=10)
    figure.axes[0].set_ylabel("time of an adaptive step / a full step")
    handles = [Line2D([], [], marker="o", linestyle="", color=c, label=n) for n, c in COLORS.items()]
    marks = (("o", "one body pushed"), ("s", "100"), ("^", "all"))
    handles += [Line2D([], [], marker=m, linestyle="", color="0.4", label=n) for m, n in marks]
    figure.axes[-1].legend(handles=handles, fontsize=8, ncols=2, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def draw(axes: Any, results: list[dict[str, Any]]) -> None:
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
