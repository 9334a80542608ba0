"""Accelerations of a linkage in sixty decimal digits: composite rigid bodies and Cholesky, in decimal numbers.

For judging how many digits fast algorithms have left. Every number of a model and of its coordinates is taken as it stands,
so nothing is lost between a model and its answer but 60 - log10(condition) digits. O(n · depth + nv³); some 10 ms for 20
joints. Springs of ball and free joints are not known here (their logarithms are of no use for that purpose).
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model

DIGITS = 60

Exact = NDArray[Any]  # of Decimal


def exact(numbers: Any) -> Exact:
    """Floating-point numbers as the decimal numbers they are."""
    array = np.asarray(numbers, dtype=float)
    return np.array([Decimal(float(x)) for x in array.ravel()], dtype=object).reshape(array.shape)


def accelerations_at_rest(
    model: Model, q: NDArray[np.float64], effort: NDArray[np.float64], wrenches: NDArray[np.float64]
) -> Exact:
    """q̈ of a model at rest as decimal numbers, shape (nv,).

    q (nq,); effort (nv,) [N·m or N]; wrenches (n, 6) [n; f], in the bodies' frames.
    """
    return accelerations(model, q, np.zeros(model.nv), effort, wrenches)


def accelerations(
    model: Model,
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    effort: NDArray[np.float64],
    wrenches: NDArray[np.float64],
) -> Exact:
    """The same in motion: v (nv,) [rad/s or m/s]. Dampers act."""
    # Decimal's default range would do; traps for inexact numbers are off by default.
    with localcontext(Context(prec=DIGITS)):
        return _solved(model, exact(q), exact(v), exact(effort), exact(wrenches))


def _solved(model: Model, q: Exact, v: Exact, effort: Exact, wrenches: Exact) -> Exact:
    tree, body, screws, dof, rest, gravity = model.arrays
    n = model.n_bodies
    springs, rests, table = exact(dof[:, layout.STIFFNESS]), exact(rest), exact(screws)
    X: list[Exact] = []
    S: list[Exact] = []
    inertia: list[Exact] = []
    force: list[Exact] = []
    velocity: list[Exact] = []
    acceleration: list[Exact] = []
    lift, still = exact(np.concatenate([np.zeros(3), -gravity])), exact(np.zeros(6))
    for i in range(n):
        parent = tree[i, layout.PARENT]
        row = exact(body[i])
        zero = _motion_matrix(
            row[layout.ROTATION : layout.ROTATION + 9].reshape(3, 3), row[layout.POSITION : layout.POSITION + 3]
        )
        carried = zero.dot(velocity[parent] if parent >= 0 else still)
        own, columns, moved, bias = _joint(tree[i], row, table, q, v, carried)
        X.append(own.dot(zero))
        S.append(columns)
        velocity.append(moved)
        inertia.append(_rigid_matrix(exact(body[i, layout.INERTIA : layout.INERTIA + 10])))
        acceleration.append(X[i].dot(acceleration[parent] if parent >= 0 else lift) + bias)
        momentum = inertia[i].dot(moved)
        force.append(inertia[i].dot(acceleration[i]) + _cross_force(moved, momentum) - wrenches[i])
    M = exact(np.zeros((model.nv, model.nv)))
    left = effort - exact(dof[:, layout.DAMPING]) * v
    for i in range(n - 1, -1, -1):
        rows = _rows(tree[i])
        left[rows] = left[rows] - S[i].T.dot(force[i])
        F = inertia[i].dot(S[i])
        M[rows, rows] = S[i].T.dot(F)
        j, parent = i, int(tree[i, layout.PARENT])
        while parent >= 0:
            F = X[j].T.dot(F)
            j, parent = parent, int(tree[parent, layout.PARENT])
            M[_rows(tree[j]), rows] = S[j].T.dot(F)
            M[rows, _rows(tree[j])] = M[_rows(tree[j]), rows].T
        parent = int(tree[i, layout.PARENT])
        if parent >= 0:
            inertia[parent] = inertia[parent] + X[i].T.dot(inertia[i]).dot(X[i])
            force[parent] = force[parent] + X[i].T.dot(force[i])
        _add_springs(tree[i], springs, rests, q, left)
    for j in range(model.nv):
        M[j, j] += Decimal(float(dof[j, layout.ARMATURE]))
    return _cholesky_solve(M, left)


def _rows(row: NDArray[np.int64]) -> slice:
    return slice(int(row[layout.V]), int(row[layout.V] + row[layout.DOF]))


def _add_springs(row: NDArray[np.int64], stiffness: Exact, rest: Exact, q: Exact, left: Exact) -> None:
    kind, j, k = row[layout.KIND], int(row[layout.V]), int(row[layout.Q])
    for d in range(int(row[layout.DOF])):
        if stiffness[j + d] != 0:
            if kind not in (layout.HELICAL, layout.COMPOUND):
                raise StateError("sixty digits: springs of ball and free joints are not known here.")
            left[j + d] -= stiffness[j + d] * (q[k + d] - rest[k + d])


def _joint(
    row: NDArray[np.int64], body: Exact, screws: Exact, q: Exact, v: Exact, carried: Exact
) -> tuple[Exact, Exact, Exact, Exact]:
    """Of a joint: X from its zero frame, motion subspace (6, freedoms), twist behind it, and c of a = X a + S q̈ + c.

    carried: twist of the zero frame. A joint of several screws is a row of joints with nothing between them.
    """
    kind, k, rates = row[layout.KIND], int(row[layout.Q]), v[_rows(row)]
    one, none = exact(np.eye(3)), exact(np.zeros(3))
    if kind in (layout.FIXED, layout.FREE, layout.SPHERICAL):
        if kind == layout.FIXED:
            R, p, columns = one, none, exact(np.zeros((6, 0)))
        elif kind == layout.FREE:
            R, p, columns = _quaternion_matrix(q[k + 3 : k + 7]), q[k : k + 3], exact(np.eye(6))
        else:
            R, c = _quaternion_matrix(q[k : k + 4]), body[layout.CENTER : layout.CENTER + 3]
            p, columns = c - R.dot(c), np.vstack([one, _hat(c)])
        X = _motion_matrix(R, p)
        own = columns.dot(rates) if rates.size else exact(np.zeros(6))
        twist = X.dot(carried) + own
        return X, columns, twist, _cross_motion(twist, own)
    if kind == layout.HELICAL:
        parts = [body[layout.AXIS : layout.AXIS + 9]]
    else:
        parts = list(screws[row[layout.SCREW] : row[layout.SCREW] + row[layout.DOF]])
    X, columns, twist, bias = exact(np.eye(6)), exact(np.zeros((6, 0))), carried, exact(np.zeros(6))
    for d, screw in enumerate(parts):
        axis, slide, center = screw[:3], screw[3:6], screw[6:9]
        R = _rotation_about(axis, q[k + d])
        Xs = _motion_matrix(R, center - R.dot(center) + q[k + d] * slide)
        s = np.concatenate([axis, slide + _hat(center).dot(axis)])
        columns = np.hstack([Xs.dot(columns), s[:, None]])
        twist = Xs.dot(twist) + s * rates[d]
        bias = Xs.dot(bias) + _cross_motion(twist, s * rates[d])
        X = Xs.dot(X)
    return X, columns, twist, bias


def _cross_motion(V: Exact, m: Exact) -> Exact:
    """V x m of two twists [ω; v]."""
    return np.concatenate([_hat(V[:3]).dot(m[:3]), _hat(V[:3]).dot(m[3:]) + _hat(V[3:]).dot(m[:3])])


def _cross_force(V: Exact, f: Exact) -> Exact:
    """V x* f of a twist and a wrench [n; f]."""
    return np.concatenate([_hat(V[:3]).dot(f[:3]) + _hat(V[3:]).dot(f[3:]), _hat(V[:3]).dot(f[3:])])


def _hat(p: Exact) -> Exact:
    x, y, z = p
    o = Decimal(0)
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]], dtype=object)


def _motion_matrix(R: Exact, p: Exact) -> Exact:
    """X: twist of the parent frame → twist of the child frame."""
    zero = exact(np.zeros((3, 3)))
    return np.block([[R.T, zero], [-R.T.dot(_hat(p)), R.T]])


def _rigid_matrix(ten: Exact) -> Exact:
    m, h = ten[0], _hat(ten[1:4])
    xx, xy, xz, yy, yz, zz = ten[4:]
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    return np.block([[about, h], [h.T, exact(np.eye(3)) * m]])


def _rotation_about(axis: Exact, angle: Decimal) -> Exact:
    """1 + sin θ a^ + (1 - cos θ) a^ a^; the identity for a joint that slides, whose axis is zero."""
    s, c = _sin_cos(angle)
    hat = _hat(axis)
    return exact(np.eye(3)) + hat * s + hat.dot(hat) * (1 - c)


def _quaternion_matrix(q: Exact) -> Exact:
    w, x, y, z = q / np.sum(q * q).sqrt()
    two = Decimal(2)
    return np.array(
        [
            [1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
            [two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x)],
            [two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y)],
        ],
        dtype=object,
    )


def _sin_cos(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Taylor's series of an angle made small by halving it often."""
    halvings = 20 + max(0, angle.adjusted()) * 4  # a decimal digit is less than four halvings
    x = angle / 2**halvings
    s, c, term = Decimal(0), Decimal(0), Decimal(1)
    for k in range(40):
        if k % 2 == 0:
            c += term if k % 4 == 0 else -term
        else:
            s += term if k % 4 == 1 else -term
        term = term * x / (k + 1)
        if abs(term) < Decimal(10) ** -(DIGITS + 5):
            break
    for _ in range(halvings):
        s, c = 2 * s * c, c * c - s * s
    return s, c


def _cholesky_solve(M: Exact, b: Exact) -> Exact:
    n = M.shape[0]
    L = exact(np.zeros((n, n)))
    for j in range(n):
        pivot = M[j, j] - L[j, :j].dot(L[j, :j])
        if not pivot > 0:
            raise StateError(f"sixty digits: the mass matrix is singular at degree of freedom {j}.")
        L[j, j] = pivot.sqrt()
        if j + 1 < n:
            L[j + 1 :, j] = (M[j + 1 :, j] - L[j + 1 :, :j].dot(L[j, :j])) / L[j, j]
    x = b.copy()
    for j in range(n):
        x[j] = (x[j] - L[j, :j].dot(x[:j])) / L[j, j]
    for j in range(n - 1, -1, -1):
        x[j] = (x[j] - L[j + 1 :, j].dot(x[j + 1 :])) / L[j, j]
    return x
