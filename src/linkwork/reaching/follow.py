"""Following a curve: a tip that is led along it, and a body that goes where the tip went."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import flag, integer, positive, shown
from linkwork.core.jit import kernel, routine
from linkwork.core.messages.describe import tabled
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.inputs import as_finite, as_state, refuse_loops
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import ModelError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching import arrays as at
from linkwork.reaching.arrays import T_GOAL, T_MISSED_TURN, T_MISSED_WAY, T_TURN_GOAL, reaching_of
from linkwork.reaching.descent import C_ITERATIONS, descend_from_here
from linkwork.reaching.search import TURN_LENGTH, Search, Settings, model_length
from linkwork.reaching.targets import Row
from linkwork.spatial.memory import load3
from linkwork.spatial.pose import Pose
from linkwork.spatial.rotations import add3, dot3, scale3, sub3

BODY_WEIGHT = 1e-3  # of the joints that follow beside the tip that leads: they give way
SAME_PLACE = 1e-9  # of the model's length: joints nearer to each other are one
FLAT = 1e-9  # gradient, as a part of the root of the cost, at which a step ends
SOON = 1e-3  # the same where the whole body follows: the next step comes from nearby


@tabled
class Followed(NamedTuple):
    """Coordinates along a curve, one row per point."""

    q: FloatArray  # (k, nq)
    error: FloatArray  # (k,) how far the tip is from its point [m], or from its pose [rad or m]
    deviation: (
        FloatArray  # (k,) largest distance of a joint from its place on the curve [m]; 0 where only the tip follows
    )
    iterations: IntArray  # (k,)
    reached: NDArray[np.bool_]  # (k,) error within the tolerance


def follow(
    model: Model,
    state: State,
    curve: ArrayLike | Sequence[Pose],
    *,
    body: str | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    body_follows: bool = False,
    limits: bool = True,
    tolerance: float = 1e-6,
    max_iterations: int = 20,
) -> Followed:
    """Leads a body along a curve, each point from the coordinates of the one before.

    curve: points of the world [m], shape (k, 3), or poses: a sequence of `lw.Pose` or an array (k, 4, 4). Take them close
    enough for the linkage to get from one to the next.
    body: name of the body or frame that leads; the body furthest from the world by default. point: of it [m].
    body_follows: every joint behind goes where the leading point went: onto the curve, at the distance that the links
    between them bridge; before its beginning, along the shape the linkage has at the start, continued straight. What lets
    it in is a joint of the linkage: a slide, or a free base.
    limits: keep joints within their limits. tolerance: that counts as reached [rad and m].
    max_iterations: per point.
    Cost: O(n) per iteration, all in one call of compiled code.
    """
    q, _ = as_state(model, state)
    refuse_loops(model, "follow")
    name = _tip(model) if body is None else body
    frame = model.frame(name)
    if frame.body < 0:
        raise ModelError(f"'{name}' is fixed in the world: no joint of model '{model.name}' moves it.")
    lead = np.array(frame.pose.apply(tuple(as_finite(point, (3,), "point", model))))
    points, turns = _curve(curve)
    settings = Settings(
        flag(limits, "limits"), positive(tolerance, "tolerance"), integer(max_iterations, 1, "max_iterations"), 0, 0
    )
    behind = _behind(model, frame.body) if flag(body_follows, "body_follows") else np.zeros(0, dtype=np.int64)
    rows = _rows(model, name, frame.body, lead, frame.pose, behind, bool(turns.size))
    search = Search(model, rows, settings.limits)
    search.ask(rows, settings)
    search.arrays.q[:] = search.within_limits(q)
    goals = _goals(model, State(search.arrays.q, np.zeros(model.nv)), frame.body, lead, behind, points)
    out, numbers = np.zeros((len(points), model.nq)), np.zeros((len(points), 3))
    flat = SOON if behind.size else FLAT
    rules = np.array([settings.tolerance, settings.tolerance, flat, settings.max_iterations, 0.0])
    follow_goals(search.table, rules, search.counts, goals, turns, out, numbers)
    if not np.isfinite(numbers).all():
        raise StateError("follow overflowed: numbers in the state or the curve are too large.")
    error = numbers[:, 0]
    return Followed(out, error, numbers[:, 1], numbers[:, 2].astype(np.int64), error <= settings.tolerance)


@kernel
def follow_goals(table, rules, counts, goals, turns, out, numbers):
    """One descent per row of goals (k, t, 3), and turns (k, 9) of the first target, or none: coordinates into out,
    error, deviation and iterations into numbers."""
    mode = flush_subnormals()
    s = reaching_of(table)
    for m in range(goals.shape[0]):
        for t in range(goals.shape[1]):
            for d in range(3):
                s.target[t, T_GOAL + d] = goals[m, t, d]
        if turns.shape[0] > 0:
            for d in range(9):
                s.target[0, T_TURN_GOAL + d] = turns[m, d]
        counts[C_ITERATIONS] = 0.0
        descend_from_here(table, rules, counts)
        for c in range(s.q.shape[0]):
            out[m, c] = s.q[c]
        numbers[m, 0] = max(s.target[0, T_MISSED_TURN], s.target[0, T_MISSED_WAY])
        far = 0.0
        for t in range(1, goals.shape[1]):
            if not s.target[t, T_MISSED_WAY] <= far:
                far = s.target[t, T_MISSED_WAY]
        numbers[m, 1] = far
        numbers[m, 2] = counts[C_ITERATIONS]
    restore_mode(mode)


@kernel
def places_on_curve(curve, first, lengths, goals):
    """For the leading point at curve[first + m], the places of those behind it, each at its length from the one before.

    goals (k, 1 + joints, 3). Walks back along the curve; before its beginning it is continued straight.
    """
    for m in range(goals.shape[0]):
        k = first + m
        x = load3(curve, k, 0)
        goals[m, 0, 0], goals[m, 0, 1], goals[m, 0, 2] = x
        k -= 1
        for t in range(lengths.shape[0]):
            x, k = step_back(curve, x, k, lengths[t])
            goals[m, 1 + t, 0], goals[m, 1 + t, 1], goals[m, 1 + t, 2] = x


@routine
def step_back(curve, x, k, length):
    """The first point at a distance from x, going back along the curve from between its points k and k + 1."""
    while k >= 0:
        ahead = sub3(load3(curve, k, 0), x)
        if dot3(ahead, ahead) >= length * length:
            break
        k -= 1
    here = load3(curve, max(k, 0), 0)
    nearer = load3(curve, max(k, 0) + 1, 0)
    back = sub3(here, nearer)
    # |nearer + u back - x| = length, the larger u
    a = dot3(back, back)
    offset = sub3(nearer, x)
    b = dot3(offset, back)
    c = dot3(offset, offset) - length * length
    u = 0.0
    if a > 0.0:
        u = (-b + math.sqrt(max(b * b - a * c, 0.0))) / a
    return add3(nearer, scale3(u, back)), k


# --------------------------------------------------------------------------------------------------------------- inputs


def _curve(curve: Any) -> tuple[FloatArray, FloatArray]:
    """Points (k, 3) and rotations (k, 9), or none, of a curve."""
    if isinstance(curve, Sequence) and curve and all(isinstance(one, Pose) for one in curve):
        curve = np.array([one.matrix for one in curve])
    try:
        numbers = np.asarray(curve, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"curve must be points (k, 3) or poses, not {shown(curve)}.") from None
    poses = numbers.ndim == 3 and numbers.shape[1:] == (4, 4)
    if not (poses or (numbers.ndim == 2 and numbers.shape[1] == 3)) or not len(numbers):
        raise StateError(f"curve has shape {numbers.shape}; give points (k, 3), or poses (k, 4, 4).")
    bad = np.argwhere(~np.isfinite(numbers.reshape(len(numbers), -1)))
    if bad.size:
        raise StateError(f"curve[{bad[0][0]}] is {shown(numbers[bad[0][0]].tolist())}; give finite numbers.")
    if not poses:
        return np.ascontiguousarray(numbers), np.zeros((0, 9))
    turns = np.array([Pose(matrix=one).rotation for one in numbers])
    return np.ascontiguousarray(numbers[:, :3, 3]), turns


def _tip(model: Model) -> str:
    """The body with the most joints between itself and the world."""
    depth = np.zeros(model.n_bodies, dtype=np.int64)
    for i, parent in enumerate(model.parent.tolist()):
        depth[i] = 1 + (depth[parent] if parent >= 0 else 0)
    if not depth.size:
        raise ModelError(f"model '{model.name}' has no bodies to follow a curve.")
    return model.body_names[int(np.argmax(depth))]


def _behind(model: Model, body: int) -> IntArray:
    """The bodies from the leading one back to the world whose joints have places of their own."""
    arms = np.linalg.norm(model.arrays.body[:, 9:12], axis=1)
    small = SAME_PLACE * model_length(model)
    found, parent = [], model.parent
    i = body
    while i >= 0:
        found.append(i)
        while i >= 0 and arms[i] <= small:  # this joint stands where that of its parent does
            i = int(parent[i])
        i = int(parent[i]) if i >= 0 else -1
    return np.array(found, dtype=np.int64)


def _rows(
    model: Model, name: str, body: int, point: FloatArray, pose: Pose, behind: IntArray, with_turns: bool
) -> list[Row]:
    length = TURN_LENGTH * model_length(model)
    lead = np.zeros(at.TARGET_COLUMNS)
    lead[at.T_POINT : at.T_POINT + 3], lead[at.T_FRAME : at.T_FRAME + 9] = point, pose.rotation
    lead[at.T_WAY], lead[at.T_TURN] = length**-2, float(with_turns)
    rows = [Row(name, body, lead)]
    for i in behind.tolist():
        row = np.zeros(at.TARGET_COLUMNS)
        row[at.T_WAY] = BODY_WEIGHT * length**-2
        rows.append(Row(model.body_names[i], i, row))
    return rows


def _goals(
    model: Model, state: State, body: int, point: FloatArray, behind: IntArray, points: FloatArray
) -> FloatArray:
    """Where the leading point and the joints behind it shall be at every point of the curve, shape (k, 1 + b, 3)."""
    if not behind.size:
        return np.ascontiguousarray(points[:, None, :])
    poses = body_poses(model, state)
    lead = poses[body, :3, :3] @ point + poses[body, :3, 3]
    shape = np.vstack([lead, poses[behind, :3, 3]])
    lengths = np.linalg.norm(np.diff(shape, axis=0), axis=1)
    distinct = lengths > 0.0  # the leading point may be the joint itself
    before = shape[::-1][:-1] if distinct[0] else shape[::-1][:-2]
    whole_curve = np.ascontiguousarray(np.vstack([before, lead, points]))
    goals = np.zeros((len(points), 1 + behind.size, 3))
    places_on_curve(whole_curve, len(whole_curve) - len(points), lengths, goals)
    return goals
