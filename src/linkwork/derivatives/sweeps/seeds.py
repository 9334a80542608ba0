"""Gradients of a number that depends on accelerations and twists of bodies, as inverse dynamics leaves them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.sweeps.adjoint import gradients_leaf_to_root
from linkwork.derivatives.sweeps.arrays import MOMENTUM, TWISTED, VIRTUAL, WRENCH, adjoint_of, primal_of
from linkwork.dynamics.rnea import ACCELERATION
from linkwork.spatial.memory import load6, store6
from linkwork.spatial.vectors import ZERO6


@kernel
def seeded_adjoint(primal, adjoint, by_acceleration, by_twist):
    """Gradients of Σ A · a + B · V over the bodies. Needs what `rnea` left in the workspace of `primal`."""
    mode = flush_subnormals()
    s = primal_of(primal)
    g = adjoint_of(adjoint)
    for j in range(g.mu.shape[0]):
        g.mu[j] = 0.0
    for i in range(s.tree.shape[0]):
        store6(g.adjoint, i, VIRTUAL, ZERO6)
        store6(g.adjoint, i, WRENCH, ZERO6)
        store6(g.adjoint, i, MOMENTUM, load6(by_acceleration, i, 0))
        store6(g.adjoint, i, TWISTED, load6(by_twist, i, 0))
    gradients_leaf_to_root(s, g, ACCELERATION, 1.0)
    restore_mode(mode)


def seeded(pull: Any, by_acceleration: FloatArray, by_twist: FloatArray) -> Gradients:
    """Gradients q, v, acceleration, gravity from weights of the bodies' accelerations and twists, (n, 6) each.

    pull: of `inverse.vjp` at the state.
    """
    table, memory, found = pull.work.outputs(
        pull.model, frozenset(("q", "v", "acceleration", "gravity")), "acceleration"
    )
    del memory  # what is found looks into it
    seeded_adjoint(pull.work.primal_table, table, by_acceleration, by_twist)
    return Gradients(**found)


def accelerations_of(pull: Any) -> FloatArray:
    """Of all bodies, in their frames, in a world that accelerates by -g, (n, 6)."""
    return np.array(pull.work.primal.work[:, ACCELERATION : ACCELERATION + 6])
