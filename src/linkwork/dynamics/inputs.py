"""Inputs of the dynamics: arrays of the right shape and kind, or an error that says which is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

UNIT_TOLERANCE = 1e-6  # of a quaternion's squared length: integrators keep it far better, printed digits not worse
NO_EFFORT = np.zeros(0)
NO_WRENCHES = np.zeros((0, 6))


def as_array(value: ArrayLike, shape: tuple[int, ...], what: str, model: Model) -> FloatArray:
    """`value` itself when kernels can read it as it is, a converted copy otherwise."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray:
        array = value
    else:
        try:
            array = np.array(value, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise StateError(f"{what} must be an array of numbers, not {value!r}.") from None
    if array.shape != shape:
        raise StateError(f"{what} has shape {array.shape}; model '{model.name}' needs {shape}.")
    return array


def as_state(model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """q and v of a state, shapes checked, orientations unit."""
    q, v = state
    q = as_array(q, (model.nq,), "state.q", model)
    if model.quaternions.size:
        check_orientations(model, q)
    return q, as_array(v, (model.nv,), "state.v", model)


def as_finite_state(model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """The same, and every number finite: for what would pass NaN on instead of failing."""
    q, v = as_state(model, state)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise explain_failure(model, "kinematics", -1, {"state.q": q, "state.v": v}, NO_WRENCHES)
    return q, v


def check_orientations(model: Model, q: FloatArray) -> None:
    """Refuses quaternions that are not unit: the algebra behind would scale bodies by them."""
    first = model.quaternions
    norm2 = sum(q[first + k] ** 2 for k in range(4))
    bad = np.flatnonzero(~(np.abs(norm2 - 1.0) <= UNIT_TOLERANCE))
    if bad.size:
        k = int(first[bad[0]])
        joint = model.joint_names[model.joint_of(k, "q")]
        raise StateError(
            f"joint '{joint}' has the orientation {q[k : k + 4].tolist()} (state.q[{k}:{k + 4}]), which is not a unit "
            "quaternion (w, x, y, z). model.state(q, v) makes orientations unit."
        )


def as_effort(model: Model, effort: ArrayLike | None, what: str = "effort") -> FloatArray:
    return NO_EFFORT if effort is None else as_array(effort, (model.nv,), what, model)


def as_wrenches(model: Model, wrenches: ArrayLike | None) -> FloatArray:
    return NO_WRENCHES if wrenches is None else as_array(wrenches, (model.n_bodies, 6), "wrenches", model)


def refuse_loops(model: Model, what: str) -> None:
    """For what computes with the tree alone: cutting loops open without a word would be a wrong answer."""
    if model.loops:
        count = "a loop" if len(model.loops) == 1 else f"{len(model.loops)} loops"
        raise StateError(
            f"{what} is for open trees; model '{model.name}' has {count}. Use lw.constrained_dynamics, or "
            "model.without_loops for the tree with its loops cut open."
        )


def explain_failure(
    model: Model, algorithm: str, body: int, vectors: dict[str, FloatArray], wrenches: FloatArray
) -> StateError:
    """Why a kernel failed or returned NaN: the first bad number that came in, or the body it could not solve."""
    for what, vector in vectors.items():
        bad = np.flatnonzero(~np.isfinite(vector))
        if bad.size:
            k = int(bad[0])
            joint = model.joint_names[model.joint_of(k, "q" if what == "state.q" else "v")]
            return StateError(f"{what}[{k}] is {vector[k]} (joint '{joint}'); give finite numbers.")
    bad = np.flatnonzero(~np.isfinite(wrenches).all(axis=1))
    if bad.size:
        i = int(bad[0])
        return StateError(
            f"wrenches[{i}] is {wrenches[i].tolist()} (body '{model.body_names[i]}'); give finite numbers."
        )
    if body >= 0:
        return StateError(
            f"{algorithm} cannot solve joint '{model.joint_names[body]}': what hangs from it resists its motion with no "
            f"inertia. Give body '{model.body_names[body]}' mass and moments, or its joint armature."
        )
    return StateError(f"{algorithm} overflowed: numbers in the state, efforts or wrenches are too large.")
