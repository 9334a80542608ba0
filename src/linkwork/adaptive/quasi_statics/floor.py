"""The rounding floor of a solve: estimated where that is enough, measured where digits may have been lost.

The estimate of `metric/rounding_floor.py` counts the roundings of one solve. `metric/lost_digits.py` adds by how much the
coefficients themselves may be worse; it errs on the safe side, often by far. Where even that is nothing, it is the floor.
Where it is small against the tolerance, and the bound keeps the tolerance with it, it is the floor too. Where not, the
accelerations are compared with those of `aba`, which adds inertias and keeps its digits there: O(n). What was found goes on
to the solves that follow, under other loads too, but much larger: where that is small against the tolerance. So a change of
loads costs O(log n), not O(n), unless the tolerance is near rounding or the linkage is delicate.
Theory: docs/theory/adaptive_quasi_statics.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.measures import MEASURES, bound_of
from linkwork.adaptive.metric.rounding_floor import UNIT_ROUNDOFF, rounding_floor
from linkwork.adaptive.quasi_statics.report import error_bound, size
from linkwork.adaptive.workspace import JOINT_COUNT
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba
from linkwork.dynamics.dca.nodes import H_F
from linkwork.model.layout import DAMPING, DOF, STIFFNESS
from linkwork.simulation.acting import JointForces, present_efforts
from linkwork.simulation.moving import EFFORT_PARTS

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

FloatArray = NDArray[np.float64]

FLOOR_EVERY = 64  # steps between two estimates of the rounding floor

NEGLIGIBLE = 1e-9  # part of the accelerations that a loss may be without being looked into
SMALL_PART = 0.125  # of the tolerance, that a loss may be without being looked into
WORTH_MEASURING = 64  # joints computed since the last measurement, per body: then another one costs a few per cent
OTHER_JOINTS = 1.5  # times as many joints computed: what was measured said nothing about them
OTHER_SOLVES = 1e4  # times as much may be lost in another solve as where it was measured
FEARED = 1e-3  # or this part of what the estimate says; seen between two loads: 66 times, and 3e-5 of the estimate
MARGIN = 4.0  # over the difference of two algorithms, of which either may be the worse


# What was measured last: the floors over their estimates; joints that may be computed until it is measured again (zero: at
# once); the most that were computed; solves since the last estimate.
RATIO, LEFT, JOINTS, SOLVES, MEASURED = slice(0, 2), 2, 3, 4, 5


def form_floor(sim: QuasiStatics, goal: float | None) -> tuple[float, float]:
    """What rounding may have done: (root of the sum of squares, largest) in the metric."""
    total, largest, lost = rounding_floor(sim._table, sim._depth)
    known, joints = sim._measured_floor, int(sim._run.counts[JOINT_COUNT])
    # Where nothing accelerates nothing is lost, however many digits are: infinity times zero is not a number.
    suspected = (lost * total if total > 0.0 else 0.0, lost * largest if largest > 0.0 else 0.0)
    doubt = suspected[0 if "linkage" in sim.measure else 1]
    known[LEFT] -= known[SOLVES] * joints
    known[SOLVES] = 0.0
    if doubt <= NEGLIGIBLE * size(sim._run, sim.measure) or _is_small(sim, suspected, goal):
        return suspected
    if known[LEFT] > 0.0 and joints <= OTHER_JOINTS * known[JOINTS]:
        before = max(OTHER_SOLVES, FEARED * lost) * known[RATIO] * (total, largest)
        likely = (min(before[0], suspected[0]), min(before[1], suspected[1]))
        if goal is None or _is_small(sim, likely, goal):
            return likely
    measured = difference_from_aba(sim)
    if measured is None or not (total > 0.0 and largest > 0.0):
        return suspected
    known[RATIO] = np.maximum(1.0, MARGIN * measured / (total, largest))
    known[LEFT], known[JOINTS] = WORTH_MEASURING * sim.model.n_bodies, max(joints, known[JOINTS])
    return min(known[0] * total, suspected[0]), min(known[1] * largest, suspected[1])


def _is_small(sim: QuasiStatics, floors: tuple[float, float], goal: float | None) -> bool:
    """Whether the tolerance is kept with such floors, and not for their sake."""
    bound, part = error_bound(sim._run, sim.measure, floors)
    return goal is not None and part <= SMALL_PART * goal and bound <= goal


def difference_from_aba(sim: QuasiStatics) -> FloatArray | None:
    """How far the last solve is from `aba`: over computed joints, and by how much others exceed their bound.

    (root of the sum of squares, largest) in the metric; None where `aba` has no answer.
    """
    model, run = sim.model, sim._run
    q = run.kept_q if sim._has_moved else run.q  # of the solve
    tree, body, screws, dof, rest, gravity = model.arrays
    loose = dof.copy()
    loose[:, [DAMPING, STIFFNESS]] = 0.0  # springs are among the efforts
    loose.setflags(write=False)
    found, still = np.empty(model.nv), np.zeros(model.nv)
    wrenches = np.ascontiguousarray(sim._coefficients.joint_data[:, H_F : H_F + 6])
    work, dof_work = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, DOF_WORK))
    effort = _efforts_at(sim, q)
    _, bad = aba(tree, body, screws, loose, rest, gravity, q, still, effort, wrenches, work, dof_work, found)
    if bad >= 0 or not np.isfinite(found).all():
        return None
    weight = np.sqrt(sim._mechanism.weight)
    is_open = np.zeros(model.n_bodies, dtype=bool)
    is_open[sim._computed_bodies()] = True
    computed = np.repeat(is_open, tree[:, DOF])
    error = weight * np.abs(run.qdd - found)
    noise = UNIT_ROUNDOFF * float((weight * np.abs(found)).max(initial=0.0))
    hidden, known = error[~computed], error[computed]
    excess = float(np.sqrt((hidden**2).sum())) - float(bound_of(MEASURES["absolute_linkage"], run))
    above = float(hidden.max(initial=0.0)) - float(bound_of(MEASURES["absolute_joint"], run))
    total = float(np.sqrt((known**2).sum())) + max(excess, 0.0)
    return np.array([total, max(float(known.max(initial=0.0)), above)]) + noise


def _efforts_at(sim: QuasiStatics, q: FloatArray) -> FloatArray:
    """All efforts on joints at rest at coordinates q, springs and motors included."""
    m, run, nv = sim._mechanism, sim._run, sim.model.nv
    still = np.zeros(nv)
    acting = (run.effort, run.motor, m.strength, m.top_speed, np.ascontiguousarray(q), still, still)
    forces = JointForces(m.whole_tree, m.dof, m.rest, *acting, np.zeros(nv), np.zeros((nv, EFFORT_PARTS)))
    return np.ascontiguousarray(present_efforts(forces).sum(axis=1))
