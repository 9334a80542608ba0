"""What springs, dampers and motors of joints do in a step, put into the table of freedoms of a linkage.

Taken where the step ends, with u = v + h q̈, a joint's own spring and damper and a motor with the effort e(q, u) are those
of a linkage with

    stiffness k - e_q,   damping d + h k - e_u,   armature a + h d + h² k - h e_u

and one more constant effort, e - e_q (q - q₀) - e_u u. Without limits e_q = -k_m and e_u = -(h k_m + d_m). A motor at its
limit of effort has neither; one that is slowed down near its limit of speed has what its law gives there. Dry friction of a
drive that slips is a constant effort, of one that sticks a damper. Taken where the step begins, h is zero here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

M_STIFFNESS, M_DAMPING, M_POSITION, M_VELOCITY, M_FRICTION = range(5)  # columns of a simulation's motors
SLIP = 1e-4  # [rad/s or m/s] below which dry friction is proportional to the speed, as in `loading.motor_law`
SPEED_BAND = 0.1  # of the limit of speed, over which the push of a motor falls to zero: `docs/control.md`


class JointLaws:
    """The joints of a simulation in steps that take them `ahead` [s] later: h for implicit joints, 0 for explicit ones.

    stepped: the model whose forward dynamics is that of the step. held: the constant efforts of motors, shape (nv,).
    """

    def __init__(self, model: Model, motor: FloatArray, ahead: float):
        self.model, self.ahead = model, ahead
        dof = model.arrays.dof
        self.table = dof.copy()
        stiffness, damping = dof[:, layout.STIFFNESS], dof[:, layout.DAMPING]
        self.table[:, layout.DAMPING] = damping + ahead * stiffness
        self.table[:, layout.ARMATURE] = dof[:, layout.ARMATURE] + ahead * damping + ahead * ahead * stiffness
        self.own = self.table.copy()  # without motors
        self.stepped = replace(model, arrays=model.arrays._replace(dof=self.table))
        self.efforts = np.zeros(model.nv)
        motor_joints = np.flatnonzero(motor[:, [M_STIFFNESS, M_DAMPING, M_FRICTION]].any(axis=1))
        limited = np.isfinite(model.effort_limit[motor_joints]) | np.isfinite(model.velocity_limit[motor_joints])
        limited |= motor[motor_joints, M_FRICTION] > 0.0
        self.of_v = _coordinates(model)
        self.motor = motor
        self.limited = motor_joints[limited]
        self.set_motors(motor_joints[~limited], None, None)

    def set_laws(self, before: State, end: FloatArray) -> FloatArray:
        """Puts motors with limits as they act in a step from a state to the velocities `end`; returns all held efforts."""
        if self.limited.size:
            self.set_motors(self.limited, before, end if self.ahead > 0.0 else before.v)
        return self.efforts

    def set_motors(self, rows: NDArray[np.int64], before: State | None, u: FloatArray | None) -> None:
        """Writes the motors of some freedoms into the table; with no state, those without limits."""
        k, d, position, velocity = self.motor[rows, :M_FRICTION].T
        rest = self.model.arrays.rest[self.of_v[rows]]
        if before is None or u is None:
            by_q, by_u = -k, -(self.ahead * k + d)
            self.efforts[rows] = k * (position - rest) + d * velocity
        else:
            q = before.q[self.of_v[rows]]
            pull = k * (position - q - self.ahead * u[rows]) + d * velocity
            effort, by_q, by_u = self.limited_law(rows, pull, u[rows])
            self.efforts[rows] = effort - by_q * (q - rest) - by_u * u[rows]
        self.table[rows, layout.STIFFNESS] = self.own[rows, layout.STIFFNESS] - by_q
        self.table[rows, layout.DAMPING] = self.own[rows, layout.DAMPING] - by_u
        self.table[rows, layout.ARMATURE] = self.own[rows, layout.ARMATURE] - self.ahead * by_u

    def limited_law(self, rows: NDArray[np.int64], pull: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
        """Efforts of motors within their limits at the velocities u, and their derivatives by position and velocity."""
        k, d = self.motor[rows, M_STIFFNESS], self.motor[rows, M_DAMPING]
        effort_limit, top = self.model.effort_limit[rows], self.model.velocity_limit[rows]
        effort, by_q, by_u = pull - d * u, -k, -(self.ahead * k + d)
        way, has_top = np.where(u > 0.0, 1.0, -1.0), np.isfinite(top) & (top > 0.0)
        top = np.where(has_top, top, 1.0)
        onset, band = (1.0 - SPEED_BAND) * top, SPEED_BAND * top
        demand = way * pull - d * onset
        push = np.minimum(demand, effort_limit)
        fast = has_top & (way * u > onset) & (push > d * band)
        slack = np.where(demand < effort_limit, way * k * (way * top - u) / band, 0.0)
        effort = np.where(fast, push / band * (way * top - u), effort)
        by_q, by_u = np.where(fast, -slack, by_q), np.where(fast, -push / band - self.ahead * slack, by_u)
        full = np.abs(effort) > effort_limit
        effort, by_q = np.clip(effort, -effort_limit, effort_limit), np.where(full, 0.0, by_q)
        friction, slips = self.motor[rows, M_FRICTION], np.abs(u) >= SLIP
        slope = np.where(slips, 0.0, friction / SLIP)
        effort -= np.where(slips, friction * np.sign(u), slope * u)
        return effort, by_q, np.where(full, 0.0, by_u) - slope

    def own_gradients(self, found: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients with respect to the joints' own stiffness, damping and armature, from those of the stepped linkage."""
        a = self.ahead
        stiffness = found.stiffness + a * found.damping + a * a * found.armature
        return stiffness, found.damping + a * found.armature, found.armature


def _coordinates(model: Model) -> NDArray[np.int64]:
    """The coordinate that each freedom of a product of screws moves, shape (nv,); zero elsewhere."""
    tree = model.arrays.tree
    own = tree[np.isin(tree[:, layout.KIND], (layout.HELICAL, layout.COMPOUND))]
    found, widths = np.zeros(model.nv, dtype=np.int64), own[:, layout.DOF]
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    found[np.repeat(own[:, layout.V], widths) + within] = np.repeat(own[:, layout.Q], widths) + within
    return found
