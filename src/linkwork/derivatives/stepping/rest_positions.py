"""Gradients with respect to where the springs of joints are slack.

The springs of a joint push with k r, r the displacement from rest: q - q₀ for products of screws. For an orientation r is
the rotation vector of R_restᵀ R, and turning the rest by δ changes it by -Jl⁻¹(r) δ, whose transpose is -Jr⁻¹(r). Where
stiffnesses differ between axes the push is Jl⁻¹(r) k r; turning the rest by δ is turning the child by -Rᵀδ, R = exp(r).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.stepping.turning import right_jacobians, rotations, times
from linkwork.derivatives.sweeps.kinematic_sweeps import stretches
from linkwork.model import layout
from linkwork.model.kernels.ball_spring import ball_spring_change_transposed
from linkwork.model.model import Model


def rest_gradient(model: Model, q: FloatArray, mu: FloatArray) -> FloatArray:
    """Gradient of μ · k r with respect to the rest positions, along their tangents, shape (nv,)."""
    tree, dof = model.arrays.tree, model.arrays.dof
    pushed = dof[:, layout.STIFFNESS] * mu
    out = -pushed
    r = np.empty(model.nv)
    stretches(tree, model.arrays.rest, q, r)
    kinds = tree[:, layout.KIND]
    for kind in (layout.SPHERICAL, layout.FREE):
        first = tree[kinds == kind, layout.V]
        if first.size:
            turn = first[:, None] + np.arange(3)
            out[turn] = -np.linalg.solve(right_jacobians(r[turn]), pushed[turn][:, :, None])[:, :, 0]
            for rows in turn[np.ptp(dof[turn, layout.STIFFNESS], axis=1) > 0.0]:
                out[rows] = _uneven(dof, rows, r[rows], mu[rows])
            if kind == layout.FREE:  # x = Rᵀ (p - p_rest), and p_rest moves by R_rest δ
                out[turn + 3] = -times(rotations(r[turn]), pushed[turn + 3])
    return out


def _uneven(dof: FloatArray, rows: NDArray[np.int64], r: FloatArray, mu: FloatArray) -> FloatArray:
    """Of one ball whose three stiffnesses differ."""
    turned = ball_spring_change_transposed(dof, int(rows[0]), tuple(r.tolist()), tuple(mu.tolist()))
    return -times(rotations(r[None]), np.array([turned]))[0]
