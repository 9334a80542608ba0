"""Many states of one model in one call: arrays with a row per state, on all cores.

A row gives the same bits as a call with that state alone: the kernels here call those of single states, row by row. Rows
are shared out between threads, each with memory of its own; kernels run without Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from inspect import signature
from itertools import pairwise
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray, frozen
from linkwork.core.checks import choice, dimensions, numbers, shown
from linkwork.core.jit import kernel
from linkwork.dynamics.aba import BODY_WORK as ABA_BODY_WORK
from linkwork.dynamics.aba import DOF_WORK as ABA_DOF_WORK
from linkwork.dynamics.aba import OK, aba
from linkwork.dynamics.inputs import as_model, check_orientations
from linkwork.dynamics.kinematics import local_twists, twists_to_world, world_poses
from linkwork.dynamics.rnea import BODY_WORK as RNEA_BODY_WORK
from linkwork.dynamics.rnea import rnea
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State

P = ParamSpec("P")
R = TypeVar("R")

LEAST_ROWS = 16  # per thread: fewer are done before another thread has begun
DIMENSIONS = {"effort": 1, "wrenches": 2, "acceleration": 1, "about": 1, "at": 1}  # of arguments for one state


def takes_batches(fast: Callable[..., Any] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function of (model, state, ...) take states of shape (batch, nq), (batch, nv) too.

    fast: does all rows in one call, given the function and its arguments; it may leave them to the rows one by one by
    returning None. Without it the function is called row by row.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        behind = tuple(signature(function).parameters)[2:]

        @wraps(function)
        def one_or_many(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) < 2 or not is_batch(args[1]):
                return function(*args, **kwargs)
            model, batch = args[0], args[1]
            rows = as_batch(model, batch)  # type: ignore[arg-type]
            found = None if fast is None else fast(function, model, rows, *args[2:], **kwargs)
            if found is not None:
                return cast(R, found)
            arguments = dict(zip(behind, args[2:], strict=False)) | kwargs
            return cast(R, row_by_row(function, model, rows, arguments))

        return one_or_many

    return wrap


def is_batch(state: Any) -> bool:
    """Whether a state has a row per state."""
    if not isinstance(state, State):
        return False
    q = state.q
    if type(q) is np.ndarray:
        return q.ndim == 2
    try:
        return np.ndim(q) == 2
    except ValueError:  # rows of several lengths: single calls say what is wrong with them
        return False


def as_batch(model: Model, state: State) -> State:
    """States (batch, nq), (batch, nv), checked as single ones are."""
    as_model(model, "this function")
    count = len(state.q)
    owner = f"model '{model.name}' with {count} states"
    q = numbers(state.q, (count, model.nq), "state.q", owner)
    v = numbers(state.v, (count, model.nv), "state.v", owner)
    for what, rows in (("state.q", q), ("state.v", v)):
        finite = np.isfinite(rows)
        if not finite.all():
            k, j = np.argwhere(~finite)[0].tolist()
            raise StateError(f"{what}[{k}, {j}] is {rows[k, j]}; give finite numbers.")
    if model.quaternions.size:
        for k, row in enumerate(q):
            _of_row(k, check_orientations, model, row)
    return State(q, v)


def _of_row(k: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives for row k; its errors say which row it was."""
    try:
        return function(*args, **kwargs)
    except LinkworkError as error:
        raise type(error)(f"state {k} of the batch: {error}") from error


def row_by_row(function: Callable[..., Any], model: Any, rows: State, arguments: dict[str, Any]) -> Any:
    """Calls a function with every state; arguments with a row per state are shared out with them."""
    count = len(rows.q)
    shared = {name: _rows_of(name, value, count) for name, value in arguments.items()}
    found = []
    for k in range(count):
        own = {name: value[k] if has_rows else value for name, (has_rows, value) in shared.items()}
        found.append(_of_row(k, function, model, State(rows.q[k], rows.v[k]), **own))
    if found and isinstance(found[0], tuple):
        return type(found[0])(*(np.array(column) for column in zip(*found, strict=True)))
    return np.array(found)


