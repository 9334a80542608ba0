"""A joint seen from its other side, with both bodies' frames left where they are.

Body c hangs from body p: the pose of c in p is `P J(q)`, P the joint's placement. Seen from c, the pose of p is
`J(q)⁻¹ P⁻¹ = P⁻¹ (P J(q)⁻¹ P⁻¹)`: a joint placed at `P⁻¹` whose motion is the inverse of J, carried along by P. Screws and
ball centres are simply moved by P; coordinates of screws change sign. So neither body needs a new frame, and inertias,
shapes, wrenches and named points stay as they are. Theory: docs/theory/rerooting.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.joints import OPTIONS, Compound, Joint, Prismatic, Revolute, Screw, Screw3, Spherical
from linkwork.spatial.pose import Pose

OFF_AXES = 1e-12  # part of a stiffness that rounding of a placement may put off the axes
PER_AXIS_OF_A_BALL = ("damping", "armature", "effort_limit", "velocity_limit")


def moved(joint: Joint, pose: Pose) -> Joint:
    """The joint whose motion is `pose J(q) pose⁻¹`: the same screws, seen from the parent frame of `pose`.

    Ball and free joints keep their options; `moved_coordinates` gives the coordinates that go with them.
    """
    if joint.kind == layout.FIXED or pose.is_identity:
        return joint
    if isinstance(joint, Spherical):
        rest = None if joint.rest is None else tuple(moved_coordinates(joint, pose, joint.rest_coordinates()).tolist())
        stiffness = joint.stiffness if _is_even(joint) else tuple(np.diag(_turned_stiffness(joint, pose)).tolist())
        return replace(joint, point=pose.apply(joint.point), rest=rest, stiffness=stiffness)
    if joint.kind == layout.FREE:
        rest = None if joint.rest is None else tuple(moved_coordinates(joint, pose, joint.rest_coordinates()).tolist())
        return replace(joint, rest=rest)
    if isinstance(joint, Revolute | Prismatic | Screw):
        return replace(joint, axis=pose.rotate(joint.axis), point=pose.apply(joint.point))
    options = {name: getattr(joint, name) for name in OPTIONS}
    return Compound([screw.moved(pose) for screw in joint.screws], **options)


def moved_coordinates(joint: Joint, pose: Pose, q: FloatArray) -> FloatArray:
    """Coordinates of `moved(joint, pose)` in the motion `pose J(q) pose⁻¹`, shape (nq,)."""
    if joint.kind not in (layout.SPHERICAL, layout.FREE) or pose.is_identity:
        return np.asarray(q, dtype=float)
    turn = np.asarray(q, dtype=float)[-4:]
    spin = np.concatenate([turn[:1], pose.rotate(turn[1:].tolist())])  # r q r⁻¹ turns the axis of q by r
    if joint.kind == layout.SPHERICAL:
        return spin
    motion = pose @ Pose(q[:3], quaternion=turn.tolist()) @ pose.inverse()
    return np.concatenate([motion.xyz, spin])


def moved_velocity(joint: Joint, pose: Pose, v: FloatArray) -> FloatArray:
    """Velocities (or accelerations) of `moved(joint, pose)` in the same motion, shape (nv,)."""
    if joint.kind not in (layout.SPHERICAL, layout.FREE) or pose.is_identity:
        return np.asarray(v, dtype=float)
    spin: FloatArray = np.array(pose.rotate(v[:3].tolist()))
    if joint.kind == layout.SPHERICAL:
        return spin
    return np.concatenate([spin, np.array(pose.rotate(v[3:].tolist())) + np.cross(pose.xyz, spin)])


def flipped(joint: Joint, placement: Pose) -> Joint:
    """The joint by which the former parent hangs from the former child, both frames kept; placed at `placement⁻¹`."""
    if joint.kind == layout.HELICAL and not joint.has_options:
        return moved(joint, placement)  # one screw without options is its own mirror: the common case, and long chains
    return moved(joint.reversed(), placement)


def flipped_coordinates(joint: Joint, placement: Pose, q: FloatArray) -> FloatArray:
    """Coordinates of `flipped(joint, placement)` at the same pose, shape (nq,)."""
    return moved_coordinates(joint, placement, joint.reverse_coordinates(q))


def flipped_velocity(joint: Joint, placement: Pose, q: FloatArray, v: FloatArray) -> FloatArray:
    """Velocities of `flipped(joint, placement)` in the same motion, shape (nv,).

    Accelerations follow the same rule: the map is linear in v, and what its rate adds is a product of v with itself that
    vanishes for every kind (for a ball, R (ω x ω)).
    """
    return moved_velocity(joint, placement, joint.reverse_velocity(q, v))


def reversal_faults(joint: Joint, placement: Pose) -> list[str]:
    """What this joint carries that has no equal on its other side; empty for screws and welds, usually for balls."""
    if joint.kind not in (layout.SPHERICAL, layout.FREE) or not joint.has_options:
        return []
    ball = type(joint).__name__
    if joint.kind == layout.SPHERICAL:
        return [
            f"its {name} {getattr(joint, name)} differs between the axes of the child, and the parent's axes turn against "
            f"them; give the {ball} joint one {name} for all directions"
            for name in PER_AXIS_OF_A_BALL
            if getattr(joint, name) is not None and np.ptp(joint.per_dof(name)) > 0.0
        ] + _uneven_spring_faults(joint, placement)
    found = [
        f"its {name} acts on the velocity of the child's origin, which the parent's origin does not share; "
        f"leave {name} of a {ball} joint out"
        for name in PER_AXIS_OF_A_BALL[:2]
        if joint.per_dof(name).any()
    ]
    if joint.per_dof("stiffness")[3:].any() and (any(placement.xyz) or joint.rest_coordinates()[:3].any()):
        found.append(
            "its spring pulls the child's origin to a point off the parent's origin, which is not a spring on the parent's "
            f"origin; leave the sliding stiffness of a {ball} joint out"
        )
    return found


def _is_even(joint: Joint) -> bool:
    """Whether a ball's spring is the same about all axes."""
    return joint.stiffness is None or not np.ptp(joint.per_dof("stiffness")) > 0.0


