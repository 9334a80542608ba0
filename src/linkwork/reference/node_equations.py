"""The equations of the assembly tree in their plainest form, the reference of `dca`: one NumPy function per kind of node.

Frames: every handle quantity lives in the frame of the body that carries it; X takes a twist of the carrier to the child.
Notation and derivation: docs/theory/dca.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class Cluster(NamedTuple):
    """a1 = Φ11 f1 + Φ12 f2 + b1,  a2 = Φ21 f1 + Φ22 f2 + b2, with Φ21 = Φ12ᵀ."""

    phi11: Array
    phi12: Array
    phi22: Array
    b1: Array
    b2: Array


class Branch(NamedTuple):
    """What a branch does to a carrier with acceleration a: the wrench -(K a + p)."""

    K: Array
    p: Array


class Joint(NamedTuple):
    X: Array  # (6, 6)  twist of the carrier → twist of the child
    S: Array  # (6, d)  motion subspace, child frame
    c: Array  # (6,)    velocity-dependent relative acceleration
    Q: Array  # (d,)    effort
    armature: Array  # (d,)


def body(inertia: Array, force: Array) -> Cluster:
    """One rigid body: its handles share one acceleration, so every block is I⁻¹."""
    phi = np.linalg.inv(inertia)
    b = phi @ force
    return Cluster(phi, phi, phi, b, b)


def body_with_branch(inertia: Array, force: Array, branch: Branch) -> Cluster:
    """A body that took over what hangs from it: its inertia grows by K, its force shrinks by p."""
    return body(inertia + branch.K, force - branch.p)


def add(one: Branch, other: Branch) -> Branch:
    return Branch(one.K + other.K, one.p + other.p)


def constrain(M: Array, joint: Joint) -> tuple[Array, Array, Array]:
    """V = M⁻¹, N⁻¹ = (SᵀVS + armature)⁻¹ and W = V - V S N⁻¹ Sᵀ V: f = W y + V S N⁻¹ Q answers a gap y at the joint."""
    V = np.linalg.inv(M)
    N_inv = np.linalg.inv(joint.S.T @ V @ joint.S + np.diag(joint.armature))
    return V, N_inv, V - V @ joint.S @ N_inv @ joint.S.T @ V


def join(upper: Cluster, lower: Cluster, joint: Joint) -> Cluster:
    X, S, c, Q, _ = joint
    P21 = X @ upper.phi12.T
    beta = X @ upper.b2 - lower.b1 + c
    V, N_inv, W = constrain(X @ upper.phi22 @ X.T + lower.phi11, joint)
    gamma = W @ beta + V @ S @ N_inv @ Q
    return Cluster(
        phi11=upper.phi11 - P21.T @ W @ P21,
        phi12=(lower.phi12.T @ W @ P21).T,
        phi22=lower.phi22 - lower.phi12.T @ W @ lower.phi12,
        b1=upper.b1 - P21.T @ gamma,
        b2=lower.b2 + lower.phi12.T @ gamma,
    )


def hang(cluster: Cluster, joint: Joint) -> Branch:
    X, S, c, Q, _ = joint
    V, N_inv, W = constrain(cluster.phi11, joint)
    return Branch(X.T @ W @ X, X.T @ (W @ (c - cluster.b1) + V @ S @ N_inv @ Q))


def pass_joint(M: Array, joint: Joint, y: Array) -> tuple[Array, Array]:
    """q̈ and the wrench f on the child, from the gap y in relative acceleration that the joint has to close."""
    V, N_inv, W = constrain(M, joint)
    qdd = N_inv @ (joint.Q - joint.S.T @ V @ y)
    return qdd, W @ y + V @ joint.S @ N_inv @ joint.Q


def pass_join(upper: Cluster, lower: Cluster, joint: Joint, f1: Array, f2: Array) -> tuple[Array, Array]:
    X = joint.X
    y = X @ upper.phi12.T @ f1 - lower.phi12 @ f2 + X @ upper.b2 - lower.b1 + joint.c
    return pass_joint(X @ upper.phi22 @ X.T + lower.phi11, joint, y)


def pass_hang(cluster: Cluster, joint: Joint, carrier_acceleration: Array) -> tuple[Array, Array]:
    return pass_joint(cluster.phi11, joint, joint.X @ carrier_acceleration + joint.c - cluster.b1)
