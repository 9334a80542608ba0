"""The variational step from its discrete Lagrangian alone, by differences: what the sweeps of the product must agree with.

Kinetic energy of a step from q to q⁺: every body turns by cay(x), its centre of mass moves straight on. Potential: half of
that at both ends; springs of joints at the middle. Nothing is eliminated and nothing is differentiated by hand.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import root

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.api import mass_matrix
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.layout import ARMATURE, DAMPING, INERTIA, STIFFNESS
from linkwork.model.model import Model
from linkwork.model.state import State

DIFFERENCE = (
    1e-5  # of central differences of second order, with Richardson's step: some 1e-11 of what is differentiated
)


def kinetic_action(model: Model, q: FloatArray, q_next: FloatArray, h: float) -> float:
    """Σ ½ (m |Δc|² + xᵀ J x) / h over all bodies, and ½ a u² / h over joints with armature a that move by u."""
    total = 0.5 * float(model.arrays.dof[:, ARMATURE] @ model.difference(q, q_next) ** 2) / h
    rest = np.zeros(model.nv)
    poses = body_poses(model, State(q, rest)), body_poses(model, State(q_next, rest))
    for i in range(model.n_bodies):
        m, a, b, c, xx, xy, xz, yy, yz, zz = model.arrays.body[i, INERTIA : INERTIA + 10]
        center = np.array([a, b, c]) / m
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_center = about_origin - m * (center @ center * np.eye(3) - np.outer(center, center))
        start, end = poses[0][i], poses[1][i]
        moved = (end[:3, :3] - start[:3, :3]) @ center + end[:3, 3] - start[:3, 3]
        R = start[:3, :3].T @ end[:3, :3]
        x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) * 2.0 / (1.0 + np.trace(R))
        total += 0.5 * (m * moved @ moved + x @ about_center @ x) / h
    return total


def weight_energy(model: Model, q: FloatArray) -> float:
    """Potential energy of gravity."""
    total = 0.0
    for i, pose in enumerate(body_poses(model, State(q, np.zeros(model.nv)))):
        m, moment = model.arrays.body[i, INERTIA], model.arrays.body[i, INERTIA + 1 : INERTIA + 4]
        total -= model.arrays.gravity @ (pose[:3, :3] @ moment + m * pose[:3, 3])
    return float(total)


def slope(model: Model, function, q: FloatArray) -> FloatArray:  # type: ignore[no-untyped-def]
    """Derivative of a function of q along each degree of freedom, in the frame that moves with it."""
    found = np.zeros(model.nv)
    for j in range(model.nv):
        way = np.zeros(model.nv)
        way[j] = 1.0
        slopes = [
            (function(model.integrate(q, d * way)) - function(model.integrate(q, -d * way))) / (2.0 * d)
            for d in (DIFFERENCE, 2.0 * DIFFERENCE)
        ]
        found[j] = (4.0 * slopes[0] - slopes[1]) / 3.0
    return found


def plain_variational_step(model: Model, state: State, h: float) -> State:
    """One step; springs and dampers only on joints whose coordinates are numbers."""
    stiffness, damping = model.arrays.dof[:, STIFFNESS], model.arrays.dof[:, DAMPING]
    q, v = state.q, state.v
    start = mass_matrix(model, State(q, v)) @ v - 0.5 * h * slope(model, lambda x: weight_energy(model, x), q)

    def joint_forces(u: FloatArray) -> FloatArray:
        forces = -damping * u / h
        if stiffness.any():
            forces = forces - stiffness * (q + 0.5 * u - model.arrays.rest)
        return forces

    def open_by(u: FloatArray) -> FloatArray:
        q_next = model.integrate(q, u)
        given = slope(model, lambda x: kinetic_action(model, x, q_next, h), q)
        return start + given + 0.5 * h * joint_forces(u)

    solved = root(open_by, h * v, tol=1e-13)
    u = solved.x
    q_next = model.integrate(q, u)
    end = slope(model, lambda x: kinetic_action(model, q, x, h) - 0.5 * h * weight_energy(model, x), q_next)
    v_next = np.linalg.solve(mass_matrix(model, State(q_next, v)), end + 0.5 * h * joint_forces(u))
    return State(q_next, np.asarray(v_next, dtype=np.float64))