def _turned_stiffness(joint: Joint, placement: Pose) -> FloatArray:
    """Stiffness of a ball's spring against rotation vectors in the parent's axes, shape (3, 3)."""
    R = np.reshape(placement.rotation, (3, 3))
    return np.asarray(R @ np.diag(joint.per_dof("stiffness")) @ R.T)


def _uneven_spring_faults(joint: Joint, placement: Pose) -> list[str]:
    """From the other side the rotation vector is turned by placement and rest orientation, the spring's axes with it."""
    if _is_even(joint):
        return []
    differs = f"its stiffness {joint.stiffness} differs between axes and"
    if np.abs(joint.rest_coordinates()[1:]).max() > 0.0:
        return [
            f"{differs} is slack at another orientation than the joint's zero frame; put that orientation into the "
            "placement instead of `rest`"
        ]
    K = _turned_stiffness(joint, placement)
    if np.abs(K - np.diag(np.diag(K))).max() > OFF_AXES * np.abs(K).max():
        return [
            f"{differs} its axes, those of the child, are not those of the parent; give it one stiffness, or a placement "
            "that turns by right angles"
        ]
    return []


def screw_motion(screw: Screw3, q: float) -> Pose:
    """Pose after the screw has gone by q."""
    axis, slide, center = (np.array(part) for part in screw)
    half = 0.5 * q if axis.any() else 0.0
    turn = Pose(quaternion=(np.cos(half), *(np.sin(half) * axis)))
    xyz = center - np.array(turn.rotate(center.tolist())) + q * slide
    return Pose.raw(turn.rotation, (float(xyz[0]), float(xyz[1]), float(xyz[2])))
