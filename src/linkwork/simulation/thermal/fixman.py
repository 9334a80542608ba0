"""Fixman's potential ½ kT ln det M, and its force, in O(n).

The pivots D of `aba` have det M = Π det D. With A = P - U D⁻¹ Uᵀ, what a joint passes to its parent, and Υ = J M⁻¹ Jᵀ,
the mobility of a body (Jain, Park and Vaidehi 2013),

    ∂ ln det M / ∂q_k = -2 tr(X Υ_λ Xᵀ A_k [S_k x])                                            (2)  docs/proteins.md
    Υ_k = (1 - S D⁻¹ Uᵀ) X Υ_λ Xᵀ (1 - U D⁻¹ Sᵀ) + S D⁻¹ Sᵀ                                    (3)

for joints of one freedom. Joints of several freedoms must stand on the world, where Υ_λ = 0: their coordinates do not
enter det M.
"""

from __future__ import annotations

import math

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import not_negative
from linkwork.core.jit import kernel, routine
from linkwork.core.messages.describe import described
from linkwork.dynamics import aba
from linkwork.dynamics.aba import inertia_to_parent_1dof, inertia_to_parent_general, velocities_root_to_leaf
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.errors import ModelError, StateError
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.thermal.langevin import boltzmann_of
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.vectors import cross_motion, twist_to_child


@kernel
def log_det_and_slopes(arrays, q, still, none, no_wrenches, work, dof_work, mobility, scratch, slopes):
    """ln det M; writes its derivative by every coordinate into `slopes` (nv,). NaN where M is singular."""
    tree, body, dof = arrays.tree, arrays.body, arrays.dof
    n = tree.shape[0]
    velocities_root_to_leaf(arrays, dof, q, still, none, no_wrenches, work, dof_work, False)
    total = 0.0
    for i in range(n - 1, -1, -1):
        if tree[i, KIND] == HELICAL:
            ok = inertia_to_parent_1dof(tree, body, dof, i, work)
            total -= math.log(work[i, aba.DINV])
        else:
            ok = inertia_to_parent_general(tree, body, dof, i, work, dof_work)
            total -= log_det_block(dof_work, tree[i, V], tree[i, DOF], scratch)
        if not ok:
            return math.nan
    slopes[:] = 0.0
    for i in range(n):
        mobility_root_to_leaf(tree, body, i, work, dof_work, mobility, scratch, slopes)
    return total


@routine
def log_det_block(dof_work, j, nd, scratch):
    """ln det of the inverse pivot of a joint of several freedoms, by Cholesky."""
    L = scratch[0]
    total = 0.0
    for c in range(nd):
        for r in range(c, nd):
            x = dof_work[j + r, aba.D_D + c]
            for k in range(c):
                x -= L[r, k] * L[c, k]
            L[r, c] = math.sqrt(x) if r == c else x / L[c, c]
        total += 2.0 * math.log(L[c, c])
    return total


@routine
def mobility_root_to_leaf(tree, body, i, work, dof_work, mobility, scratch, slopes):
    """(2) and (3) for body i."""
    parent, j = tree[i, PARENT], tree[i, V]
    Y = mobility[i]
    if tree[i, KIND] != HELICAL:
        for r in range(6):
            for c in range(6):
                Y[r, c] = 0.0
                for d in range(tree[i, DOF]):
                    for e in range(tree[i, DOF]):
                        Y[r, c] += (
                            dof_work[j + d, aba.S_D + r] * dof_work[j + d, aba.D_D + e] * dof_work[j + e, aba.S_D + c]
                        )
        return
    s, U, d_inverse = helical_twist(body, i), load6(work, i, aba.U_), work[i, aba.DINV]
    X, B, C, A = scratch[0], scratch[1], scratch[2], scratch[3]
    for c in range(6):  # X, column by column
        unit = (
            1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0,
            1.0 if c == 3 else 0.0, 1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0,
        )  # fmt: skip
        column = twist_to_child(load9(work, i, aba.R_), load3(work, i, aba.P_), unit)
        crossed = cross_motion(s, unit)
        for r in range(6):
            X[r, c] = column[r]
            C[r, c] = crossed[r]  # [S x]
    if parent >= 0:
        transform_mobility(X, mobility[parent], B, Y)
    else:
        Y[:] = 0.0
    articulated(work, i, U, d_inverse, A)
    slope = 0.0  # tr(Y A C)
    for r in range(6):
        for k in range(6):
            ya = 0.0
            for m in range(6):
                ya += Y[r, m] * A[m, k]
            slope += ya * C[k, r]
    slopes[j] = -2.0 * slope
    for r in range(6):  # B = Y U D⁻¹
        x = 0.0
        for k in range(6):
            x += Y[r, k] * U[k]
        B[0, r] = x * d_inverse
    uYu = 0.0
    for k in range(6):
        uYu += U[k] * B[0, k] * d_inverse
    for r in range(6):
        for c in range(6):
            Y[r, c] += s[r] * s[c] * (uYu + d_inverse) - s[r] * B[0, c] - B[0, r] * s[c]


