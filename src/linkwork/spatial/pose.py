"""Pose: where a frame stands in another. What people write; kernels work with the numbers inside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.checks import shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.core.messages.warning import likely_degrees, warn_of_degrees
from linkwork.errors import ModelError

Vector3 = tuple[float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]

IDENTITY: Matrix3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector3 = (0.0, 0.0, 0.0)
ROTATION_TOLERANCE = 1e-6  # how far a given matrix may be from a rotation: enough for printed digits


def vector3(value: Any, what: str) -> Vector3:
    """Three floats, or a ModelError that says what was given."""
    try:
        x, y, z = value
        return (float(x), float(y), float(z))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be three numbers, not {shown(value)}.") from None


@tabled
class Pose:
    """A rigid placement: `xyz` [m] and a rotation given in one of three ways.

    rpy: roll, pitch, yaw [rad] about the fixed axes x, y, z in this order, as URDF has it.
    quaternion: (w, x, y, z); it is normalized.
    matrix: a rotation matrix, shape (3, 3), or a homogeneous matrix, shape (4, 4), that replaces xyz too.
    `A @ B` is the pose of B's child in A's parent.
    """

    __slots__ = ("rotation", "xyz")
    rotation: Matrix3
    xyz: Vector3

    def __init__(
        self,
        xyz: Sequence[float] | ArrayLike = ORIGIN,
        rpy: Sequence[float] | None = None,
        quaternion: Sequence[float] | None = None,
        matrix: ArrayLike | None = None,
        **unknown: Never,
    ):
        if unknown:
            name = next(iter(unknown))
            near = did_you_mean_or_list(name, ("xyz", "rpy", "quaternion", "matrix"))
            raise ModelError(f"Pose has no option '{name}'{near}")
        if sum(given is not None for given in (rpy, quaternion, matrix)) > 1:
            raise ModelError("Pose takes one of rpy, quaternion and matrix, not several.")
        position = vector3(xyz, "Pose xyz")
        rotation = IDENTITY
        if rpy is not None:
            turned = vector3(rpy, "Pose rpy")
            for k in likely_degrees(turned)[:1]:
                warn_of_degrees(turned[k], "an angle of Pose rpy")
            rotation = _rotation_rpy(turned)
        elif quaternion is not None:
            rotation = _rotation_quaternion(quaternion)
        elif matrix is not None:
            rotation, position = _rotation_matrix(matrix, position)
        _set(self, rotation, position)

    @classmethod
    def raw(cls, rotation: Matrix3, xyz: Vector3) -> Pose:
        """A pose of numbers known to be right: no checks, no copies."""
        pose = cls.__new__(cls)
        _set(pose, rotation, xyz)
        return pose

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Pose is immutable")

    def __matmul__(self, other: Pose) -> Pose:
        x, y, z = _rotate(self.rotation, other.xyz)
        a, b, c = self.xyz
        return Pose.raw(_multiply(self.rotation, other.rotation), (x + a, y + b, z + c))

    def apply(self, point: Sequence[float]) -> Vector3:
        """A point of the child frame, in the parent frame [m]."""
        x, y, z = _rotate(self.rotation, vector3(point, "point"))
        return (x + self.xyz[0], y + self.xyz[1], z + self.xyz[2])

    def rotate(self, vector: Sequence[float]) -> Vector3:
        """A direction of the child frame, in the parent frame."""
        return _rotate(self.rotation, vector3(vector, "vector"))

    def inverse(self) -> Pose:
        r = self.rotation
        turned = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
        x, y, z = _rotate(turned, self.xyz)
        return Pose.raw(turned, (-x, -y, -z))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Homogeneous matrix, shape (4, 4)."""
        T = np.eye(4)
        T[:3, :3] = np.reshape(self.rotation, (3, 3))
        T[:3, 3] = self.xyz
        return T

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """(w, x, y, z) of the rotation, w ≥ 0; shape (4,)."""
        R = np.reshape(self.rotation, (3, 3))
        # The largest of the four squares is divided by, so no digit is lost whatever the angle.
        squares = np.array([1 + R.trace(), *(1 + 2 * R.diagonal() - R.trace())])
        k = int(np.argmax(squares))
        sums, differences = R + R.T, R - R.T
        q = np.empty(4)
        if k == 0:
            q[:] = squares[0], differences[2, 1], differences[0, 2], differences[1, 0]
        else:
            i, j, m = k - 1, k % 3, (k + 1) % 3
            q[0], q[1 + i], q[1 + j], q[1 + m] = differences[m, j], squares[k], sums[i, j], sums[i, m]
        q /= math.copysign(float(np.linalg.norm(q)), q[0] if q[0] else 1.0)
        return q

    @property
    def is_finite(self) -> bool:
        return all(map(math.isfinite, self.xyz)) and all(map(math.isfinite, self.rotation))

    @property
    def is_identity(self) -> bool:
        return self.rotation == IDENTITY and self.xyz == ORIGIN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return self.rotation == other.rotation and self.xyz == other.xyz

    def __hash__(self) -> int:
        return hash((self.rotation, self.xyz))

    def __repr__(self) -> str:
        if self.rotation == IDENTITY:
            return f"Pose(xyz={self.xyz})"
        return f"Pose(xyz={self.xyz}, matrix={np.reshape(self.rotation, (3, 3)).tolist()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose.raw, (self.rotation, self.xyz)


