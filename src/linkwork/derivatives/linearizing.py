"""One step of a simulation as matrices: dense, sparse, or as operators that multiply in O(n).

Rows of the matrices are products from the left. Trees that nothing ties together do not mix: one product gives a row of
each, and a sparse matrix holds their blocks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import one_of
from linkwork.derivatives.stepping.euler import EulerStep
from linkwork.derivatives.stepping.step_gradients import Linearized, Seen, StepMap
from linkwork.derivatives.stepping.steps import step_of
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

FORMS = ("dense", "sparse", "operator")
REACH = (
    1e-3  # largest change of a coordinate or velocity in differences of fourth order: 1e-10 of what changes smoothly
)


def linearize(sim: Any, h: float, *, form: str = "dense") -> Linearized:
    """Matrices A, B of one step of h [s] of a `FullDynamics` from its present state: dx⁺ = A dx + B dτ with x = (q, v).

    form: "dense" arrays; "sparse" ones of SciPy, with one block for each tree that moves apart from the others; "operator":
    `scipy.sparse.linalg.LinearOperator`s, whose products cost a few steps and no matrix. Products from the left (`rmatvec`)
    are exact. Those from the right are exact for semi-implicit Euler without loops, free joints, contact and loads held by
    the world, and fourth-order differences of the step otherwise.
    Springs, dampers and motors as the simulation takes them; motors at a limit stay there, and so does what touches.
    Changes of q are along the tangent of `Model.integrate`, and keep loops closed. The simulation stays where it is. Cost:
    O(nv²) for dense matrices.
    """
    one_of(form, FORMS, "form")
    at = Step(sim, h)
    if form == "operator":
        return at.operators()
    if form == "dense" and isinstance(at.step, EulerStep) and at.step.has_matrices:
        return at.step.matrices(at.before, at.after, at.effort)
    rows, columns, values = at.entries()
    nv = at.step.model.nv
    if form == "sparse":
        from scipy.sparse import csr_array  # not before it is asked for

        whole = csr_array((values, (rows, columns)), shape=(2 * nv, 3 * nv))
        return Linearized(whole[:, : 2 * nv].tocsr(), whole[:, 2 * nv :].tocsr())
    dense = np.zeros((2 * nv, 3 * nv))
    dense[rows, columns] = values
    return Linearized(dense[:, : 2 * nv].copy(), dense[:, 2 * nv :].copy())


class Step:
    """A step of a simulation that was made and taken back, with products from both sides."""

    def __init__(self, sim: Any, h: float):
        self.sim, self.step = sim, step_of(sim, h)
        self.saved = sim.checkpoint()
        self.before, self.effort = _copied(sim.state), np.array(self.saved["effort"], dtype=float)
        first = self.step.remember(sim)
        try:
            with sim.view.by_one_rule():
                sim.advance(self.step.h, 1)
            self.after = _copied(sim.state)
            self.seen: Seen = (first, self.step.remember(sim))
        finally:
            sim.restore(self.saved)

    def left(self, weights: FloatArray) -> FloatArray:
        """weights (2 nv,) times (A, B), (3 nv,)."""
        nv, step = self.step.model.nv, self.step
        found = step.back(self.before, self.after, self.effort, weights[:nv], weights[nv:], self.seen)
        return np.concatenate([found.q, found.v, found.effort])

    def right(self, change: FloatArray) -> FloatArray:
        """(A, B) times a change (3 nv,) of q, v and efforts, (2 nv,): fourth-order differences of the step."""
        size = float(np.abs(change).max(initial=0.0))
        if size == 0.0:
            return np.zeros(2 * self.step.model.nv)
        d = REACH / size
        near, far = (self._moved(change, k * d) - self._moved(change, -k * d) for k in (1.0, 2.0))
        return np.asarray((8.0 * near - far) / (12.0 * d))

    def _moved(self, change: FloatArray, d: float) -> FloatArray:
        model: Model = self.step.model
        dq, dv, effort = np.split(d * change, 3)
        sim = self.sim
        start = State(model.integrate(self.before.q, dq), self.before.v + dv)
        try:
            sim.restore({**self.saved, "q": start.q, "v": start.v, "effort": self.effort + effort})
            sim.set_state(start)  # what is remembered of steps before it no longer holds
            sim.set_efforts(self.effort + effort)
            with sim.view.by_one_rule():
                sim.advance(self.step.h, 1)
            end = _copied(sim.state)
        finally:
            sim.restore(self.saved)
        return np.concatenate([model.difference(self.after.q, end.q), end.v])

    def operators(self) -> Linearized:
        from scipy.sparse.linalg import LinearOperator  # not before it is asked for

        nv = self.step.model.nv
        right: Callable[[FloatArray], FloatArray] = self.right
        if isinstance(self.step, EulerStep) and self.step.has_matrices:
            step = self.step

            def exact(change: FloatArray) -> FloatArray:
                return step.along(self.before, self.after, self.effort, change)

            right = exact
        none_v, none_x = np.zeros(nv), np.zeros(2 * nv)
        A = LinearOperator(
            (2 * nv, 2 * nv),
            matvec=lambda x: right(np.concatenate([np.ravel(x), none_v])),
            rmatvec=lambda w: self.left(np.ravel(w))[: 2 * nv],
            dtype=np.float64,
        )
        B = LinearOperator(
            (2 * nv, nv),
            matvec=lambda x: right(np.concatenate([none_x, np.ravel(x)])),
            rmatvec=lambda w: self.left(np.ravel(w))[2 * nv :],
            dtype=np.float64,
        )
        return Linearized(A, B)

    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, columns and values of (A, B), in the blocks of what moves together."""
        nv = self.step.model.nv
        blocks = together(self.step, self.sim)
        rows, columns, values = [], [], []
        for k in range(max((block.size for block in blocks), default=0)):
            some = [block for block in blocks if block.size > k]
            for first in (0, nv):
                weights = np.zeros(2 * nv)
                weights[[first + block[k] for block in some]] = 1.0
                found = self.left(weights)
                for block in some:
                    of = np.concatenate([block, nv + block, 2 * nv + block])
                    rows.append(np.full(of.size, first + block[k]))
                    columns.append(of)
                    values.append(found[of])
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *rows]), np.concatenate([none, *columns]), np.concatenate([np.zeros(0), *values])


def together(step: StepMap, sim: Any) -> list[IntArray]:
    """Freedoms of the trees of a model, those that loops join in one; all in one where bodies may touch."""
    model, tree = step.model, step.model.arrays.tree
    if sim.contact is not None:
        return [np.arange(model.nv)]
    base = np.arange(model.n_bodies)
    for i, parent in enumerate(tree[:, layout.PARENT].tolist()):
        base[i] = base[parent] if parent >= 0 else i
    for loop in model.loops:
        if loop.body_a >= 0 and loop.body_b >= 0:
            base[base == base[loop.body_b]] = base[loop.body_a]
    found: dict[int, list[int]] = {}
    for i in range(model.n_bodies):
        first = tree[i, layout.V]
        found.setdefault(int(base[i]), []).extend(range(first, first + tree[i, layout.DOF]))
    return [np.array(rows, dtype=np.int64) for rows in found.values() if rows]


def _copied(state: State) -> State:
    return State(np.array(state.q), np.array(state.v))
