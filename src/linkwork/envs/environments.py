"""Environments of a task for Gymnasium: one member, or many that step at the same time."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown, whole
from linkwork.envs.members import Members
from linkwork.envs.task import Task
from linkwork.errors import LinkworkError, StateError

FAILED = "failed"  # in the info of a step whose numbers went beyond all bounds; the episode ends there


def spaces_of(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Of observations and actions of one member."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float64)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)


def as_actions(given: Any, shape: tuple[int, ...]) -> FloatArray:
    actions = np.ascontiguousarray(given, dtype=float)
    if actions.shape != shape:
        raise StateError(f"actions have shape {actions.shape}; {shape} is needed.")
    return actions


class TaskEnv(gymnasium.Env[FloatArray, FloatArray]):
    """A task for one member."""

    metadata = {"render_modes": [], "render_fps": 50}  # noqa: RUF012

    def __init__(self, task: Task, render_mode: str | None = None):
        if render_mode is not None:
            raise LinkworkError(
                f"render_mode={shown(render_mode)}: these environments draw nothing; lw.view(env.unwrapped.sim) shows one."
            )
        self.render_mode = None
        self.task = task
        self.members = Members(task)
        seen, acted = spaces_of(task)
        self.observation_space, self.action_space = seen, acted  # type: ignore[assignment]

    @property
    def sim(self) -> Any:
        """The simulation."""
        return self.members.sims[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        self.members.begin(0, self.np_random)
        return self.members.arrays.seen[0].copy(), {}

    def step(self, action: FloatArray) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        x = self.members.arrays
        failed = self.members.act(as_actions(action, (self.task.actions,))[None])
        if failed:
            return x.seen[0].copy(), 0.0, True, False, {FAILED: str(failed[0])}
        info = {name: x.memory.item(0, column) for name, column in self.task.told.items()}
        return x.seen[0].copy(), x.reward.item(0), x.over.item(0) != 0.0, False, info


class TaskVectorEnv(VectorEnv[Any, Any, Any]):
    """A task for many members, which step at the same time on all cores.

    num_envs: members. max_episode_steps: actions after which an episode is cut off; None: never.
    threads: that step them; by default as many as there are cores.
    A member that has ended is reset by the next step, whose action for it counts nothing (`AutoresetMode.NEXT_STEP`).
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(self, task: Task, num_envs: int = 1, max_episode_steps: int | None = None, threads: int | None = None):
        self.task = task
        self.num_envs = whole(num_envs, 1, "num_envs")
        self.longest = None if max_episode_steps is None else whole(max_episode_steps, 1, "max_episode_steps")
        threads = whole(threads, 1, "threads") if threads is not None else os.cpu_count() or 1
        self.members = Members(task, self.num_envs, min(threads, self.num_envs))
        self.single_observation_space, self.single_action_space = spaces_of(task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._rngs = [np.random.default_rng() for _ in range(self.num_envs)]
        self._done, self._age = np.zeros(self.num_envs, dtype=bool), np.zeros(self.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """All members anew. seed: of the first member, the next get the next numbers; or one for each."""
        if seed is not None:
            seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            self._rngs = [np.random.default_rng(one) for one in seeds]
        for k, rng in enumerate(self._rngs):
            self.members.begin(k, rng)
        self._done[:], self._age[:] = False, 0
        return self.members.arrays.seen.copy(), {}

    def step(self, actions: FloatArray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        x, begun = self.members.arrays, self._done
        who = np.flatnonzero(~begun) if begun.any() else None  # all
        failed = self.members.act(as_actions(actions, (self.num_envs, self.task.actions)), who)
        for k in np.flatnonzero(begun).tolist():
            self.members.begin(k, self._rngs[k])
        x.reward[begun], x.over[begun] = 0.0, 0.0
        infos: dict[str, Any] = {}
        for k, error in failed.items():
            x.reward[k], x.over[k] = 0.0, 1.0
            infos = self._add_info(infos, {FAILED: str(error)}, k)
        is_told = ~begun
        is_told[list(failed)] = False
        for name, column in self.task.told.items():
            infos[name], infos[f"_{name}"] = np.where(is_told, x.memory[:, column], 0.0), is_told.copy()
        self._age = np.where(begun, 0, self._age + 1)
        over = x.over != 0.0
        cut = np.zeros_like(over) if self.longest is None else (self._age >= self.longest) & ~over
        self._done = over | cut
        return x.seen.copy(), x.reward.copy(), over, cut, infos

    def close_extras(self, **kwargs: Any) -> None:
        self.members.close()


def make_env(task: type[Task], render_mode: str | None = None, **options: Any) -> TaskEnv:
    return TaskEnv(task(**options), render_mode)


def make_vector_env(
    task: type[Task],
    num_envs: int = 1,
    max_episode_steps: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> TaskVectorEnv:
    return TaskVectorEnv(task(**options), num_envs, max_episode_steps, threads)