@routine
def transform_mobility(X, parent, B, out):
    """X Υ Xᵀ"""
    for r in range(6):
        for c in range(6):
            B[r, c] = 0.0
            for k in range(6):
                B[r, c] += X[r, k] * parent[k, c]
    for r in range(6):
        for c in range(6):
            x = 0.0
            for k in range(6):
                x += B[r, k] * X[c, k]
            out[r, c] = x


@routine
def articulated(work, i, U, d_inverse, out):
    """A = P - U D⁻¹ Uᵀ, from the halves in which aba keeps P."""
    upper = 0
    for r in range(3):
        for c in range(r, 3):
            out[r, c] = out[c, r] = work[i, aba.IA + upper]
            out[3 + r, 3 + c] = out[3 + c, 3 + r] = work[i, aba.IC + upper]
            upper += 1
        for c in range(3):
            out[r, 3 + c] = out[3 + c, r] = work[i, aba.IB + 3 * r + c]
    for r in range(6):
        for c in range(6):
            out[r, c] -= U[r] * d_inverse * U[c]


@described
class FixmanPotential:
    """½ kT ln det M of a model, and the force that follows from it."""

    def __init__(self, model: Model, temperature: float, boltzmann: float | None = None):
        as_model(model, "Fixman's potential")
        not_negative(temperature, "temperature", finite=True)
        kinds, parents = model.arrays.tree[:, KIND], model.parent
        bad = np.flatnonzero((kinds != HELICAL) & (parents >= 0) & (model.arrays.tree[:, DOF] > 0))
        if bad.size:
            raise ModelError(
                f"joint '{model.joint_names[int(bad[0])]}' has several freedoms inside the linkage; Fixman's potential is "
                "for joints of one freedom, and bases."
            )
        self.model = model
        self.kT = boltzmann_of(model, boltzmann) * temperature
        self._work = np.empty((model.n_bodies, aba.BODY_WORK)), np.empty((model.nv, aba.DOF_WORK))
        self._mobility, self._scratch = np.zeros((model.n_bodies, 6, 6)), np.zeros((4, 6, 6))
        self._still, self._none, self._no_wrenches = np.zeros(model.nv), np.zeros(0), np.zeros((0, 6))

    def log_det(self, state: State) -> tuple[float, FloatArray]:
        """ln det M and its derivatives by all coordinates, shape (nv,). Cost: O(n)."""
        q, _ = as_state(self.model, state)
        slopes = np.zeros(self.model.nv)
        value = log_det_and_slopes(
            self.model.arrays, q, self._still, self._none, self._no_wrenches, *self._work,
            self._mobility, self._scratch, slopes,
        )  # fmt: skip
        if not math.isfinite(value):
            raise StateError("the mass matrix is singular here; Fixman's potential does not exist.")
        return float(value), slopes

    def energy(self, state: State) -> float:
        """½ kT ln det M, in the units of k (kJ/mol)."""
        return 0.5 * self.kT * self.log_det(state)[0]

    def efforts(self, state: State) -> FloatArray:
        """-∂/∂q of it: efforts to be added to those of the joints, shape (nv,)."""
        return -0.5 * self.kT * self.log_det(state)[1]
