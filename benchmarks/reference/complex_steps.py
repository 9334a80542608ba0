"""Dynamics in complex numbers, and derivatives by complex steps: Im f(x + iε d)/ε, exact to rounding for ε = 1e-30.

The plainest form: dense matrices, one body after the other, every number of a model a variable. A step along the tangent of
an orientation is R (1 + iε δ̂), which is R exp(iε δ̂) to the first order, and complex steps see no more than that.
O(n nv²) per evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

Complex = NDArray[np.complex128]
STEP = 1e-30
BALLS = (layout.SPHERICAL, layout.FREE)


class Variables(NamedTuple):
    """All that dynamics depends on, complex. `q` is a displacement along the tangent at the model's state, shape (nv,)."""

    q: Complex  # (nv,) zero at the state itself
    v: Complex  # (nv,)
    forcing: Complex  # (nv,) efforts for forward dynamics, accelerations for inverse dynamics
    wrenches: Complex  # (n, 6)
    inertias: Complex  # (n, 10)
    gravity: Complex  # (3,)
    stiffness: Complex  # (nv,)
    damping: Complex  # (nv,)
    armature: Complex  # (nv,)


def variables(model: Model, state: State, forcing: Any, wrenches: Any = None) -> Variables:
    """The values at a state, from which complex steps are taken."""
    arrays = model.arrays
    values = (
        np.zeros(model.nv),
        state.v,
        forcing,
        np.zeros((model.n_bodies, 6)) if wrenches is None else wrenches,
        arrays.body[:, layout.INERTIA : layout.INERTIA + 10],
        arrays.gravity,
        arrays.dof[:, layout.STIFFNESS],
        arrays.dof[:, layout.DAMPING],
        arrays.dof[:, layout.ARMATURE],
    )
    return Variables(*(np.array(value, dtype=complex) for value in values))


def derivative(function: Callable[[Variables], Complex], at: Variables, name: str, direction: Any) -> Any:
    """Change of `function` along a direction of one of the variables."""
    stepped = getattr(at, name) + 1j * STEP * np.asarray(direction, dtype=float)
    return np.imag(function(at._replace(**{name: stepped}))) / STEP


def gradient(function: Callable[[Variables], Complex], at: Variables, name: str, weights: Any) -> NDArray[np.float64]:
    """Gradient of weights · function with respect to one of the variables, entry by entry, in its shape."""
    out = np.zeros(getattr(at, name).shape)
    for k in np.ndindex(out.shape):
        unit = np.zeros(out.shape)
        unit[k] = 1.0
        out[k] = np.sum(np.asarray(weights) * derivative(function, at, name, unit))
    return out


def inverse_dynamics(model: Model, state: State, x: Variables) -> Complex:
    """Efforts that cause the accelerations `x.forcing`, shape (nv,)."""
    return _newton_euler(model, state, x, x.forcing)


def rest_change(model: Model, state: State, x: Variables) -> NDArray[np.float64]:
    """How coordinates at rest (along the tangent) follow imaginary parts of x; `x.forcing`: the efforts; shape (nv,).

    ID(q, 0, 0) = τ at the state: one Newton step from there is exact to the first order.
    """
    none = np.zeros(model.nv, dtype=complex)
    plain = Variables(*(np.asarray(part).real.astype(complex) for part in x))
    units = np.eye(model.nv, dtype=np.complex128) * (1j * STEP)
    slopes = [_newton_euler(model, state, plain._replace(q=unit), none).imag / STEP for unit in units]
    missing = (x.forcing - _newton_euler(model, state, x, none)).imag / STEP
    return np.asarray(np.linalg.solve(np.column_stack(slopes), missing), dtype=np.float64)


def forward_dynamics(model: Model, state: State, x: Variables) -> Complex:
    """Accelerations caused by the efforts `x.forcing`, shape (nv,): M = Σ Jᵀ I J, solved as a dense system."""
    bias = _newton_euler(model, state, x, np.zeros(model.nv, dtype=complex))
    M = np.diag(x.armature)
    for J, ten in zip(_jacobians(model, state, x.q), x.inertias, strict=True):
        M = M + J.T @ _rigid_matrix(ten) @ J
    return np.asarray(np.linalg.solve(M, x.forcing - bias), dtype=np.complex128)


def body_poses(model: Model, state: State, x: Variables) -> Complex:
    """World poses, shape (n, 4, 4)."""
    T = np.zeros((model.n_bodies, 4, 4), dtype=complex)
    for i, parent in enumerate(model.parent):
        R, p, _ = _placed(model, state, i, x.q)
        own = np.eye(4, dtype=complex)
        own[:3, :3], own[:3, 3] = R, p
        T[i] = own if parent < 0 else T[parent] @ own
    return T


