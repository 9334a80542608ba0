"""Reaching as a velocity: what a controller sends to its joints at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag, not_negative, positive, shown
from linkwork.dynamics.inputs import as_finite, as_state, refuse_loops
from linkwork.errors import ModelError, StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching import arrays as at
from linkwork.reaching import descent as de
from linkwork.reaching.api import Targets
from linkwork.reaching.rows import place_at, row_jacobian
from linkwork.reaching.search import TURN_LENGTH, Search, Settings, found_search, model_length
from linkwork.reaching.targets import Row, as_rows


def reach_velocity(
    model: Model,
    state: State,
    targets: Targets | None = None,
    *,
    twists: Mapping[str, ArrayLike] | None = None,
    gain: float = 10.0,
    damping: float = 1e-6,
    limits: bool = True,
) -> FloatArray:
    """Joint velocities that bring bodies towards their targets, or give them twists [rad/s or m/s], shape (nv,).

    targets: as in `reach`; what a target misses falls at the rate `gain` [1/s].
    twists: by name of a body or frame, [ω; v] of the frame at its origin in the axes of the world [rad/s, m/s], shape (6,).
    damping: weight of squared joint velocities beside those of the targets (1 rad/s of a joint beside 1 rad/s of a target):
    more of it gives calmer joints near singular poses, and slower targets.
    limits: approach limits of joints at most at the rate `gain`, and keep their velocity limits.
    Where targets contradict each other or limits, the squares of what is missed are least. Velocities of `state` do not
    matter. Joints that move no target stand still. Cost: O(n).
    """
    q, _ = as_state(model, state)
    refuse_loops(model, "reach_velocity")
    rate = positive(gain, "gain")
    resist = not_negative(damping, "damping", finite=True)
    settings = Settings(flag(limits, "limits"), 1e-8, 1, 0, 0)
    length = TURN_LENGTH * model_length(model)
    rows = as_rows(model, {} if targets is None else targets, length)
    wanted = [] if twists is None else _twist_rows(model, twists, length)
    if not rows and not wanted:
        raise StateError("there is nothing to reach: give targets= or twists=.")
    search = found_search(model, [*rows, *(row for row, _ in wanted)], settings)
    arrays = search.arrays
    arrays.q[:] = q
    if settings.limits:
        _narrow(search, model, rate)
    if wanted:
        place_at(search.table, q)
        for k in range(len(rows), len(rows) + len(wanted)):
            _stand_still(search, k)
    de.prepare(search.table)
    for k, (_, twist) in enumerate(wanted, start=len(rows)):
        _pull(search, k, twist / rate)
    de.step_along(search.table, max(resist, de.LEAST_DAMPING), np.zeros(de.COUNTS))
    if settings.limits:
        arrays.lower[:], arrays.upper[:] = model.lower, model.upper
    velocity = np.zeros(model.nv)
    velocity[search.freedoms] = rate * arrays.step[search.freedoms]
    if not np.isfinite(velocity).all():
        raise StateError("reach_velocity overflowed: numbers in the state or the targets are too large.")
    return velocity


def _twist_rows(model: Model, twists: Any, length: float) -> list[tuple[Row, FloatArray]]:
    if not isinstance(twists, Mapping):
        raise StateError(f"twists must be a dictionary of names and twists [ω; v], not {shown(twists)}.")
    found = []
    for name, value in twists.items():
        frame = model.frame(name)
        if frame.body < 0:
            raise ModelError(f"'{name}' is fixed in the world: no joint of model '{model.name}' moves it.")
        row = np.zeros(at.TARGET_COLUMNS)
        row[at.T_POINT : at.T_POINT + 3] = frame.pose.xyz
        row[at.T_FRAME : at.T_FRAME + 9] = frame.pose.rotation
        row[at.T_WAY], row[at.T_TURN] = length**-2, 1.0
        found.append((Row(name, frame.body, row), as_finite(value, (6,), f"twist of '{name}'", model)))
    return found


def _narrow(search: Search, model: Model, rate: float) -> None:
    """Limits of the step: those of the joints, and what their velocity limits allow within 1/rate."""
    arrays = search.arrays
    rows, coordinates = _coordinates(search)
    reach = model.velocity_limit[rows] / rate
    value = arrays.q[coordinates]
    low = np.minimum(np.maximum(model.lower[rows], value - reach), value)  # beyond a limit already: no further
    high = np.maximum(np.minimum(model.upper[rows], value + reach), value)
    arrays.lower[rows], arrays.upper[rows] = low, high


def _coordinates(search: Search) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Degrees of freedom of the paths whose joints have one coordinate each, and where these stand in q."""
    tree, free = search.arrays.tree, search.freedoms
    joint = np.searchsorted(tree[:, layout.V], free, side="right") - 1
    plain = (tree[joint, layout.KIND] == layout.HELICAL) | (tree[joint, layout.KIND] == layout.COMPOUND)
    return free[plain], tree[joint, layout.Q][plain] + free[plain] - tree[joint, layout.V][plain]


def _stand_still(search: Search, k: int) -> None:
    """A target row that asks for where its frame is now."""
    arrays = search.arrays
    node = int(arrays.target_node[k])
    R, p = arrays.pose[node, :9].reshape(3, 3), arrays.pose[node, 9:]
    row = arrays.target[k]
    row[at.T_GOAL : at.T_GOAL + 3] = R @ row[at.T_POINT : at.T_POINT + 3] + p
    row[at.T_TURN_GOAL : at.T_TURN_GOAL + 9] = (R @ row[at.T_FRAME : at.T_FRAME + 9].reshape(3, 3)).ravel()


def _pull(search: Search, k: int, twist: FloatArray) -> None:
    """Adds to the gradient what a twist of the frame of row k asks for."""
    arrays = search.arrays
    row = arrays.target[k]
    force = row[at.T_WAY] * twist[3:]
    arm = row[at.T_GOAL : at.T_GOAL + 3] - arrays.origin
    wrench = np.concatenate([row[at.T_TURN] * twist[:3] + np.cross(arm, force), force]).reshape(1, 1, 6)
    J = np.zeros((1, search.model.nv))
    row_jacobian(search.table, arrays.target_node[k : k + 1], wrench, J)
    arrays.gradient[search.freedoms] += J[0, search.freedoms]
