"""Gradients through inverse kinematics: how the coordinates that reach targets follow them.

At coordinates that reach all targets, a small change of the goals asks for  E δq = F δg,  with E the rows of the targets.
With as many freedoms as rows that is the implicit function theorem; with more, the smallest δq in the metric D of the
search is taken, which is where a descent from there leads:

    δq = D⁻¹ Eᵀ (E D⁻¹ Eᵀ)⁺ F δg        so that weights λ on q give  Fᵀ (E D⁻¹ Eᵀ)⁺ E D⁻¹ λ  on the goals

Joints that stand at a limit are held: gradients are one-sided there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.inputs import as_weights
from linkwork.derivatives.stepping.turning import hat
from linkwork.dynamics.inputs import refuse_loops
from linkwork.dynamics.quantities.motion import body_jacobian, body_poses
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching import arrays as at
from linkwork.reaching.api import Reached, Targets
from linkwork.reaching.search import AT_LIMIT, TURN_LENGTH, joint_metric, model_length
from linkwork.reaching.targets import Row, as_rows

SAME_PART = 1e-10  # of the largest: rows that ask for the same twice share their weight


def reach_gradients(
    model: Model, found: Reached, targets: Targets, q: ArrayLike, *, limits: bool = True
) -> dict[str, list[dict[str, FloatArray]]]:
    """Gradients of a number with respect to the targets, from that with respect to the coordinates that reach them.

    found: what `lw.reach(model, state, targets)` gave, reached. targets, limits: as there.
    q: gradient with respect to the coordinates found, along the tangent of `Model.integrate`, shape (nv,).
    Returns, by name, one dictionary per target: "turn" (of the goal's axes in those of the world [1/rad]) and "origin"
    [1/m] for poses, "point", "direction" and "look_at" for these, shape (3,) each.
    Where joints are more than the targets need, coordinates are taken to follow by the smallest change. Joints at limits
    stay there. Not for closed chains, and not for what was asked beside targets (centre of mass, posture, obstacles).
    Cost: O(t n) for t targets.
    """
    refuse_loops(model, "reach_gradients")
    if not isinstance(found, Reached) or not found.reached:
        why = f"it ended with '{found.reason}'" if isinstance(found, Reached) else "it is not a result of lw.reach"
        raise StateError(f"gradients are those of a search that reached its targets; {why}.")
    weights = as_weights(q, (model.nv,), model, "q").copy()
    rows = as_rows(model, targets, TURN_LENGTH * model_length(model))
    if not rows:
        raise StateError('there are no targets: give those of lw.reach, such as {"gripper": lw.Pose(...)}.')
    state = State(found.state.q, np.zeros(model.nv))
    poses = body_poses(model, state)
    parts = [_asked(model, state, poses, row) for row in rows]
    E = np.vstack([part[0] for part in parts])
    if limits:
        E[:, _at_limits(model, found.state.q)] = 0.0
    over_metric = E / joint_metric(model)
    y = np.linalg.pinv(E @ over_metric.T, rcond=SAME_PART, hermitian=True) @ (over_metric @ weights)
    out: dict[str, list[dict[str, FloatArray]]] = {}
    first = 0
    for row, (matrix, goals) in zip(rows, parts, strict=True):
        own = y[first : first + matrix.shape[0]]
        out.setdefault(row.name, []).append({name: F.T @ own for name, F in goals.items()})
        first += matrix.shape[0]
    return out


def _at_limits(model: Model, q: FloatArray) -> NDArray[np.bool_]:
    """Freedoms whose coordinates stand at a limit."""
    out = np.zeros(model.nv, dtype=bool)
    for i, joint in enumerate(model.joints):
        if joint.kind in (layout.HELICAL, layout.COMPOUND):
            value, rows = q[model.q_slice(i)], model.v_slice(i)
            out[rows] = (value - model.lower[rows] <= AT_LIMIT) | (model.upper[rows] - value <= AT_LIMIT)
    return out


def _asked(model: Model, state: State, poses: FloatArray, row: Row) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Rows E of one target, and F for each of its goals."""
    x, R = row.numbers, poses[row.body, :3, :3]
    J: Any = body_jacobian(model, state, row.body, frame="world", at=x[at.T_POINT : at.T_POINT + 3])
    turning, moving = J[:3], J[3:]
    one, none = np.eye(3), np.zeros((3, 3))
    E: list[FloatArray] = []
    goals: dict[str, list[FloatArray]] = {}

    def ask(matrix: FloatArray, **by: FloatArray) -> None:
        E.append(matrix)
        for name in {*goals, *by}:
            goals.setdefault(name, [none] * (len(E) - 1)).append(by.get(name, none))

    point = poses[row.body, :3, 3] + R @ x[at.T_POINT : at.T_POINT + 3]
    if x[at.T_TURN] != 0.0:
        origin = poses[row.body, :3, 3] + R @ _origin(model, row)
        ask(turning, turn=one, origin=none)
        ask(moving, turn=-hat((point - origin)[None])[0], origin=one)
    elif x[at.T_WAY] != 0.0:
        ask(moving, point=one)
    if x[at.T_POINTING] != 0.0:
        goal = x[at.T_DIRECTION : at.T_DIRECTION + 3]
        looks = x[at.T_LOOKS] != 0.0
        far = float(np.linalg.norm(goal - point)) if looks else 1.0
        d = (goal - point) / far if looks else goal
        across = (one - np.outer(d, d)) @ turning
        turn = hat(d[None])[0]
        if looks:
            ask(across + turn @ moving / far, look_at=turn / far)
        else:
            ask(across, direction=turn)
    return np.vstack(E), {name: np.vstack(parts) for name, parts in goals.items()}


def _origin(model: Model, row: Row) -> FloatArray:
    """Of the frame that a target names, in its body [m]."""
    return np.array(model.frame(row.name).pose.apply((0.0, 0.0, 0.0)))
