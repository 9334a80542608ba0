"""Inverse kinematics: small arms and long ones, and a snake arm into a pipe, beside Pinocchio's loop, pink and mink.

Before anything is timed, every pose that counts as reached is checked by the poses of the bodies. Success is counted by
descents and starts, so that a reader can tell a method from its restarts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, Timing, progress, take_turns
from .peers import peers

POSES, QUICK_POSES = 1000, 20
LONG, QUICK_LONG = (100, 1000, 10_000, 100_000), (100, 1000)
TURNS = 15
MISSED = 1e-7  # [rad and m] poses of bodies that count as reached agree to this
ONE_START, RESTARTED = 0.97, 0.999
PER_START = 4  # descents: the first, and three that leave its dead end
SEEDS = (1, 2, 3)  # of sets of poses
SMALL_LIMIT, ITERATION_LIMIT, LONG_LIMIT = 0.5e-3, 0.5e-3, 50e-3  # [s]
ITERATIONS = 20
FLAT = 2.0  # times the cost per joint may vary with the length
PIPE_RATE = 1000.0  # points per second
LINKS = 300


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=TURNS, help=f"turns each contestant takes ({TURNS})")
    parser.add_argument("--poses", type=int, default=POSES, help=f"random poses of the small arm ({POSES})")


def run(options: argparse.Namespace) -> Report:
    rounds = 2 if options.quick else options.rounds
    poses = QUICK_POSES if options.quick else options.poses
    report = Report("reach", {"poses": poses, "rounds": rounds}, is_judged=not options.quick)
    small_arm(report, poses, rounds)
    long_arms(report, QUICK_LONG if options.quick else LONG)
    pipe(report, rounds)
    return report


def arm() -> lw.Linkage:
    """Seven hinges with the lengths and limits of a common robot arm."""
    offsets = [(0, 0, 0.333), (0, 0, 0), (0, -0.316, 0), (0.0825, 0, 0), (-0.0825, 0.384, 0), (0, 0, 0), (0.088, 0, 0)]
    turns = [0.0, -np.pi / 2, np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2, np.pi / 2]
    limits = [(-2.8973, 2.8973), (-1.7628, 1.7628), (-2.8973, 2.8973), (-3.0718, -0.0698), (-2.8973, 2.8973),
              (-0.0175, 3.7525), (-2.8973, 2.8973)]  # fmt: skip
    linkage = lw.Linkage("arm")
    for i, (offset, turn, pair) in enumerate(zip(offsets, turns, limits, strict=True)):
        hinge = lw.Revolute((0, 0, 1), limits=pair)
        pose = lw.Pose(offset, rpy=(turn, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, lw.Inertia.sphere(1.0, 0.05))
    return linkage


def snake(joints: int) -> lw.Model:
    """Hinges in turn about z and y, one metre in all."""
    linkage = lw.Linkage("snake")
    part = lw.Inertia.sphere(1.0 / joints, 0.1 / joints)
    for i in range(joints):
        hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1))
        pose = lw.Pose((1.0 / joints if i else 0.0, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, part)
    return linkage.compile()


# ------------------------------------------------------------------------------------------------------------- small arm


def poses_of(model: lw.Model, poses: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(poses):
        goal = lw.body_poses(model, model.random_state(rng))[-1]
        cases.append((goal, lw.Pose(matrix=goal), model.random_state(rng)))
    return cases


def small_arm(report: Report, poses: int, rounds: int) -> None:
    """Sets of random poses; the worst set counts."""
    model = arm().compile()
    one, all_starts, times = [], [], []
    for seed in SEEDS:
        cases = poses_of(model, poses, seed)
        progress(f"{poses} poses of the small arm, set {seed}")
        lw.reach(model, cases[0][2], {"link6": cases[0][1]})
        descents = []
        for goal, pose, start in cases:
            begin = time.thread_time()
            result = lw.reach(model, start, {"link6": pose})
            times.append(time.thread_time() - begin)
            descents.append(result.descents if result.reached else 10**9)
            if result.reached:
                check(model, result.state, goal)
        count = np.array(descents)
        shares = {k: float(np.mean(count <= k)) for k in (1, 2, PER_START, 4 * PER_START)}
        report.results.append({"case": f"small arm, set {seed}", "joints": 7, "reached_by_descents": shares})
        report.notes.append(
            f"set {seed}: reached with at most 1, 2, 4 (one start) and 16 descents (three restarts): "
            + ", ".join(f"{share:.1%}" for share in shares.values()) + "."
        )  # fmt: skip
        one.append(shares[PER_START])
        all_starts.append(shares[4 * PER_START])
    add(report, "7 joints with limits, one start, least of the sets", 100 * min(one), "% reached",
        f"≥ {100 * ONE_START:g}", min(one) >= ONE_START)  # fmt: skip
    add(report, "7 joints with limits, and three restarts, least of the sets", 100 * min(all_starts), "% reached",
        f"≥ {100 * RESTARTED:g}", min(all_starts) >= RESTARTED)  # fmt: skip
    middle = statistics.median(times)
    add(report, "7 joints, one solve, median of processor time", 1e3 * middle, "ms", f"≤ {1e3 * SMALL_LIMIT:g}",
        middle <= SMALL_LIMIT)  # fmt: skip
    compare(report, model, poses_of(model, min(poses, 50), SEEDS[0]), rounds)


def check(model: lw.Model, state: lw.State, goal: np.ndarray) -> None:
    missed = float(np.abs(lw.body_poses(model, state)[-1] - goal).max())
    inside = (state.q >= model.lower - 1e-12).all() and (state.q <= model.upper + 1e-12).all()
    if not missed <= MISSED or not inside:
        raise AssertionError(f"a pose that counts as reached is missed by {missed:.1e}, limits kept: {inside}.")


def compare(report: Report, model: lw.Model, cases: list[Any], rounds: int) -> None:
    """One start beside loops of peers from the same starts: without limits, and with them."""
    progress("peers")
    for limits in (False, True):

        def solve(pose: lw.Pose, start: lw.State, limits: bool = limits) -> bool:
            return lw.reach(model, start, {"link6": pose}, limits=limits, restarts=0).reached

        def ours(solve: Callable[..., bool] = solve) -> None:
            for _, pose, start in cases:
                solve(pose, start)

        others = peers(arm(), cases, limits)
        contestants: dict[str, Callable[[], None]] = {"reach": ours} | {
            name: call for name, (call, _) in others.items()
        }
        reached = {"reach": float(np.mean([solve(pose, start) for _, pose, start in cases]))}
        reached |= {name: share for name, (_, share) in others.items()}
        timings = take_turns(contestants, rounds if not limits else max(2, rounds // 5))
        per_solve = {name: scaled(timing, len(cases)) for name, timing in timings.items()}
        how = "with limits" if limits else "without limits"
        report.add_timings(f"7 joints {how}, one start", 7, per_solve)
        for name, share in reached.items():
            spent = 1e3 * per_solve[name].processor_median
            report.notes.append(
                f"{name}: {share:.0%} of {len(cases)} poses reached from one start {how}, {spent:.3g} ms each."
            )
        if not others:
            report.notes.append(f"no peer is installed to compare with {how}.")


def scaled(timing: Timing, solves: int) -> Timing:
    return Timing(tuple(s / solves for s in timing.samples), tuple(s / solves for s in timing.processor_samples),
                  timing.calls)  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- long arms


def long_arms(report: Report, lengths: tuple[int, ...]) -> None:
    costs = {}
    for joints in lengths:
        progress(f"{joints:,} joints")
        model = snake(joints)
        rng = np.random.default_rng(joints)
        bend, tip = 2.0 / np.sqrt(joints), f"link{joints - 1}"
        times, iterations, sweeps, reached = [], [], [], 0
        for k in range(21 if joints <= 10_000 else 6):
            goal = lw.body_poses(model, model.state(bend * rng.normal(size=joints)))[-1]
            start, pose = model.state(bend * rng.normal(size=joints)), lw.Pose(matrix=goal)
            begin = time.thread_time()
            result = lw.reach(model, start, {tip: pose}, restarts=0)
            used = time.thread_time() - begin
            reached += result.reached
            if result.reached:
                check(model, result.state, goal)
            if k:  # the first one makes memory and code
                times.append(used), iterations.append(result.iterations), sweeps.append(result.sweeps)
        per_iteration = statistics.median(t / max(i, 1) for t, i in zip(times, iterations, strict=True))
        costs[joints] = statistics.median(t / max(s, 1) for t, s in zip(times, sweeps, strict=True)) / joints
        report.results.append(
            {"case": "long arm", "joints": joints, "solve_s": statistics.median(times),
             "iterations": statistics.median(iterations), "per_iteration_s": per_iteration,
             "per_sweep_and_joint_s": costs[joints], "reached": reached, "tried": len(times) + 1}
        )  # fmt: skip
        report.notes.append(
            f"{joints:,} joints: {reached} of {len(times) + 1} poses reached in one descent; in the median "
            f"{statistics.median(iterations):g} iterations and {1e3 * statistics.median(times):.3g} ms of processor time."
        )
        judge_length(report, joints, times, iterations, per_iteration)
    spread = max(costs.values()) / min(costs.values())
    add(report, f"cost per joint and sweep, {min(costs):,} to {max(costs):,} joints", spread, "times the least",
        f"≤ {FLAT:g}", spread <= FLAT)  # fmt: skip


def judge_length(report: Report, joints: int, times: list[float], iterations: list[int], per_iteration: float) -> None:
    if joints == 1000:
        add(report, "1,000 joints, one iteration", 1e3 * per_iteration, "ms", f"≤ {1e3 * ITERATION_LIMIT:g}",
            per_iteration <= ITERATION_LIMIT)  # fmt: skip
        middle = statistics.median(iterations)
        add(report, "1,000 joints", middle, "iterations", f"≤ {ITERATIONS}", middle <= ITERATIONS)
    if joints == 10_000:
        solve = statistics.median(times)
        add(report, "10,000 joints, one solve", 1e3 * solve, "ms", f"≤ {1e3 * LONG_LIMIT:g}", solve <= LONG_LIMIT)


# ------------------------------------------------------------------------------------------------------------------- pipe


def pipe(report: Report, rounds: int) -> None:
    """A snake arm of 300 joints on a slide goes into a pipe of three bends, every joint behind the tip."""
    progress("pipe")
    size = 1.0 / LINKS
    linkage = lw.Linkage("snake arm")
    part = lw.Inertia.sphere(0.01, 0.01)
    linkage.add_body("feed", joint=lw.Prismatic((1, 0, 0)), inertia=part)
    for i in range(LINKS):
        hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1), limits=(-0.3, 0.3))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "feed", hinge, lw.Pose((size if i else 0, 0, 0)), part)
    model = linkage.compile()
    curve = bends(np.array([1.0, 0.0, 0.0]))
    path = lw.follow(model, model.neutral(), curve, point=(size, 0, 0), body_follows=True)
    if not path.reached.all() or not path.deviation.max() <= 0.1 * size:
        raise AssertionError(f"the arm leaves the curve by {path.deviation.max():.1e} m.")

    def go() -> None:
        lw.follow(model, model.neutral(), curve, point=(size, 0, 0), body_follows=True)

    timing = scaled(take_turns({"follow": go}, rounds)["follow"], len(curve))
    report.add_timings("pipe of three bends, per point", LINKS, {"follow": timing})
    rate = 1.0 / timing.processor_median
    add(report, "300 joints into a pipe of three bends", rate, "points per second", f"≥ {PIPE_RATE:g}", rate >= PIPE_RATE,
        f"joints within {1e6 * path.deviation.max():.0f} µm of the curve")  # fmt: skip


def bends(start: np.ndarray, radius: float = 0.15, angle: float = 1.2, points: int = 100) -> np.ndarray:
    """Three bends in different planes with straight pieces between them, points 1.8 mm apart, shape (k, 3)."""
    p, d = start.copy(), np.array([1.0, 0.0, 0.0])
    found = []
    for axis in np.eye(3)[[2, 1, 2]] * [[1], [1], [-1]]:
        axis = axis - d * (axis @ d)
        axis /= np.linalg.norm(axis)
        center, side = p + radius * np.cross(axis, d), np.cross(axis, d)
        for t in np.linspace(0, angle, points + 1)[1:]:
            found.append(center - radius * (np.cos(t) * side - np.sin(t) * d))
        p, d = found[-1], np.cos(angle) * d + np.sin(angle) * side
        found += [p + s * d for s in np.linspace(0, 0.1, 56)[1:]]
        p = found[-1]
    return np.array(found)


def add(report: Report, case: str, reached: float, unit: str, required: str, passed: bool, detail: str = "") -> None:
    report.requirements.append(Requirement(case, float(reached), unit, required, bool(passed), detail=detail))
