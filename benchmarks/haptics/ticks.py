"""One tick of the coupling loop: with the words of a snapshot, and by one climb and one descent of the body's path."""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw
from linkwork.assembly.numbering import node_depths
from linkwork.core.jit import kernel
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import Output, new_memory
from linkwork.haptics.snapshot.grasp_set import GraspSet
from linkwork.haptics.snapshot.ports import build_snapshot, ports_of
from linkwork.haptics.tick.coupling import couple_many, couple_once
from linkwork.haptics.tick.scratch import SCRATCH

from ..harness import Requirement, TableReport, Timing, progress, take_turns
from ..reference.felt_by_path import feel_by_path
from .hands import AGREEMENT, SEED, leave, place

SHAPES = {
    "chain": lambda joints: lw.library.chain(joints=joints),
    "tree": lambda joints: lw.library.random_tree(joints, seed=1),
    "molecule": lambda joints: lw.library.molecule(joints=joints, seed=1),
}
LIMITS = {857: 10e-6, 50_000: 15e-6}  # [s] of one tick
GOALS = {857: 3e-6, 50_000: 6e-6}
TICKS = 1000  # in one call
HELD = 256  # bodies "anywhere"


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
        self.held = rng.integers(0, self.model.n_bodies, HELD)
        self.poses = lw.body_poses(self.model, self.state)
        self.message = np.zeros(at.SNAPSHOT_WORDS)
        self.hold(int(self.held[0]))
        self.wrench, self.felt = rng.normal(size=6), np.zeros(6)
        self.memory, self.scratch = new_memory(), np.zeros(SCRATCH)
        leave(self.grip, self.memory)

    def hold(self, body: int) -> None:
        self.body = body
        index = np.array([body], dtype=np.int64)
        leaf = self.solver.assembly.leaf[index].astype(np.int64)
        self.grip = GraspSet(self.paths, self.model.arrays.body, index, leaf, np.full((1, 3), 0.01), self.message)
        self.ports, self.table, self.ports_table = self.grip.ports, self.grip.table, self.grip.ports_table
        place(self.grip, self.poses, self.solver.twist)

    def prove(self) -> None:
        """The tick, one climb and one descent, and (where that is quick) all joint reactions say the same."""
        couple_once(self.memory, self.scratch, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        output = Output(self.memory, 0)
        self.wrench[:] = output.wrench
        feel_by_path(self.table, self.ports_table, self.wrench, self.felt)
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


def ticks(report: TableReport, shape: str, joints: int, rounds: int) -> dict[str, Timing]:
    case = Case(shape, joints)
    case.prove()
    leaf = case.solver.assembly.leaf
    same = np.full(HELD, case.body, dtype=np.int64)
    anywhere = case.held.astype(np.int64)

    def by_path(bodies: np.ndarray) -> None:
        feel_many(case.table, case.ports_table, leaf[bodies], bodies, case.wrench, case.felt)

    timings = take_turns(
        {
            "tick": lambda: couple_many(case.memory, case.scratch, TICKS),
            "by the path, same body": lambda: by_path(same),
            "by the path, anywhere": lambda: by_path(anywhere),
            "snapshot": lambda: build_snapshot(case.table, case.ports_table),
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
                    detail="paper: 50 µs", goal=f"≤ {GOALS[joints] * 1e6:g}", goal_reached=reached <= GOALS[joints],
                )
            )  # fmt: skip
    return timings


def each(timing: Timing, count: int) -> Timing:
    """The time of one of `count` things done in a call."""
    return Timing(
        tuple(x / count for x in timing.samples), tuple(x / count for x in timing.processor_samples), timing.calls
    )


def growth(report: TableReport, shape: str, times: dict[int, dict[str, Timing]]) -> None:
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


def table_of_ticks(report: TableReport, times: dict[str, dict[int, dict[str, Timing]]]) -> None:
    names = ("tick", "by the path, same body", "by the path, anywhere", "snapshot")
    rows = [
        [shape, f"{n:,}", *(f"{timings[name].median * 1e6:.2f}" for name in names)]
        for shape, of_shape in times.items()
        for n, timings in of_shape.items()
    ]
    columns = ["shape", "joints", *(f"{name} [µs]" for name in names)]
    report.add_table("ticks", "One hand: medians", columns, rows)
