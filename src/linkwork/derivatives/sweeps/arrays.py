"""What the sweeps of derivatives read and write: bundles of arrays, and the columns of their workspaces."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int2, reader

# Columns of `adjoint`, one row per body: the virtual twist w and the gradients with respect to w, acceleration and twist.
# Children add theirs to their parent's. While the mass matrix is solved, WRENCH holds the bias of that solve.
VIRTUAL, WRENCH, MOMENTUM, TWISTED = 0, 6, 12, 18
# Columns of `tangent`, one row per body: changes of twist and acceleration, the wrench through the joint, its change.
D_TWIST, D_ACCELERATION, THROUGH, D_THROUGH = 0, 6, 12, 18
SWEEP_COLUMNS = 24
# Columns of `chain`, one row per freedom of a compound joint: pose behind the screw before; what comes to the screw.
CHAIN_R, CHAIN_P, CHAIN_TWIST, CHAIN_ACCELERATION, CHAIN_VIRTUAL = 0, 9, 12, 18, 24
CHAIN_COLUMNS = 30


class Primal(NamedTuple):
    """A model, a state, and what the algorithm of the function itself left behind."""

    tree: Int2  # (n, 6)
    body: Float2  # (n, 32)
    screws: Float2  # (m, 9)
    dof: Float2  # (nv, 4)
    rest: Float1  # (nq,)
    gravity: Float1  # (3,)
    q: Float1  # (nq,)
    v: Float1  # (nv,)
    qdd: Float1  # (nv,)
    wrenches: Float2  # (n, 6), or (0, 6) where there are none
    work: Float2  # (n, ...) of `aba` or `rnea`
    dof_work: Float2  # (nv, ...) of `aba`; empty for `rnea`


class Adjoint(NamedTuple):
    """One product from the left: what comes in, and the gradients."""

    weights: Float1  # (nv,) λ, the gradient with respect to the result
    mu: Float1  # (nv,) M⁻¹ λ for forward dynamics, λ for inverse dynamics
    adjoint: Float2  # (n, 24)
    chain: Float2  # (nv, 30)
    by_q: Float1  # (nv,)
    by_v: Float1  # (nv,)
    by_forcing: Float1  # (nv,) efforts or accelerations
    by_wrenches: Float2  # (n, 6), or (0, 6) where not asked for
    by_inertias: Float2  # (n, 10), or (0, 10) where not asked for
    by_dof: Float2  # (nv, 4) damping, stiffness, armature; or (0, 4)
    by_gravity: Float1  # (3,)


class Tangent(NamedTuple):
    """One product from the right: changes of what goes in, and of the result."""

    dq: Float1  # (nv,)
    dv: Float1  # (nv,)
    forcing: Float1  # (nv,) change of efforts or accelerations
    dwrenches: Float2  # (n, 6) or (0, 6)
    dinertias: Float2  # (n, 10) or (0, 10)
    ddof: Float2  # (nv, 4) or (0, 4)
    dgravity: Float1  # (3,)
    tangent: Float2  # (n, 24)
    chain: Float2  # (nv, 30)
    result: Float1  # (nv,)


primal_of = reader(Primal)
adjoint_of = reader(Adjoint)
tangent_of = reader(Tangent)

# Columns of `world`, one row per body: pose, twist, acceleration in the world; then sums over the body and all below it:
# inertia, its rate with the twist (two 3x3 blocks), wrench.
W_R, W_P, W_TWIST, W_ACCELERATION, W_INERTIA, W_RATE, W_WRENCH = 0, 9, 12, 18, 24, 34, 52
WORLD_COLUMNS = 58
# Columns of `column`, one row per freedom, in the world: the screw s, σ = V x s, what dq and dv do to accelerations; U D⁻¹.
C_S, C_SIGMA, C_BY_Q, C_BY_V, C_LIFT = 0, 6, 12, 18, 24
COLUMN_COLUMNS = 30


class Dense(NamedTuple):
    """Full matrices, row by row, and what it takes to fill them."""

    by_q: Float1  # (nv nv,)
    by_v: Float1  # (nv nv,)
    by_forcing: Float1  # (nv nv,)
    world: Float2  # (n, 58)
    column: Float2  # (nv, 30)
    unit: Float1  # (nv,) zeros
    effort: Float1  # (nv,)
    sides: Float1  # (8 nv,)
    wrench: Float1  # (48 n,) six numbers of each body for eight right sides
    twist: Float1  # (48 n,)


dense_of = reader(Dense)
