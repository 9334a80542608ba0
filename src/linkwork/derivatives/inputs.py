"""Inputs of the derivatives: names of gradients, weights, directions. Errors say what is wrong and what to give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.core.messages.names import did_you_mean
from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.kernels.manifold import all_finite
from linkwork.model.model import Model

NO_NUMBERS, NO_ROWS = np.zeros(0), np.zeros((0, layout.DOF_COLUMNS))
DOF_COLUMNS = {"damping": layout.DAMPING, "stiffness": layout.STIFFNESS, "armature": layout.ARMATURE}


def as_names(wrt: Sequence[str] | None, known: tuple[str, ...], function: str) -> frozenset[str]:
    """The gradients asked for: names of arguments of the function."""
    if wrt is None:
        return frozenset(known)
    names = (wrt,) if isinstance(wrt, str) else wrt
    try:
        names = tuple(names)
    except TypeError:
        raise StateError(f"wrt must be names of gradients, not {shown(wrt)}.") from None
    for name in names:
        if not isinstance(name, str) or name not in known:
            hint = did_you_mean(name, known) if isinstance(name, str) else ""
            raise StateError(
                f"wrt has {shown(name)}, on which {function} does not depend{hint}; choose from {', '.join(known)}."
            )
    return frozenset(names)


def as_weights(weights: Any, shape: tuple[int, ...], model: Model, what: str = "weights") -> FloatArray:
    """What `pull` is given: finite numbers in the shape of the result."""
    if weights is None:
        raise StateError(f"{what} is missing; give an array of shape {shape}.")
    array = as_array(weights, shape, what, model)
    if not (all_finite(array, NO_NUMBERS) if array.ndim == 1 else np.isfinite(array).all()):
        k = tuple(int(x) for x in np.argwhere(~np.isfinite(array))[0])
        place = ", ".join(map(str, k))
        raise StateError(f"{what}[{place}] is {array[k]}; give finite numbers.")
    return array


def sizes(model: Model) -> dict[str, tuple[int, ...]]:
    """Shape of each gradient and of each direction."""
    n, nv = model.n_bodies, model.nv
    rows = ("q", "v", "effort", "acceleration", "stiffness", "damping", "armature")
    return {**dict.fromkeys(rows, (nv,)), "wrenches": (n, 6), "inertias": (n, 10), "gravity": (3,)}


def as_directions(
    model: Model, function: Callable[..., Any], known: tuple[str, ...], options: dict[str, Any]
) -> dict[str, FloatArray]:
    """Takes the directions dq, dv, ... out of a function's options: finite numbers, right shapes."""
    found: dict[str, FloatArray] = {}
    shapes = sizes(model)
    for name in known:
        value = options.pop(f"d{name}", None)
        if value is not None:
            found[name] = as_weights(value, shapes[name], model, f"d{name}")
    for name in options:
        if name[:1] == "d" and name[1:] in shapes:
            raise StateError(
                f"{function.__name__} does not depend on {name[1:]}; directions are "
                f"{', '.join(f'd{known_name}' for known_name in known)}."
            )
    if not found:
        raise StateError(
            f"no direction is given; give one or several of {', '.join(f'd{known_name}' for known_name in known)}."
        )
    return found


def dof_rows(nv: int, directions: dict[str, FloatArray]) -> FloatArray:
    """Changes of damping, stiffness and armature as kernels read them; no rows where none changes."""
    if directions.keys().isdisjoint(DOF_COLUMNS):
        return NO_ROWS
    rows = np.zeros((nv, layout.DOF_COLUMNS))
    for name, column in DOF_COLUMNS.items():
        if name in directions:
            rows[:, column] = directions[name]
    return rows


def finite_gradients(values: FloatArray, what: str) -> None:
    """Refuses gradients that overflowed: NaN and infinity never pass silently."""
    if not (
        all_finite(values, NO_NUMBERS) if values.ndim == 1 and values.flags.c_contiguous else np.isfinite(values).all()
    ):
        raise StateError(f"gradients of {what} overflowed: numbers in the state or in the weights are too large.")
