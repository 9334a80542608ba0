"""The coordinates and velocities at which a joint reproduces a given pose and twist, or comes nearest to them."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.joints import Joint
from linkwork.model.rerooting.reversal import screw_motion
from linkwork.spatial.pose import Pose

ITERATIONS = 60  # Gauss-Newton converges in less than ten where the pose can be reached
CONVERGED = 1e-15  # a step below this part of the coordinates changes nothing any more
REACHED = 1e-12  # [rad, m] a start that gets this near needs no rival
START_ANGLES = (0.0, 2.0, -2.0)  # [rad] a third of a turn apart: some start lies in the basin of every solution


class Nearest(NamedTuple):
    """Coordinates or velocities, and what is left between what was asked and what the joint can do."""

    value: FloatArray  # (nq,) or (nv,)
    angular: float  # [rad] or [rad/s]
    linear: float  # [m] or [m/s]


def nearest_coordinates(joint: Joint, target: Pose, near: FloatArray | None = None) -> Nearest:
    """Coordinates at which the child stands at `target` in the joint's zero frame, or nearest to it.

    "Nearest" minimizes angle² + distance², a radian counting as a metre. Several coordinates may give one pose (whole turns
    of a hinge, the two ways of three hinges): those near `near` are found, or hinges within half a turn of zero.
    """
    if joint.kind == layout.FIXED:
        q = np.zeros(0)
    elif joint.kind == layout.FREE:
        q = np.concatenate([target.xyz, target.quaternion])
    elif joint.kind == layout.SPHERICAL:
        q = target.quaternion
    else:
        q = _nearest_screws(joint, target, np.zeros(joint.nq) if near is None else near)
    left = _log(joint_motion(joint, q).inverse() @ target)
    return Nearest(q, float(np.linalg.norm(left[:3])), float(np.linalg.norm(left[3:])))


def nearest_velocity(joint: Joint, q: FloatArray, twist: FloatArray) -> Nearest:
    """Velocities with which the child has the twist [ω; v] in its own frame, or nearest to it by least squares.

    With a spatial acceleration less the joint's bias in place of the twist, the accelerations.
    """
    S = subspace(joint, q)
    v: FloatArray = np.asarray(np.linalg.lstsq(S, twist, rcond=None)[0], dtype=float) if joint.nv else np.zeros(0)
    left = twist - S @ v
    return Nearest(v, float(np.linalg.norm(left[:3])), float(np.linalg.norm(left[3:])))


def joint_motion(joint: Joint, q: FloatArray) -> Pose:
    """Pose of the child in the joint's zero frame."""
    if joint.kind == layout.FREE:
        return Pose(q[:3], quaternion=q[3:].tolist())
    if joint.kind == layout.SPHERICAL:
        turn, c = Pose(quaternion=q.tolist()), joint.center
        xyz = np.array(c) - turn.rotate(c)
        return Pose.raw(turn.rotation, (float(xyz[0]), float(xyz[1]), float(xyz[2])))
    pose = Pose()
    for screw, angle in zip(joint.screws, np.asarray(q).tolist(), strict=True):
        pose = pose @ screw_motion(screw, angle)
    return pose


def subspace(joint: Joint, q: FloatArray) -> FloatArray:
    """S(q) in the child frame, shape (6, nv)."""
    if joint.kind == layout.FREE:
        return np.eye(6)
    if joint.kind == layout.SPHERICAL:
        return np.concatenate([np.eye(3), np.cross(joint.center, np.eye(3)).T])
    columns = []
    behind = Pose()  # the child seen from behind the screw at hand
    for screw, angle in zip(reversed(joint.screws), np.asarray(q)[::-1].tolist(), strict=True):
        axis, linear = np.array(screw.axis), np.array(screw.slide) + np.cross(screw.center, screw.axis)
        R = np.reshape(behind.rotation, (3, 3))
        columns.append(np.concatenate([R.T @ axis, R.T @ (linear + np.cross(axis, behind.xyz))]))
        behind = screw_motion(screw, angle) @ behind
    return np.array(columns[::-1]).reshape(-1, 6).T


def joint_bias(joint: Joint, q: FloatArray, v: FloatArray) -> FloatArray:
    """c_J, the rate of S v at constant v, in the child frame, shape (6,): each screw carries those before it."""
    if joint.kind in (layout.FREE, layout.SPHERICAL, layout.FIXED) or joint.nv < 2:
        return np.zeros(6)
    S = subspace(joint, q)
    bias = np.zeros(6)
    moving = np.zeros(6)
    for d in range(joint.nv):  # a column turns with the screws behind it: Ṡ_d v_d = Σ_{e>d} (S_d x S_e) v_d v_e
        own = S[:, d] * v[d]
        w, u = moving[:3], moving[3:]
        bias += np.concatenate([np.cross(w, own[:3]), np.cross(w, own[3:]) + np.cross(u, own[:3])])
        moving = moving + own
    return bias


def _nearest_screws(joint: Joint, target: Pose, near: FloatArray) -> FloatArray:
    best, least = np.zeros(joint.nq), math.inf
    turns = [any(screw.axis) for screw in joint.screws]
    starts = itertools.product(*(START_ANGLES if turning else (0.0,) for turning in turns))
    for start in starts:
        q = _gauss_newton(joint, near + np.array(start), target)
        # Whole turns of a pure rotation change nothing: the nearest ones are meant.
        for d, screw in enumerate(joint.screws):
            if any(screw.axis) and not any(screw.slide):
                q[d] = near[d] + math.remainder(q[d] - near[d], math.tau)
        error = float(np.linalg.norm(_log(joint_motion(joint, q).inverse() @ target)))
        if error < least:
            best, least = q, error
        if least <= REACHED * (1.0 + math.hypot(*target.xyz)):
            break
    return best


def _gauss_newton(joint: Joint, q: FloatArray, target: Pose) -> FloatArray:
    left = _log(joint_motion(joint, q).inverse() @ target)
    for _ in range(ITERATIONS):
        step = np.linalg.lstsq(subspace(joint, q), left, rcond=1e-10)[0]
        moved = 1.0
        while True:
            new = q + moved * step
            rest = _log(joint_motion(joint, new).inverse() @ target)
            if np.linalg.norm(rest) <= np.linalg.norm(left) or moved < 1e-3:
                break
            moved *= 0.5
        if np.linalg.norm(rest) > np.linalg.norm(left):
            break
        q, left = new, rest
        if np.linalg.norm(moved * step) <= CONVERGED * (1.0 + np.linalg.norm(q)):
            break
    return q


def _log(pose: Pose) -> FloatArray:
    """Rotation vector and displacement of a small motion, in the frame it starts from, shape (6,)."""
    w, *axis = pose.quaternion
    sine = math.hypot(*axis)
    angle = 2.0 * math.atan2(sine, w)
    factor = angle / sine if sine > 0.0 else 2.0
    return np.concatenate([factor * np.array(axis), pose.xyz])
