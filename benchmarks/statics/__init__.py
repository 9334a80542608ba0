"""Equilibria: cables, elastic rods and closed chains settled in a few sweeps, beside MuJoCo stepped to rest.

Every answer is checked first: against the catenary, the elastica, a circle, or by the efforts that are left unbalanced.
Times are those of whole calls of `lw.settle` and `lw.close_loops`, by the wall clock, on one core.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns
from . import models

LEVEL_LINKS, QUICK_LEVEL_LINKS = (100, 1000, 5000, 20_000, 100_000), (100, 1000)
REQUIRED = {5000: (30, 0.5), 100_000: (100, 15.0)}  # links: sweeps, seconds
BALANCED = 1e-10  # unbalanced efforts as a part of the largest load moment
CRUMPLED_LINKS, CRUMPLED_STARTS = 500, 100
SPANS = (5.0, 1.0, -5.0, 9.9, 9.999)  # [m] of a cable of 10 m: sagging, with a deep belly, the other way, nearly taut
MUJOCO_LINKS = 16  # longer cables do not come to rest within the time given


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3, help="turns each call takes (3)")
    parser.add_argument("--no-peers", action="store_true", help="leave MuJoCo out")


def run(options: argparse.Namespace) -> Report:
    report = Report("statics", {"rounds": options.rounds, "quick": options.quick}, is_judged=not options.quick)
    rounds = 1 if options.quick else options.rounds
    level(report, QUICK_LEVEL_LINKS if options.quick else LEVEL_LINKS, rounds)
    again(report, 500 if options.quick else 5000, rounds)
    crumpled(report, 100 if options.quick else CRUMPLED_LINKS, 5 if options.quick else CRUMPLED_STARTS)
    both_ends(report, 200 if options.quick else 5000, rounds)
    elastica(report, 200)
    rough_starts(report, 200 if options.quick else 5000, 10 if options.quick else 100)
    if options.no_peers:
        report.notes.append("MuJoCo was left out.")
    else:
        beside_mujoco(report, 10 if options.quick else MUJOCO_LINKS)
    return report


def level(report: Report, sizes: tuple[int, ...], rounds: int) -> None:
    """From level to a catenary, pulled sideways at the tip."""
    for links in sizes:
        progress(f"level cable, {links:,} links")
        model = models.cable(links)
        loads, start = models.pulled(model), model.neutral()
        rest = lw.settle(model, start, loads=loads)
        timing = take_turns({"settle": lambda m=model, s=start, f=loads: lw.settle(m, s, loads=f)}, rounds)
        report.add_timings("level cable", links, timing)
        seconds, sweeps = timing["settle"].median, rest.report.sweeps
        most = REQUIRED.get(links)
        error = models.slope_error(model, rest.state)
        detail = f"{seconds:.3g} s, unbalanced {rest.report.unbalanced_part:.1e}, slope error {error:.1e}"
        good = rest.report.unbalanced_part <= BALANCED and rest.report.stable
        passed = good and (most is None or (sweeps <= most[0] and seconds <= most[1]))
        required = f"≤ {most[0]}, {most[1]:g} s, {BALANCED:g}" if most else f"unbalanced ≤ {BALANCED:g}"
        report.requirements.append(
            Requirement(f"level cable, {links:,} links", sweeps, "sweeps", required, passed, detail=detail)
        )


def again(report: Report, links: int, rounds: int) -> None:
    """A settled cable whose load changes by a little settles again from where it is."""
    progress("changed load")
    model = models.cable(links)
    rest = lw.settle(model, model.neutral(), loads=models.pulled(model))
    changed = models.pulled(model, (3.03, 1.0, 0.0))
    warm = lw.settle(model, rest.state, loads=changed)
    cold = lw.settle(model, model.neutral(), loads=changed)
    timings = take_turns(
        {
            "from where it is": lambda: lw.settle(model, rest.state, loads=changed),
            "from level": lambda: lw.settle(model, model.neutral(), loads=changed),
        },
        rounds,
    )
    report.add_timings("changed load", links, timings)
    detail = f"{cold.report.sweeps} from level"
    report.requirements.append(
        Requirement(f"load changed by 1 %, {links:,} links", warm.report.sweeps, "sweeps", "", True, detail=detail)
    )


def crumpled(report: Report, links: int, starts: int) -> None:
    model = models.cable(links)
    loads = models.pulled(model)
    level_energy = lw.settle(model, model.neutral(), loads=loads).report.energy
    sweeps, settled, seconds = [], 0, []
    for seed in range(starts):
        progress(f"crumpled cable {seed + 1} of {starts}")
        rng = np.random.default_rng(seed)
        q = rng.normal(size=links) * (1.0 if seed % 2 else 2.0 / np.sqrt(links))
        began = time.perf_counter()
        rest = lw.settle(model, lw.State(q, np.zeros(links)), loads=loads)
        seconds.append(time.perf_counter() - began)
        sweeps.append(rest.report.sweeps)
        same = abs(rest.report.energy - level_energy) <= 1e-9 * models.MASS * models.GRAVITY * models.LENGTH
        settled += rest.report.stable and rest.report.unbalanced_part <= BALANCED and same
    detail = f"{int(np.median(sweeps))} sweeps in the median, {max(sweeps)} at most; {np.median(seconds):.2g} s"
    report.requirements.append(
        Requirement(
            f"{starts} crumpled starts, {links} links",
            settled,
            "settled alike",
            f"{starts}",
            settled == starts,
            detail=detail,
        )
    )


def both_ends(report: Report, links: int, rounds: int) -> None:
    for span in SPANS:
        progress(f"both ends fixed, span {span} m")
        model = models.cable(links, (span, 0.0, 0.0))
        began = time.perf_counter()
        rest = lw.settle(model, model.neutral())
        seconds = time.perf_counter() - began
        pull = lw.body_poses(model, rest.state)[-1, :3, :3] @ rest.report.reactions[0, 3:]
        error = abs(abs(pull[0]) / models.horizontal_tension(abs(span)) - 1.0)
        passed = rest.report.stable and rest.report.unbalanced_part <= BALANCED and error < 0.05
        detail = f"{seconds:.2g} s, tension error {error:.1e}, gap {rest.report.gap:.1e} m"
        report.requirements.append(
            Requirement(
                f"both ends fixed {span:g} m apart, {links:,} links",
                rest.report.sweeps,
                "sweeps",
                "settled, error < 0.05",
                passed,
                detail=detail,
            )
        )


def elastica(report: Report, links: int) -> None:
    try:
        from scipy.optimize import brentq
        from scipy.special import ellipe, ellipk
    except ImportError:
        report.notes.append("SciPy is missing: the elastica was left out.")
        return
    load = models.ELASTICA_LOAD
    angle = brentq(lambda a: ellipk(np.sin(a / 2) ** 2) - np.sqrt(load), 1e-6, np.pi - 1e-9)
    p2 = np.sin(angle / 2) ** 2
    expected = np.array([2 * np.sqrt(p2 / load), 2 * ellipe(p2) / np.sqrt(load) - 1.0])
    errors, sweeps, seconds = [], 0, 0.0
    for count in (links // 2, links):
        model = models.rod(count)
        loads = lw.Loads(model)
        loads.apply_wrench(count - 1, force=(0, 0, -load), frame="world", at=(0, 0, 1.0 / count))
        began = time.perf_counter()
        rest = lw.settle(model, model.neutral(), loads=loads)
        seconds, sweeps = time.perf_counter() - began, rest.report.sweeps
        x, y, z = models.rod_tip(model, rest.state)
        errors.append(float(np.abs(np.array([np.hypot(x, y), z]) - expected).max()))
    passed = errors[1] <= 1e-3 and errors[0] / errors[1] > 3.5
    detail = f"{sweeps} sweeps, {seconds:.2g} s, order {np.log2(errors[0] / errors[1]):.2f}"
    report.requirements.append(
        Requirement(f"elastica, {links} links", errors[1], "of its length", "≤ 1e-3, order 2", passed, detail=detail)
    )


def rough_starts(report: Report, links: int, four_bars: int) -> None:
    closed, seconds = 0, []
    anchors = ((5.0, 0.0, 0.0), (0.5, 0.0, 0.0), (-5.0, 0.0, 0.0), (-9.9, 0.0, 0.0), (0.0, 3.0, 4.0), (9.9, 0.0, 0.0))
    for anchor in anchors:
        progress(f"closing a chain to {anchor}")
        model = models.cable(links, anchor)
        began = time.perf_counter()
        state = lw.close_loops(model, model.neutral())
        seconds.append(time.perf_counter() - began)
        closed += lw.loop_gaps(model, state).worst_gap <= 1e-10
    detail = f"{np.median(seconds):.2g} s in the median, {max(seconds):.2g} at most"
    report.requirements.append(
        Requirement(
            f"chains of {links:,} links between anchors",
            closed,
            "closed",
            f"{len(anchors)}",
            closed == len(anchors),
            detail=detail,
        )
    )
    rng, z, done, tried = np.random.default_rng(7), lw.Revolute((0, 0, 1)), 0, 0
    while tried < four_bars:
        g, a, b, c = rng.uniform(0.2, 1.5, 4)
        if max(g, a, b, c) > 0.99 * (g + a + b + c - max(g, a, b, c)):
            continue
        tried += 1
        linkage = lw.Linkage("four_bar")
        bars = {size: lw.Inertia.box(1.0, (size, 0.02, 0.02)).at(lw.Pose((0.5 * size, 0, 0))) for size in (a, b, c)}
        linkage.add_body("crank", "world", z, inertia=bars[a])
        linkage.add_body("coupler", "crank", z, lw.Pose((a, 0, 0)), bars[b])
        linkage.add_body("rocker", "world", z, lw.Pose((g, 0, 0)), bars[c])
        linkage.add_loop(z, "coupler", "rocker", (lw.Pose((b, 0, 0)), lw.Pose((c, 0, 0))), name="pin")
        model = linkage.compile()
        state = lw.close_loops(model, lw.State(model.random_state(rng).q, np.zeros(3)))
        done += lw.loop_gaps(model, state).worst_gap <= 1e-10
    report.requirements.append(Requirement("four-bars from random states", done, "closed", f"{tried}", done == tried))


def beside_mujoco(report: Report, links: int) -> None:
    try:
        import mujoco  # noqa: F401

        from .mujoco_rest import DAMPINGS, bend, hang, left_unbalanced
    except ImportError:
        report.notes.append("MuJoCo is not installed.")
        return
    progress("MuJoCo, hanging cable")
    model = models.cable(links)
    loads = models.pulled(model)
    rest = lw.settle(model, model.neutral(), loads=loads)
    began = time.perf_counter()
    lw.settle(model, model.neutral(), loads=loads)
    own = time.perf_counter() - began
    scale = (models.MASS * models.GRAVITY / 2 + float(np.linalg.norm(models.TIP_FORCE))) * models.LENGTH
    shape = (links, models.LENGTH, models.MASS, models.GRAVITY, models.TIP_FORCE)
    part = left_unbalanced(*shape, rest.state.q) / scale
    report.requirements.append(
        Requirement(
            f"cable, {links} links: what MuJoCo finds unbalanced in Linkwork's equilibrium",
            part,
            "of the loads",
            f"≤ {BALANCED:g}",
            part <= BALANCED,
        )
    )
    origins = lw.body_poses(model, rest.state)[:, :3, 3]
    _beside(
        report,
        f"cable, {links} links",
        own,
        rest.report.sweeps,
        [hang(*shape, damping) for damping in DAMPINGS],
        origins,
    )
    progress("MuJoCo, rod bent into a circle")
    rod = models.rod(links)
    ring = lw.Loads(rod)
    ring.apply_wrench(links - 1, torque=(0, 2 * np.pi, 0), frame="world")
    circle = lw.settle(rod, rod.neutral(), loads=ring)
    began = time.perf_counter()
    lw.settle(rod, rod.neutral(), loads=ring)
    own = time.perf_counter() - began
    miss = float(np.linalg.norm(models.rod_tip(rod, circle.state)))
    report.requirements.append(
        Requirement(
            f"rod bent into a circle, {links} links",
            miss,
            "of its length open",
            "≤ 1e-8",
            miss <= 1e-8,
            detail=f"{circle.report.sweeps} sweeps",
        )
    )
    points = lw.body_poses(rod, circle.state)[:, :3, 3]
    turned = np.stack([points[:, 2], points[:, 1], -points[:, 0]], axis=1)  # upright here, along x there
    bent = [bend(links, float(links), 2 * np.pi, damping) for damping in DAMPINGS]
    _beside(report, f"rod bent into a circle, {links} links", own, circle.report.sweeps, bent, turned)


def _beside(report: Report, case: str, own: float, sweeps: int, others: list, origins: np.ndarray) -> None:  # type: ignore[type-arg]
    """The run of MuJoCo that ended closest to Linkwork's equilibrium."""
    away, other = min(((float(np.abs(o.points - origins).max()), o) for o in others), key=lambda pair: pair[0])
    rest = "at rest" if other.still else "not at rest"
    detail = (
        f"Linkwork {sweeps} sweeps, {own:.2g} s; MuJoCo at best {other.steps:,} steps, {other.seconds:.2g} s, {rest}, "
        f"{away:.1e} m from Linkwork's"
    )
    times = other.seconds / own
    report.requirements.append(
        Requirement(f"{case}: MuJoCo stepped to rest", times, "times longer", "", True, detail=detail)
    )
