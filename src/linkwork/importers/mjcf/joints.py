"""Joints of a compiled MuJoCo body as one joint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.importers.report import Report
from linkwork.model.joints import Compound, Fixed, Free, Joint, Prismatic, Revolute, Screw3, Spherical
from linkwork.spatial.pose import ORIGIN, Vector3


def body_joint(mujoco: Any, model: Any, i: int, body: str, line: int, report: Report) -> tuple[Joint, str]:
    """The joint of body i and its name, "" when the file gives none.

    Several hinges and sliders become a Compound, whose name joins theirs with "+".
    """
    first = int(model.body_jntadr[i])
    joints = range(first, first + int(model.body_jntnum[i]))
    if not joints:
        if model.body_mocapid[i] >= 0:
            report.note(line, f"body '{body}'", "a mocap body; it is fixed where the file places it", group="mocap")
        return Fixed(), ""
    types = [int(model.jnt_type[j]) for j in joints]
    name = "+".join(filter(None, (model.joint(j).name for j in joints)))
    ball, free = int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_FREE)
    if len(joints) == 1 and types[0] in (ball, free):
        return _quaternion_joint(model, joints[0], types[0] == free, body, line, report), name
    if ball in types:
        report.fault(
            line,
            f"body '{body}' has a ball joint besides {len(joints) - 1} other; Linkwork has no joint that combines them. "
            "Put a body with a little mass between them, or write the ball as three hinges.",
        )
        return Fixed(), name
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    parts = [_axis_joint(model, j, types[k] == slide) for k, j in enumerate(joints)]
    for j in joints:
        _note_limits_of_effort(model, j, body, line, report)
    return (parts[0] if len(parts) == 1 else _compound(parts)), name


def _compound(parts: list[Joint]) -> Joint:
    """`Compound` takes over what its parts carry."""
    if any(part.has_options for part in parts):
        return Compound(parts)
    screws: list[Screw3] = [screw for part in parts for screw in part.screws]
    return Compound(screws)


def _axis_joint(model: Any, j: int, slides: bool) -> Joint:
    """A hinge or slider; coordinates count from `ref`, as MuJoCo's own kinematics has it."""
    ref = float(model.qpos0[model.jnt_qposadr[j]])
    spring = float(model.qpos_spring[model.jnt_qposadr[j]])
    options = _options(model, j)
    if model.jnt_stiffness[j] and spring != ref:
        options["rest"] = spring - ref
    if model.jnt_limited[j]:
        low, high = map(float, model.jnt_range[j])
        options["limits"] = (low - ref, high - ref)
    axis = _vector(model.jnt_axis[j])
    if slides:
        return Prismatic(axis, **options)
    return Revolute(axis, _vector(model.jnt_pos[j]), **options)


def _quaternion_joint(model: Any, j: int, free: bool, body: str, line: int, report: Report) -> Joint:
    if model.jnt_limited[j]:
        report.note(
            line, f"limits of the ball joint of body '{body}'", "not kept; a ball has no limits here", group="ball"
        )
    options = _options(model, j)
    if free and "armature" in options:
        # Ours adds to the inertia in the body's axes, MuJoCo's in the world's: equal at rest, not in motion.
        report.note(line, f"armature of the free joint of body '{body}'", "kept, but along the body's axes")
    start, size = int(model.jnt_qposadr[j]), 7 if free else 4
    rest = model.qpos_spring[start : start + size]
    if model.jnt_stiffness[j]:
        options["rest"] = tuple(map(float, rest))
    _note_limits_of_effort(model, j, body, line, report)
    if free:
        return Free(**options)
    return Spherical(_vector(model.jnt_pos[j]), **options)


def _options(model: Any, j: int) -> dict[str, Any]:
    dof = int(model.jnt_dofadr[j])
    found = {
        "damping": float(model.dof_damping[dof]),
        "stiffness": float(model.jnt_stiffness[j]),
        "armature": float(model.dof_armature[dof]),
    }
    options: dict[str, Any] = {name: value for name, value in found.items() if value}
    if model.jnt_actfrclimited[j]:
        options["effort_limit"] = float(np.abs(model.jnt_actfrcrange[j]).max())
    return options


def _note_limits_of_effort(model: Any, j: int, body: str, line: int, report: Report) -> None:
    low, high = map(float, model.jnt_actfrcrange[j])
    if model.jnt_actfrclimited[j] and not math.isclose(-low, high):
        subject = f"body '{body}': actuator forces limited to ({low:g}, {high:g})"
        report.note(line, subject, "the effort limit is one number; the larger is kept", group="actuatorfrcrange")


def _vector(numbers: Any) -> Vector3:
    x, y, z = map(float, numbers)
    return ORIGIN if not (x or y or z) else (x, y, z)
