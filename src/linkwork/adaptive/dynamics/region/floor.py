"""What rounding may add to the bound of an update: measured against `aba`, and carried on to the updates that follow.

The bound of an update is proven in exact arithmetic. Where bodies have almost no moments beside their masses and lengths,
elimination leaves few digits of its coefficients, or none. `aba` adds inertias where divide and conquer takes differences.
So its accelerations, at the state of an update, show by how much the metric is wrong there: at the joints that are active,
and in what the others hide. That takes O(n). What was found at the first update goes on to all others, much larger, as a
part of the accelerations. Where that is not small against the tolerance, and on delicate linkages (`metric/delicate.py`)
always, each update whose bound can be asked for is measured itself. So a floor depends on the first update and on the
present one, however many steps are made in one call. After steps with contact that no report follows, the bound is
found when it is asked for, at the state of that moment (`bound_now`). Nothing is measured while joints are pinned
inactive, which `aba` does not have, nor with a field. Theory: docs/theory/adaptive_dynamics.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.metric.missed import MARGIN_OF_ABA, missed_accelerations
from linkwork.adaptive.metric.rounding_floor import UNIT_ROUNDOFF
from linkwork.adaptive.quasi_statics.report import Sums, error_bound, hidden, sums_of
from linkwork.adaptive.workspace import LOAD_COUNT, MAX_JOINT, MAX_QUEUE, SUM_JOINT, SUM_QUEUE, UNIT
from linkwork.core.arrays import FloatArray
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.layout import DOF
from linkwork.model.state import State
from linkwork.simulation.loading.applied_efforts import BY_GIVEN, BY_MOTOR
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE

if TYPE_CHECKING:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics

Bound = tuple[float, float, bool]  # error bound, the part of it that is rounding, whether the tolerance is reached
Asked = tuple[str, float | None]  # measure and tolerance that a bound is judged by: users may change both at any time
UNPROVEN: Bound = (math.nan, math.nan, False)

MARGIN = 4.0  # over the difference of two algorithms, of which either may be the worse
OTHER_UPDATES = 1e4  # times as much may be lost at another update as where it was measured
SMALL_PART = 0.125  # of the tolerance, that a floor may be without being measured
SMALL = 1e-4  # of the accelerations, where there is no tolerance

# Entries of the array that is kept: the floors of the last update (linkage, joint) in the metric; the part of the
# accelerations that was lost at the first one; whether that was measured.
FLOORS, PART, KNOWN = slice(0, 2), 2, 3
ENTRIES = 4


def is_wanted(sim: AdaptiveDynamics) -> bool:
    """Whether the next update is to be measured in any case: what it finds goes on to all others."""
    return bool(sim._region.floor[KNOWN] == 0.0 and sim._forces.field is None)


def form_floor(sim: AdaptiveDynamics, nothing_hidden: bool, may_measure: bool = True) -> Bound:
    """After an update: its floors, carried on or measured. may_measure: while state and loads are those of the update.

    Returns the bound of the update.
    """
    known, asked = sim._region.floor, asked_of(sim)
    known[FLOORS] = 0.0
    size = _size(sim)
    if nothing_hidden or sim._forces.field is not None or not size > 0.0:
        return bound_of_update(sim, asked)
    pins = sim._region.pins
    if pins and min(pins.values()) < 0:  # joints are held
        known[FLOORS] = math.inf if sim._is_delicate else OTHER_UPDATES * known[PART] * size
        return bound_of_update(sim, asked)
    if known.item(KNOWN) != 0.0 and not sim._is_delicate:
        known[FLOORS] = OTHER_UPDATES * known.item(PART) * size
        bound = bound_of_update(sim, asked)
        sim._region.floor_is_small = _is_small(sim, bound[1], size)
        if not may_measure or sim._region.floor_is_small:
            return bound
    known[FLOORS], found = measure(sim)
    if known[KNOWN] == 0.0:
        known[PART], known[KNOWN] = found / size, 1.0
    return bound_of_update(sim, asked)


def asked_of(sim: AdaptiveDynamics) -> Asked:
    """What bounds are judged by now."""
    return sim.measure, sim.tolerance


def bound_of_update(sim: AdaptiveDynamics, asked: Asked) -> Bound:
    """The error bound of the last update, the part of it that is rounding, and whether the tolerance is reached."""
    floor = sim._region.floor
    return _bound(asked, sums_of(sim._tree.run), (floor.item(0), floor.item(1)))


def _bound(asked: Asked, sums: Sums, floors: tuple[float, float]) -> Bound:
    measure, tolerance = asked
    bound, rounding = error_bound(sums, measure, floors)
    left_out = hidden(sums, measure)
    reached = tolerance is not None and left_out <= tolerance and rounding <= tolerance
    return bound, rounding, reached


def bound_now(sim: AdaptiveDynamics) -> Bound:
    """The same at the present state, with the contact forces of the last step, by `aba`: where the last update did not
    measure it, since no report was to follow. Cost: O(n)."""
    sim._region.collect()
    qdd, missed = _by_aba(sim, _wrenches_now(sim))
    if qdd is None or missed is None:
        return math.inf, math.inf, False
    weight, still = sim._tree.mechanism.weight, _is_still(sim)
    parts = weight * qdd * qdd
    hidden_parts, moving_parts = (_of_joints(sim, np.where(chosen, parts, 0.0)) for chosen in (still, ~still))
    sums = [0.0] * len(sim._tree.run.metric_sums)
    sums[SUM_QUEUE], sums[MAX_QUEUE] = hidden_parts.sum(), hidden_parts.max(initial=0.0)
    sums[SUM_JOINT], sums[MAX_JOINT] = moving_parts.sum(), moving_parts.max(initial=0.0)
    sums[UNIT] = 1.0
    lost = MARGIN_OF_ABA * math.sqrt((weight * missed * missed).sum()) + UNIT_ROUNDOFF * math.sqrt(parts.sum())
    return _bound(asked_of(sim), Sums(sums), (lost, lost))


def _size(sim: AdaptiveDynamics) -> float:
    """All accelerations in the metric, root of the sum of squares."""
    sums = sim._tree.run.metric_sums.tolist()
    return float(math.sqrt(sums[SUM_JOINT] + sums[SUM_QUEUE]) / sums[UNIT])


def _is_small(sim: AdaptiveDynamics, rounding: float, size: float) -> bool:
    """Whether rounding, as carried on, is too small to matter."""
    if sim.tolerance:
        return rounding <= SMALL_PART * sim.tolerance
    return rounding <= SMALL * (1.0 if sim.measure.startswith("relative") else size)


def measure(sim: AdaptiveDynamics) -> tuple[FloatArray, float]:
    """Floors (linkage, joint) by comparison with `aba`, and what was lost of all accelerations.

    What `aba` misses itself is added. Infinite where it has no answer.
    """
    run, weight = sim._tree.run, sim._tree.mechanism.weight
    qdd, missed = _by_aba(sim, _wrenches(sim, run.loop_body >= 0))
    if qdd is None or missed is None:
        return np.full(2, math.inf), math.inf
    still = _is_still(sim)
    unit = float(run.metric_sums[UNIT])
    parts = weight * qdd * qdd
    lost = abs(math.sqrt(run.metric_sums[SUM_QUEUE]) / unit - math.sqrt(parts[still].sum()))
    moving = ~still
    lost = max(lost, math.sqrt((weight * (run.metric_qdd - qdd) ** 2)[moving].sum()))
    lost = MARGIN * lost + MARGIN_OF_ABA * math.sqrt((weight * missed * missed).sum())
    lost += UNIT_ROUNDOFF * math.sqrt(parts.sum())
    largest = _of_joints(sim, np.where(still, parts, 0.0)).max(initial=0.0)
    above = math.sqrt(largest) - math.sqrt(run.metric_sums[MAX_QUEUE]) / unit
    return np.array([lost, max(lost, MARGIN * above)]), lost


def _is_still(sim: AdaptiveDynamics) -> NDArray[np.bool_]:
    """Which coordinates are those of inactive joints, shape (nv,)."""
    is_active = np.zeros(sim.model.n_bodies, dtype=bool)
    is_active[sim.active_bodies] = True
    return ~np.repeat(is_active, sim.model.arrays.tree[:, DOF])  # coordinates are numbered by bodies


def _of_joints(sim: AdaptiveDynamics, parts: FloatArray) -> FloatArray:
    """Sums over the coordinates of each joint, shape (n,)."""
    found = np.zeros(sim.model.n_bodies)
    np.add.at(found, np.repeat(np.arange(sim.model.n_bodies), sim.model.arrays.tree[:, DOF]), parts)
    return found


def _by_aba(sim: AdaptiveDynamics, wrenches: FloatArray) -> tuple[FloatArray | None, FloatArray | None]:
    """Accelerations of the fully articulated linkage under wrenches on its bodies, and what they miss, shape (nv,) each.

    None where there are none.
    """
    run, model = sim._tree.run, sim.model
    n, nv = model.n_bodies, model.nv
    qdd, work, dof_work = np.empty(nv), np.empty((n, BODY_WORK)), np.empty((nv, DOF_WORK))
    effort = np.ascontiguousarray(run.effort)
    if sim._joints.motor_joints:
        parts = sim._tree.present_efforts()
        effort = parts[:, BY_GIVEN] + parts[:, BY_MOTOR]
    _, bad = aba(*model.arrays, run.q, run.v, effort, wrenches, work, dof_work, qdd)
    if bad >= 0 or not np.isfinite(qdd).all():
        return None, None
    missed = missed_accelerations(model, State(run.q, run.v), effort, wrenches, qdd)
    if missed is None or not run.v.any():
        return qdd, missed
    # Inverse dynamics rounds forces of inertia as `aba` does: what that costs shows where velocities differ a little.
    nearly = np.empty(nv)
    aba(*model.arrays, run.q, (1.0 + 8.0 * UNIT_ROUNDOFF) * run.v, effort, wrenches, work, dof_work, nearly)
    return qdd, np.abs(missed) + np.abs(qdd - nearly)


def _wrenches_now(sim: AdaptiveDynamics) -> FloatArray:
    """All that acts on bodies, in their frames, with the contact forces of the last step, shape (n, 6)."""
    total = _wrenches(sim, np.zeros(len(sim._tree.run.loop_body), dtype=bool))
    from_contact = sim.contact_wrenches().reshape(-1, 2, 3)
    turns = body_poses(sim.model, sim.state)[:, :3, :3]
    total += np.einsum("nba,nkb->nka", turns, from_contact).reshape(-1, 6)
    return total


def _wrenches(sim: AdaptiveDynamics, at_loops: NDArray[np.bool_]) -> FloatArray:
    """All that acts on bodies, in their frames, shape (n, 6). at_loops: which forces of loops and contacts, as the metric
    had them, are among it."""
    run = sim._tree.run
    total = run.wrench.copy()
    np.add.at(total, run.loop_body[at_loops], run.loop_wrench[at_loops])
    count = int(run.counts[LOAD_COUNT])
    if count:
        poses = body_poses(sim.model, State(run.q, run.v))
        for k in range(count):
            body, row = int(run.load_body[k]), run.load[k]
            R, p = poses[body, :3, :3], poses[body, :3, 3]
            at, force = row[LOAD_AT : LOAD_AT + 3], row[LOAD_FORCE : LOAD_FORCE + 3]
            if row[LOAD_STIFFNESS] != 0.0:
                force = force + row[LOAD_STIFFNESS] * (row[LOAD_TARGET : LOAD_TARGET + 3] - R @ at - p)
            f = R.T @ force
            total[body, 3:] += f
            total[body, :3] += R.T @ row[LOAD_TORQUE : LOAD_TORQUE + 3] + np.cross(at, f)
    return total
