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
        return _quaternion_joint(mujoco, model, joints[0], types[0] == free, body, line, report), name
    if ball in types:
        report.fault(
            line,
            f"body '{body}' has a ball joint besides {len(joints) - 1} other; Linkwork has no joint that combines them. "
            "Put a body with a little mass between them, or write the ball as three hinges.",
        )
        return Fixed(), name
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    parts = [_axis_joint(mujoco, model, j, types[k] == slide) for k, j in enumerate(joints)]
    for j in joints:
        _note_limits_of_effort(model, j, body, line, report)
    return (parts[0] if len(parts) == 1 else _compound(parts)), name


def _compound(parts: list[Joint]) -> Joint:
    """`Compound` takes over what its parts carry."""
    if any(part.has_options for part in parts):
        return Compound(parts)
    screws: list[Screw3] = [screw for part in parts for screw in part.screws]
    return Compound(screws)


def _axis_joint(mujoco: Any, model: Any, j: int, slides: bool) -> Joint:
    """A hinge or slider; coordinates count from `ref`, as MuJoCo's own kinematics has it."""
    ref = float(model.qpos0[model.jnt_qposadr[j]])
    spring = float(model.qpos_spring[model.jnt_qposadr[j]])
    options = _options(mujoco, model, j)
    if "stiffness" in options and spring != ref:
        options["rest"] = spring - ref
    if model.jnt_limited[j] and not _is_off(mujoco, model, "LIMIT"):
        low, high = map(float, model.jnt_range[j])
        options["limits"] = (low - ref, high - ref)
    axis = _vector(model.jnt_axis[j])
    if slides:
        return Prismatic(axis, **options)
    return Revolute(axis, _vector(model.jnt_pos[j]), **options)


def _quaternion_joint(mujoco: Any, model: Any, j: int, free: bool, body: str, line: int, report: Report) -> Joint:
    if model.jnt_limited[j]:
        report.note(
            line, f"limits of the ball joint of body '{body}'", "not kept; a ball has no limits here", group="ball"
        )
    options = _options(mujoco, model, j)
    if free and "armature" in options:
        # Ours adds to the inertia in the body's axes, MuJoCo's in the world's: equal at rest, not in motion.
        report.note(line, f"armature of the free joint of body '{body}'", "kept, but along the body's axes")
    start, size = int(model.jnt_qposadr[j]), 7 if free else 4
    rest = model.qpos_spring[start : start + size]
    if "stiffness" in options:
        options["rest"] = tuple(map(float, rest))
    _note_limits_of_effort(model, j, body, line, report)
    if free:
        return Free(**options)
    return Spherical(_vector(model.jnt_pos[j]), **options)


def _options(mujoco: Any, model: Any, j: int) -> dict[str, Any]:
    """Damping, stiffness and armature; what motors on the joint add through their gears is the joint's own."""
    dof = int(model.jnt_dofadr[j])
    size = {0: 6, 1: 3}.get(int(model.jnt_type[j]), 1)  # free, ball, or one
    motors = [u for u in range(model.nu) if _drives(mujoco, model, u, j)]
    found: dict[str, Any] = {}
    for name, own, added in (
        ("damping", model.dof_damping[dof], getattr(model, "actuator_damping", None)),
        ("armature", model.dof_armature[dof], getattr(model, "actuator_armature", None)),
    ):
        values = np.full(size, float(own))
        if added is not None:
            for u in motors:
                # A rotor turns gear times as fast as the joint, so the joint feels gear² of it.
                values += float(np.ravel(added[u])[0]) * np.asarray(model.actuator_gear[u][:size]) ** 2
        found[name] = float(values[0]) if np.ptp(values) == 0.0 else _in_our_order(values)
    found["stiffness"] = float(model.jnt_stiffness[j])
    for name, bit in (("damping", "DAMPER"), ("stiffness", "SPRING")):
        if _is_off(mujoco, model, bit):
            found[name] = 0.0
    options: dict[str, Any] = {name: value for name, value in found.items() if np.any(value)}
    if model.jnt_actfrclimited[j]:
        options["effort_limit"] = float(np.abs(model.jnt_actfrcrange[j]).max())
    return options


def _in_our_order(values: Any) -> tuple[float, ...]:
    """MuJoCo counts a free joint's freedoms as [v; ω], Linkwork as [ω; v]."""
    numbers = tuple(map(float, values))
    return (*numbers[3:], *numbers[:3]) if len(numbers) == 6 else numbers


def _drives(mujoco: Any, model: Any, u: int, j: int) -> bool:
    kind = int(model.actuator_trntype[u])
    joint_kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return kind in joint_kinds and int(model.actuator_trnid[u][0]) == j


def _is_off(mujoco: Any, model: Any, bit: str) -> bool:
    return bool(int(model.opt.disableflags) & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{bit}", 0)))


def _note_limits_of_effort(model: Any, j: int, body: str, line: int, report: Report) -> None:
    low, high = map(float, model.jnt_actfrcrange[j])
    if model.jnt_actfrclimited[j] and not math.isclose(-low, high):
        subject = f"body '{body}': actuator forces limited to ({low:g}, {high:g})"
        report.note(line, subject, "the effort limit is one number; the larger is kept", group="actuatorfrcrange")


def _vector(numbers: Any) -> Vector3:
    x, y, z = map(float, numbers)
    return ORIGIN if not (x or y or z) else (x, y, z)
