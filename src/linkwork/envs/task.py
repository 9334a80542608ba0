"""Task: what an environment is about, without a word of Gymnasium. One object serves any number of members."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.envs.member_steps import TaskArrays
from linkwork.model.model import Model
from linkwork.model.state import State


class Task:
    """A model, what its drives are asked for, what is observed and what is rewarded.

    model: with actuators; an action is their controls, scaled to [-1, 1] over `low` to `high`.
    follows: which number of an action each actuator follows; by default each has its own.
    numbers: that a compiled look needs.

    h: time step [s]; steps: per action. contact: None where nothing touches.
    memories: numbers that are remembered of each member; info_columns: which of them are in the info of a step, by name.
    """

    h = 2e-3
    steps = 10
    memories = 0
    info_columns: dict[str, int] = {}  # noqa: RUF012
    contact: Contact | None = None
    compiled_look: Any = None  # `look` as a kernel of the signature `member_steps.LOOK`: static, `self.table` first
    options: dict[str, Any]

    def __init__(
        self,
        model: Model,
        low: FloatArray,
        high: FloatArray,
        observations: int,
        follows: ArrayLike | None = None,
        numbers: ArrayLike = (),
    ):
        self.model, self.low, self.high, self.observations = model, low, high, observations
        self.follows: IntArray = np.arange(len(model.actuators)) if follows is None else np.array(follows)
        self.actions = int(self.follows.max()) + 1
        self.arrays = TaskArrays(*model.arrays[:3], np.array(numbers, dtype=float))
        self.table = describe(self.arrays)
        self.options = {"integrator": "semi_implicit_euler"}  # one evaluation per step

    def rest(self) -> State:
        """A state in which nothing overlaps, which members are made with."""
        return self.model.neutral()

    def begin(self, rng: np.random.Generator, memory: FloatArray) -> State:
        """A first state; what is to be remembered of how the episode began goes into the memory, shape (memories,)."""
        raise NotImplementedError

    def look(
        self, q: FloatArray, v: FloatArray, memory: FloatArray, action: FloatArray, seen: FloatArray, is_first: bool
    ) -> tuple[float, float]:
        """Reward, and 1 where the episode ends, the aim reached or nothing to be gained any more; else 0.

        After the steps of an action (actions,), and where an episode begins (is_first). q: (nq,), v: (nv,); memory:
        (memories,), to write; seen: (observations,), to be filled.
        """
        reward, over = self.compiled_look(self.table, q, v, memory, action, seen, is_first)
        return reward, over

    @property
    def action_time(self) -> float:
        """[s]"""
        return self.h * self.steps
