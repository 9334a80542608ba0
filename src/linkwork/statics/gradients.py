"""Gradients through an equilibrium: the implicit function theorem on the efforts that balance there.

At rest ID(q, 0, 0; p) = τ. With (∂ID/∂q)ᵀ μ = λ the gradients of λ · q with respect to parameters p are those of -μ · ID,
and μ itself for the efforts. The transposed product is one sweep (`derivatives.inverse`), the elimination of the search a
near inverse: exact for loads with a potential, so that two or three products are enough, whatever the number of joints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import described
from linkwork.derivatives import inverse
from linkwork.derivatives.inputs import as_weights
from linkwork.derivatives.kinematics import Moving
from linkwork.derivatives.krylov import solve_by_products
from linkwork.derivatives.stepping.rest_positions import rest_gradient
from linkwork.derivatives.stepping.world_loads import LoadGradients, WorldLoads
from linkwork.errors import StateError
from linkwork.loops.gradients import reaction_turns, reaction_wrenches
from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.statics.balance import Balance
from linkwork.statics.constrained import ClosedBalance
from linkwork.statics.elimination.workspace import Acting

SOLVED = 1e-9  # part of the weights that may be left where rounding ends the solution


@described
class SettleGradients(NamedTuple):
    """Gradients of a number that depends on where a linkage comes to rest.

    effort, stiffness: of joints, shape (nv,). rest: where their springs are slack, along the tangent, shape (nv,).
    wrenches: fixed in the bodies, (n, 6). inertias (n, 10), gravity (3,): as in `lw.Gradients`.
    loads: of loads held by the world, in their order: force, torque, target (m, 3), stiffness (m,).
    """

    effort: FloatArray
    stiffness: FloatArray
    rest: FloatArray
    wrenches: FloatArray
    inertias: FloatArray
    gravity: FloatArray
    loads: LoadGradients


class Equilibrium:
    """A linkage at rest, and products with the derivatives of what balances there.

    Unknowns of a closed one are its coordinates and the forces of its loops: weights are (μ, ν), of all joints and of all
    constraints, as in `loops.gradients`.
    """

    def __init__(self, model: Model, acting: Acting, q: FloatArray, reactions: FloatArray):
        self.model, self.tree = model, model.without_loops
        self.state = State(q, np.zeros(model.nv))
        self.loads = WorldLoads(self.tree, acting.wrenches, acting.row_body, acting.rows)
        self.balance = Balance(self.tree, acting, q, limits=not model.loops)
        stops = self.balance.stops
        self.free = np.ones(model.nv) if stops is None else (stops.diagonal == 0.0).astype(float)  # of limits
        self.reactions = reactions
        wrenches: Any = self.loads.wrenches(self.state)
        if model.loops:
            self.plan = loop_plan(model)
            self.system = LoopSystem(self.plan, q, self.state.v)
            self.at = Moving(self.tree, self.state)
            wrenches = wrenches + reaction_wrenches(self.plan, self.system, reactions)
            self.closed = ClosedBalance(self.balance, self.plan)
            pairs = zip(self.plan.rows, self.system.bases, reactions, strict=True)
            for rows, T, y in pairs:
                self.closed.force[rows] = np.linalg.lstsq(T, y, rcond=None)[0]
            self.closed.write_forces()
            self.balance.weigh()
        self.balance.eliminate(0.0)
        if model.loops:
            self.saddle = self.closed.saddle()
        _, self.pull = inverse.vjp(self.tree, self.state, np.zeros(model.nv), wrenches)

    def product(self, weights: FloatArray) -> FloatArray:
        """The transposed derivative of all that must vanish, times the weights."""
        nv = self.model.nv
        mu = np.ascontiguousarray(weights[:nv] * self.free)
        found: Any = self.pull(mu)
        by_q = found.q + self.loads.back(self.state, found.wrenches)
        if not self.model.loops:
            return np.asarray(by_q * self.free + weights * (1.0 - self.free))
        _, virtual = self.at.along({"v": mu})
        turned, _ = self.at.back(reaction_turns(self.plan, self.system, self.reactions, virtual), None)
        _, pushed = self.at.back(None, self.system.wrenches(weights[nv:]))
        bodies = self.plan.bodies
        ends = np.where(bodies[:, None] >= 0, virtual[np.maximum(bodies, 0)], 0.0).ravel()
        return np.concatenate([by_q + turned + pushed, self.system.C @ ends])

    def about_inverse(self, right: FloatArray) -> FloatArray:
        """By the elimination of the search: exact but for loads and reactions that turn with their bodies."""
        nv = self.model.nv
        x = np.zeros(nv)
        efforts = np.ascontiguousarray(right[:nv])
        if not self.model.loops:
            self.balance.solve(efforts * self.free, x)
            return np.asarray(x * self.free + right * (1.0 - self.free))
        moving = self.closed.solve(efforts[None], x[None])[:, 0]
        force = self.saddle.solve(moving - right[nv:])
        return np.concatenate([x - force @ self.saddle.Y, force])


def settle_gradients(
    model: Model, acting: Acting, q: FloatArray, reactions: FloatArray, weights: ArrayLike
) -> SettleGradients:
    """From the gradient of a number with respect to the coordinates at rest, along the tangent, (nv,).

    reactions: of the loops, (loops, 6), as `SettleReport` has them.
    """
    given = as_weights(weights, (model.nv,), model, "q")
    at = Equilibrium(model, acting, q, reactions)
    right = np.concatenate([given, np.zeros(at.plan.count)]) if model.loops else given * at.free
    solved, left = solve_by_products(at.product, at.about_inverse, right)
    if not left <= SOLVED:
        raise StateError(
            f"the equilibrium of '{model.name}' does not answer the weights: {left:.1e} of them is left. A motion that "
            "nothing resists (a link that spins about itself, a body afloat) has no gradient; give its joint a spring, or "
            "weights that do not depend on it."
        )
    mu = np.ascontiguousarray(solved[: model.nv])
    found: Any = at.pull(-mu)
    return SettleGradients(
        effort=mu,
        stiffness=found.stiffness,
        rest=rest_gradient(model, q, -mu),
        wrenches=found.wrenches,
        inertias=found.inertias,
        gravity=found.gravity,
        loads=at.loads.own(at.state, found.wrenches),
    )
