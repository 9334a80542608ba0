"""The figures of Yamane and Nakamura: serial chains (figure 6) and arms on one link (figure 7), then up to 10,000 of each.

Figure 6: 2 to 16 spherical joints in a row. Figure 7: 2 to 12 end links on one link that hangs from the world, all by
spherical joints, with and without link splitting. Answers are compared with `aba` before anything is timed. One call is one
call from Python, checks included; growth is fitted to processor times of the large sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

import linkwork as lw

from .harness import Report, Requirement, Timing, progress, take_turns

SPLIT, WHOLE, JUDGE = "virtual_work", "virtual_work_unsplit", "aba"
SEED = 7
AGREEMENT = 1e-8  # relative, in the largest entry: rounding of methods that never form the mass matrix
OF_MASS_MATRIX = 1e-6  # the same for unit_vector: rounding times the condition of the mass matrix of 900 freedoms
MOST_OF_ABA = 3.0  # times its time, at 1,000 spherical joints
LINEAR, SQUARE = 1.1, 2.0  # fitted exponents: at most with splitting, at least without it on the star
FITTED_FROM = 100  # joints: below it the cost of a call from Python hides the growth

CHAINS, ARMS = (2, 4, 6, 8, 10, 12, 14, 16), (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
LARGE = (30, 100, 300, 1000, 3000, 10_000)
# Where a contestant stops: unit_vector needs O(n²) time and memory, the star without splitting O(n³) and O(n²).
LAST = {"unit_vector": 300, WHOLE: 300}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=51, help="turns each contestant takes (51)")
    parser.add_argument("--largest", type=int, default=10_000, help="most joints (10000)")


def run(options: argparse.Namespace) -> Report:
    rounds = 3 if options.quick else options.rounds
    large = [30, 100] if options.quick else [n for n in LARGE if n <= options.largest]
    report = Report(
        "virtual_work",
        {key: getattr(options, key) for key in ("quick", "rounds", "largest")},
        is_judged=not options.quick,
    )
    row = figure(report, "figure 6, chain", chain, CHAINS, large, (SPLIT, "unit_vector", JUDGE, "dca"), rounds)
    arms = figure(report, "figure 7, star", star, ARMS, large, (SPLIT, WHOLE, "unit_vector", JUDGE), rounds)
    report.requirements += [growth("figure 6, chain", SPLIT, row), growth("figure 7, star", SPLIT, arms)]
    report.requirements += [growth("figure 7, star", WHOLE, arms), *against_aba(row)]
    report.requirements += [crossover("figure 6, chain", SPLIT, row), crossover("figure 7, star", SPLIT, arms)]
    report.requirements += [crossover("figure 7, star", WHOLE, arms)]
    return report


# --------------------------------------------------------------------------------------------------------------- cases


ROD = lw.Inertia.box(0.1, (0.02, 0.03, 0.1)).at(lw.Pose((0.0, 0.0, -0.05)))
BALL = lw.Spherical()


def chain(joints: int) -> lw.Linkage:
    """Rods in a row, each on a ball joint."""
    linkage = lw.Linkage(f"chain_{joints}")
    for i in range(joints):
        parent = f"link_{i - 1}" if i else "world"
        linkage.add_body(f"link_{i}", parent, BALL, lw.Pose((0.0, 0.0, -0.1 if i else 0.0)), ROD)
    return linkage


def star(arms: int) -> lw.Linkage:
    """One link on a ball joint, and rods that hang from it by ball joints."""
    linkage = lw.Linkage(f"star_{arms}")
    linkage.add_body("hub", "world", BALL, inertia=lw.Inertia.box(0.1 * arms, (0.2, 0.2, 0.05)))
    for i in range(arms):
        angle = 2.0 * np.pi * i / arms
        foot = lw.Pose((0.1 * np.cos(angle), 0.1 * np.sin(angle), -0.025))
        linkage.add_body(f"arm_{i}", "hub", BALL, foot, ROD)
    return linkage


Figure = dict[int, dict[str, Timing]]


def figure(
    report: Report, name: str, make: Callable[[int], lw.Linkage], small: Sequence[int], large: Sequence[int],
    contestants: Sequence[str], rounds: int,
) -> Figure:  # fmt: skip
    """Times of all contestants by size; sizes of the paper first, then beyond."""
    timings: Figure = {}
    for size in (*small, *large):
        names = [contestant for contestant in contestants if size <= LAST.get(contestant, size)]
        progress(f"{name}, {size:,}")
        calls = {contestant: call(make, size, contestant) for contestant in names}
        expected = calls[JUDGE]()
        for contestant, solve in calls.items():
            prove_equal(name, size, contestant, solve(), expected)
        turns = rounds if size <= max(small) else max(3, rounds // 5)
        timings[size] = take_turns(calls, turns)
        report.add_timings(name, size, timings[size])
    return timings


def call(make: Callable[[int], lw.Linkage], size: int, algorithm: str) -> Callable[[], np.ndarray]:
    model = make(size).compile()
    rng = np.random.default_rng(SEED)
    state, effort = model.random_state(rng, speed=0.1), 1e-3 * rng.normal(size=model.nv)
    return lambda: lw.forward_dynamics(model, state, effort, algorithm=algorithm)


def prove_equal(name: str, size: int, contestant: str, own: np.ndarray, expected: np.ndarray) -> None:
    difference = float(np.abs(own - expected).max() / np.abs(expected).max())
    most = OF_MASS_MATRIX if contestant == "unit_vector" else AGREEMENT
    if not difference <= most:
        raise lw.LinkworkError(
            f"{name}, {size}: {contestant} and {JUDGE} differ by {difference:.1e} of the largest acceleration; at most "
            f"{most:g} is rounding. Nothing was timed."
        )


# ------------------------------------------------------------------------------------------------------------- verdicts


def growth(name: str, contestant: str, timings: Figure) -> Requirement:
    """The exponent of the least-squares line through the logarithms of size and time."""
    first = FITTED_FROM if contestant == SPLIT else 30  # without splitting there are few sizes, and no cost hides them
    sizes = [size for size in timings if size >= first and contestant in timings[size]]
    times = [timings[size][contestant].processor_median for size in sizes]
    if len(sizes) < 2:
        return Requirement(f"{name}, {contestant}: growth", float("nan"), "(too few sizes)", "", True)
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    split = contestant == SPLIT
    return Requirement(
        f"{name}, {contestant}: growth from {sizes[0]:,} to {sizes[-1]:,}",
        exponent,
        "fitted exponent",
        f"≤ {LINEAR:g}" if split else f"about {SQUARE:g} or more",
        exponent <= LINEAR if split else exponent >= SQUARE - 0.1,
    )


def against_aba(timings: Figure) -> list[Requirement]:
    found = []
    for size in (1000, 10_000):
        if size in timings:
            ratio = 1.0 / timings[size][SPLIT].times_faster_than(timings[size][JUDGE])
            required = f"≤ {MOST_OF_ABA:g} times" if size == 1000 else ""
            passed = ratio <= MOST_OF_ABA or not required
            found.append(
                Requirement(f"figure 6, chain, {size:,} joints, against aba", ratio, "times its time", required, passed)
            )
    return found


def crossover(name: str, contestant: str, timings: Figure) -> Requirement:
    """The least size from which on the contestant is faster than the unit-vector method."""
    sizes = [size for size in timings if contestant in timings[size] and "unit_vector" in timings[size]]
    slower = [size for size in sizes if timings[size][contestant].median >= timings[size]["unit_vector"].median]
    faster = [size for size in sizes if size > max(slower, default=0)]
    first = min(faster, default=0)
    joints = first + (1 if "star" in name else 0)
    return Requirement(
        f"{name}, {contestant}: faster than unit_vector from",
        first,
        "joints" if "chain" in name else "arms",
        "",
        True,
        detail=f"{3 * joints} degrees of freedom" if first else f"at none of the sizes up to {sizes[-1]}",
    )