def _set(pose: Pose, rotation: Matrix3, xyz: Vector3) -> None:
    object.__setattr__(pose, "rotation", rotation)
    object.__setattr__(pose, "xyz", xyz)


def _rotation_rpy(rpy: Vector3) -> Matrix3:
    if not all(map(math.isfinite, rpy)):
        return (math.nan,) * 9  # reported with its name when the linkage compiles
    (cr, cp, cy), (sr, sp, sy) = map(math.cos, rpy), map(math.sin, rpy)
    return (
        cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,
        sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,
        -sp, cp * sr, cp * cr,
    )  # fmt: skip


def _rotation_quaternion(quaternion: Sequence[float]) -> Matrix3:
    try:
        w, x, y, z = map(float, quaternion)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"Pose quaternion must be four numbers (w, x, y, z), not {shown(quaternion)}.") from None
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm == 0.0:
        raise ModelError("Pose quaternion (0, 0, 0, 0) is not a rotation; the identity is (1, 0, 0, 0).")
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip


def _rotation_matrix(matrix: ArrayLike, position: Vector3) -> tuple[Matrix3, Vector3]:
    try:
        M = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"Pose matrix must be an array of numbers, not {shown(matrix)}.") from None
    if M.shape == (4, 4):
        position = vector3(M[:3, 3], "Pose matrix position")
        M = M[:3, :3]
    if M.shape != (3, 3):
        raise ModelError(f"Pose matrix must have shape (3, 3) or (4, 4), not {M.shape}.")
    if np.isfinite(M).all():
        error = np.abs(M @ M.T - np.eye(3)).max()
        if error > ROTATION_TOLERANCE or np.linalg.det(M) < 0:
            raise ModelError(
                f"Pose matrix is not a rotation: |M Mᵀ - 1| = {error:.2g}, det = {np.linalg.det(M):.3g}; "
                "give an orthonormal right-handed matrix."
            )
        left, _, right = np.linalg.svd(M)  # nearest rotation, so that printed digits do no harm
        M = left @ right
    return tuple(M.ravel().tolist()), position


def _rotate(r: Matrix3, a: Sequence[float]) -> Vector3:
    x, y, z = a
    return (
        r[0] * x + r[1] * y + r[2] * z,
        r[3] * x + r[4] * y + r[5] * z,
        r[6] * x + r[7] * y + r[8] * z,
    )


def _multiply(a: Matrix3, b: Matrix3) -> Matrix3:
    columns = (b[0], b[3], b[6]), (b[1], b[4], b[7]), (b[2], b[5], b[8])
    (a0, a3, a6), (a1, a4, a7), (a2, a5, a8) = (_rotate(a, column) for column in columns)
    return (a0, a1, a2, a3, a4, a5, a6, a7, a8)
