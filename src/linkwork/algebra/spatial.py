"""Vectors, poses, twists, wrenches, inertias: x_parent = R x_child + p, twists [w; v] and wrenches [n; f], angular first.

Adjacent frames cancel: with X the pose of a child in its parent, `X @ V` is a twist of the parent seen in the child, and
`X.T @ F` a wrench of the child seen in the parent.
"""

from __future__ import annotations

from typing import Any

from linkwork.algebra.tracing import Value


class Vec3(Value, size=3, dual="Vec3"):
    def cross(self, o: Any) -> Any:
        (a, b, c), (x, y, z) = self.x, o.x
        return Vec3(b * z - c * y, c * x - a * z, a * y - b * x)

    def outer(self, o: Any) -> Any:
        return Mat3(*(p * q for p in self.x for q in o.x))

    def skew(self) -> Any:
        x, y, z = self.x
        return Mat3(0.0, -z, y, z, 0.0, -x, -y, x, 0.0)

    def skew_times(self, M: Any) -> Any:
        """r̂ M"""
        return Mat3(*(self.cross(column) for column in M.T.rows())).T

    def rotation(self, s: Any, k: Any) -> Any:
        """About a unit axis: s, k = sin, 1 - cos. Of the vector of a unit quaternion: twice its scalar, 2."""
        x, y, z = self.x
        return Mat3(
            1.0 - k * (y * y + z * z), k * x * y - s * z, k * x * z + s * y,
            k * x * y + s * z, 1.0 - k * (x * x + z * z), k * y * z - s * x,
            k * x * z - s * y, k * y * z + s * x, 1.0 - k * (x * x + y * y),
        )  # fmt: skip


class Mat3(Value, size=9):
    """Row after row. A rotation takes the axes of a child to those of its parent."""

    @property
    def T(self) -> Any:
        return Mat3(*(self.x[3 * k + i] for i in range(3) for k in range(3)))

    def rows(self) -> Any:
        return Vec3(*self.x[:3]), Vec3(*self.x[3:6]), Vec3(*self.x[6:])

    def upper(self) -> Any:
        return Sym3(*(self.x[k] for k in (0, 1, 2, 4, 5, 8)))

    def __matmul__(self, o: Any) -> Any:
        if not isinstance(o, (Vec3, Mat3)):
            return NotImplemented
        columns = (o,) if isinstance(o, Vec3) else o.T.rows()
        return type(o)(*(row @ column for row in self.rows() for column in columns))


class Sym3(Value, size=6):
    """xx, xy, xz, yy, yz, zz"""

    def full(self) -> Any:
        return Mat3(*(self.x[k] for k in (0, 1, 2, 1, 3, 4, 2, 4, 5)))

    def trace(self) -> Any:
        return self.x[0] + self.x[3] + self.x[5]

    def __matmul__(self, v: Any) -> Any:
        return self.full() @ v


class Quaternion(Value, size=4):
    """A unit quaternion w, x, y, z."""

    def matrix(self) -> Any:
        w, x, y, z = self.x
        return Mat3(
            1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
            2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
            2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
        )  # fmt: skip


class Wrench(Value, n=Vec3, f=Vec3, dual="Twist"):
    pass


class Twist(Value, w=Vec3, v=Vec3, dual="Wrench"):
    def cross(self, S: Any) -> Any:
        """V × S, of twists"""
        return Twist(self.w.cross(S.w), self.w.cross(S.v) + self.v.cross(S.w))

    def cross_force(self, F: Any) -> Any:
        """V ×* F, of a wrench"""
        return Wrench(self.w.cross(F.n) + self.v.cross(F.f), self.w.cross(F.f))


class Screw(Value, axis=Vec3, slide=Vec3, center=Vec3):
    """Turns about a unit axis through a point, and slides by so much for each unit of q."""

    def twist(self) -> Any:
        return Twist(self.axis, self.slide + self.center.cross(self.axis))

    def pose(self, q: Any, sin_half: Any, cos_half: Any) -> Any:
        R = self.axis.rotation(2.0 * sin_half * cos_half, 2.0 * sin_half * sin_half)
        return Pose(R, self.center - R @ self.center + q * self.slide)


class Pose(Value, R=Mat3, p=Vec3):
    """Of a child in its parent."""

    @property
    def T(self) -> Any:
        return Back(self)

    def turn(self, M: Any) -> Any:
        return self.R @ M @ self.R.T

    def __matmul__(self, o: Any) -> Any:
        if isinstance(o, Twist):
            return Twist(self.R.T @ o.w, self.R.T @ (o.v + o.w.cross(self.p)))
        return Pose(self.R @ o.R, self.R @ o.p + self.p) if isinstance(o, Pose) else NotImplemented


class Back(Value, R=Mat3, p=Vec3):
    """Wrenches of a child, seen in its parent."""

    def __matmul__(self, F: Any) -> Any:
        if not isinstance(F, Wrench):
            return NotImplemented
        return Wrench(self.R @ F.n + self.p.cross(self.R @ F.f), self.R @ F.f)


class Inertia(Value, m=float, h=Vec3, I=Sym3):
    """Of a rigid body: mass, first moment, inertia about the origin of the frame."""

    def __matmul__(self, V: Any) -> Any:
        if not isinstance(V, Twist):
            return NotImplemented
        return Wrench(self.I @ V.w + self.h.cross(V.v), self.m * V.v - self.h.cross(V.w))

    def articulated(self) -> Any:
        return Sym6(self.I, self.h.skew(), Sym3(self.m, 0.0, 0.0, self.m, 0.0, self.m))


class Sym6(Value, A=Sym3, B=Mat3, C=Sym3):
    """[A B; Bᵀ C], from twists to wrenches: an articulated inertia, a stiffness."""

    def __matmul__(self, V: Any) -> Any:
        if not isinstance(V, Twist):
            return NotImplemented
        return Wrench(self.A @ V.w + self.B @ V.v, self.B.T @ V.w + self.C @ V.v)

    def minus(self, U: Any, Y: Any) -> Any:
        """Less U Yᵀ, whose sum over a joint's freedoms is symmetric."""
        return self - Sym6(U.n.outer(Y.n).upper(), U.n.outer(Y.f), U.f.outer(Y.f).upper())

    def largest(self, S: Any) -> Any:
        """What Sᵀ self S is at most: below rounding of that, a joint resists with nothing."""
        return (S.w @ S.w) * self.A.trace() + (S.v @ S.v) * self.C.trace()

    def through(self, X: Any) -> Any:
        """Xᵀ self X: as the parent meets it."""
        B0, C = X.turn(self.B), X.turn(self.C.full())
        B = B0 + X.p.skew_times(C)
        return Sym6((X.turn(self.A.full()) + X.p.skew_times(B0.T).T + X.p.skew_times(B.T)).upper(), B, C.upper())


ZERO3, IDENTITY = Vec3(0.0, 0.0, 0.0), Pose(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
ZERO_TWIST, ZERO_WRENCH, ZERO_INERTIA = Twist(*[0.0] * 6), Wrench(*[0.0] * 6), Sym6(*[0.0] * 21)
