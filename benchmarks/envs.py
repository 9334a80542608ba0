"""Learning environments: steps per second of a snake of 12 joints on the ground, beside MuJoCo's at the same step.

MuJoCo is asked twice. Bare: its steps alone, from a state that is given, without observations, rewards and Gymnasium. As
an environment: Gymnasium's own `MujocoEnv` with the observation, reward and reset of our task, and `SyncVectorEnv` of 16.

Before anything is timed, members of the vector environment are compared with a single one, in bits, the snake must lie
at rest under its own weight in both programs, and both environments must observe the same after a reset, in the same
state in motion, and at rest. All get the same random targets. Contestants take turns; what counts is the processor time
of all threads of the process, which other programs disturb least, and the wall clock stands beside it.
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
from typing import Any, NamedTuple

import numpy as np

from .harness import Report, Requirement, progress

MEMBERS, ACTIONS = 16, 20
QUICK_MEMBERS, QUICK_ACTIONS = 2, 2
TURNS = 9
REST_ACTIONS = 200  # after which the snake lies still
WEIGHT_ERROR = 1e-3  # relative, of the force of the ground on a snake at rest
SAME_STATE = 1e-12  # of numbers that both environments observe in the same state: rounding of some products
# The same of what must agree where each came to rest by itself, height and velocities [m, m/s, rad/s]: soft friction lets
# joints creep at up to 7e-3 rad/s still, rigid friction holds them at other angles than those that they are driven to.
SAME_REST = 2e-2


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
        progress("environments of both programs against each other")
        check_environments(peer.one, one, given)
        contestants |= {name: (call, steps * count) for name, (call, count) in peer.contestants.items()}
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
        for ours, theirs in ((names[0], names[2]), (names[1], names[3]), (names[0], names[4]), (names[1], names[5])):
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


class Peer(NamedTuple):
    """The same snake in MuJoCo: what is timed, with the number of members of each; and one environment of it."""

    contestants: dict[str, tuple[Callable[[], None], int]]
    one: Any


def mujoco_snake(task: Any, given: np.ndarray) -> Peer | None:
    """The same snake, drives, step and targets in MuJoCo: bare, and as environments."""
    try:
        import mujoco
    except ImportError:
        return None
    from gymnasium.vector import SyncVectorEnv

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snake.xml"
        snake_file(path, task.h)
        model = mujoco.MjModel.from_xml_path(str(path))
        make = environment_in_mujoco(task, path)
        one, many = make(), SyncVectorEnv([make] * given.shape[1])
    timed = bare_snake(task, model, given)
    timed["MuJoCo in Gymnasium, one member"] = (lambda: run_single(one, given), 1)
    timed[f"MuJoCo in Gymnasium, {given.shape[1]} members"] = (lambda: run_many(many, given), given.shape[1])
    return Peer(timed, one)


def bare_snake(task: Any, model: Any, given: np.ndarray) -> dict[str, tuple[Callable[[], None], int]]:
    """Steps of MuJoCo and nothing else: one member after the other, and by its rollout on all cores."""
    import mujoco
    from mujoco import rollout

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


def environment_in_mujoco(task: Any, path: Path) -> Callable[[], Any]:
    """Makes environments of Gymnasium on MuJoCo that observe, reward and reset as our task does."""
    import mujoco
    from gymnasium.envs.mujoco import MujocoEnv

    from linkwork.envs.environments import spaces_of
    from linkwork.envs.snake_crawl import EFFORT_COST

    seen, acted = spaces_of(task)
    middle, half = 0.5 * (task.low + task.high), 0.5 * (task.high - task.low)

    class Snake(MujocoEnv):
        def __init__(self) -> None:
            super().__init__(str(path), task.steps, seen)
            self.action_space, self.memory = acted, np.zeros(task.memories)
            self.x = 0.0

        def step(self, action: np.ndarray) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            before = self.x
            self.do_simulation(middle + half * np.clip(action, -1.0, 1.0), self.frame_skip)
            self.look_at_centre()
            reward = self.x - before - EFFORT_COST * np.square(action).sum()
            return self.observe(), reward, False, False, {"x": self.x}

        def reset_model(self) -> np.ndarray:
            state = task.begin(self.np_random, self.memory)
            self.set_state(state.q, state.v)  # at rest: axes of velocities do not matter
            self.x = float(self.data.subtree_com[1, 0])
            return self.observe()

        def look_at_centre(self) -> None:
            """Where the centre of mass is after the last step: steps leave that of their start."""
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            self.x = float(self.data.subtree_com[1, 0])

        def observe(self) -> np.ndarray:
            """Velocities of the first link in its own axes: MuJoCo has the linear one in those of the world."""
            q, v = self.data.qpos, self.data.qvel
            own = self.data.xmat[1].reshape(3, 3).T @ v[:3]
            return np.concatenate([q[2:7], v[3:6], own, q[7:], v[6:]])

    return Snake


def check_environments(theirs: Any, ours: Any, given: np.ndarray) -> None:
    """Both observe the same: after a reset, in a state in motion that ours came to, and at rest but for angles."""
    compare_seen("after a reset", theirs.reset(seed=3)[0], ours.reset(seed=3)[0], SAME_STATE)
    for action in given[:, 0]:
        seen, *_, info = ours.step(action)
    state = ours.sim.state
    v = np.concatenate([rotation(state.q[3:7]) @ state.v[3:6], state.v[:3], state.v[6:]])
    theirs.set_state(state.q, v)
    theirs.look_at_centre()
    there = np.append(theirs.observe(), theirs.x)
    compare_seen("in the same state", there, np.append(seen, info["x"]), SAME_STATE)
    theirs.reset(seed=3)
    ours.reset(seed=3)
    still = np.zeros(given.shape[2])
    for _ in range(REST_ACTIONS):
        there, gained, *_ = theirs.step(still)
        seen, reward, *_ = ours.step(still)
    same = [0, *range(5, 11), *range(seen.size - still.size, seen.size)]
    compare_seen("at rest", np.append(there[same], gained), np.append(seen[same], reward), SAME_REST)


def compare_seen(where: str, there: np.ndarray, here: np.ndarray, allowed: float) -> None:
    off = float(np.abs(there - here).max())
    if not off <= allowed * max(1.0, float(np.abs(here).max())):
        raise AssertionError(f"the environment in MuJoCo observes other numbers {where}: they differ by {off:.3g}.")


def rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def snake_file(path: Path, h: float) -> None:
    """The snake of the task as MJCF, with its drives and its step."""
    import linkwork as lw

    linkage = lw.library.snake(12, radius=0.02)
    linkage.add_obstacle("ground", lw.Plane(friction=0.7))
    linkage.to_mjcf(path, overwrite=True)
    tree = ET.parse(path)
    root = tree.getroot()
    option = root.find("option")
    (ET.SubElement(root, "option") if option is None else option).set("timestep", str(h))
    drives = ET.SubElement(root, "actuator")
    for body in list(linkage)[1:]:
        ET.SubElement(drives, "position", name=f"{body.joint_name}_drive", joint=body.joint_name, kp="2", kv="0.1",
                      forcerange="-1 1")  # fmt: skip
    tree.write(path)