def _rows_of(name: str, value: Any, count: int) -> tuple[bool, Any]:
    """Whether an argument has a row per state, by its dimensions, and what it is then."""
    one = DIMENSIONS.get(name)
    if one is None or value is None or dimensions(value) != one + 1:
        return False, value
    rows = np.asarray(value)
    if len(rows) != count:
        raise StateError(f"{name} has shape {rows.shape}; give one for all, or {count}: one for each state.")
    return True, rows


# ---------------------------------------------------------------------------------------------------------------- fast


def forward(
    function: Callable[..., Any],
    model: Model,
    rows: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    algorithm: str = "aba",
) -> FloatArray | None:
    """Forward dynamics by `aba` of all rows; other algorithms row by row."""
    if algorithm != "aba" or model.is_constrained:
        return None
    count = len(rows.q)
    tau, external = _rows(effort, count, (model.nv,), "effort"), _rows(wrenches, count, (model.n_bodies, 6), "wrenches")
    qdd, status = np.empty((count, model.nv)), np.zeros(count, dtype=np.int64)
    fails = np.empty(count, dtype=bool)

    def part(some: slice) -> None:
        work, dof_work = np.empty((model.n_bodies, ABA_BODY_WORK)), np.empty((model.nv, ABA_DOF_WORK))
        aba_many(
            model.arrays,
            rows.q[some],
            rows.v[some],
            _own(tau[some]),
            _own(external[some]),
            work,
            dof_work,
            qdd[some],
            status[some],
        )
        fails[some] = (status[some] != OK) | ~_finite_rows(qdd[some])

    share_out(part, count)
    for k in np.flatnonzero(fails).tolist():  # single calls say what is wrong, or warn
        own = None if effort is None else tau[k]
        push = None if wrenches is None else external[k]
        at = State(rows.q[k], rows.v[k])
        qdd[k] = _of_row(k, function, model, at, own, push, algorithm=algorithm)
    return qdd


def inverse(
    function: Callable[..., Any],
    model: Model,
    rows: State,
    acceleration: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
) -> FloatArray | None:
    """Inverse dynamics of all rows."""
    if acceleration is None:
        raise StateError("acceleration is missing; give an array of shape (nv,) or (batch, nv).")
    count = len(rows.q)
    qdd = _rows(acceleration, count, (model.nv,), "acceleration")
    external = _rows(wrenches, count, (model.n_bodies, 6), "wrenches")
    effort = np.empty((count, model.nv))
    _rnea(model, model.arrays.dof, rows.q, rows.v, qdd, external, effort)
    for k in np.flatnonzero(~np.isfinite(effort).all(axis=1)).tolist():
        _of_row(k, function, model, State(rows.q[k], rows.v[k]), qdd[k], None if wrenches is None else external[k])
    return effort


def bias(function: Callable[..., Any], model: Model, rows: State) -> FloatArray:
    """Efforts that keep the velocities, of all rows."""
    effort = np.empty((len(rows.q), model.nv))
    _rnea(model, model.arrays.dof, rows.q, rows.v, None, None, effort)
    return _finite(effort, "bias_efforts")


def gravity(function: Callable[..., Any], model: Model, rows: State) -> FloatArray:
    """Efforts that hold against gravity, of all rows."""
    effort = np.empty((len(rows.q), model.nv))
    loose = frozen(np.zeros_like(model.arrays.dof))
    _rnea(model, loose, rows.q, np.zeros_like(rows.v), None, None, effort)
    return _finite(effort, "gravity_efforts")


def poses(function: Callable[..., Any], model: Model, rows: State) -> FloatArray:
    """World poses of all bodies, shape (batch, n, 4, 4)."""
    tree, body, screws, *_ = model.arrays
    flat = np.empty((len(rows.q), model.n_bodies, 12))
    share_out(lambda some: poses_many(tree, body, screws, rows.q[some], flat[some]), len(rows.q))
    T = np.zeros((*flat.shape[:2], 4, 4))
    T[..., :3, :3] = flat[..., :9].reshape(*flat.shape[:2], 3, 3)
    T[..., :3, 3] = flat[..., 9:]
    T[..., 3, 3] = 1.0
    return _finite(T, "body_poses")


