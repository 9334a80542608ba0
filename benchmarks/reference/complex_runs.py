"""Steps and runs in complex numbers: what the way back through steps must agree with, to rounding.

A state is real coordinates and `complex_steps.Variables` there, whose imaginary parts are one direction. A step takes both
along: by explicit rules as they stand, by the variational rule through its equations ((5) and (6) of docs/integrators.md),
which are solved for the real displacement first, then linearly for the imaginary one. Dense; free joints and springs of
ball joints are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

from .complex_steps import (
    STEP,
    Complex,
    Variables,
    _hat,
    _jacobians,
    _newton_euler,
    _pull,
    _rigid_matrix,
    _rows,
    _stretch,
    body_poses,
    forward_dynamics,
)

Step = Callable[[Model, FloatArray, Variables, float], tuple[FloatArray, Variables]]

CORRECTIONS = 20  # with the slopes of the first guess, each a hundredth of the one before or less
SOLVED = 1e-14  # of the displacements
KICKS = 40  # each a tenth of the one before or less, imaginary parts too


def run(step: Step, model: Model, state: State, x: Variables, h: float, steps: int) -> tuple[FloatArray, Variables]:
    """Coordinates and variables after some steps."""
    q = state.q
    for _ in range(steps):
        q, x = step(model, q, x, h)
    return q, x


def euler_step(model: Model, q: FloatArray, x: Variables, h: float) -> tuple[FloatArray, Variables]:
    """v⁺ = v + h q̈(q, v), q⁺ = q ⊕ h v⁺: joints are explicit."""
    v = x.v + h * forward_dynamics(model, State(q, x.v.real), x)
    return model.integrate(q, h * v.real), x._replace(q=_moved(model, x.q, h * v), v=v)


def rk4_step(model: Model, q: FloatArray, x: Variables, h: float) -> tuple[FloatArray, Variables]:
    """The classical Runge-Kutta method, for joints whose coordinates add up."""
    way, speeds, rates = np.zeros(model.nv, dtype=complex), [], []
    v = x.v
    for part in (0.5, 0.5, 1.0, 0.0):
        speeds.append(v)
        rates.append(_rate(model, q, x, way, v))
        way, v = part * h * v, x.v + part * h * rates[-1]
    weights = np.array([1.0, 2.0, 2.0, 1.0])[:, None] * h / 6.0
    way, v = np.sum(weights * speeds, axis=0), x.v + np.sum(weights * rates, axis=0)
    return model.integrate(q, way.real), x._replace(q=_moved(model, x.q, way), v=v)


def kick_drift_kick_step(model: Model, q: FloatArray, x: Variables, h: float) -> tuple[FloatArray, Variables]:
    """v̄ = v + ½ h q̈(q, v), q⁺ = q ⊕ h v̄, v⁺ = v̄ + ½ h q̈(q⁺, v⁺)."""
    half = x.v + 0.5 * h * _rate(model, q, x, np.zeros(model.nv, dtype=complex), x.v)
    v = half
    for _ in range(KICKS):
        v = half + 0.5 * h * _rate(model, q, x, h * half, v)
    return model.integrate(q, h * half.real), x._replace(q=_moved(model, x.q, h * half), v=v)


def variational_step(model: Model, q: FloatArray, x: Variables, h: float) -> tuple[FloatArray, Variables]:
    u, zero = h * x.v.real, np.zeros(model.nv, dtype=complex)
    plain = Variables(*(np.asarray(part).real.astype(complex) for part in x))
    end = model.integrate(q, u)
    slopes = _slopes(model, q, plain, end, h)
    for _ in range(CORRECTIONS):
        change = np.linalg.solve(slopes, _first(model, q, plain, end, zero, h).real)
        end = model.integrate(end, -change)
        if np.abs(change).max() <= SOLVED * np.abs(u).max():
            break
    along = _first(model, q, x, end, zero, h).imag
    dq = np.asarray(-1j * np.linalg.solve(_slopes(model, q, plain, end, h), along), dtype=np.complex128)
    v = _second(model, q, x, end, dq, h)
    return end, x._replace(q=dq, v=v)


# ---------------------------------------------------------------------------------------------------------------- equations


def _rate(model: Model, q: FloatArray, x: Variables, way: Complex, v: Complex) -> Complex:
    """Accelerations at q ⊕ way with the velocities v."""
    there = State(model.integrate(q, way.real), v.real)
    return forward_dynamics(model, there, x._replace(q=_moved(model, x.q, way), v=v))


def _slopes(model: Model, q: FloatArray, x: Variables, end: FloatArray, h: float) -> FloatArray:
    """Of the first equation along all directions at the end."""
    ways = np.eye(model.nv, dtype=np.complex128) * (1j * STEP)
    return np.column_stack([_first(model, q, x, end, way, h).imag / STEP for way in ways])


def _first(model: Model, q: FloatArray, x: Variables, end: FloatArray, dq: Complex, h: float) -> Complex:
    """M v + ½ h (τ + τ̄) - Jᵀ Λ₀ - a u / h."""
    state = State(q, np.zeros(model.nv))
    u, joints = _joints(model, q, x, end, dq, h)
    found = x.armature * (x.v - u / h) + 0.5 * h * (joints + _outside(model, state, x))
    poses, after = body_poses(model, state, x), body_poses(model, State(end, state.v), x._replace(q=dq))
    for J, ten, T, T1 in zip(_jacobians(model, state, x.q), x.inertias, poses, after, strict=True):
        found = found + J.T @ (_rigid_matrix(ten) @ J @ x.v - _momentum(ten, T, T1, h))
    return found


def _second(model: Model, q: FloatArray, x: Variables, end: FloatArray, dq: Complex, h: float) -> Complex:
    """v⁺ = M⁻¹ (Jᵀ Λ₁ + ½ h (τ + τ̄) + a u / h), all at the end."""
    state, there = State(end, np.zeros(model.nv)), x._replace(q=dq)
    u, joints = _joints(model, q, x, end, dq, h)
    pushes = x.armature * u / h + 0.5 * h * (joints + _outside(model, state, there))
    poses, before = body_poses(model, state, there), body_poses(model, State(q, state.v), x)
    M = np.diag(x.armature)
    for J, ten, T, T0 in zip(_jacobians(model, state, dq), x.inertias, poses, before, strict=True):
        pushes = pushes - J.T @ _momentum(ten, T, T0, h)
        M = M + J.T @ _rigid_matrix(ten) @ J
    return np.asarray(np.linalg.solve(M, pushes), dtype=np.complex128)


def _momentum(ten: Complex, T: Complex, T1: Complex, h: float) -> Complex:
    """Of a body that goes from pose T to T1 in h, in its frame at T: [angular; linear], by its centre and cay(x)."""
    m, c = ten[0], ten[1:4] / ten[0]
    J = _rigid_matrix(ten)[:3, :3] + m * _hat(c) @ _hat(c)
    R = T[:3, :3].T @ T1[:3, :3]
    x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) * 2.0 / (1.0 + np.trace(R))
    f = m / h * (R @ c - c + T[:3, :3].T @ (T1[:3, 3] - T[:3, 3]))
    spin = J @ x + 0.5 * np.cross(x, J @ x) + 0.25 * (x @ J @ x) * x
    return np.concatenate([np.cross(c, f) + spin / h, f])


def _outside(model: Model, state: State, x: Variables) -> Complex:
    """Efforts that gravity and wrenches are worth."""
    none = np.zeros(model.nv, dtype=complex)
    return -_newton_euler(model, state, x._replace(v=none, stiffness=none), none)


def _joints(
    model: Model, q: FloatArray, x: Variables, end: FloatArray, dq: Complex, h: float
) -> tuple[Complex, Complex]:
    """u = q⁺ ⊖ q, and efforts, springs and dampers at the middle of the step."""
    u = np.zeros(model.nv, dtype=complex)
    far = model.difference(q, end)
    found = np.array(x.forcing)
    middle = State(model.integrate(q, far, 0.5), np.zeros(model.nv))
    for i in range(model.n_bodies):
        rows, kind = _rows(model, i), model.arrays.tree[i, layout.KIND]
        u[rows] = far[rows] + dq[rows] - x.q[rows]
        if kind == layout.SPHERICAL:
            u[rows] = _turn_between(x.q[rows], far[rows], dq[rows])
            continue  # no spring
        stretch = _stretch(model, middle, i, x.q + 0.5 * (u - far))
        found[rows] = found[rows] - _pull(model, i, x.stiffness[rows], stretch)
    return u, found - x.damping * u / h


# ---------------------------------------------------------------------------------------------------------------- rotations


def _moved(model: Model, dq: Complex, u: Complex) -> Complex:
    """The imaginary displacement at q ⊕ u, from that at q and u."""
    out = dq + 1j * u.imag
    for i in range(model.n_bodies):
        if model.arrays.tree[i, layout.KIND] == layout.SPHERICAL:
            rows = _rows(model, i)
            E = _turn(u[rows])
            D = E.real.T @ ((np.eye(3) + _hat(dq[rows])) @ E).imag
            out[rows] = 1j * np.array([D[2, 1], D[0, 2], D[1, 0]])
    return out


def _turn(w: Complex) -> Complex:
    """exp(ŵ)."""
    angle2 = w @ w
    angle = np.sqrt(angle2)
    a = _hat(w)
    if abs(angle) < 1e-8:
        return np.eye(3) + a + 0.5 * a @ a
    return np.eye(3) + np.sin(angle) / angle * a + (1.0 - np.cos(angle)) / angle2 * a @ a


def _turn_between(before: Complex, far: FloatArray, after: Complex) -> Complex:
    """log of (1 - before^) exp(far^) (1 + after^), which is far at the real point."""
    R = (np.eye(3) - _hat(before)) @ _turn(far.astype(complex)) @ (np.eye(3) + _hat(after))
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]], dtype=np.complex128) / 2.0
    sine = np.sqrt(axis @ axis)
    if abs(sine) < 1e-8:
        return axis
    turn: Complex = np.arctan(sine / (0.5 * (np.trace(R) - 1.0))) / sine * axis
    return turn  # less than a quarter of a turn
