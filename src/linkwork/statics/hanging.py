"""Where a search with loops starts: the shape in which the open tree hangs, with springs in place of pins in the world."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model.joints import Spherical
from linkwork.model.layout import STIFFNESS
from linkwork.model.model import Model
from linkwork.simulation.load_columns import LOAD_AT, LOAD_STIFFNESS, LOAD_TARGET
from linkwork.statics.balance import Balance
from linkwork.statics.newton import settle_tree
from linkwork.statics.workspace import Acting

FloatArray = NDArray[np.float64]

ROUGHLY = 1e-3  # part of the loads to which the open tree hangs
OPEN = 1e-6  # gap from which on loops count as open, as a part of the length of the linkage
STIFF = 100.0  # of springs for pins: loads and springs of the linkage stretch them by some hundredth of its length


def hang(model: Model, acting: Acting, q: FloatArray, max_sweeps: int) -> tuple[FloatArray, int, float]:
    """Coordinates for a search to start from, the sweeps it took, and the largest gap of a loop as a part of the length."""
    still = np.zeros(model.nv)
    balance = Balance(model.without_loops, acting, q)
    length = max(balance.scales.length, 1e-300)
    gap = _gap(model, q, still) / length
    if gap <= OPEN or floats(model):
        return q, 0, gap
    balance = Balance(model.without_loops, _with_pins(model, acting, balance), q)
    settle_tree(balance, ROUGHLY, max_sweeps, False)
    q = balance.place.q.copy()
    return q, balance.sweeps, _gap(model, q, still) / length


def floats(model: Model) -> bool:
    """Whether a part of the linkage may be held by its loops alone: free joints, and sliders without a spring."""
    springs = model.arrays.dof[:, STIFFNESS]
    first = 0
    for joint in model.joints:
        if joint.nv == 6:
            return True
        for d, screw in enumerate(joint.screws):
            if springs[first + d] == 0.0 and not any(screw.axis):
                return True
        first += joint.nv
    return False


def _gap(model: Model, q: FloatArray, still: FloatArray) -> float:
    return float(np.abs(LoopSystem(loop_plan(model), q, still).gap).max(initial=0.0))


def _with_pins(model: Model, acting: Acting, balance: Balance) -> Acting:
    """What acts, and a spring from each point that a loop pins to the world to where it is pinned."""
    pins = []
    for loop in model.loops:
        a, b = (loop.body_a, loop.placement_a.xyz), (loop.body_b, loop.placement_b.xyz)
        if isinstance(loop.joint, Spherical) and min(a[0], b[0]) < 0 <= max(a[0], b[0]):
            (_, target), (body, at) = sorted([a, b], key=lambda end: end[0])
            pins.append((body, at, target))
    if not pins:
        return acting
    force, moment = balance.weigh()
    length = max(balance.scales.length, 1e-300)
    springs = model.arrays.dof[:, STIFFNESS]
    bends = 1.0 / float((1.0 / springs).sum()) if springs.size and (springs > 0.0).all() else 0.0
    rows = np.zeros((len(pins), acting.rows.shape[1]))
    rows[:, LOAD_AT : LOAD_AT + 3] = [at for _, at, _ in pins]
    rows[:, LOAD_TARGET : LOAD_TARGET + 3] = [target for _, _, target in pins]
    rows[:, LOAD_STIFFNESS] = STIFF * (force * length + moment + bends) / length**2
    bodies = np.array([body for body, _, _ in pins], dtype=np.int64)
    return acting._replace(rows=np.concatenate([acting.rows, rows]), row_body=np.concatenate([acting.row_body, bodies]))
