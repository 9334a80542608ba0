"""Inputs of the dynamics: arrays of the right shape and kind, or an error that says which is not."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import numbers, shown
from linkwork.errors import ModelError, StateError
from linkwork.model.kernels.manifold import all_finite
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.matrices import motion_matrix

UNIT_TOLERANCE = 1e-6  # of a quaternion's squared length: integrators keep it far better, printed digits not worse
Result = TypeVar("Result")
NO_EFFORT = np.zeros(0)
NO_WRENCHES = np.zeros((0, 6))


def as_model(model: Model, what: str) -> Model:
    """A compiled model; a linkage is not one."""
    if not isinstance(model, Model):
        hint = "; compile it first: linkage.compile()" if isinstance(model, Linkage) else ""
        if isinstance(getattr(model, "model", None), Model):
            hint = "; give the model and the state of a simulation: sim.model, sim.state"
        raise ModelError(f"{what} needs a lw.Model, not {shown(model)}{hint}.")
    return model


def as_array(value: ArrayLike, shape: tuple[int, ...], what: str, model: Model) -> FloatArray:
    """`value` itself when kernels can read it as it is, a converted copy otherwise."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == shape and value.flags.carray:
        return value  # what every step of a simulation brings
    return numbers(value, shape, what, f"model '{model.name}'")


def as_finite(value: ArrayLike | None, shape: tuple[int, ...], what: str, model: Model) -> FloatArray:
    """The same, with every number finite."""
    if value is None:
        raise StateError(f"{what} is missing; give an array of shape {shape}.")
    array = as_array(value, shape, what, model)
    if not np.isfinite(array).all():
        raise StateError(f"{what} is {shown(array.tolist())}; give finite numbers.")
    return array


