"""Whether an adaptive step ever takes longer than a full one: linkages, tolerances and loads in a grid, and a plot.

For `QuasiStatics` a full step is one `aba` of all joints and a step of Euler's rule, in compiled code; for
`AdaptiveDynamics` it is a step of `FullDynamics`, both with default settings. Adaptive and full steps take turns; the
first ten adaptive steps are for learning and are not timed. A point above the limit takes four times as many turns more,
all of which count, so that no single moment of a busy machine decides. Before any timing the accelerations of a solve are
compared with those of `aba`; of a motion, what its region hides with the bound of its last update.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkWarning

from .harness import Requirement, TableReport, fill_in, on_cores, progress

SIZES, QUICK_SIZES = (100, 1_000, 10_000, 100_000), (100,)
EXPONENTS, QUICK_EXPONENTS = (0, 6, 11, 14, 16, 19, 24, 30), (0, 16)
LOADS = (1, 100, 0)  # bodies that are pushed; 0: all
LEARNING = 10  # steps
MORE = 4  # times as many turns more for a point above the limit
TURNS, QUICK_TURNS = 7, 2
MOST_PER_TURN = 20_000  # joints times steps of a turn, about: small linkages make more steps
H = 1e-5  # [s]
LIMIT = 1.15
SIMULATIONS = ("QuasiStatics", "AdaptiveDynamics")
LARGE, LARGE_EXPONENTS, LARGE_TURNS = 10_000, (0, 6, 11, 14, 30), 5  # of linkages so large
COLORS = {"chain": "tab:blue", "tree": "tab:green", "molecule": "tab:orange", "millipede": "tab:red"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, nargs="+", help="sizes (default: 100 to 100,000)")
    parser.add_argument("--exponents", type=int, nargs="+", help="k of the tolerances 2^-k")
    parser.add_argument("--linkage", choices=tuple(COLORS), nargs="+", help="these only")
    parser.add_argument("--simulation", choices=SIMULATIONS, nargs="+", help="these only")
    parser.add_argument("--workers", type=int, default=1, help="linkages at a time, each on a core of its own (1)")
    parser.add_argument("--also", metavar="JSON", type=Path, nargs="+", default=[], help="runs that are shown as well")
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
    simulations = options.simulation or SIMULATIONS
    tasks = []
    for joints, simulation, name in itertools.product(sizes, simulations, options.linkage or COLORS):
        large = joints >= LARGE and not options.quick
        plan = (LARGE_EXPONENTS, LARGE_TURNS) if large else (exponents, turns)
        plan = (tuple(options.exponents or plan[0]), plan[1])
        tasks += [(simulation, name, joints, count, *plan) for count in LOADS if count < joints]
    tasks.sort(key=lambda task: -task[2])  # the longest first, so that all cores end together
    found = list(itertools.chain.from_iterable(on_cores(points, tasks, options.workers)))
    for earlier in options.also:
        found += json.loads(earlier.read_text(encoding="utf-8"))["results"]
    order = {simulation: k for k, simulation in enumerate(SIMULATIONS)}
    found.sort(key=lambda r: (order[r["simulation"]], list(COLORS).index(r["case"]), r["joints"]))
    report.results += found
    judge(report)
    if options.out is not None:
        plot(report.results, options.out / "never_slower.png")
    if options.page is not None:
        fill_in(options.page, report)
    return report


def points(
    simulation: str, name: str, joints: int, count: int, exponents: tuple[int, ...], turns: int
) -> list[dict[str, Any]]:
    """All tolerances of one linkage with so many bodies pushed."""
    progress(f"{simulation}, {name} of {joints:,}, {count or 'all'} pushed")
    model = make(name, joints)
    where = {"simulation": simulation, "case": name, "joints": joints}
    return [{**where, **point(simulation, model, count, exponent, turns)} for exponent in exponents]


def point(simulation: str, model: lw.Model, count: int, exponent: int, turns: int) -> dict[str, Any]:
    """One point of the grid: the time of an adaptive step over that of a full one, proven right before."""
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
    for body in bodies.tolist():
        for one in (sim, full):
            one.apply_wrench(body, force=tuple(wrenches[body, 3:]), frame="body")
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
        while len(ratios) < turns or (len(ratios) < (1 + MORE) * turns and is_above):
            began = time.process_time()
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
