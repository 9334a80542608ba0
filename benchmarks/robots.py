"""Small robots: steps of 12 and of 50 joints against MuJoCo's on the same mechanism; the built-in snake.

Before anything is timed, both engines are shown to move the mechanism alike.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import linkwork as lw

from .harness import Report, Requirement, progress, take_turns
from .harness.peers import mujoco_peer
from .harness.stepping import MOST_BEYOND

JOINTS = (12, 50)
H = 1e-4  # [s]
STEPS = 1000  # in one call
CHECKED = 200  # steps after which both engines must agree
AGREEMENT = 1e-6  # [rad] of joints that move by some rad: rounding, which a falling chain makes larger
FASTEST_SNAKE = 20.0  # times real time


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=15, help="turns each contestant takes (15)")


def run(options: argparse.Namespace) -> Report:
    rounds = 2 if options.quick else options.rounds
    report = Report("robots", {"joints": list(JOINTS), "rounds": rounds}, is_judged=not options.quick)
    for joints in JOINTS:
        compare(report, joints, rounds)
    snake(report, options.quick)
    return report


def compare(report: Report, joints: int, rounds: int) -> None:
    """One robot, `step(h, 1000)`, `step(h)` and as many `mj_step`."""
    model = lw.library.chain(joints).compile()
    start = model.random_state(np.random.default_rng(joints), speed=0.3)
    sim, single = (lw.FullDynamics(model, start, integrator="semi_implicit_euler") for _ in range(2))  # as MuJoCo's

    def many_steps() -> None:
        sim.reset()  # a chain without dampers does not stay calm for long
        sim.step(H, STEPS)

    def one_step() -> None:
        if single.steps_done >= STEPS:
            single.reset()
        single.step(H)

    contestants = {f"step(h, {STEPS})": many_steps, "step(h)": one_step}
    peer = mujoco_stepper(model, start)
    if peer is None:
        report.notes.append("MuJoCo is not installed; nothing to compare with.")
    else:
        advance, coordinates, reset = peer
        progress(f"checking, {joints} joints")
        sim.step(H, CHECKED)
        advance(CHECKED)
        apart = float(np.abs(sim.state.q - coordinates()).max())
        if not apart <= AGREEMENT:
            raise AssertionError(f"after {CHECKED} steps of {joints} joints the engines are {apart:.1e} rad apart.")

        def peer_steps() -> None:
            reset()
            advance(STEPS)

        contestants[f"mj_step, {STEPS} times"] = peer_steps
    progress(f"timing, {joints} joints")
    timings = take_turns(contestants, rounds)
    report.add_timings("chain", joints, timings)
    if peer is None:
        return
    many, one, other = timings.values()
    # By processor time: samples of this length are cut by other programs, and short ones are not.
    ratio = statistics.median(b / a for a, b in zip(many.processor_samples, other.processor_samples, strict=True))
    per_step = (
        f"{many.processor_median / STEPS * 1e6:.2f} µs per step, MuJoCo {other.processor_median / STEPS * 1e6:.2f} µs"
    )
    report.requirements.append(
        Requirement(
            f"{joints} joints, step(h, {STEPS})",
            ratio,
            "times as fast as mj_step",
            "≥ 1",
            ratio >= 1.0,
            detail=per_step,
        )
    )
    beyond = (
        one.processor_median - other.processor_median / STEPS
    )  # short calls fit between time slices, long ones do not
    report.requirements.append(
        Requirement(
            f"{joints} joints, one step per call beyond MuJoCo's step", beyond * 1e6, "µs", f"≤ {MOST_BEYOND * 1e6:g}",
            beyond <= MOST_BEYOND,
        )
    )  # fmt: skip


def mujoco_stepper(model, start):  # type: ignore[no-untyped-def]
    """Steps, coordinates in Linkwork's order and a reset of MuJoCo with semi-implicit Euler; None where it is absent."""
    peer = mujoco_peer(model, start, np.zeros(model.nv))
    if peer is None:
        return None
    import mujoco

    compiled, data = peer.engine
    compiled.opt.timestep = H
    compiled.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    order = np.array([compiled.joint(name).dofadr[0] for name in model.body_names])

    def reset() -> None:
        mujoco.mj_resetData(compiled, data)
        data.qpos[order], data.qvel[order] = start.q, start.v

    reset()
    return lambda n: mujoco.mj_step(compiled, data, nstep=n), lambda: np.array(data.qpos)[order], reset


def snake(report: Report, quick: bool) -> None:
    """The built-in scene without a recording, by processor time."""
    progress("the snake")
    scene = lw.Scene.read("snake_in_space", {"run.duration": 0.4} if quick else ())
    scene.run(progress=False)  # kernels are compiled or read
    took = min(timed(scene) for _ in range(1 if quick else 3))
    speed = scene.steps * scene.h / took
    report.requirements.append(
        Requirement(
            "built-in scene snake_in_space", speed, "times real time", f"≥ {FASTEST_SNAKE:g}", speed >= FASTEST_SNAKE
        )
    )


def timed(scene: lw.Scene) -> float:
    began = time.process_time()
    scene.run(progress=False)
    return time.process_time() - began
