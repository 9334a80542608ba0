"""Single steps of the integrators with accelerations from anywhere, through the kernels that are made for that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.core.bundles import describe
from linkwork.core.jit import kernel
from linkwork.errors import LinkworkError
from linkwork.model.layout import DOF, V
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators import chart, dormand_prince
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.reporting.failures import explain_step
from linkwork.simulation.stepping.choice import advance_stage_of
from linkwork.simulation.stepping.driver import BEGIN

Acceleration = Callable[[np.ndarray, np.ndarray], np.ndarray]


def accelerations(model: lw.Model) -> Acceleration:
    """Those of the model, nothing acting on it."""
    return lambda q, v: lw.forward_dynamics(model, lw.State(q, v))


@dataclass
class Step:
    """Where a step ended and what it took."""

    state: lw.State
    substeps: int
    evaluations: int


def take_step(
    model: lw.Model,
    state: lw.State,
    h: float,
    acceleration: Acceleration,
    integrator: str,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    substep: float = math.inf,
) -> Step:
    """One step of h [s]. substep: the first one that dormand_prince tries [s]; its own choice if not given."""
    sim = lw.FullDynamics(
        model, state, integrator=integrator, implicit_joints=False, keep_momentum=False, rtol=rtol, atol=atol
    )
    moving = sim.view.moving
    moving.numbers[mv.PROPOSED_STEP] = substep
    advance_stage = advance_stage_of(INTEGRATORS[integrator])
    status, evaluations = advance_stage(sim.view.table, h, BEGIN, mv.OK, True), 0
    while status == EVALUATE:
        evaluations += 1
        try:
            moving.qdd[:] = acceleration(moving.q.copy(), moving.v.copy())
            found = mv.OK
        except LinkworkError:  # there are none
            found = mv.OVERFLOW
        status = advance_stage(sim.view.table, h, EVALUATE, found, True)
    if status != mv.OK:
        raise explain_step(model, "a step", status, moving, sim.view.loads.wrench)
    return Step(sim.state, int(moving.counts[mv.SUBSTEPS]), evaluations)


def end_after(model: lw.Model, state: lw.State, duration: float, count: int, integrator: str) -> lw.State:
    """Steps of fixed length: error control accepts everything, and springs are taken as they are."""
    h = duration / count
    explicit = {} if integrator == "variational" else {"implicit_joints": False}
    sim = lw.FullDynamics(model, state, integrator=integrator, keep_momentum=False, rtol=1e9, atol=1e9, **explicit)
    for _ in range(count):
        sim.view.moving.numbers[mv.PROPOSED_STEP] = h
        assert sim.step(h).steps_taken == 1
    return sim.state


@kernel
def _rates(table, out):
    chart.rates(table, out)


def rates_of_chart(model: lw.Model, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """u̇ of all joints for coordinates u around the start of a step and velocities v, shape (nv,)."""
    sim = lw.FullDynamics(model, model.neutral())
    moving, out = sim.view.moving, np.zeros(model.nv)
    moving.u[:], moving.v[:] = u, v
    _rates(describe(moving), out)
    return out


@kernel
def _sizes(table, row, out):
    s = mv.moving_of(table)
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            out[s.tree[i, V] + d] = dormand_prince.size_of_coordinate(s, row, i, d)


def sizes_of_coordinates(model: lw.Model, q: np.ndarray) -> np.ndarray:
    """What error control compares errors of coordinates with, shape (nv,)."""
    sim, out = lw.FullDynamics(model, model.neutral()), np.zeros(model.nv)
    _sizes(sim.view.table, q, out)
    return out


class ChartByHand:
    """Runge and Kutta's step in exponential coordinates, u̇ given by a function: to leave the brackets out of it."""

    def __init__(self, model: lw.Model, rate: Callable[[lw.Model, np.ndarray, np.ndarray], np.ndarray]):
        self.model, self.rate = model, rate

    def end_after(self, state: lw.State, duration: float, count: int) -> lw.State:
        model, h = self.model, duration / count
        solve = accelerations(model)
        q, v = state
        for _ in range(count):
            rates_u: list[np.ndarray] = []
            rates_v: list[np.ndarray] = []
            for part in (0.0, 0.5, 0.5, 1.0):
                u = part * h * rates_u[-1] if rates_u else np.zeros(model.nv)
                w = v + part * h * rates_v[-1] if rates_v else v
                rates_u.append(self.rate(model, u, w))
                rates_v.append(solve(model.integrate(q, u), w))
            weights = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
            q = model.integrate(q, h * (weights @ np.array(rates_u)))
            v = v + h * (weights @ np.array(rates_v))
        return lw.State(q, v)
