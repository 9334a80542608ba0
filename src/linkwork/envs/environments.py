"""Environments of a task for Gymnasium: one member, or many that step at the same time."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, shown
from linkwork.envs.members import Members
from linkwork.envs.task import Task
from linkwork.errors import LinkworkError, StateError

FAILED = "failed"  # in the info of a step whose numbers went beyond all bounds; the episode ends there


def spaces_of(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Of observations and actions of one member."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float64)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)


def refuse_drawing(render_mode: Any) -> None:
    if render_mode is not None:
        raise LinkworkError(
            f"render_mode={shown(render_mode)}: these environments draw nothing; lw.view(env.unwrapped.sim) shows one."
        )


def as_actions(given: Any, shape: tuple[int, ...]) -> FloatArray:
    try:
        actions = np.ascontiguousarray(given, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"actions must be numbers of shape {shape}, not {shown(given)}.") from None
    if actions.shape != shape:
        raise StateError(f"actions have shape {actions.shape}; {shape} is needed.")
    return actions


def as_seeds(seed: Any, count: int) -> list[int | None]:
    """One seed per member; None goes on with the numbers it has."""
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        first = integer(seed, 0, "seed")
        return [first + k for k in range(count)]
    if not isinstance(seed, list | tuple | np.ndarray) or len(seed) != count:
        raise StateError(f"seed is {shown(seed)}; give a whole number ≥ 0, or {count} of them or None: one per member.")
    return [None if one is None else integer(one, 0, f"seed[{k}]") for k, one in enumerate(seed)]


def as_mask(options: dict[str, Any] | None, count: int) -> NDArray[np.bool_]:
    """Which members a reset begins anew: all, or those of options["reset_mask"]."""
    given = (options or {}).get("reset_mask")
    if given is None:
        return np.ones(count, dtype=bool)
    mask = np.asarray(given)
    if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
        raise StateError(f"reset_mask is {shown(given)}; give {count} of True or False, at least one True.")
    return mask


class TaskEnv(gymnasium.Env[FloatArray, FloatArray]):
    """A task for one member."""

    metadata = {"render_modes": [], "render_fps": 50}  # noqa: RUF012

    def __init__(self, task: Task, render_mode: str | None = None):
        refuse_drawing(render_mode)
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
        info = {name: x.memory.item(0, column) for name, column in self.task.info_columns.items()}
        return x.seen[0].copy(), x.reward.item(0), x.over.item(0) != 0.0, False, info


class TaskVectorEnv(VectorEnv[Any, Any, Any]):
    """A task for many members, which step at the same time on all cores.

    num_envs: members. max_episode_steps: actions after which an episode is cut off; None: never.
    threads: that step them; by default as many as there are cores.
    autoreset_mode: a member that has ended is reset by the next step, whose action for it counts nothing ("NextStep"); by
    the same step, which gives the end in infos["final_obs"] and infos["final_info"] ("SameStep"); or by
    reset(options={"reset_mask": which}) alone ("Disabled").
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ):
        try:
            self.mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise StateError(f"autoreset_mode is {shown(autoreset_mode)}; give one of {modes}.") from None
        self.metadata = {**type(self).metadata, "autoreset_mode": self.mode}
        self.task = task
        self.num_envs = integer(num_envs, 1, "num_envs")
        self.longest = None if max_episode_steps is None else integer(max_episode_steps, 1, "max_episode_steps")
        threads = integer(threads, 1, "threads") if threads is not None else os.cpu_count() or 1
        self.members = Members(task, self.num_envs, min(threads, self.num_envs))
        self.single_observation_space, self.single_action_space = spaces_of(task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._rngs = [np.random.default_rng() for _ in range(self.num_envs)]
        self._done, self._age = np.zeros(self.num_envs, dtype=bool), np.zeros(self.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Members anew: all, or those that options["reset_mask"] is True of.

        seed: of the first member, the next get the next numbers; or one for each.
        """
        seeds, mask = as_seeds(seed, self.num_envs), as_mask(options, self.num_envs)
        for k in np.flatnonzero(mask).tolist():
            if seeds[k] is not None:
                self._rngs[k] = np.random.default_rng(seeds[k])
            self.members.begin(k, self._rngs[k])
        self._done[mask], self._age[mask] = False, 0
        return self.members.arrays.seen.copy(), {}

    def step(self, actions: FloatArray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        x, begun = self.members.arrays, self._done
        if self.mode is AutoresetMode.DISABLED and begun.any():
            ended = np.flatnonzero(begun).tolist()
            raise StateError(f"members {ended} have ended; reset them: env.reset(options={{'reset_mask': which}}).")
        who = np.flatnonzero(~begun) if begun.any() else None  # all
        failed = self.members.act(as_actions(actions, (self.num_envs, self.task.actions)), who)
        for k in np.flatnonzero(begun).tolist():
            self.members.begin(k, self._rngs[k])
        x.reward[begun], x.over[begun] = 0.0, 0.0
        infos: dict[str, Any] = {}
        for k, error in failed.items():
            x.reward[k], x.over[k] = 0.0, 1.0
            infos = self._add_info(infos, {FAILED: str(error)}, k)
        has_info = ~begun
        has_info[list(failed)] = False
        for name, column in self.task.info_columns.items():
            infos[name], infos[f"_{name}"] = np.where(has_info, x.memory[:, column], 0.0), has_info.copy()
        self._age = np.where(begun, 0, self._age + 1)
        over = x.over != 0.0
        cut = np.zeros_like(over) if self.longest is None else (self._age >= self.longest) & ~over
        self._done, reward = over | cut, x.reward.copy()
        if self.mode is AutoresetMode.SAME_STEP and self._done.any():
            infos = self._begin_anew(infos)
        return x.seen.copy(), reward, over, cut, infos

    def _begin_anew(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Resets members that have ended; their last observation and info become `final_obs` and `final_info`."""
        names = [name for name in infos if not name.startswith("_")]
        for k in np.flatnonzero(self._done).tolist():
            final = {name: infos[name][k] for name in names if infos[f"_{name}"][k]}
            for name in final:
                infos[name][k], infos[f"_{name}"][k] = None if infos[name].dtype == object else 0.0, False
            last = {"final_obs": self.members.arrays.seen[k].copy(), "final_info": final}
            infos = self._add_info(infos, last, k)
            self.members.begin(k, self._rngs[k])
        self._age[self._done] = 0
        self._done = np.zeros_like(self._done)
        return infos

    def close_extras(self, **kwargs: Any) -> None:
        self.members.close()


def make_env(task: type[Task], render_mode: str | None = None, **options: Any) -> TaskEnv:
    return TaskEnv(task(**options), render_mode)


def make_vector_env(
    task: type[Task],
    num_envs: int = 1,
    max_episode_steps: int | None = None,
    threads: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    **options: Any,
) -> TaskVectorEnv:
    refuse_drawing(render_mode)
    return TaskVectorEnv(task(**options), num_envs, max_episode_steps, threads, autoreset_mode)