def twists(function: Callable[..., Any], model: Model, rows: State, frame: str = "body") -> FloatArray:
    """Twists of all bodies, shape (batch, n, 6)."""
    choice(frame, ("body", "world"), "frame")
    tree, body, screws, *_ = model.arrays
    out = np.empty((len(rows.q), model.n_bodies, 6))
    turned = frame == "world"
    share_out(lambda some: twists_many(tree, body, screws, rows.q[some], rows.v[some], turned, out[some]), len(rows.q))
    return _finite(out, "body_twists")


def _rnea(
    model: Model, dof: FloatArray, q: FloatArray, v: FloatArray, qdd: FloatArray | None,
    wrenches: FloatArray | None, effort: FloatArray,
) -> None:  # fmt: skip
    arrays = model.arrays._replace(dof=dof)
    still = np.zeros_like(v) if qdd is None else qdd
    external = np.zeros((len(q), 0, 6)) if wrenches is None else wrenches

    def part(some: slice) -> None:
        work, S = np.empty((model.n_bodies, RNEA_BODY_WORK)), np.empty((model.nv, 6))
        own, push = _own(still[some]), _own(external[some])
        rnea_many(arrays, q[some], v[some], own, push, work, S, effort[some])

    share_out(part, len(q))


def _rows(value: ArrayLike | None, count: int, shape: tuple[int, ...], what: str) -> FloatArray:
    """An argument with a row per state: a view of what is the same for all, empty where nothing is given."""
    if value is None:
        return np.zeros((count, 0, *shape[1:]))
    if np.ndim(value) == len(shape):
        one = numbers(value, shape, what, f"a batch of {count} states")[None]
        if _finite_rows(one).all():
            return np.broadcast_to(one, (count, *shape))
        rows = one
    else:
        rows = numbers(value, (count, *shape), what, f"a batch of {count} states")
    bad = np.flatnonzero(~_finite_rows(rows))
    if bad.size:
        raise StateError(f"{what}[{bad[0]}] is {shown(rows[bad[0]].tolist())}; give finite numbers.")
    return rows


def _own(rows: FloatArray) -> FloatArray:
    """Rows as kernels read them: a copy where they are one row seen many times."""
    return np.require(rows, requirements=["C", "W"])


def _finite_rows(rows: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(axis=tuple(range(1, rows.ndim))))


def _finite(rows: FloatArray, what: str) -> FloatArray:
    bad = np.flatnonzero(~_finite_rows(rows))
    if bad.size:
        raise StateError(f"state {bad[0]} of the batch: {what} overflowed: numbers in the state are too large.")
    return rows


# -------------------------------------------------------------------------------------------------------------- threads


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="linkwork")


def cores() -> int:
    """Processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(part: Callable[[slice], None], count: int) -> None:
    """Calls `part` with slices that make up `count` rows, on as many threads as pay."""
    threads = max(1, min(cores(), count // LEAST_ROWS))
    ends = [count * k // threads for k in range(threads + 1)]
    slices = [slice(a, b) for a, b in pairwise(ends)]
    if threads == 1:
        part(slices[0])
        return
    waiting = [_pool(os.getpid()).submit(part, some) for some in slices[1:]]
    part(slices[0])
    for one in waiting:
        one.result()


@kernel
def aba_many(arrays, q, v, effort, wrenches, work, dof_work, qdd, status):
    tree, body, screws, dof, rest, gravity = arrays
    for k in range(q.shape[0]):
        status[k], _ = aba(
            tree, body, screws, dof, rest, gravity, q[k], v[k], effort[k], wrenches[k], work, dof_work, qdd[k]
        )


@kernel
def rnea_many(arrays, q, v, qdd, wrenches, work, S, effort):
    tree, body, screws, dof, rest, gravity = arrays
    for k in range(q.shape[0]):
        rnea(tree, body, screws, dof, rest, gravity, q[k], v[k], qdd[k], wrenches[k], work, S, effort[k])


@kernel(allocates=True)
def poses_many(tree, body, screws, q, out):
    for k in range(q.shape[0]):
        out[k] = world_poses(tree, body, screws, q[k])


@kernel(allocates=True)
def twists_many(tree, body, screws, q, v, turned, out):
    for k in range(q.shape[0]):
        found = local_twists(tree, body, screws, q[k], v[k])
        if turned:
            found = twists_to_world(world_poses(tree, body, screws, q[k]), found)
        out[k] = found
