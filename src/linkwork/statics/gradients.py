"""Gradients through an equilibrium: the implicit function theorem on the efforts that balance there.

At rest ID(q, 0, 0; p) = τ. With (∂ID/∂q)ᵀ μ = λ the gradients of λ · q with respect to parameters p are those of -μ · ID,
and μ itself for the efforts. The transposed product is one sweep (`derivatives.inverse`), the elimination of the search a
near inverse: exact for loads with a potential, so that two or three products are enough, whatever the number of joints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.describe import table_of_attributes
from linkwork.derivatives import inverse
from linkwork.derivatives.inputs import as_weights
from linkwork.derivatives.krylov import solve_by_products
from linkwork.derivatives.rest_positions import rest_gradient
from linkwork.derivatives.world_loads import LoadGradients, WorldLoads
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.statics.balance import Balance
from linkwork.statics.workspace import Acting

FloatArray = NDArray[np.float64]

SOLVED = 1e-9  # part of the weights that may be left where rounding ends the solution


class SettleGradients(NamedTuple):
    """Gradients of a number that depends on where a linkage comes to rest.

    effort, stiffness: of joints, shape (nv,). rest: where their springs are slack, along the tangent, shape (nv,).
    wrenches: fixed in the bodies, (n, 6). inertias (n, 10), gravity (3,): as in `lw.Gradients`.
    loads: of loads held by the world, in their order: force, torque, target (m, 3), stiffness (m,).
    """

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    effort: FloatArray
    stiffness: FloatArray
    rest: FloatArray
    wrenches: FloatArray
    inertias: FloatArray
    gravity: FloatArray
    loads: LoadGradients


def settle_gradients(model: Model, acting: Acting, q: FloatArray, weights: ArrayLike) -> SettleGradients:
    """From the gradient of a number with respect to the coordinates at rest, along the tangent, (nv,)."""
    if model.loops:
        raise StateError(f"model '{model.name}' has loops; equilibria of closed linkages have no gradients yet.")
    right = as_weights(weights, (model.nv,), model, "q")
    state = State(q, np.zeros(model.nv))
    loads = WorldLoads(model, acting.wrenches, acting.row_body, acting.rows)
    _, pull = inverse.vjp(model, state, np.zeros(model.nv), loads.wrenches(state))
    balance = Balance(model, acting, q)
    balance.eliminate(0.0)

    def product(mu: FloatArray) -> FloatArray:
        found: Any = pull(mu)
        return np.asarray(found.q + loads.back(state, found.wrenches))

    def about_inverse(r: FloatArray) -> FloatArray:
        x = np.zeros(model.nv)
        balance.solve(np.ascontiguousarray(r), x)
        return x

    mu, left = solve_by_products(product, about_inverse, right)
    if not left <= SOLVED:
        raise StateError(
            f"the equilibrium of '{model.name}' does not answer the weights: {left:.1e} of them is left. A motion that "
            "nothing resists (a link that spins about itself, a body afloat) has no gradient; give its joint a spring, or "
            "weights that do not depend on it."
        )
    found = pull(-mu)
    return SettleGradients(
        effort=mu,
        stiffness=found.stiffness,
        rest=rest_gradient(model, q, -mu),
        wrenches=found.wrenches,
        inertias=found.inertias,
        gravity=found.gravity,
        loads=loads.own(state, found.wrenches),
    )
