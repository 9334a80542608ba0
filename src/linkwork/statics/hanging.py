"""Where a search with loops starts: the shape in which the open tree hangs, with springs in place of pins in the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.remembered import remembered
from linkwork.loops.closing import close_loops
from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model.joints import Spherical
from linkwork.model.layout import AXIS, COMPOUND, FREE, HELICAL, KIND, STIFFNESS, V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_STIFFNESS, LOAD_TARGET
from linkwork.statics.balance import Balance
from linkwork.statics.elimination.slack_chain import LINK_COLUMNS, LOAD_SUMS, hang_between
from linkwork.statics.elimination.workspace import Acting
from linkwork.statics.newton import settle_tree

ROUGHLY = (
    1e-3  # part of the loads to which the open tree hangs, and with springs for pins, whose shape is a first guess
)
WITH_PINS = 0.5
CLOSED = 1e-10  # gap [rad or m] that closing loops leaves
OPEN = 1e-6  # gap from which on loops count as open, as a part of the length of the linkage
SLACK = 1e-2  # of the moment of the loads: joints that resist less let a linkage hang as a chain does
STIFF = 1.0  # of springs for pins: loads stretch them by some tenths of the length, and few sweeps find where they hang


def hang(model: Model, acting: Acting, q: FloatArray, max_sweeps: int) -> tuple[FloatArray, int, bool]:
    """Coordinates for a search to start from, the sweeps it took, and whether Newton's method may go far from there.

    Where it may not, loops are closed.
    """
    balance = Balance(model, acting, q)
    length = max(balance.scales.length, 1e-300)
    system = LoopSystem(loop_plan(model), q, balance.work.still, balance.place.world)
    gap = float(np.abs(system.gap).max(initial=0.0))
    if gap <= OPEN * length or floats(model):
        return q if gap <= CLOSED else closed_at(model, q), 0, False
    pinned = _with_pins(model, acting, balance)
    if pinned is acting:
        settle_tree(balance, ROUGHLY, max_sweeps, False)
    else:
        loads = balance.scales.effort
        balance = Balance(model, pinned, q)
        settle_tree(balance, WITH_PINS * loads / max(balance.scales.effort, 1e-300), max_sweeps, False)
    found, is_far = balance.place.q.copy(), pinned is not acting
    return found if is_far else closed_at(model, found), balance.sweeps, is_far


class Slack(NamedTuple):
    """A chain that hangs without stiffness."""

    balance: Balance
    force: FloatArray  # (3,) of the pin at its end, in the axes of the world [N]


def hang_slack(model: Model, acting: Acting, q: FloatArray) -> Slack | None:
    """Where a linkage that one loop pins to the world hangs as a chain without stiffness; None where its
    joints resist more than its loads, or where it does not hang."""
    pins = _pins(model)
    if len(model.loops) != 1 or not pins:
        return None
    balance = Balance(model, acting, q)
    if _bending(model) > SLACK * balance.scales.effort:
        return None
    (body, at, target), n = pins[0], model.n_bodies
    x, joints = np.zeros(model.nv), np.zeros(n, dtype=np.int64)
    points = np.array([at, target])
    found, force = hang_between(
        model.arrays,
        acting,
        balance.place,
        body,
        points,
        np.empty((n, LOAD_SUMS)),
        joints,
        np.empty((n, LINK_COLUMNS)),
        x,
    )
    if not found:
        return None
    balance.place_trial(x, 1.0)
    balance.accept()
    return Slack(balance, np.array(force))


def closed_at(model: Model, q: FloatArray) -> FloatArray:
    """Coordinates with loops closed, next to q."""
    return close_loops(model, State(q, np.zeros(model.nv))).q


def floats(model: Model) -> bool:
    """Whether a part of the linkage may be held by its loops alone: free joints, and sliders without a spring."""
    return remembered(model, "floats", _find_floats)


def _find_floats(model: Model) -> bool:
    kind, body, loose = model.arrays.tree[:, KIND], model.arrays.body, model.arrays.dof[:, STIFFNESS] == 0.0
    first = model.arrays.tree[:, V]
    slides = (kind == HELICAL) & ~body[:, AXIS : AXIS + 3].any(axis=1)
    return (
        bool((kind == FREE).any())
        or bool(loose[first[slides]].any())
        or any(
            bool(loose[first[i] + d]) and not any(screw.axis)
            for i in np.flatnonzero(kind == COMPOUND).tolist()
            for d, screw in enumerate(model.joints[i].screws)
        )
    )


def _pins(model: Model) -> list[tuple[int, tuple[float, float, float], tuple[float, float, float]]]:
    """Of each loop that pins a body to the world: the body, the point in its frame, where it is pinned."""
    pins = []
    for loop in model.loops:
        a, b = (loop.body_a, loop.placement_a.xyz), (loop.body_b, loop.placement_b.xyz)
        if isinstance(loop.joint, Spherical) and min(a[0], b[0]) < 0 <= max(a[0], b[0]):
            (_, target), (body, at) = sorted([a, b], key=lambda end: end[0])
            pins.append((body, at, target))
    return pins


def _bending(model: Model) -> float:
    """Stiffness of all joints one behind the other; 0 where one has none."""
    springs = model.arrays.dof[:, STIFFNESS]
    return 1.0 / float((1.0 / springs).sum()) if springs.size and (springs > 0.0).all() else 0.0


def _with_pins(model: Model, acting: Acting, balance: Balance) -> Acting:
    """What acts, and a spring from each point that a loop pins to the world to where it is pinned."""
    pins = _pins(model)
    if not pins:
        return acting
    force, moment = balance.weigh()
    length = max(balance.scales.length, 1e-300)
    rows = np.zeros((len(pins), acting.rows.shape[1]))
    rows[:, LOAD_AT : LOAD_AT + 3] = [at for _, at, _ in pins]
    rows[:, LOAD_TARGET : LOAD_TARGET + 3] = [target for _, _, target in pins]
    rows[:, LOAD_STIFFNESS] = STIFF * (force * length + moment + _bending(model)) / length**2
    bodies = np.array([body for body, _, _ in pins], dtype=np.int64)
    return acting._replace(rows=np.concatenate([acting.rows, rows]), row_body=np.concatenate([acting.row_body, bodies]))
