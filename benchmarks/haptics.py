"""Force feedback: time of one coupling tick at 40 to 1,000,000 joints, rates held beside a simulation, stability region.

Before anything is timed, what the tick makes a hand feel is shown to be the sum of all joint reactions.
"""

from __future__ import annotations

import argparse
import math
import os
import threading
import time

import numpy as np

import linkwork as lw
from linkwork.assembly.plan import node_depths
from linkwork.core.bundles import describe
from linkwork.core.jit import kernel
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.path_queries import response_matrix, solver_paths
from linkwork.dynamics.path_union import path_union, respond_together
from linkwork.haptics import layout as at
from linkwork.haptics.clock import take_real_time_priority
from linkwork.haptics.coupling import couple_many, couple_once
from linkwork.haptics.grasp import CouplingSettings
from linkwork.haptics.memory import Output, leave_reading, leave_snapshot, new_memory
from linkwork.haptics.ports import Ports, condense, feel_by_path, ports_of
from linkwork.haptics.scratch import SCRATCH

from .harness import Report, Requirement, Timing, progress, take_turns

SHAPES = {
    "chain": lambda joints: lw.library.chain(joints=joints),
    "tree": lambda joints: lw.library.random_tree(joints, seed=1),
    "molecule": lambda joints: lw.library.molecule(joints=joints, seed=1),
}
SIZES, QUICK_SIZES = (40, 100, 857, 10_000, 50_000, 1_000_000), (40, 200)
MOST_PER_SHAPE = {"tree": 50_000, "molecule": 50_000}  # the largest size is a chain
LIMITS = {857: 10e-6, 50_000: 15e-6}  # [s] of one tick
TICKS = 1000  # in one call
HELD = 256  # bodies "anywhere"
AGREEMENT = 1e-9  # relative to the largest reaction; rounding of whole sweeps over 50,000 joints
RATE = 10_000.0  # [1/s] that the coupling loop must hold
SIM_RATES = (1000.0, 100.0, 10.0)
HELD_PART = 0.99  # of all ticks
SEED = 3
HANDS = (1, 2, 4, 8, 16, 32)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--largest", type=int, default=SIZES[-1], help=f"chain ({SIZES[-1]} joints)")
    parser.add_argument("--rounds", type=int, default=9, help="turns each contestant takes (9)")
    parser.add_argument("--seconds", type=float, default=2.0, help="that the loops run at each rate (2)")


def run(options: argparse.Namespace) -> Report:
    sizes = [n for n in (QUICK_SIZES if options.quick else SIZES) if n <= options.largest]
    rounds, seconds = (2, 0.2) if options.quick else (options.rounds, options.seconds)
    report = Report("haptics", {"sizes": sizes, "rounds": rounds, "seconds": seconds}, is_judged=not options.quick)
    for shape in SHAPES:
        times = {n: ticks(report, shape, n, rounds) for n in sizes if n <= MOST_PER_SHAPE.get(shape, n)}
        growth(report, shape, times)
    several(report, 1000 if options.quick else 50_000, HANDS[:3] if options.quick else HANDS, rounds)
    rates(report, 200 if options.quick else 50_000, seconds)
    if options.quick:
        region(report, (100.0,), precision=10.0)
    else:
        region(report, (1000.0, 300.0, 100.0, 30.0))
    return report


# ---------------------------------------------------------------------------------------------------------------- one tick


