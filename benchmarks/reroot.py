"""Re-rooting a large model against compiling it anew: to bodies near the root, further away, and at the far end.

Before anything is timed, the re-rooted model is shown to stand and move as the first one did.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import linkwork as lw
from linkwork.assembly.plan import assemble

from .harness import Report, Requirement, progress, take_turns

JOINTS, QUICK_JOINTS = 50_000, 500
CHAINS = (1, 10, 100, 1000)  # joints between the old root and the new one
MUCH_CHEAPER = 5.0  # times, for a nearby body; compiling looks at every body, re-rooting copies most
AGREEMENT = 1e-9  # poses and twists along paths of 50,000 joints: their rounding, relative


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, default=JOINTS, help=f"of the molecule ({JOINTS})")
    parser.add_argument("--rounds", type=int, default=9, help="turns each contestant takes (9)")


def run(options: argparse.Namespace) -> Report:
    joints = QUICK_JOINTS if options.quick else options.joints
    rounds = 2 if options.quick else options.rounds
    report = Report("reroot", {"joints": joints, "rounds": rounds}, is_judged=not options.quick)
    linkage = lw.library.molecule(joints=joints, seed=1)
    model = linkage.compile()
    state = model.random_state(np.random.default_rng(1), speed=0.1)
    targets = {chain: body_at(model, chain) for chain in CHAINS if chain < model.depth}
    for chain, body in targets.items():
        progress(f"checking, {chain} joints")
        check(model, state, body)
    contestants = {f"re-root over {chain} joints": re_rooter(model, state, body) for chain, body in targets.items()}
    contestants["compile"] = linkage.compile
    contestants["assembly plan"] = lambda: assemble(model.parent)
    progress("timing")
    timings = take_turns(contestants, rounds)
    report.add_timings("molecule", joints, timings)
    for chain in targets:
        times = timings[f"re-root over {chain} joints"].times_faster_than(timings["compile"])
        nearby = chain <= 10
        report.requirements.append(
            Requirement(
                f"re-rooting {joints:,} joints over {chain}",
                times,
                "times faster than compiling",
                f"≥ {MUCH_CHEAPER:g}" if nearby else "",
                times >= MUCH_CHEAPER or not nearby,
            )
        )
    return report


def re_rooter(model: lw.Model, state: lw.State, body: int):  # type: ignore[no-untyped-def]
    return lambda: lw.reroot(model, state, body)


def body_at(model: lw.Model, chain: int) -> int:
    """A body that many joints away from the root."""
    depth = np.zeros(model.n_bodies, dtype=np.int64)
    for i, parent in enumerate(model.parent.tolist()):
        depth[i] = 0 if parent < 0 else depth[parent] + 1
    return int(np.flatnonzero(depth == chain)[0])


def check(model: lw.Model, state: lw.State, body: int) -> None:
    start = time.perf_counter()
    there = lw.reroot(model, state, body)
    progress(f"{time.perf_counter() - start:.3f} s")
    for before, after in (
        (lw.body_poses(model, state), lw.body_poses(*there)),
        (lw.body_twists(model, state), lw.body_twists(*there)),
    ):
        error = np.abs(after - before[there.old_index]).max() / np.abs(before).max()
        if error > AGREEMENT:
            raise AssertionError(f"re-rooted over a chain to body {body}, the model moved by {error:.1e} of its size.")
