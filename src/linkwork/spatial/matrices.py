"""Spatial algebra as NumPy matrices: for the few places where a 6x6 array says it best. Conventions: docs/notation.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray


def skew(a: ArrayLike) -> FloatArray:
    """The matrix of a ×, shape (3, 3)."""
    x, y, z = np.asarray(a, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def motion_matrix(R: ArrayLike, p: ArrayLike) -> FloatArray:
    """X_cp: takes a twist of a frame to its child at the pose (R, p), shape (6, 6)."""
    Rt = np.reshape(np.asarray(R, dtype=float), (3, 3)).T
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = Rt
    X[3:, :3] = -Rt @ skew(p)
    return X


def rigid_matrix(inertia: ArrayLike) -> FloatArray:
    """Spatial inertia of ten numbers (mass, first moment, second moments: xx, xy, xz, yy, yz, zz), shape (6, 6)."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.asarray(inertia, dtype=float)
    h = skew((x, y, z))
    return np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), h], [h.T, m * np.eye(3)]])
