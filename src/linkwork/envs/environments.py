"""Environments of a task: one member, or many that step in threads at the same time.

The steps of a member are one call of compiled code that needs no interpreter, so threads run on all cores.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown, whole
from linkwork.envs.task import Member, Task
from linkwork.errors import LinkworkError, StateError

FAILED = "failed"  # in the info of a step whose numbers went beyond all bounds; the episode ends there


def spaces_of(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Of observations and actions of one member."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float64)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)


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
        self.member = Member(task)
        seen, acted = spaces_of(task)
        self.observation_space, self.action_space = seen, acted  # type: ignore[assignment]

    @property
    def sim(self) -> Any:
        """The simulation."""
        return self.member.sim

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        return self.task.reset(self.member, self.np_random), {}

    def step(self, action: FloatArray) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        self.task.give(self.member, action)
        try:
            self.task.move(self.member)
        except StateError as error:
            return self.task.observe(self.member), 0.0, True, False, {FAILED: str(error)}
        verdict = self.task.judge(self.member, np.asarray(action, dtype=float))
        return self.task.observe(self.member), verdict.reward, verdict.terminated, False, dict(verdict.info)


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
        self.members = [Member(task) for _ in range(self.num_envs)]
        self.single_observation_space, self.single_action_space = spaces_of(task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        threads = min(whole(threads, 1, "threads") if threads is not None else os.cpu_count() or 1, self.num_envs)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._parts = np.array_split(np.arange(self.num_envs), threads)
        self._rngs = [np.random.default_rng() for _ in self.members]
        self._done, self._age = np.zeros(self.num_envs, dtype=bool), np.zeros(self.num_envs, dtype=np.int64)
        self._seen = np.zeros((self.num_envs, task.observations))
        self._reward, self._over = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
        self._told: list[dict[str, Any]] = [{} for _ in self.members]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """All members anew. seed: of the first member, the next get the next numbers; or one for each."""
        if seed is not None:
            seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            self._rngs = [np.random.default_rng(one) for one in seeds]
        for k, member in enumerate(self.members):
            self._seen[k] = self.task.reset(member, self._rngs[k])
        self._done[:], self._age[:] = False, 0
        return self._seen.copy(), {}

    def step(self, actions: FloatArray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        given = np.asarray(actions, dtype=float)
        if given.shape != (self.num_envs, self.task.actions):
            raise StateError(f"actions have shape {given.shape}; {(self.num_envs, self.task.actions)} is needed.")
        if self._pool is None:
            self._step_part(self._parts[0], given)
        else:
            for _ in self._pool.map(lambda part: self._step_part(part, given), self._parts):
                pass
        self._age = np.where(self._done, 0, self._age + 1)
        cut = np.zeros_like(self._over) if self.longest is None else (self._age >= self.longest) & ~self._over
        self._done = self._over | cut
        infos: dict[str, Any] = {}
        for k, told in enumerate(self._told):
            infos = self._add_info(infos, told, k)
        return self._seen.copy(), self._reward.copy(), self._over.copy(), cut, infos

    def _step_part(self, part: Any, actions: FloatArray) -> None:
        task = self.task
        for k in part.tolist():
            member = self.members[k]
            if self._done[k]:
                self._seen[k], self._reward[k], self._over[k] = task.reset(member, self._rngs[k]), 0.0, False
                self._told[k] = {}
                continue
            task.give(member, actions[k])
            try:
                task.move(member)
            except StateError as error:
                self._reward[k], self._over[k], self._told[k] = 0.0, True, {FAILED: str(error)}
            else:
                verdict = task.judge(member, actions[k])
                self._reward[k], self._over[k] = verdict.reward, verdict.terminated
                self._told[k] = dict(verdict.info)
            self._seen[k] = task.observe(member)

    def close_extras(self, **kwargs: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()


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