def body_twists(model: Model, state: State, x: Variables) -> Complex:
    """Twists in the bodies' frames, shape (n, 6)."""
    return np.array([J @ x.v for J in _jacobians(model, state, x.q)])


def energy(model: Model, state: State, x: Variables) -> Complex:
    """Kinetic and potential energy, shape (2,)."""
    kinetic = 0.5 * np.sum(x.armature * x.v * x.v)
    potential = 0.0 + 0.0j
    for i, (T, V) in enumerate(zip(body_poses(model, state, x), body_twists(model, state, x), strict=True)):
        kinetic += 0.5 * V @ _rigid_matrix(x.inertias[i]) @ V
        potential -= x.gravity @ (x.inertias[i, 0] * T[:3, 3] + T[:3, :3] @ x.inertias[i, 1:4])
        rows = _rows(model, i)
        stretch = _stretch(model, state, i, x.q)
        potential += 0.5 * np.sum(x.stiffness[rows] * stretch * stretch)
    return np.array([kinetic, potential])


def momentum(model: Model, state: State, x: Variables) -> Complex:
    """[angular; linear] about the world's origin, shape (6,)."""
    total = np.zeros(6, dtype=complex)
    for i, (T, V) in enumerate(zip(body_poses(model, state, x), body_twists(model, state, x), strict=True)):
        total = total + _motion_matrix(T[:3, :3], T[:3, 3]).T @ _rigid_matrix(x.inertias[i]) @ V
    return total


def _newton_euler(model: Model, state: State, x: Variables, qdd: Complex) -> Complex:
    n = model.n_bodies
    twist, acceleration, force, X, S = ([np.zeros(6, dtype=complex)] * n for _ in range(5))
    base = np.concatenate([np.zeros(3), -x.gravity])
    for i, parent in enumerate(model.parent):
        R, p, parts = _placed(model, state, i, x.q)
        X[i], S[i] = _motion_matrix(R, p), np.zeros((6, 0), dtype=complex)
        rows, kind = _rows(model, i), model.arrays.tree[i, layout.KIND]
        VJ, bias = np.zeros(6, dtype=complex), np.zeros(6, dtype=complex)
        for (Y, s), d in zip(
            parts, range(rows.start, rows.stop), strict=True
        ):  # products of screws: one after the other
            S[i] = np.column_stack([Y @ S[i], s])
            VJ, bias = Y @ VJ + s * x.v[d], Y @ bias
            if kind not in BALLS:  # whose S is fixed in the body
                bias = bias + _cross(VJ) @ s * x.v[d]
        twist[i] = (X[i] @ twist[parent] if parent >= 0 else 0.0) + VJ
        acceleration[i] = X[i] @ (acceleration[parent] if parent >= 0 else base) + S[i] @ qdd[rows] + bias
        acceleration[i] = acceleration[i] + _cross(twist[i]) @ VJ
        inertia = _rigid_matrix(x.inertias[i])
        force[i] = inertia @ acceleration[i] - _cross(twist[i]).T @ inertia @ twist[i] - x.wrenches[i]
    effort = x.armature * qdd + x.damping * x.v
    for i in range(n - 1, -1, -1):
        rows = _rows(model, i)
        effort[rows] = (
            effort[rows] + S[i].T @ force[i] + _pull(model, i, x.stiffness[rows], _stretch(model, state, i, x.q))
        )
        parent = model.parent[i]
        if parent >= 0:
            force[parent] = force[parent] + X[i].T @ force[i]
    return effort


def _jacobians(model: Model, state: State, dq: Complex) -> list[Complex]:
    """Of all bodies, in their frames, each of shape (6, nv)."""
    found: list[Complex] = []
    for i, parent in enumerate(model.parent):
        R, p, parts = _placed(model, state, i, dq)
        J = np.zeros((6, model.nv), dtype=complex)
        if parent >= 0:
            J = _motion_matrix(R, p) @ found[parent]
        S = np.zeros((6, 0), dtype=complex)
        for Y, s in parts:
            S = np.column_stack([Y @ S, s])
        J[:, _rows(model, i)] = S
        found.append(J)
    return found


def _rows(model: Model, i: int) -> slice:
    row = model.arrays.tree[i]
    return slice(int(row[layout.V]), int(row[layout.V] + row[layout.DOF]))


