"""Makes the arrays of constraints of a model (`simulation.constrained.constraints`); refuses states with open loops."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import IntArray, lazy_zeros
from linkwork.core.calls import address_of
from linkwork.errors import StateError
from linkwork.loops.frames import LOOP_COLUMNS
from linkwork.loops.system import LoopSystem, largest_coefficient, loop_plan
from linkwork.model.layout import BODY_COLUMNS, DOF_COLUMNS, SCREW_COLUMNS, TREE_COLUMNS
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.constrained.calling import OF_TABLE
from linkwork.simulation.constrained.constraints import CALLS, Constraints
from linkwork.simulation.constrained.loop_forces import close_loops, close_way, force_loops, force_loops_again

OPEN_AT_MOST = 1e-3  # gap [rad or m] and slip [rad/s or m/s] of loops at which a simulation may begin
NO_TABLES = (
    np.zeros((0, TREE_COLUMNS), dtype=np.int64),
    np.zeros((0, BODY_COLUMNS)),
    np.zeros((0, SCREW_COLUMNS)),
    np.zeros((0, DOF_COLUMNS)),
)


def allocate_constraints(model: Model, bodies: int, freedoms: int, responds: bool = False) -> Constraints:
    """Constraints of the loops of a model, for a linkage of up to so many bodies and degrees of freedom.

    A linkage without loops gets empty arrays, but for the scratch of `responses` where responses are needed all the same.
    """
    k = len(model.loops)
    plan = loop_plan(model) if model.is_constrained else None
    tables = plan.joints.arrays if plan is not None else NO_TABLES
    z = plan.joints.neutral().q if plan is not None else np.zeros(0)
    nz = tables[3].shape[0]
    p = plan.count if plan is not None else 0
    coupled = plan.coupled if plan is not None else []
    n, nv = (bodies, freedoms) if p or responds else (0, 0)
    ends = plan.ends.copy() if plan is not None else np.zeros((0, 2), dtype=np.int64)
    found, end_body = bodies_of_loops(ends)
    m = 2 * k  # at most; which bodies are at their ends changes with the region of an adaptive simulation
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
        constrained_bodies=np.concatenate([found, np.zeros(m - found.size, dtype=np.int64)])[: found.size],
        end_body=end_body,
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
        A=np.zeros((p, p)),
        L=np.zeros((p, p)),
        free=np.zeros(p),
        scale=np.zeros(p),
        order=np.zeros(p, dtype=np.int64),
        left=np.zeros(p),
        rank=np.zeros(1, dtype=np.int64),
        on_joints=lazy_zeros(nv if p else 0, p),
        through_joint=np.zeros((6, p)),
        wrenches=np.zeros((m, 6)),
        loop_wrenches=np.zeros((k, 12)),
        change=lazy_zeros(nv),
        push=np.zeros(nv if coupled else 0),
        coupled_change=np.zeros((len(model.couplings), nv if responds else 0)),
        coupled_response=np.zeros((len(model.couplings) * (n if responds else 0), 6)),
        mark=lazy_zeros(n, dtype=np.int64),
        members=lazy_zeros(n, dtype=np.int64),
        bias_up=lazy_zeros(n, 6),
        effort=lazy_zeros(nv),
        response=lazy_zeros(n, 6),
        calls=_addresses() if p else np.zeros(CALLS, dtype=np.int64),
    )


def _addresses() -> IntArray:
    kernels = (force_loops, force_loops_again, close_loops, close_way)
    return np.array([address_of(kernel, OF_TABLE) for kernel in kernels], dtype=np.int64)


def bodies_of_loops(ends: IntArray) -> tuple[IntArray, IntArray]:
    """The bodies at the ends of loops, and the number of each end among them; -1 is the world."""
    constrained_bodies = np.unique(ends[ends >= 0])
    end_body = np.where(ends >= 0, np.searchsorted(constrained_bodies, ends), -1)
    return constrained_bodies, np.ascontiguousarray(end_body.reshape(ends.shape))


def refuse_open_loops(model: Model, state: State) -> None:
    loops = LoopSystem(loop_plan(model), state.q, state.v)
    gap, slip = float(np.abs(loops.gap).max()), float(np.abs(loops.slip).max())
    what = " and ".join(["loops"] * bool(model.loops) + ["couplings"] * bool(model.couplings))
    if not (gap <= OPEN_AT_MOST and slip <= OPEN_AT_MOST):
        raise StateError(
            f"{what} of model '{model.name}' are open by {gap:.3g} (rad or m) and open at "
            f"{slip:.3g} (rad/s or m/s); at most {OPEN_AT_MOST:g} passes. Begin at lw.close_loops(model, state)."
        )