def as_state(model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """q and v of a state: shapes checked, numbers finite, orientations unit."""
    if type(model) is not Model:
        as_model(model, "this function")
    try:
        if type(state) is np.ndarray:  # of which two rows, or two numbers, would pass for q and v
            raise TypeError
        q, v = state
    except (TypeError, ValueError):
        raise StateError(
            f"state must be a lw.State(q, v), not {shown(state)}; model.state(q, v) makes one of arrays, and "
            "model.state(q) one at rest."
        ) from None
    q = as_array(q, (model.nq,), "state.q", model)
    v = as_array(v, (model.nv,), "state.v", model)
    if not all_finite(q, v):
        raise explain_failure(model, "kinematics", -1, {"state.q": q, "state.v": v}, NO_WRENCHES)
    if model.quaternions.size:
        check_orientations(model, q)
    return q, v


def as_body(model: Model, body: str | int | None, world: bool = False) -> int:
    """Index of a body given by name or number; `world` admits the world, -1."""
    if isinstance(body, str):
        index = model.body(body)
    elif isinstance(body, int | np.integer) and not isinstance(body, bool):
        index = int(body)
    else:
        raise StateError(f"body must be the name or the number of a body, not {shown(body)}.")
    if not (-1 if world else 0) <= index < model.n_bodies:
        ground = "" if world else "is the world or "
        raise StateError(
            f"body {shown(body)} {ground}does not exist; model '{model.name}' has bodies 0 to {model.n_bodies - 1}."
        )
    return index


def as_frame(model: Model, body: str | int, world: bool = False) -> tuple[int, FloatArray]:
    """Index of a body given by name or number, or of the body that carries the named frame; and X, shape (6, 6).

    X takes twists of the body, at its origin, to those of the frame; its transpose takes wrenches on the frame to the body.
    It is one for a body's own frame.
    """
    index = as_body(model, body, world=world)
    pose = model.frame(body).pose.matrix if isinstance(body, str) else np.eye(4)
    return index, motion_matrix(pose[:3, :3], pose[:3, 3])


def check_orientations(model: Model, q: FloatArray) -> None:
    """Refuses quaternions that are not unit: the algebra behind would scale bodies by them."""
    first = model.quaternions
    each = q[first[:, None] + np.arange(4)]
    bad = np.flatnonzero(~(np.abs(np.einsum("kc,kc->k", each, each) - 1.0) <= UNIT_TOLERANCE))
    if bad.size:
        k = int(first[bad[0]])
        joint = model.joint_names[model.joint_of(k, "q")]
        raise StateError(
            f"joint '{joint}' has the orientation {q[k : k + 4].tolist()} (state.q[{k}:{k + 4}]), which is not a unit "
            "quaternion (w, x, y, z). model.state(q, v) makes orientations unit."
        )


def as_effort(model: Model, effort: ArrayLike | None, what: str = "effort") -> FloatArray:
    """Efforts or accelerations, shape (nv,); whether they are finite shows in the result."""
    return NO_EFFORT if effort is None else as_array(effort, (model.nv,), what, model)


def as_wrenches(model: Model, wrenches: ArrayLike | None) -> FloatArray:
    """External wrenches, shape (n, 6), finite: a body that cannot move would swallow what is not."""
    if wrenches is None:
        return NO_WRENCHES
    array = as_array(wrenches, (model.n_bodies, 6), "wrenches", model)
    if not np.isfinite(array).all():
        raise explain_failure(model, "wrenches", -1, {}, array)
    return array


def refuse_loops(model: Model, what: str) -> None:
    """For what computes with the tree alone: cutting loops open without a word would be a wrong answer."""
    if as_model(model, what).is_constrained:
        counts = (len(model.loops), "loop"), (len(model.couplings), "coupling")
        has = " and ".join(f"a {kind}" if n == 1 else f"{n} {kind}s" for n, kind in counts if n)
        raise StateError(
            f"{what} is for open trees; model '{model.name}' has {has}. Use lw.constrained_dynamics, or "
            "model.without_loops for the tree with its loops cut open and its joints uncoupled."
        )


def refuse_couplings(model: Model, what: str) -> None:
    """For what takes loops but no couplings of joints."""
    if model.couplings:
        raise StateError(
            f"{what} does not know couplings, and model '{model.name}' has {len(model.couplings)} (the first is "
            f"'{model.couplings[0].name}'). Use model.without_loops where its joints may move one by one."
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
    if body >= 0 and not can_be_solved(model, vectors.get("state.q")):
        return StateError(
            f"{algorithm} cannot solve joint '{model.joint_names[body]}': what hangs from it resists its motion with no "
            f"inertia. Give body '{model.body_names[body]}' mass and moments, or its joint armature."
        )
    where = f" at joint '{model.joint_names[body]}'" if body >= 0 else ""
    unseen = "" if vectors else ", or not finite (NaN)"
    words = f"{algorithm} overflowed{where}: numbers in the state, efforts or wrenches are too large{unseen}"
    v = vectors.get("state.v")
    if v is not None and v.shape == (model.nv,) and v.any():
        k = int(np.abs(v).argmax())
        joint = model.joint_names[model.joint_of(k, "v")]
        words += f"; the fastest joint, '{joint}', moves at {abs(v[k]):.3g} rad/s or m/s"
    return StateError(f"{words}.")


def can_be_solved(model: Model, q: FloatArray | None) -> bool:
    """Whether all joints meet inertia at coordinates q (by default the neutral ones): what fails there is not the model."""
    from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba

    if q is None or q.shape != (model.nq,):
        q = model.neutral().q
    still, qdd = np.zeros(model.nv), np.empty(model.nv)
    work, dof_work = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, DOF_WORK))
    _, bad = aba(*model.arrays, np.ascontiguousarray(q), still, NO_EFFORT, NO_WRENCHES, work, dof_work, qdd)
    return bool(bad < 0 and np.isfinite(qdd).all())


def finite_result(result: Result, probe: float, what: str) -> Result:
    """The result, unless finite numbers overflowed on the way: `probe` is not finite where any of it is not."""
    if not np.isfinite(probe):
        raise StateError(f"{what} overflowed: numbers in the state are too large.")
    return result
