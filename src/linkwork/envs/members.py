"""Members: linkages at work on one task, whose actions are made at the same time, in compiled code on all cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.core.calls import address_of
from linkwork.core.turns import turn_of
from linkwork.dynamics.inputs import UNIT_TOLERANCE, as_array, as_state
from linkwork.envs.member_steps import HALF, LOOK, MIDDLE, MemberArrays, MemberSteps, act, begin_one, is_state
from linkwork.envs.task import Task
from linkwork.errors import StateError
from linkwork.full.simulation import FullDynamics
from linkwork.model.state import State
from linkwork.simulation.loading.actuating import Actuators
from linkwork.simulation.view import CompiledSteps


class Members:
    """Simulations of a task and their drives, where they are, what is seen and remembered of each: `arrays`.

    threads: that step them.
    """

    def __init__(self, task: Task, count: int = 1, threads: int = 1):
        self.task = task
        self.sims = [FullDynamics(task.model, task.rest(), contact=task.contact, **task.options) for _ in range(count)]
        self.drives = [Actuators(sim) for sim in self.sims]
        one, self._middle, half = self.drives[0].view, 0.5 * (task.low + task.high), 0.5 * (task.high - task.low)
        self.arrays = MemberSteps(
            scale=np.column_stack([self._middle, half, one.low, one.high, one.gear]),
            place=np.column_stack([one.row, one.column, task.follows]),
            task=task.table,
            members=np.zeros((count, 3 * len(MemberArrays._fields)), dtype=np.int64),
            ended=np.zeros((count, 2), dtype=np.int64),
            q=np.zeros((count, task.model.nq)),
            v=np.zeros((count, task.model.nv)),
            memory=np.zeros((count, task.memories)),
            seen=np.zeros((count, task.observations)),
            reward=np.zeros(count),
            over=np.zeros(count),
        )
        self._table, self._numbers, self._still = describe(self.arrays), list(range(count)), np.zeros(task.actions)
        self._compiled, self._turns = [sim.view.steps for sim in self.sims], [turn_of(sim) for sim in self.sims]
        self._is_compiled = one.is_direct and self._compiled[0] is not None
        self._looks = 0 if task.compiled_look is None else address_of(task.compiled_look, LOOK)
        self._tables: list[IntArray | None] = [None] * count
        self._threads, self._pool = threads, ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._shares = self._shared(np.arange(count))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def begin(self, k: int, rng: np.random.Generator) -> None:
        """Member number k begins anew."""
        x, sim, steps = self.arrays, self.sims[k], self._compiled[k]
        x.memory[k] = 0.0
        q, v = self._first_state(rng, x.memory[k])
        with turn_of(sim):
            if steps is not None:
                steps.start(q, v)
            else:
                sim.reset()
                sim.set_state(State(q, v))
            if self._looks != 0 and self._is_compiled:
                self._describe(k)
                begin_one(self._table, k, q, v, self._looks, self._still)
                return
            self.drives[k].control = self._middle
        x.q[k], x.v[k] = q, v
        self._observe(k, self._still, True)

    def _first_state(self, rng: np.random.Generator, memory: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the task begins, checked by compiled code: what NumPy does in `as_state` is most of a reset."""
        model, state = self.task.model, self.task.begin(rng, memory)
        if type(state) is State:
            q, v = as_array(state.q, (model.nq,), "state.q", model), as_array(state.v, (model.nv,), "state.v", model)
            if is_state(q, v, model.quaternions, UNIT_TOLERANCE):
                return q, v
        return as_state(model, state)

    def _describe(self, k: int) -> None:
        """The table of member number k, where its simulation has another one now."""
        steps = self._steps_of(k)
        table = steps.table()
        if table is not self._tables[k]:
            self._tables[k] = table
            self.arrays.members[k] = describe(MemberArrays(table, self.drives[k].view.control))
            self._address = steps.address()

    def _observe(self, k: int, action: FloatArray, is_first: bool = False) -> None:
        x = self.arrays
        x.reward[k], x.over[k] = self.task.look(x.q[k], x.v[k], x.memory[k], action, x.seen[k], is_first)

    def act(self, actions: FloatArray, who: IntArray | None = None) -> dict[int, StateError]:
        """The steps of actions (k, a) of all members, or some; which of them failed, and why. Those see nothing new."""
        numbers = self._numbers if who is None else who.tolist()
        turns = self._turns if who is None else [self._turns[k] for k in numbers]
        for turn in turns:
            turn.acquire()
        try:
            if self._is_compiled:
                return self._act_compiled(actions, self._shares if who is None else self._shared(who), numbers)
            return self._act_in_python(actions, numbers)
        finally:
            for turn in turns:
                turn.release()

    def _shared(self, who: IntArray) -> list[IntArray]:
        """Which members each thread steps."""
        return np.array_split(who, self._threads)

    def _act_compiled(self, actions: FloatArray, shares: list[IntArray], numbers: list[int]) -> dict[int, StateError]:
        h, n = self.task.h, self.task.steps
        for k in numbers:
            steps = self._steps_of(k)
            steps.begin(h)
            if steps.table() is not self._tables[k]:
                self._describe(k)
        if not self._act_in_threads(actions, shares):
            raise StateError("actions must be finite numbers.")
        failed: dict[int, StateError] = {}
        ended = self.arrays.ended.tolist()
        for k in numbers:
            status, made = ended[k]
            try:
                self._steps_of(k).end(h, n, status, made)
            except StateError as error:
                failed[k] = error
            else:
                if made < n:  # what waited for memory was made just now
                    self.arrays.q[k], self.arrays.v[k] = self.sims[k].state
                if made < n or self._looks == 0:
                    self._observe(k, actions[k])
        return failed

    def _steps_of(self, k: int) -> CompiledSteps:
        steps = self._compiled[k]
        assert steps is not None
        return steps

    def _act_in_threads(self, actions: FloatArray, shares: list[IntArray]) -> bool:
        how: Any = (actions, self._address, self._looks, self.task.h, self.task.steps)
        if self._pool is None:
            return bool(act(self._table, shares[0], *how))
        first, *rest = shares
        others = [self._pool.submit(act, self._table, part, *how) for part in rest]
        are_finite = bool(act(self._table, first, *how))
        return all(other.result() for other in others) and are_finite

    def _act_in_python(self, actions: FloatArray, numbers: list[int]) -> dict[int, StateError]:
        """The same where drives lag or give efforts, or where Python has a part in steps."""
        scale = self.arrays.scale
        controls = scale[:, MIDDLE] + scale[:, HALF] * np.clip(actions[:, self.task.follows], -1.0, 1.0)
        failed: dict[int, StateError] = {}
        for k in numbers:
            self.drives[k].control = controls[k]
            try:
                self.drives[k].step(self.task.h, self.task.steps)
            except StateError as error:
                failed[k] = error
            self.arrays.q[k], self.arrays.v[k] = self.sims[k].state
            if k not in failed:
                self._observe(k, actions[k])
        return failed
