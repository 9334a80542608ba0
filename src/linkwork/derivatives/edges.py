"""What the edges to PyTorch and JAX share: functions of coordinates, in batches, with their products, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward
from linkwork.derivatives.runs import run_with_gradients, settings_of
from linkwork.dynamics.api import forward_dynamics
from linkwork.dynamics.inputs import as_model
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model


class DynamicsEdge:
    """q̈ of (q, v, effort), each with the same leading dimensions; orientations are made unit."""

    def __init__(self, model: Model):
        self.model = as_model(model, "forward_dynamics")
        self.tangents = Tangents(model)
        self.sizes = (model.nq, model.nv, model.nv)

    def value(self, *given: Any) -> FloatArray:
        rows, shape = _rows(given, self.sizes, ("q", "v", "effort"))
        found = [forward_dynamics(self.model, self.model.state(q, v), tau) for q, v, tau in zip(*rows, strict=True)]
        return np.array(found).reshape(*shape, self.model.nv)

    def back(self, *given: Any) -> tuple[FloatArray, ...]:
        """Gradients with respect to q, v and effort; the last of `given` are the weights."""
        rows, shape = _rows(given, (*self.sizes, self.model.nv), ("q", "v", "effort", "weights"))
        found: list[list[FloatArray]] = [[], [], []]
        for q, v, tau, weights in zip(*rows, strict=True):
            state = self.model.state(q, v)
            _, pull = forward.vjp(self.model, state, tau, wrt=("q", "v", "effort"))
            gradients: Any = pull(weights)
            found[0].append(self.tangents.tangent_transposed(state.q, gradients.q) / _lengths(self, q))
            found[1].append(gradients.v)
            found[2].append(gradients.effort)
        return tuple(np.array(part).reshape(*shape, size) for part, size in zip(found, self.sizes, strict=True))

    def along(self, *given: Any) -> FloatArray:
        """The change of q̈ along dq, dv, deffort, the last three of `given`."""
        names = ("q", "v", "effort", "dq", "dv", "deffort")
        rows, shape = _rows(given, self.sizes * 2, names)
        found = []
        for q, v, tau, dq, dv, dtau in zip(*rows, strict=True):
            state = self.model.state(q, v)
            turned = self.tangents.tangent(state.q, dq / _lengths(self, q))
            found.append(forward.jvp(self.model, state, tau, dq=turned, dv=dv, deffort=dtau))
        return np.array(found).reshape(*shape, self.model.nv)


class RunEdge:
    """All states of a run, (steps + 1, nq + nv), of (q, v, efforts): first state, and efforts (steps, nv)."""

    def __init__(self, sim: Any, h: float):
        self.sim, self.h = sim, h
        self.model: Model = sim.model
        self.tangents = Tangents(self.model)
        self._last: tuple[list[Any], Any, FloatArray] | None = None  # what the last run was made of, itself, its states

    def value(self, q: Any, v: Any, efforts: Any) -> FloatArray:
        return self._run(q, v, efforts)[1]

    def back(self, q: Any, v: Any, efforts: Any, weights: Any) -> tuple[FloatArray, ...]:
        """Gradients with respect to q, v and efforts from those with respect to all states."""
        run, states = self._run(q, v, efforts)
        nq, W = self.model.nq, np.asarray(weights, dtype=float)
        by_q = np.array([self.tangents.push_transposed(x[:nq], g[:nq]) for x, g in zip(states, W, strict=True)])
        by_q[0] = 0.0  # the first state is a given one, and is added below as it stands
        found = run.backward(q=by_q, v=W[:, nq:])
        first = self.tangents.tangent_transposed(states[0, :nq], found.q)
        q = np.asarray(q, dtype=float)
        total = first + self.tangents.tangent_transposed(
            states[0, :nq], self.tangents.push_transposed(states[0, :nq], W[0, :nq])
        )
        return total / _lengths(self, q), found.v, found.effort

    def _run(self, q: Any, v: Any, efforts: Any) -> tuple[Any, FloatArray]:
        """The run and its states; the last one where all is as it was then, as it is on the way back."""
        given = [np.array(x, dtype=float) for x in (q, v, efforts)]
        settings = settings_of(self.sim.checkpoint())
        if self._last is None or self._last[0][3] != settings or not all(map(np.array_equal, self._last[0], given)):
            run = self._made(*given)
            self._last = [*given, settings], run, run.states()
        return self._last[1:]

    def _made(self, q: FloatArray, v: FloatArray, tau: FloatArray) -> Any:
        if tau.ndim != 2 or not tau.shape[0]:
            raise StateError(f"efforts have shape {tau.shape}; a run of some steps needs (steps, {self.model.nv}).")
        saved = self.sim.checkpoint()
        try:
            self.sim.set_state(self.model.state(q, v))
            run = run_with_gradients(self.sim, self.h, tau.shape[0], tau)
        finally:
            self.sim.restore(saved)
        return run


def refuse_uneven(*shapes: tuple[int, ...]) -> None:
    """The first states (..., nq), (..., nv) and efforts (..., steps, nv) of many runs have the same leading dimensions."""
    q, v, efforts = (shape[:-1] for shape in shapes)
    if not q == v == efforts[:-1] or len(shapes[2]) < 2:
        raise StateError(
            f"q, v and efforts have shapes {', '.join(map(str, shapes))}; runs need (..., nq), (..., nv) and "
            "(..., steps, nv), with the same numbers in the place of the dots."
        )


def _lengths(edge: DynamicsEdge | RunEdge, q: FloatArray) -> FloatArray:
    """Lengths of the quaternions at the places of their numbers, ones elsewhere: a long one turns more slowly."""
    out = np.ones_like(q)
    first = edge.tangents.turn_q
    if first.size:
        norm = np.sqrt(sum(q[first + k] ** 2 for k in range(4)))
        for k in range(4):
            out[first + k] = norm
    return out


def _rows(given: Any, sizes: tuple[int, ...], names: tuple[str, ...]) -> tuple[list[FloatArray], tuple[int, ...]]:
    """Arrays with any leading dimensions as rows; and those dimensions, the same for all."""
    arrays = [np.asarray(x, dtype=float) for x in given]
    for x, size, name in zip(arrays, sizes, names, strict=True):
        if not x.ndim or x.shape[-1] != size:
            raise StateError(f"{name} has shape {x.shape}; its last dimension must be {size}.")
        if x.shape[:-1] != arrays[0].shape[:-1]:
            raise StateError(f"{name} has shape {x.shape}, q {arrays[0].shape}; all but the last dimension must agree.")
    shape = arrays[0].shape[:-1]
    return [np.ascontiguousarray(x.reshape(-1, size)) for x, size in zip(arrays, sizes, strict=True)], shape


# ---------------------------------------------------------------------------------------------------------- coordinates

# Between changes of coordinates (nq) and changes along the tangent (nv), for libraries that have coordinates alone.
#
# Quaternions that are not unit count as those they become when made unit. With q of an orientation, and ω the change along
# the tangent: dq = ½ q ⊗ ω, and ω = 2 vec(q* ⊗ dq) / |q|²; a free joint's position changes by R v.


class Tangents:
    """The linear maps between dq and δ of a model, and their transposes, at given coordinates; rows for batches."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        self.nq, self.nv = model.nq, model.nv
        kinds = tree[:, layout.KIND]
        free, ball = tree[kinds == layout.FREE], tree[kinds == layout.SPHERICAL]
        self.turn_q = np.concatenate([ball[:, layout.Q], free[:, layout.Q] + 3])
        self.turn_v = np.concatenate([ball[:, layout.V], free[:, layout.V]])
        self.shift_q, self.shift_v = free[:, layout.Q], free[:, layout.V] + 3
        self.shift_turn = free[:, layout.Q] + 3
        plain = [row for row in tree if row[layout.KIND] in (layout.HELICAL, layout.COMPOUND)]
        none = np.zeros(0, dtype=np.int64)
        self.plain_q = np.concatenate([none, *(row[layout.Q] + np.arange(row[layout.DOF]) for row in plain)])
        self.plain_v = np.concatenate([none, *(row[layout.V] + np.arange(row[layout.DOF]) for row in plain)])

    def _turns(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scalar and vector parts of the orientations, (m, 1) and (m, 3)."""
        w = q[self.turn_q, None]
        return w, np.stack([q[self.turn_q + k] for k in (1, 2, 3)], axis=1)

    def _rotations(self, q: FloatArray) -> FloatArray:
        w = q[self.shift_turn]
        x, y, z = (q[self.shift_turn + k] for k in (1, 2, 3))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        return np.moveaxis(np.array(rows), -1, 0)

    def tangent(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """δ of a change dq."""
        out = np.zeros(self.nv)
        out[self.plain_v] = dq[self.plain_q]
        w, x = self._turns(q)
        dw, dx = self._turns(dq)
        _put(out, self.turn_v, 2.0 * (w * dx - dw * x - np.cross(x, dx)))
        _put(out, self.shift_v, np.einsum("nji,nj->ni", self._rotations(q), _take(dq, self.shift_q)))
        return out

    def tangent_transposed(self, q: FloatArray, g: FloatArray) -> FloatArray:
        """The gradient with respect to q from that along the tangent, g."""
        out = np.zeros(self.nq)
        out[self.plain_q] = g[self.plain_v]
        w, x = self._turns(q)
        turn = _take(g, self.turn_v)
        out[self.turn_q] = -2.0 * np.sum(x * turn, axis=1)
        _put(out, self.turn_q + 1, 2.0 * (w * turn + np.cross(x, turn)))
        _put(out, self.shift_q, np.einsum("nij,nj->ni", self._rotations(q), _take(g, self.shift_v)))
        return out

    def push_transposed(self, q: FloatArray, g: FloatArray) -> FloatArray:
        """The gradient along the tangent from that with respect to q, g, of coordinates that are a result."""
        out = np.zeros(self.nv)
        out[self.plain_v] = g[self.plain_q]
        w, x = self._turns(q)
        gw, gx = self._turns(g)
        _put(out, self.turn_v, 0.5 * (w * gx - gw * x + np.cross(gx, x)))
        _put(out, self.shift_v, np.einsum("nji,nj->ni", self._rotations(q), _take(g, self.shift_q)))
        return out


def _put(out: FloatArray, first: Any, rows: FloatArray) -> None:
    for k in range(3):
        out[first + k] = rows[:, k]


def _take(x: FloatArray, first: Any) -> FloatArray:
    return np.stack([x[first + k] for k in range(3)], axis=1)
