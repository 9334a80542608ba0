"""The calculus of one joint: pose, motion subspace, bias, integrate, difference. What whole models do, for a single joint.

For tests, plots and teaching; a model's kernels do the same for all joints at once. Sizes, neutral and random coordinates
and reversal are methods of the joint itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.dynamics.virtual_work.constraint_basis import joint_basis
from linkwork.errors import StateError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint
from linkwork.model.kernels import joint_kernels
from linkwork.model.kernels.manifold import coordinates_difference, coordinates_integrate
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.spatial.pose import Pose

_ANY_BODY = Inertia.sphere(1.0, 1.0)  # something for the joint to carry; no result depends on it


@kernel
def _pose(tree, body, screws, q):
    return joint_kernels.joint_pose(tree, body, screws, 0, q)


@kernel
def _motion(tree, body, screws, q, v, S):
    """Fills S (nv, 6), one row per column of the motion subspace; returns S v and the bias."""
    return joint_kernels.joint_motion(tree, body, screws, 0, q, v, S)


@kernel
def basis_of_joint(tree, body, dof, i, S, B, E, scratch):
    """`joint_basis` of one joint, from Python: what virtual work and loops make of it."""
    return joint_basis(tree, body, dof, i, S, B, 0, E, scratch)


def joint_pose(joint: Joint, q: ArrayLike) -> Pose:
    """Pose of the child frame in the joint's zero frame.

    q: the joint's coordinates, shape (nq,).
    """
    tree, body, screws, *_ = _alone(joint).arrays
    rotation, xyz = _pose(tree, body, screws, _vector(q, joint.nq, "q", joint))
    return Pose.raw(rotation, xyz)


def joint_subspace(joint: Joint, q: ArrayLike) -> FloatArray:
    """The matrix S(q) with relative twist [ω; v] = S v, in the child frame at its origin, shape (6, nv)."""
    S, _ = _subspace_and_bias(joint, q, np.zeros(joint.nv))
    return S


def joint_bias(joint: Joint, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """c_J, the rate of change of S v while q moves with v and v stays as it is, in the child frame, shape (6,)."""
    _, bias = _subspace_and_bias(joint, q, v)
    return bias


def joint_integrate(joint: Joint, q: ArrayLike, v: ArrayLike, h: float = 1.0) -> FloatArray:
    """q ⊕ v h: coordinates after moving with the constant velocity v for the time h [s], shape (nq,)."""
    old, velocity = _vector(q, joint.nq, "q", joint), _vector(v, joint.nv, "v", joint)
    return np.asarray(coordinates_integrate(_alone(joint).arrays.tree, old, velocity, float(h)))


def joint_difference(joint: Joint, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
    """q1 ⊖ q0: the velocity that carries q0 to q1 in one second, shape (nv,)."""
    old, new = _vector(q0, joint.nq, "q0", joint), _vector(q1, joint.nq, "q1", joint)
    return np.asarray(coordinates_difference(_alone(joint).arrays.tree, old, new, joint.nv))


def _alone(joint: Joint) -> Model:
    """A model of this joint and nothing else; its tables are read-only like any model's, so the same kernels serve."""
    linkage = Linkage(type(joint).__name__)
    linkage.add_body("child", joint=joint, inertia=_ANY_BODY)
    return linkage.compile(merge_fixed=False)


def _subspace_and_bias(joint: Joint, q: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    coordinates, velocity = _vector(q, joint.nq, "q", joint), _vector(v, joint.nv, "v", joint)
    tree, body, screws, *_ = _alone(joint).arrays
    S = np.empty((joint.nv, 6))
    _, bias = _motion(tree, body, screws, coordinates, velocity, S)
    return S.T.copy(), np.array(bias)


def _vector(value: ArrayLike, size: int, what: str, joint: Joint) -> FloatArray:
    try:
        vector = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"{what} must be an array of numbers, not {value!r}.") from None
    if vector.shape != (size,):
        raise StateError(f"{what} has shape {vector.shape}; a {type(joint).__name__} joint needs ({size},).")
    return vector