class Case:
    """A linkage with a hand on one body, at one state: coefficients, ports, and the memory of a coupling loop."""

    def __init__(self, shape: str, joints: int):
        progress(f"{shape}, {joints:,} joints")
        self.shape, self.joints = shape, joints
        self.model = SHAPES[shape](joints).compile()
        rng = np.random.default_rng(SEED)
        self.state = self.model.random_state(rng, speed=0.1)
        self.solver = DcaSolver(self.model, threads=1)
        self.solver.prepare(self.state.q, self.state.v, np.zeros(0), np.zeros((0, 6)))
        if self.solver.assemble() >= 0:
            raise lw.LinkworkError(f"{shape}: a joint could not be solved. Nothing was timed.")
        self.paths = solver_paths(self.solver)
        self.paths_table = describe(self.paths)
        self.held = rng.integers(0, self.model.n_bodies, HELD)
        self.poses = lw.body_poses(self.model, self.state)
        self.message = np.zeros(at.SNAPSHOT_WORDS)
        self.hold(int(self.held[0]))
        self.wrench, self.felt = rng.normal(size=6), np.zeros(6)
        self.memory, self.scratch = new_memory(), np.zeros(SCRATCH)
        self.leave()

    def hold(self, body: int) -> None:
        self.body = body
        index = np.array([body], dtype=np.int64)
        pose = np.concatenate([self.poses[body, :3, :3].ravel(), self.poses[body, :3, 3]]).reshape(1, 12)
        self.ports = Ports(
            self.model.arrays.body, index, self.solver.assembly.leaf[index].astype(np.int64), np.full((1, 3), 0.01),
            pose, self.solver.twist[index].copy(), np.zeros((1, 6)), np.zeros((1, 6)), np.zeros((6, 6)),
            np.zeros((6, 6)), self.message,
        )  # fmt: skip
        self.ports_table = describe(self.ports)

    def leave(self) -> None:
        """A snapshot and a reading whose spring pulls with a force of some newtons."""
        condense(self.paths_table, self.ports_table)
        message, words = self.message, self.message.view(np.int64)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        words[at.S_TIME], words[at.S_COUNT] = now, 1
        record = message[at.S_HANDS : at.S_HANDS + at.RECORD]
        CouplingSettings(torque=1.0, watchdog=1e6, force_limit=1e9, torque_limit=1e9, passive=False).write(
            record, 1e-3, self.ports.mobility
        )
        record.view(np.int64)[at.R_GRASP] = 1
        record[at.R_TURN] = 1.0
        record[at.R_ORIGIN : at.R_ORIGIN + 3] = record[at.R_POINT : at.R_POINT + 3] + 0.01
        leave_snapshot(self.memory, message[: at.S_HANDS + at.RECORD + at.BLOCK])
        reading = np.zeros(at.READING_WORDS)
        reading.view(np.int64)[at.D_TIME], reading[at.D_QUATERNION] = now, 1.0
        leave_reading(self.memory, 0, reading)

    def prove(self) -> None:
        """The tick, one climb and one descent, and (where that is quick) all joint reactions say the same."""
        couple_once(self.memory, self.scratch, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        output = Output(self.memory, 0)
        self.wrench[:] = output.wrench
        feel_by_path(self.paths_table, self.ports_table, self.wrench, self.felt)
        scale = float(np.abs(self.felt).max())
        check(self, "tick and path", output.felt, self.felt, scale)
        if self.joints <= 50_000:
            check(self, "path and joint reactions", self.felt, self.from_reactions(), scale)

    def from_reactions(self) -> np.ndarray:
        model, body, point = self.model, self.body, self.ports.at[0]
        R = self.poses[body, :3, :3]
        wrenches = np.zeros((model.n_bodies, 6))
        force = R.T @ self.wrench[3:]
        wrenches[body] = np.concatenate([R.T @ self.wrench[:3] + np.cross(point, force), force])
        f = lw.joint_reactions(model, self.state, wrenches=wrenches)
        total = f[body].copy()
        for child in np.flatnonzero(model.parent == body).tolist():
            T = np.linalg.inv(self.poses[body]) @ self.poses[child]
            back = T[:3, :3] @ f[child, 3:]
            total -= np.concatenate([T[:3, :3] @ f[child, :3] + np.cross(T[:3, 3], back), back])
        mass, *moment = model.arrays.body[body, 12:16].tolist()
        weight = R.T @ model.gravity
        total += np.concatenate([np.cross(moment, weight), mass * weight])
        return np.concatenate([R @ (total[:3] - np.cross(point, total[3:])), R @ total[3:]])


def check(case: Case, what: str, own: np.ndarray, other: np.ndarray, scale: float) -> None:
    difference = float(np.abs(own - other).max()) / max(scale, 1e-300)
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(
            f"{case.shape}, {case.joints:,} joints: {what} differ by {difference:.1e} of the force felt; at most "
            f"{AGREEMENT:g} is rounding. Nothing was timed."
        )


@kernel
def feel_many(paths, ports, leaves, bodies, wrench, felt):
    """One climb and one descent for each of many bodies, one after the other."""
    p = ports_of(ports)
    for k in range(leaves.shape[0]):
        p.leaf[0] = leaves[k]
        p.bodies[0] = bodies[k]
        feel_by_path(paths, ports, wrench, felt)


def ticks(report: Report, shape: str, joints: int, rounds: int) -> dict[str, Timing]:
    case = Case(shape, joints)
    case.prove()
    leaf = case.solver.assembly.leaf
    same = np.full(HELD, case.body, dtype=np.int64)
    anywhere = case.held.astype(np.int64)

    def by_path(bodies: np.ndarray) -> None:
        feel_many(case.paths_table, case.ports_table, leaf[bodies], bodies, case.wrench, case.felt)

    timings = take_turns(
        {
            "tick": lambda: couple_many(case.memory, case.scratch, TICKS),
            "by the path, same body": lambda: by_path(same),
            "by the path, anywhere": lambda: by_path(anywhere),
            "snapshot": lambda: condense(case.paths_table, case.ports_table),
        },
        rounds,
        sample_time=2e-3,
    )
    timings = {name: each(timing, {"tick": TICKS, "snapshot": 1}.get(name, HELD)) for name, timing in timings.items()}
    depth = float(node_depths(case.solver.assembly.nodes)[leaf[anywhere]].mean())
    report.add_timings(f"haptics, {shape}", joints, timings, nodes_on_the_path=depth)
    if joints in LIMITS:
        limit = LIMITS[joints]
        for name in ("tick", "by the path, anywhere"):
            reached = timings[name].median
            report.requirements.append(
                Requirement(
                    f"{name}, {shape}, {joints:,} joints", reached * 1e6, "µs", f"≤ {limit * 1e6:g}", reached <= limit,
                    detail="paper: 50 µs",
                )
            )  # fmt: skip
    return timings


def each(timing: Timing, count: int) -> Timing:
    """The time of one of `count` things done in a call."""
    return Timing(
        tuple(x / count for x in timing.samples), tuple(x / count for x in timing.processor_samples), timing.calls
    )


def growth(report: Report, shape: str, times: dict[int, dict[str, Timing]]) -> None:
    """Time over log2 of the number of joints, from a hundred on: straight line through the medians."""
    sizes = [n for n in times if n >= 100]
    if len(sizes) < 3:
        return
    x = np.log2(sizes)
    for name in ("tick", "by the path, anywhere"):
        y = np.array([times[n][name].processor_median for n in sizes]) * 1e6
        slope, offset = np.polyfit(x, y, 1)
        grows = y[-1] / y[0]
        allowed = (
            3.0 * x[-1] / x[0]
        )  # as log n, with nodes that come from memory instead of caches: three times as dear
        report.requirements.append(
            Requirement(
                f"{name}, {shape}: growth from {sizes[0]:,} to {sizes[-1]:,} joints", grows, "times",
                f"≤ {allowed:.3g} (log n, with caches)", bool(grows <= allowed),
                detail=f"fit: {offset:.2f} µs + {slope:.2f} µs · log2 n",
            )
        )  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- several hands


def several(report: Report, joints: int, hands: tuple[int, ...], rounds: int) -> None:
    """What k hands feel: by one climb and one descent over the union of their paths, and by k² pairs of paths."""
    model = SHAPES["chain"](joints).compile()
    rng = np.random.default_rng(SEED)
    state = model.random_state(rng, speed=0.1)
    solver = DcaSolver(model, threads=1)
    solver.prepare(state.q, state.v, np.zeros(0), np.zeros((0, 6)))
    if solver.assemble() >= 0:
        raise lw.LinkworkError("a joint could not be solved. Nothing was timed.")
    paths = solver_paths(solver)
    sizes, times = [], []
    for k in hands:
        progress(f"{k} hands, {joints:,} joints")
        leaves = solver.assembly.leaf[rng.integers(0, model.n_bodies, k)].astype(np.int64)
        union = path_union(solver.assembly.nodes, leaves)
        together, alone = describe(paths, union), describe(paths)
        wrenches, out, K = rng.normal(size=(k, 6)), np.zeros((k, 6)), np.zeros((6 * k, 6 * k))
        respond_together(together, wrenches, out)
        response_matrix(alone, leaves, K)
        expected = (K @ wrenches.ravel()).reshape(k, 6)
        if not np.abs(out - expected).max() <= AGREEMENT * np.abs(expected).max():
            raise lw.LinkworkError(f"{k} hands: the union of paths and pairs of paths differ. Nothing was timed.")
        timings = take_turns(
            {
                "one climb, one descent": lambda t=together, w=wrenches, o=out: respond_together(t, w, o),
                "all pairs of paths": lambda t=alone, x=leaves, m=K: response_matrix(t, x, m),
            },
            rounds,
            sample_time=2e-3,
        )
        report.add_timings(f"{k} hands", joints, timings, nodes_of_the_union=float(union.node.size))
        sizes.append(k * math.log2(joints / k))
        times.append(timings["one climb, one descent"].processor_median * 1e6)
    slope, offset = np.polyfit(sizes, times, 1)
    grows, allowed = times[-1] / times[0], 3.0 * sizes[-1] / sizes[0]
    report.requirements.append(
        Requirement(
            f"{hands[-1]} hands against one, {joints:,} joints", grows, "times", f"≤ {allowed:.3g} (k log(n/k), caches)",
            bool(grows <= allowed), detail=f"fit: {offset:.2f} µs + {slope:.3f} µs · k log2(n/k)",
        )
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------- rates


def may_take_real_time() -> bool:
    """Whether a thread of this process may go before ordinary programs, as a loop for a person's hand should."""
    allowed = []

    def ask() -> None:
        try:
            take_real_time_priority()
            allowed.append(True)
        except lw.StateError:
            pass

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return bool(allowed)


def rates(report: Report, joints: int, seconds: float) -> None:
    """The coupling loop by the clock, beside a simulation on the other core at several rates."""
    if len(os.sched_getaffinity(0)) < 2:
        report.notes.append("this process may use one core only: rates are left out.")
        return
    model = lw.library.chain(joints=joints).compile()
    real_time = may_take_real_time()
    report.notes.append(f"the coupling loop runs with {'real-time' if real_time else 'ordinary'} priority.")
    work = {}
    for sim_rate in SIM_RATES:
        progress(f"loops by the clock, simulation at {sim_rate:g} per second")
        sim = lw.AdaptiveDynamics(model, model.neutral(), active_joints=min(joints, 100))
        hand = lw.haptics.HumanHand(lambda t: (0.1 * math.sin(3.0 * t), 0.05 * math.sin(4.0 * t), 0.0))
        grasp = lw.haptics.grasp(sim, max(joints // 2, joints - 400), hand, stiffness=100.0, damping=2.0, watchdog=5.0)
        n = max(1, round(1000.0 / sim_rate))
        session = grasp.session
        session.step(1e-3)
        with session.start(1e-3, n, RATE, sim_rate=sim_rate, real_time=real_time):
            time.sleep(seconds)
        coupling, simulation, _ = session.statistics()
        held = coupling.ticks / (coupling.ticks + coupling.missed)
        work[sim_rate] = coupling.busy[0]
        report.results.append(
            {
                "case": f"loops by the clock, simulation at {sim_rate:g} per second", "joints": joints,
                "contestant": "coupling loop", "ticks": coupling.ticks, "missed": coupling.missed,
                "work_s": coupling.busy, "interval_s": coupling.interval, "simulation_work_s": simulation.busy,
                "simulation_interval_s": simulation.interval, "state": grasp.state,
            }
        )  # fmt: skip
        report.requirements.append(
            Requirement(
                f"coupling loop beside a simulation of {joints:,} joints at {sim_rate:g} per second", held * RATE,
                "ticks per second", f"≥ {HELD_PART * RATE:,.0f}", held >= HELD_PART,
                detail=f"tick {coupling.busy[0] * 1e6:.2f} µs, 99.9 % {coupling.busy[2] * 1e6:.2f} µs; interval median "
                f"{coupling.interval[0] * 1e6:.0f} µs, 99 % {coupling.interval[1] * 1e6:.0f} µs",
            )
        )  # fmt: skip
    spread = max(work.values()) / min(work.values())
    report.requirements.append(
        Requirement(
            "median tick over simulation rates", spread, "largest / smallest", "≤ 2", spread <= 2.0,
            detail="bins of 4 %",
        )
    )  # fmt: skip
    report.notes.append(
        f"load of the machine during the run: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; other programs take "
        "ticks away from a loop that needs a core."
    )


# ---------------------------------------------------------------------------------------------------------------- stability


def energy_out(sim_rate: float, stiffness: float, damping: float, implicit: bool) -> float:
    """Most energy [J] that a coupling gave to a hand that tugs at a rope of 8 links, which stores nothing at first."""
    linkage = lw.Linkage("rope", gravity=(0, 0, 0))
    parent = "world"
    body = lw.Inertia.box(0.3, (0.2, 0.05, 0.05)).at(lw.Pose(xyz=(0.1, 0, 0)))
    for k in range(8):
        joint = lw.Revolute((0, 1, 0) if k % 2 else (0, 0, 1), damping=0.01)
        place = lw.Pose(xyz=(0.2 if k else 0.0, 0.0, 0.0))
        linkage.add_body(f"link_{k}", parent=parent, joint=joint, inertia=body, placement=place)
        parent = f"link_{k}"
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    hand = lw.haptics.HumanHand(lambda t: (0.0, 0.1 * math.sin(9.0 * t), 0.05 * math.sin(14.0 * t)), delay=0.05)
    grasp = lw.haptics.grasp(
        sim, "link_7", hand, (0.2, 0.0, 0.0), stiffness=stiffness, damping=damping, feel="spring", passive=False,
        implicit=implicit, force_limit=100.0,
    )  # fmt: skip
    try:
        grasp.session.run(1.0, h=1.0 / sim_rate, rate=1000.0)
    except lw.StateError:  # it blew up
        return math.inf
    return grasp.energy[2]


def largest_passive(sim_rate: float, damping: float, implicit: bool, precision: float = 1.1) -> float:
    """Stiffness [N/m] up to which the coupling gives out no energy, to a factor, by bisection of its logarithm."""
    low, high = 1.0, 1e5
    while high / low > precision:
        middle = math.sqrt(low * high)
        if energy_out(sim_rate, middle, damping, implicit) <= 0.0:
            low = middle
        else:
            high = middle
    return low


def region(report: Report, sim_rates: tuple[float, ...], precision: float = 1.1) -> None:
    """Measured region of passivity: stiffness against simulation rate, the coupling explicit and implicit."""
    damping = 1.0  # [N·s/m]
    for rate in sim_rates:
        progress(f"stability at {rate:g} per second")
        reached = {implicit: largest_passive(rate, damping, implicit, precision) for implicit in (False, True)}
        stated = damping * rate
        report.results.append(
            {"case": "largest passive stiffness", "joints": 8, "contestant": f"{rate:g} per second", "damping": damping,
             "explicit": reached[False], "implicit": reached[True], "stated": stated}
        )  # fmt: skip
        report.requirements.append(
            Requirement(
                f"largest passive stiffness at {rate:g} snapshots per second, damping {damping:g} N·s/m",
                reached[True], "N/m", f"≥ {stated:g} (damping · rate)", reached[True] >= 0.9 * stated,
                detail=f"explicit coupling: {reached[False]:.3g} N/m",
            )
        )  # fmt: skip
