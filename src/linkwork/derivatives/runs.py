"""Gradients through runs: states are kept every so many steps, and the steps between are made again on the way back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive, shown
from linkwork.core.messages.describe import html_table, tabled
from linkwork.core.messages.progress import progress_bar
from linkwork.derivatives.inputs import as_weights
from linkwork.derivatives.rules import load_rules
from linkwork.derivatives.stepping.steps import step_of
from linkwork.dynamics.inputs import as_finite
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

MEMORY = 500e6  # [bytes] for states that are kept, by default
# Entries of a checkpoint that change as a simulation goes: what is kept of it. All others must be the same on the way back.
COURSE = (
    *("q", "v", "time", "steps_done", "energy_debt", "substep"),
    *("kept_momentum", "loop_coordinates", "past", "momenta"),
    *("contact_ids", "contact_data", "contact_impulses", "contact_sums", "contact_states", "limit_impulses"),
    *("limit_sums", "loop_impulses"),
    *("contact_counts", "known_contacts", "known_places", "contact_totals", "contact_balance"),
)


@tabled
class RunGradients(NamedTuple):
    """Gradients of a number with respect to what a run began with and was given.

    q, v: of the first state, shape (nv,). effort: of every step, shape (steps, nv), where the run was given efforts; of the
    simulation's constant ones otherwise, shape (nv,). inertias (n, 10), gravity (3,), stiffness, damping, armature (nv,):
    of the model, as in `lw.Gradients`.
    """

    q: FloatArray
    v: FloatArray
    effort: FloatArray
    inertias: FloatArray
    gravity: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    armature: FloatArray


class GradientRun:
    """A run with what its backward pass needs: `backward`.

    state: the last one. steps, h: how many, and how long [s].
    """

    def __init__(
        self, sim: Any, h: float, steps: int, efforts: FloatArray | None, memory: float, progress: bool | None = None
    ):
        self._step = step_of(sim, h)
        self.model: Model = sim.model
        self.h, self.steps = self._step.h, steps
        self._sim, self._efforts = sim, efforts
        self._given = np.array(sim.checkpoint()["effort"], dtype=float)
        first = sim.checkpoint()
        self._settings = settings_of(first)
        row = 8 * (self.model.nq + self.model.nv)
        checkpoint_size = sum(np.asarray(x).nbytes for x in _course(first).values())
        self._every = _interval(steps, row, checkpoint_size, memory)
        self._checkpoints = [_course(first)]
        with self._given_efforts_after(), progress_bar(steps, self.model.name, progress) as move:
            for k in range(0, steps, self._every):
                count = min(self._every, steps - k)
                self._forward(k, count)
                self._checkpoints.append(_course(sim.checkpoint()))
                move(k + count, "")

    def __repr__(self) -> str:
        return f"GradientRun({self.steps:,} steps of {self.h:g} s of '{self.model.name}')"

    def _repr_html_(self) -> str:
        rows = [("model", self.model.name), ("steps", self.steps), ("h [s]", self.h)]
        return html_table("GradientRun", rows, "backward(q=, v=) gives gradients")

    @property
    def state(self) -> State:
        """The last state; a copy."""
        return _state_of(self._checkpoints[-1])

    @property
    def kept_states(self) -> tuple[dict[str, Any], ...]:
        """What is kept of the run: states with all that the next step needs, from the first to the last."""
        return tuple(self._checkpoints)

    def states(self) -> FloatArray:
        """All states as rows (q, v), from the first to the last, shape (steps + 1, nq + nv). Makes the steps again."""
        rows = [np.concatenate(_state_of(self._checkpoints[0]))]
        for k in range(len(self._checkpoints) - 1):
            rows += [np.concatenate(state) for state in self._between(k)[0][1:]]
        return np.array(rows)

    def backward(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, progress: bool | None = None
    ) -> RunGradients:
        """Gradients of a loss from its own gradients with respect to the states.

        q, v: with respect to coordinates (along the tangent of `Model.integrate`) and velocities, shape (nv,) for a loss of
        the last state, (steps + 1, nv) for one of all states from the first on; none is zero.
        progress: None shows a bar on a terminal and in a notebook.
        The simulation may have moved on meanwhile; its motors, loads and settings must be those of the run.
        """
        by_q, by_v = self._weights(q, "q"), self._weights(v, "v")
        self._refuse_changed()
        nv = self.model.nv
        now_q, now_v = by_q(self.steps), by_v(self.steps)
        efforts = np.zeros(nv if self._efforts is None else (self.steps, nv))
        sums = [np.zeros((self.model.n_bodies, 10)), np.zeros(3), np.zeros(nv), np.zeros(nv), np.zeros(nv)]
        with progress_bar(self.steps, "backward", progress) as move:
            for segment in range(len(self._checkpoints) - 2, -1, -1):
                states, seen = self._between(segment)
                for i in range(len(states) - 2, -1, -1):
                    k = segment * self._every + i
                    pair = seen[i], seen[i + 1]
                    found = self._step.back(states[i], states[i + 1], self._effort(k), now_q, now_v, pair)
                    now_q, now_v = found.q + by_q(k), found.v + by_v(k)
                    if self._efforts is None:
                        efforts += found.effort
                    else:
                        efforts[k] = found.effort
                    for total, part in zip(sums, found[3:], strict=True):
                        total += part
                move(self.steps - segment * self._every, "")
        return RunGradients(now_q, now_v, efforts, *sums)

    def _refuse_changed(self) -> None:
        """The way back needs the model, the motors, the loads and the settings of the run."""
        if self._sim.model is not self.model:
            raise StateError(
                f"the simulation has another model ('{self._sim.model.name}') than when the run was made; make the run "
                "again."
            )
        now = settings_of(self._sim.checkpoint())
        if now != self._settings:
            other = sorted(name for name in {*now, *self._settings} if now.get(name) != self._settings.get(name))
            raise StateError(
                f"the simulation has other motors, loads or settings than when the run was made ({', '.join(other)}); give "
                "it those back, or make the run again."
            )

    # ----------------------------------------------------------------------------------------------------------- the run

    def _effort(self, k: int) -> FloatArray:
        return self._given if self._efforts is None else self._efforts[k]

    def _forward(self, first: int, count: int) -> None:
        with self._sim.view.by_one_rule():  # the way back is that of Euler's rule, also where it whips
            if self._efforts is None:
                self._sim.advance(self.h, count)
                return
            for k in range(first, first + count):
                self._sim.set_efforts(self._efforts[k])
                self._sim.advance(self.h, 1)

    @contextmanager
    def _given_efforts_after(self) -> Iterator[None]:
        """The simulation has its own efforts again at the end, also of a run that fails."""
        try:
            yield
        finally:
            if self._efforts is not None:
                self._sim.set_efforts(self._given)

    def _between(self, segment: int) -> tuple[list[State], list[Any]]:
        """The states of a segment, both ends included, made again, and what steps remember there.

        The last must be the one that was kept, bit for bit.
        """
        sim, first = self._sim, segment * self._every
        saved = sim.checkpoint()
        try:
            sim.restore({**saved, "effort": self._given, **self._checkpoints[segment]})
            states, seen = [_state_of(self._checkpoints[segment])], [self._step.remember(sim)]
            for k in range(first, min(first + self._every, self.steps)):
                self._forward(k, 1)
                states.append(_copied(sim.state))
                seen.append(self._step.remember(sim))
        finally:
            sim.restore(saved)
        end = self._checkpoints[segment + 1]
        if not (np.array_equal(states[-1].q, end["q"]) and np.array_equal(states[-1].v, end["v"])):
            raise StateError("the steps made again did not end in the same bits; make the run again.")
        return states, seen

    def _weights(self, given: ArrayLike | None, what: str) -> Any:
        """The gradient of the loss with respect to q or v of state k, as a function of k."""
        nv, last = self.model.nv, self.steps
        none = np.zeros(nv)
        if given is None:
            return lambda k: none
        if np.ndim(given) == 2:
            rows = as_weights(given, (last + 1, nv), self.model, what)
            return lambda k: rows[k]
        row = as_weights(given, (nv,), self.model, what)
        return lambda k: row if k == last else none


RUNS: dict[str, Any] = {"steps": GradientRun}  # by what a simulation says of its gradients; others add theirs


def run_of(sim: Any) -> Any:
    """The kind of run with gradients that a simulation makes; refuses what makes none."""
    load_rules()
    found = RUNS.get(getattr(sim, "GRADIENTS", ""))
    if found is None:
        raise StateError(
            f"gradients of runs are those of lw.FullDynamics and lw.AdaptiveDynamics, not of {shown(sim)}."
        )
    return found


def run_with_gradients(
    sim: Any,
    h: float,
    n: int,
    efforts: ArrayLike | None = None,
    *,
    memory: float = MEMORY,
    progress: bool | None = None,
) -> GradientRun:
    """Makes n steps of a `FullDynamics` or an `AdaptiveDynamics` with gradients.

    `run.backward(...)` gives gradients with respect to the first state, the efforts of every step and the model.

    h: [s]. efforts: of the joints in every step [N·m or N], shape (n, nv); as the simulation has them by default.
    memory: bytes that kept states may take; √n states are kept where that is less.
    progress: None shows a bar on a terminal and in a notebook.
    For all integrators, trees and closed linkages, with springs, dampers, motors, dry friction of drives, loads, contact
    and limits of joints. What is limited, sticks, slides or is open in a step stays so: gradients are one-sided
    where that changes. All steps by "semi_implicit_euler" are made by Euler's rule, also those of linkages that whip, and
    so are those of other integrators in which bodies meet. Steps that were made in parts are refused in the backward pass.
    The simulation is at the end of the run afterwards.
    """
    count = integer(n, 1, "the number of steps")
    positive(memory, "memory")
    step = positive(h, "h")
    table = None
    if efforts is not None:
        run_of(sim)  # refuses what is not a simulation
        table = as_finite(efforts, (count, sim.model.nv), "efforts", sim.model).copy()
    made: GradientRun = run_of(sim)(sim, step, count, table, float(memory), progress)
    return made


def _interval(steps: int, row: int, checkpoint_size: int, memory: float) -> int:
    """Steps between kept states: √steps, or more where memory is short; refuses what cannot be held.

    row, kept: bytes of a state between kept ones, and of a kept one.
    """
    every = max(1, math.isqrt(steps))
    while steps / every * checkpoint_size + every * row > memory and every < steps:
        every = min(2 * every, steps)
    if steps / every * checkpoint_size + every * row > memory:
        least = 2 * math.isqrt(steps) * row
        raise StateError(f"memory is {memory:.3g} bytes; a run of {steps:,} steps keeps {least:.3g} at least.")
    return every


def _course(saved: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint has of the course of a simulation."""
    return {name: saved[name] for name in COURSE if name in saved}


def settings_of(saved: dict[str, Any]) -> dict[str, Any]:
    """What must not change between a run and its way back, as plain values."""
    return {name: _plain(value) for name, value in saved.items() if name not in (*COURSE, "effort")}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _state_of(course: dict[str, Any]) -> State:
    return State(np.array(course["q"]), np.array(course["v"]))


def _copied(state: State) -> State:
    return State(np.array(state.q), np.array(state.v))