def _placed(model: Model, state: State, i: int, dq: Complex) -> tuple[Complex, Complex, list[tuple[Complex, Complex]]]:
    """Pose in the parent; and for each freedom what its motion does to the columns before it, and its own column."""
    row, body = model.arrays.tree[i], model.arrays.body[i]
    kind, k, j = row[layout.KIND], int(row[layout.Q]), int(row[layout.V])
    zero = body[layout.ROTATION : layout.ROTATION + 9].reshape(3, 3)
    R, p = np.eye(3, dtype=complex), np.zeros(3, dtype=complex)
    parts: list[tuple[Complex, Complex]] = []
    one = np.eye(6, dtype=complex)
    if kind == layout.FREE:
        R0 = _quaternion_matrix(state.q[k + 3 : k + 7])
        R, p = R0 @ (np.eye(3) + _hat(dq[j : j + 3])), state.q[k : k + 3] + R0 @ dq[j + 3 : j + 6]
        parts = [(one, column) for column in one]
    elif kind == layout.SPHERICAL:
        c = body[layout.CENTER : layout.CENTER + 3]
        R = _quaternion_matrix(state.q[k : k + 4]) @ (np.eye(3) + _hat(dq[j : j + 3]))
        p = c - R @ c
        parts = [(one, np.concatenate([e, np.cross(c, e)]).astype(complex)) for e in np.eye(3)]
    elif kind in (layout.HELICAL, layout.COMPOUND):
        first = int(row[layout.SCREW])
        screws = [body[layout.AXIS : layout.AXIS + 9]] if kind == layout.HELICAL else model.arrays.screws[first:]
        for d in range(int(row[layout.DOF])):
            axis, slide, center = screws[d][:3], screws[d][3:6], screws[d][6:9]
            x = state.q[k + d] + dq[j + d]
            a = _hat(axis.astype(complex))
            Rs = np.eye(3) + np.sin(x) * a + (1.0 - np.cos(x)) * a @ a
            ps = center - Rs @ center + x * slide
            parts.append((_motion_matrix(Rs, ps), np.concatenate([axis, slide + np.cross(center, axis)])))
            R, p = R @ Rs, R @ ps + p
    return zero @ R, zero @ p + body[layout.POSITION : layout.POSITION + 3], parts


def _stretch(model: Model, state: State, i: int, dq: Complex) -> Complex:
    """What the springs of joint i are stretched by, shape (freedoms,)."""
    row, rest = model.arrays.tree[i], model.arrays.rest
    kind, k, j = row[layout.KIND], int(row[layout.Q]), int(row[layout.V])
    if kind not in BALLS:
        d = int(row[layout.DOF])
        return state.q[k : k + d] - rest[k : k + d] + dq[j : j + d]
    t = k + (3 if kind == layout.FREE else 0)
    small = np.concatenate([[1.0], 0.5 * dq[j : j + 3]])  # exp of half the rotation vector, to the first order
    now = _multiply(state.q[t : t + 4].astype(complex), small)
    w, x, y, z = _multiply(rest[t : t + 4] * np.array([1, -1, -1, -1]), now)
    sign = -1.0 if w.real < 0 else 1.0
    sine = np.sqrt(x * x + y * y + z * z)
    turn = 2.0 * np.arctan(sine / (sign * w)) / sine * sign * np.array([x, y, z])
    if kind == layout.SPHERICAL:
        return turn
    R = _quaternion_matrix(state.q[t : t + 4])
    shift = R.T @ (state.q[k : k + 3] - rest[k : k + 3]) + dq[j + 3 : j + 6]
    return np.concatenate([turn, shift - np.cross(dq[j : j + 3], shift)])  # (1 - δ̂) turns it into the new frame


def _pull(model: Model, i: int, stiffness: Complex, stretch: Complex) -> Complex:
    """Gradient of ½ Σ k stretch² per freedom of joint i; for a rotation vector w, Jl⁻¹(w) K w."""
    pull = stiffness * stretch
    if model.arrays.tree[i, layout.KIND] not in BALLS or (stiffness[:3] == stiffness[0]).all():
        return pull
    w = _hat(stretch[:3])
    angle = np.sqrt(stretch[:3] @ stretch[:3])
    c = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    pull[:3] = pull[:3] - 0.5 * w @ pull[:3] + c * w @ w @ pull[:3]
    return pull


def _hat(x: Complex) -> Complex:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]], dtype=complex)


def _cross(V: Complex) -> Complex:
    """V x, on twists; V x* = -(V x)ᵀ on wrenches."""
    zero = np.zeros((3, 3))
    return np.block([[_hat(V[:3]), zero], [_hat(V[3:]), _hat(V[:3])]])


def _motion_matrix(R: Complex, p: Complex) -> Complex:
    """X: twist of the parent frame → twist of the child frame."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ _hat(p), R.T]])


def _rigid_matrix(ten: Complex) -> Complex:
    h = _hat(ten[1:4])
    xx, xy, xz, yy, yz, zz = ten[4:]
    return np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), h], [-h, ten[0] * np.eye(3)]])


def _multiply(a: Complex, b: Complex) -> Complex:
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def _quaternion_matrix(q: NDArray[np.float64]) -> Complex:
    w, x = q[0], _hat(q[1:].astype(complex))
    return np.eye(3) + 2.0 * w * x + 2.0 * x @ x
