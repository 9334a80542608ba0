"""Learning environments: steps per second of a snake of 12 joints on the ground, beside MuJoCo's at the same step.

Before anything is timed, members of the vector environment are compared with a single one, in bits, and the snake must lie
at rest under its own weight in both programs. Both get the same random targets. Contestants take turns; what counts is
the processor time of all threads of the process, which other programs disturb least, and the wall clock stands beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Report, Requirement, progress

MEMBERS, ACTIONS = 16, 20
QUICK_MEMBERS, QUICK_ACTIONS = 2, 2
TURNS = 9
REST_ACTIONS = 200  # after which the snake lies still
WEIGHT_ERROR = 1e-3  # relative, of the force of the ground on a snake at rest


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=TURNS, help=f"turns each contestant takes ({TURNS})")


def run(options: argparse.Namespace) -> Report:
    from linkwork.envs import SnakeCrawl, TaskEnv, TaskVectorEnv

    members = QUICK_MEMBERS if options.quick else MEMBERS
    actions = QUICK_ACTIONS if options.quick else ACTIONS
    rounds = 2 if options.quick else options.rounds
    report = Report("envs", {"members": members, "actions": actions, "rounds": rounds}, is_judged=not options.quick)
    task = SnakeCrawl()
    given = np.random.default_rng(1).uniform(-1.0, 1.0, (actions, members, task.actions))
    progress("members against a single environment")
    many, one = TaskVectorEnv(task, members), TaskEnv(task)
    check_members(many, one, given)
    check_rest(task)
    steps = actions * task.steps
    contestants: dict[str, tuple[Callable[[], None], int]] = {
        "linkwork, one member": (lambda: run_single(one, given), steps),
        f"linkwork, {members} members, {os.cpu_count()} cores": (lambda: run_many(many, given), steps * members),
    }
    peer = mujoco_snake(task, given)
    if peer is None:
        report.notes.append("MuJoCo is not installed; nothing to compare with.")
    else:
        contestants |= {name: (call, steps * count) for name, (call, count) in peer.items()}
    progress("timing")
    used, wall = in_turns(contestants, rounds)
    rate = {name: 1.0 / each for name, each in used.items()}
    for name, each in used.items():
        report.results.append(
            {
                "case": "snake of 12 joints",
                "contestant": name,
                "processor_s": each,
                "steps_per_second": 1.0 / wall[name],
            }
        )
        report.notes.append(
            f"{name}: {1e6 * each:.1f} µs of processor time per step; {1.0 / wall[name]:,.0f} steps per second."
        )
    if peer is not None:
        names = list(rate)
        for ours, theirs in ((names[0], names[2]), (names[1], names[3])):
            ratio = rate[ours] / rate[theirs]
            report.requirements.append(
                Requirement(
                    f"{ours}, over {theirs}", ratio, "times as many steps per processor time", "> 1", ratio > 1.0
                )
            )
    many.close()
    return report


def in_turns(
    contestants: dict[str, tuple[Callable[[], None], int]], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of all threads' processor time, and of the wall clock, per step of one member: medians of turns."""
    used: dict[str, list[float]] = {name: [] for name in contestants}
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    for call, _ in contestants.values():
        call()  # compiled, and in the caches
    for _ in range(rounds):
        for name, (call, count) in contestants.items():
            busy, begin = time.process_time(), time.perf_counter()
            call()
            used[name].append((time.process_time() - busy) / count)
            wall[name].append((time.perf_counter() - begin) / count)
    return {k: statistics.median(x) for k, x in used.items()}, {k: statistics.median(x) for k, x in wall.items()}


def run_single(env: Any, given: np.ndarray) -> None:
    env.reset(seed=3)
    for action in given[:, 0]:
        env.step(action)


def run_many(env: Any, given: np.ndarray) -> None:
    env.reset(seed=3)
    for action in given:
        env.step(action)


def check_members(many: Any, one: Any, given: np.ndarray) -> None:
    """The first member goes as a single environment does, to the bit."""
    many.reset(seed=3)
    one.reset(seed=3)
    for action in given:
        seen = many.step(action)[0]
        alone = one.step(action[0])[0]
        if not np.array_equal(seen[0], alone):
            raise AssertionError("a member of the vector environment goes another way than a single one.")


def check_rest(task: Any) -> None:
    """The ground carries the weight of the snake."""
    from linkwork.envs.members import Members

    sim = Members(task).sims[0]
    sim.advance(task.h, REST_ACTIONS * task.steps)
    compare_weight(float(sim.contact_wrenches()[:, 5].sum()), task)


def compare_weight(carried: float, task: Any) -> None:
    """carried: by the ground [N]."""
    weight = 9.81 * float(task.model.mass.sum())
    if not abs(carried - weight) <= WEIGHT_ERROR * weight:
        raise AssertionError(f"the ground carries {carried:.6g} N of {weight:.6g} N.")


def mujoco_snake(task: Any, given: np.ndarray) -> dict[str, tuple[Callable[[], None], int]] | None:
    """The same snake, drives, step and targets in MuJoCo: one after the other, and by its rollout on all cores."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snake.xml"
        snake_file(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = task.h
    count = given.shape[1]
    targets = np.repeat(task.low + 0.5 * (given + 1.0) * (task.high - task.low), task.steps, axis=0)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.02
    begin = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, begin, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_step(model, data, REST_ACTIONS * task.steps)
    compare_weight(float(data.qfrc_constraint[2]), task)
    control = np.ascontiguousarray(targets.transpose(1, 0, 2))
    spare = [mujoco.MjData(model) for _ in range(os.cpu_count() or 1)]
    first = np.tile(begin, (count, 1))

    def single() -> None:
        mujoco.mj_setState(model, data, begin, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        for k in range(0, len(targets), task.steps):
            data.ctrl[:] = targets[k, 0]
            mujoco.mj_step(model, data, task.steps)

    def many() -> None:
        rollout.rollout(model, spare, first, control)

    single()
    return {"MuJoCo, one member": (single, 1), f"MuJoCo, {count} members, rollout": (many, count)}


def snake_file(path: Path) -> None:
    """The snake of the task as MJCF, with its drives."""
    import linkwork as lw

    linkage = lw.library.snake(12, radius=0.02)
    linkage.add_obstacle("ground", lw.Plane(friction=0.7))
    linkage.to_mjcf(path)
    tree = ET.parse(path)
    drives = ET.SubElement(tree.getroot(), "actuator")
    for body in list(linkage)[1:]:
        ET.SubElement(drives, "position", name=f"{body.joint_name}_drive", joint=body.joint_name, kp="2", kv="0.1",
                      forcerange="-1 1")  # fmt: skip
    tree.write(path)
