"""Several hands at once: their snapshot and their tick, against k log2(n/k)."""

from __future__ import annotations

import math
import time

import numpy as np

import linkwork as lw
from linkwork.core.bundles import describe
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.paths.path_queries import response_matrix
from linkwork.dynamics.paths.path_union import respond_together
from linkwork.haptics.grasp import CouplingSettings
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import Output, new_memory, publish_reading, publish_snapshot
from linkwork.haptics.snapshot.grasp_set import GraspSet
from linkwork.haptics.snapshot.ports import build_snapshot
from linkwork.haptics.tick.coupling import couple_many, couple_once
from linkwork.haptics.tick.scratch import SCRATCH

from ..harness import Requirement, TableReport, progress, take_turns
from ..reference.felt_by_path import feel_together

HANDS = (1, 2, 4, 8, 16, 32, 64)
AGREEMENT = 1e-9  # relative to the largest; rounding of whole sweeps over 50,000 joints
SEED = 3
TICKS = 100  # in one call
PERIOD = 100.0  # [µs] of a loop at 10 kHz
PAIRS_AT_MOST = 32  # hands for which all pairs of paths are timed
WAYS = ("snapshot", "tick", "one climb, one descent", "all pairs of paths")


def several(report: TableReport, joints: int, hands: tuple[int, ...], rounds: int) -> None:
    """Snapshot and tick of k hands; for comparison one climb and one descent per tick, and all pairs of paths."""
    model = lw.library.chain(joints=joints).compile()
    rng = np.random.default_rng(SEED)
    state = model.random_state(rng, speed=0.1)
    solver = DcaSolver(model, threads=1)
    solver.prepare(state.q, state.v, np.zeros(0), np.zeros((0, 6)))
    if solver.assemble() >= 0:
        raise lw.LinkworkError("a joint could not be solved. Nothing was timed.")
    paths = solver_paths(solver)
    rows, sizes, times = [], [], {"snapshot": [], "tick": []}
    for k in hands:
        progress(f"{k} hands, {joints:,} joints")
        bodies = rng.integers(0, model.n_bodies, k)
        leaves = solver.assembly.leaf[bodies].astype(np.int64)
        message = np.zeros(at.SNAPSHOT_WORDS)
        held = GraspSet(paths, model.arrays.body, bodies, leaves, np.zeros((k, 3)), message)
        place(held, lw.body_poses(model, state), solver.twist)
        memory, scratch = new_memory(), np.zeros(SCRATCH)
        prove(held, memory, scratch, k)
        wrenches, out, K = rng.normal(size=(k, 6)), np.zeros((k, 6)), np.zeros((6 * k, 6 * k))
        alone = describe(paths)
        response_matrix(alone, leaves, K)
        respond_together(held.table, wrenches, out)
        expected = (K @ wrenches.ravel()).reshape(k, 6)
        if not np.abs(out - expected).max() <= AGREEMENT * np.abs(expected).max():
            raise lw.LinkworkError(f"{k} hands: the union of paths and pairs of paths differ. Nothing was timed.")
        ways = {
            "snapshot": lambda held=held: build_snapshot(held.table, held.ports_table),
            "tick": lambda m=memory, s=scratch: couple_many(m, s, TICKS),
            "one climb, one descent": lambda held=held, w=wrenches, o=out: respond_together(held.table, w, o),
        }
        if k <= PAIRS_AT_MOST:
            ways["all pairs of paths"] = lambda t=alone, x=leaves, m=K: response_matrix(t, x, m)
        timings = take_turns(ways, rounds, sample_time=2e-3)
        report.add_timings(f"{k} hands", joints, timings, nodes_of_the_union=float(held.union.node.size))
        took = {
            name: timing.processor_median * 1e6 / (TICKS if name == "tick" else 1) for name, timing in timings.items()
        }
        rows.append(
            [f"{k}", str(held.union.node.size), *(f"{took[name]:.2f}" if name in took else "" for name in WAYS)]
        )
        sizes.append(k * math.log2(joints / k))
        for name, values in times.items():
            values.append(took[name])
    columns = ["hands", "nodes of the union", *(f"{name} [µs]" for name in WAYS)]
    report.add_table("hands", f"Several hands on a chain of {joints:,} joints, bodies anywhere", columns, rows)
    fits = {name: np.polyfit(sizes, values, 1) for name, values in times.items()}
    said = {name: f"fit: {offset:.2f} µs + {slope:.3f} µs · k log2(n/k)" for name, (slope, offset) in fits.items()}
    grows, allowed = times["snapshot"][-1] / times["snapshot"][0], 3.0 * sizes[-1] / sizes[0]
    report.requirements += [
        Requirement(
            f"snapshot, {hands[-1]} hands against one, {joints:,} joints", grows, "times",
            f"≤ {allowed:.3g} (k log(n/k), caches)", bool(grows <= allowed), detail=said["snapshot"],
        ),
        Requirement(
            f"tick, {hands[-1]} hands, {joints:,} joints", times["tick"][-1], "µs", f"≤ {PERIOD:g} (10 kHz)",
            times["tick"][-1] <= PERIOD, detail=said["tick"],
        ),
    ]  # fmt: skip


def place(held: GraspSet, poses: np.ndarray, twists: np.ndarray) -> None:
    """Poses and twists of the bodies held."""
    ports = held.ports
    ports.pose[:, :9], ports.pose[:, 9:] = poses[ports.bodies, :3, :3].reshape(-1, 9), poses[ports.bodies, :3, 3]
    ports.twist[:] = twists[ports.bodies]


def leave(held: GraspSet, memory: np.ndarray) -> None:
    """A snapshot, and readings whose springs pull with forces of some newtons."""
    build_snapshot(held.table, held.ports_table)
    message = held.ports.message
    words = message.view(np.int64)
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    words[at.S_TIME] = now
    settings = CouplingSettings(torque=1.0, watchdog=1e6, force_limit=1e9, torque_limit=1e9, passive=False)
    reading = np.zeros(at.READING_WORDS)
    reading.view(np.int64)[at.D_TIME], reading[at.D_QUATERNION] = now, 1.0
    for h in range(held.ports.bodies.size):
        record = message[at.S_GRASPS + h * at.RECORD : at.S_GRASPS + (h + 1) * at.RECORD]
        settings.write(record, 1e-3, held.ports.mobility[6 * h : 6 * h + 6])
        record.view(np.int64)[[at.R_SLOT, at.R_GRASP]] = h, 1
        record[at.R_TURN] = 1.0
        record[at.R_ORIGIN : at.R_ORIGIN + 3] = record[at.R_POINT : at.R_POINT + 3] + 0.01
        publish_reading(memory, h, reading)
    publish_snapshot(memory, message[: int(words[at.S_WORDS])])


def prove(held: GraspSet, memory: np.ndarray, scratch: np.ndarray, k: int) -> None:
    """What a tick makes the hands feel is what one climb and one descent give with their forces in place."""
    leave(held, memory)
    couple_once(memory, scratch, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    outputs = [Output(memory, h) for h in range(k)]
    wrench, felt = np.array([output.wrench for output in outputs]), np.array([output.felt for output in outputs])
    expected, moved = np.zeros((k, 6)), np.zeros((k, 6))
    feel_together(held.table, held.ports_table, wrench, moved, expected)
    difference = np.abs(felt - expected).max() / np.abs(expected).max()
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(f"{k} hands: tick and paths differ by {difference:.1e} of the force. Nothing was timed.")
