"""The arrays of the constraints of a moving linkage: loops, and what their answers are worked out with.

They stand behind those of `Moving` in the same table. All arrays are empty for a linkage without constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader
from linkwork.core.jit import inlined
from linkwork.errors import StateError
from linkwork.loops.closing import loop_gaps
from linkwork.loops.frames import LOOP_COLUMNS
from linkwork.loops.system import largest_coefficient, loop_plan
from linkwork.model.layout import BODY_COLUMNS, DOF_COLUMNS, SCREW_COLUMNS, TREE_COLUMNS
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.moving import Moving, untouched

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

OPEN_AT_MOST = 1e-3  # gap [rad or m] and slip [rad/s or m/s] of loops at which a simulation may begin
NO_TABLES = (
    np.zeros((0, TREE_COLUMNS), dtype=np.int64),
    np.zeros((0, BODY_COLUMNS)),
    np.zeros((0, SCREW_COLUMNS)),
    np.zeros((0, DOF_COLUMNS)),
)


class Constraints(NamedTuple):
    """Constraints of k loops with l rows on m touched bodies of a linkage with n bodies, and of c couplings of e joints in
    all. Rows of couplings stand behind those of loops: p = l + c."""

    # the cut joints, as a small linkage of their own
    tree: Int2  # (k, 6)
    body: Float2  # (k, 32)
    screws: Float2
    dof: Float2
    ends: Int2  # (k, 2) bodies a and b; -1 is the world
    frames: Float2  # (k, 24) their frames in a and b
    first_row: Int1  # (k + 1,)
    touched: Int1  # (m,) bodies at the ends of loops
    where: Int2  # (k, 2) number of each end in `touched`; -1 is the world
    # their state
    z: Float1  # coordinates of the cut joints
    rate: Float1
    S: Float2
    E: Float2
    B: Float1  # (48 k,)
    matrix: Float2  # (6, 14)
    trial: Float1
    loop: Float2  # (k, 30) of `loops.frames`
    # the rows
    row: Float2  # (l, 12) on the accelerations of a and b, in their frames
    coupled_first: Int1  # (c + 1,) joints of coupling k are coupled_first[k] to coupled_first[k + 1]
    coupled_body: Int1  # (e,) body on each of these joints; -1: the joint does not move
    coupled_freedom: Int1  # (e,) its place in v
    coupled_place: Int1  # (e,) and in q
    coefficient: Float1  # (e,)
    offset: Float1  # (c,) what the sum over moving joints is to be [rad or m]
    coupling: Float1  # (c,) force of each coupling at the last evaluation
    gap: Float1  # (p,) how far loops are open [rad or m]
    slip: Float1  # (p,) how fast they open [rad/s or m/s]
    bias: Float1  # (p,)
    right: Float1  # (p,)
    force: Float1  # (p,) of the last solution
    free: Float1  # (p,) diagonal if bodies were free of their joints
    # the system
    answers: Float2  # (6 m, 6 m)
    A: Float2  # (p, p)
    L: Float2  # (p, p)
    scale: Float1  # (p,)
    order: Int1  # (p,)
    wrenches: Float2  # (m, 6) of the constraints on touched bodies
    acting: Float2  # (k, 12) wrench of each loop on a and on b at the last evaluation, in their frames
    change: Float1  # (nv,)
    push: Float1  # (nv,) efforts of couplings; zero elsewhere
    coupled_change: Float2  # (c, nv) of `project_couplings`, for contact
    coupled_answer: Float2  # (c n, 6) the same of bodies
    # scratch of `responses`
    mark: Int1  # (n,)
    members: Int1  # (n,)
    bias_up: Float2  # (n, 6)
    effort: Float1  # (nv,)
    answer: Float2  # (n, 6)


constraints_of = reader(Constraints, Moving)


def allocate_constraints(model: Model, bodies: int, freedoms: int, answers: bool = False) -> Constraints:
    """Constraints of the loops of a model, for a linkage of up to so many bodies and degrees of freedom.

    A linkage without loops gets empty arrays, but for the scratch of `responses` where `answers` are needed all the same.
    """
    k = len(model.loops)
    plan = loop_plan(model) if model.is_constrained else None
    tables = plan.joints.arrays if plan is not None else NO_TABLES
    z = plan.joints.neutral().q if plan is not None else np.zeros(0)
    nz = tables[3].shape[0]
    p = plan.count if plan is not None else 0
    coupled = plan.coupled if plan is not None else []
    n, nv = (bodies, freedoms) if p or answers else (0, 0)
    ends = plan.ends.copy() if plan is not None else np.zeros((0, 2), dtype=np.int64)
    touched, where = touched_bodies(ends)
    m = 2 * k  # at most; which bodies loops touch changes with the region of an adaptive simulation
    return Constraints(
        tree=tables[0],
        body=tables[1],
        screws=tables[2],
        dof=tables[3],
        ends=ends,
        frames=plan.frames.copy() if plan is not None else np.zeros((0, 24)),
        first_row=np.array([0, *(rows.stop for rows in plan.rows)])
        if plan is not None
        else np.zeros(1, dtype=np.int64),
        touched=np.concatenate([touched, np.zeros(m - touched.size, dtype=np.int64)])[: touched.size],
        where=where,
        z=z,
        rate=np.zeros(nz),
        S=np.zeros((nz, 6)),
        E=np.zeros((nz, 6)),
        B=np.zeros(48 * k),
        matrix=np.zeros((6, 14)),
        trial=z.copy(),
        loop=np.zeros((k, LOOP_COLUMNS)),
        row=np.zeros((plan.loop_rows if plan is not None else 0, 12)),
        coupled_first=np.concatenate([[0], np.cumsum([len(x.joints) for x in model.couplings])]).astype(np.int64),
        coupled_body=np.array([one.bodies[1] for one in coupled], dtype=np.int64),
        coupled_freedom=np.array([one.freedom for one in coupled], dtype=np.int64),
        coupled_place=np.array([one.place for one in coupled], dtype=np.int64),
        coefficient=np.array([one.coefficient for one in coupled], dtype=np.float64),
        offset=np.array([x.offset / largest_coefficient(x) for x in model.couplings], dtype=np.float64),
        coupling=np.zeros(len(model.couplings)),
        gap=np.zeros(p),
        slip=np.zeros(p),
        bias=np.zeros(p),
        right=np.zeros(p),
        force=np.zeros(p),
        free=np.zeros(p),
        answers=np.zeros((6 * m, 6 * m)),
        A=np.zeros((p, p)),
        L=np.zeros((p, p)),
        scale=np.zeros(p),
        order=np.zeros(p, dtype=np.int64),
        wrenches=np.zeros((m, 6)),
        acting=np.zeros((k, 12)),
        change=untouched(nv),
        push=np.zeros(nv if coupled else 0),
        coupled_change=np.zeros((len(model.couplings), nv if answers else 0)),
        coupled_answer=np.zeros((len(model.couplings) * (n if answers else 0), 6)),
        mark=untouched(n, dtype=np.int64),
        members=untouched(n, dtype=np.int64),
        bias_up=untouched(n, 6),
        effort=untouched(nv),
        answer=untouched(n, 6),
    )


def touched_bodies(ends: IntArray) -> tuple[IntArray, IntArray]:
    """The bodies at the ends of loops, and the number of each end among them; -1 is the world."""
    touched = np.unique(ends[ends >= 0])
    where = np.where(ends >= 0, np.searchsorted(touched, ends), -1)
    return touched, np.ascontiguousarray(where.reshape(ends.shape))


@inlined
def is_constrained(table):
    """Whether a moving linkage has loops or couplings."""
    return constraints_of(table).gap.shape[0] > 0


def refuse_open_loops(model: Model, state: State) -> None:
    gaps = loop_gaps(model, state)
    what = " and ".join(["loops"] * bool(model.loops) + ["couplings"] * bool(model.couplings))
    if not (gaps.worst_gap <= OPEN_AT_MOST and gaps.worst_slip <= OPEN_AT_MOST):
        raise StateError(
            f"{what} of model '{model.name}' are open by {gaps.worst_gap:.3g} (rad or m) and open at "
            f"{gaps.worst_slip:.3g} (rad/s or m/s); at most {OPEN_AT_MOST:g} passes. Begin at lw.close_loops(model, state)."
        )
