"""Moving on the manifold of joint coordinates: whole vectors at a time."""

import math

import numpy as np

from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import joint_difference, joint_integrate, quaternion_at, set_quaternion
from linkwork.model.layout import FREE, KIND, SPHERICAL, Q


@kernel(allocates=True)
def coordinates_integrate(tree, q, v, h):
    out = np.empty_like(q)
    for i in range(tree.shape[0]):
        joint_integrate(tree, i, q, v, h, out)
    return out


@kernel(allocates=True)
def coordinates_difference(tree, q0, q1, nv):
    out = np.empty(nv)
    for i in range(tree.shape[0]):
        joint_difference(tree, i, q0, q1, out)
    return out


@kernel
def normalize_coordinates(tree, q):
    """Makes orientations unit in place; returns the first body whose orientation is zero, or -1."""
    for i in range(tree.shape[0]):
        kind = tree[i, KIND]
        if kind == SPHERICAL or kind == FREE:
            k = tree[i, Q] + (3 if kind == FREE else 0)
            w, x, y, z = quaternion_at(q, k)
            norm = np.sqrt(w * w + x * x + y * y + z * z)
            if norm == 0.0:
                return i
            set_quaternion(q, k, (w / norm, x / norm, y / norm, z / norm))
    return -1


@kernel
def all_finite(a, b):
    """Whether two rows of numbers hold neither NaN nor infinity; a call costs less than NumPy's look at one of them."""
    for x in a:
        if not abs(x) < math.inf:
            return False
    for x in b:  # noqa: SIM110 (kernels have no generators)
        if not abs(x) < math.inf:
            return False
    return True
