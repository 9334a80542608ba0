"""Sites, actuators and sensors of a MuJoCo model: what a linkage keeps of them, and notes on what it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.importers.mjcf.couplings import add_couplings, driven_by_tendon, tendon_terms
from linkwork.importers.report import Report
from linkwork.model.actuators import Actuator
from linkwork.model.linkage import Linkage
from linkwork.model.sensors import (
    FAR,
    Effort,
    Encoder,
    ForceTorque,
    Imu,
    Orientation,
    Position,
    Range,
    Sensor,
    Touch,
    Velocity,
)
from linkwork.spatial.pose import Pose

UP = (0.0, 0.0, 1.0)  # of a site: where a rangefinder looks

READ_OTHERWISE = {
    "touch": "reads all contact forces on the body, not those within the site",
    "jointactfrc": "reads all that acts on the joint along its motion, with springs, dampers and limits",
    "actuatorfrc": "reads all that acts on the joint along its motion, with its gear, springs, dampers and limits",
}

Note = Callable[[str, str, str], None]


def add_drives(mujoco: Any, model: Any, names: list[str], linkage: Linkage, report: Report) -> None:
    """Sites become frames; actuators and sensors are added to the linkage. names: of its bodies, by MuJoCo's number."""

    def note(subject: str, reason: str, group: str) -> None:
        report.note(0, subject, reason, group=group)

    sites = _add_sites(model, names, linkage, note)
    joints = joint_names(model, names, linkage)
    add_couplings(mujoco, model, joints, linkage, note)
    _add_actuators(mujoco, model, joints, linkage, note)
    _add_sensors(mujoco, model, names, sites, joints, linkage, note)


def _add_sites(model: Any, names: list[str], linkage: Linkage, note: Note) -> dict[int, str]:
    """Number → name of the frame."""
    taken = {*names, *(frame.name for frame in linkage.frames), *(body.name for body in linkage)}
    kept: dict[int, str] = {}
    for k in range(model.nsite):
        name = model.site(k).name
        if not name or name in taken:
            why = "it has no name" if not name else "a body or frame has its name"
            note(f"site {name or k}", f"not kept; {why}", f"site {why}")
            continue
        pose = Pose(model.site_pos[k], quaternion=model.site_quat[k])
        linkage.add_frame(name, names[int(model.site_bodyid[k])], pose)
        taken.add(name)
        kept[k] = name
    return kept


def joint_names(model: Any, names: list[str], linkage: Linkage) -> dict[int, str]:
    """Number → name of each joint that has a name of its own in the linkage."""
    found: dict[int, str] = {}
    for j in range(model.njnt):
        body = int(model.jnt_bodyid[j])
        whole = linkage[names[body]].joint_name
        own = model.joint(j).name
        if int(model.body_jntnum[body]) == 1:
            found[j] = whole
        elif own and own in whole.split("+") and len(whole.split("+")) == int(model.body_jntnum[body]):
            found[j] = own
    return found


# --------------------------------------------------------------------------------------------------------------- actuators


def _add_actuators(mujoco: Any, model: Any, joints: dict[int, str], linkage: Linkage, note: Note) -> None:
    friction = {
        joints[j]: float(model.dof_frictionloss[model.jnt_dofadr[j]]) for j in joints if _is_axis(mujoco, model, j)
    }
    followed: set[str] = set()
    for u in range(model.nu):
        name = model.actuator(u).name or f"actuator_{u}"
        found = _actuator(mujoco, model, u, name, joints, linkage)
        if isinstance(found, Actuator) and found.control != "effort" and found.joint in followed:
            found = "a joint follows one control"
        if isinstance(found, str):
            note(f"actuator '{name}'", f"not kept; {found}", f"actuator {found}")
            continue
        if found.control != "effort":
            followed.add(found.joint)
        dry = friction.pop(found.joint, 0.0) / abs(found.gear)
        linkage.actuators.append(replace(found, friction=dry))
    without = [name for name, value in friction.items() if value]
    if without:
        shown = ", ".join(without[:5]) + (", ..." if len(without) > 5 else "")
        count = f"{len(without)} joint{'s' if len(without) > 1 else ''}"
        note(
            f"frictionloss of {count} ({shown})",
            "dry friction acts at joints with actuators only; give it by sim.motors[...].friction",
            "frictionloss",
        )


def _is_axis(mujoco: Any, model: Any, j: int) -> bool:
    return int(model.jnt_type[j]) in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def _actuator(mujoco: Any, model: Any, u: int, name: str, joints: dict[int, str], linkage: Linkage) -> Actuator | str:
    """The actuator, or why it is not kept."""
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    gear, lag = float(model.actuator_gear[u][0]), _time_constant(mujoco, model, u)
    j = int(model.actuator_trnid[u][0])
    if int(model.actuator_trntype[u]) == int(mujoco.mjtTrn.mjTRN_TENDON):
        terms = tendon_terms(mujoco, model, j, joints)
        driven = driven_by_tendon(terms, linkage) if terms else None
        if driven is None:
            return "it drives a tendon whose joints move one by one"
        j, gear = next(n for n, joint in joints.items() if joint == driven[0]), gear * driven[1]
    elif int(model.actuator_trntype[u]) not in kinds:
        return "it does not drive a joint"
    if j not in joints or not _is_axis(mujoco, model, j):
        return "it drives a joint without a name or with several degrees of freedom"
    law = _law(mujoco, model, u)
    if lag is None:
        return "its dynamics are not a first-order lag"
    if law is None or gear == 0.0:
        return "its law is not effort, position or velocity"
    control, stiffness, damping = law
    if control == "position" and model.qpos0[model.jnt_qposadr[j]] != 0.0:
        return "its joint has a ref, from which Linkwork counts"
    limits, effort_limit = (-math.inf, math.inf), math.inf
    if model.actuator_ctrllimited[u]:
        limits = (float(model.actuator_ctrlrange[u][0]), float(model.actuator_ctrlrange[u][1]))
    if model.actuator_forcelimited[u]:
        effort_limit = float(np.abs(model.actuator_forcerange[u]).max())
    if control == "effort" and stiffness != 1.0:  # motors with a gain: the gear of the effort alone
        gear, effort_limit, stiffness = gear * stiffness, effort_limit / abs(stiffness), 1.0
    follows = control != "effort"
    return Actuator(
        name,
        joints[j],
        control,
        gear,
        stiffness=stiffness if follows else 0.0,
        damping=damping if follows else 0.0,
        time_constant=lag,
        limits=limits,
        effort_limit=effort_limit,
    )


def _time_constant(mujoco: Any, model: Any, u: int) -> float | None:
    kind = int(model.actuator_dyntype[u])
    if kind == int(mujoco.mjtDyn.mjDYN_NONE):
        return 0.0
    if kind in (int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT)):
        return float(model.actuator_dynprm[u][0])
    return None


def _law(mujoco: Any, model: Any, u: int) -> tuple[str, float, float] | None:
    """Control, and gain and damping of it; None where it is none of ours. Force is gain u + b₀ + b₁ l + b₂ l̇."""
    if int(model.actuator_gaintype[u]) != int(mujoco.mjtGain.mjGAIN_FIXED):
        return None
    gain = float(model.actuator_gainprm[u][0])
    if int(model.actuator_biastype[u]) == int(mujoco.mjtBias.mjBIAS_NONE):
        return ("effort", gain, 0.0) if gain != 0.0 else None
    if int(model.actuator_biastype[u]) != int(mujoco.mjtBias.mjBIAS_AFFINE):
        return None
    b0, b1, b2 = map(float, model.actuator_biasprm[u][:3])
    if b0 == 0.0 and gain > 0.0 and b1 == -gain and b2 <= 0.0:
        return "position", gain, -b2
    if b0 == 0.0 and gain > 0.0 and b1 == 0.0 and b2 == -gain:
        return "velocity", 0.0, gain
    return None


# ----------------------------------------------------------------------------------------------------------------- sensors


def _add_sensors(
    mujoco: Any,
    model: Any,
    names: list[str],
    sites: dict[int, str],
    joints: dict[int, str],
    linkage: Linkage,
    note: Note,
) -> None:
    driven = {actuator.name: actuator.joint for actuator in linkage.actuators}
    for k in range(model.nsensor):
        kind = mujoco.mjtSensor(int(model.sensor_type[k])).name.removeprefix("mjSENS_").lower()
        name = model.sensor(k).name or f"{kind}_{k}"
        where = _where(mujoco, model, k, names, sites, joints, driven)
        found = None if where is None else _sensor(model, k, kind, name, where)
        if found is None:
            note(f"sensor '{name}' ({kind})", "not kept", f"sensor {kind}")
        else:
            linkage.sensors.append(found)
            if kind in READ_OTHERWISE:
                note(f"sensor '{name}' ({kind})", READ_OTHERWISE[kind], f"sensor {kind}")
            if float(model.sensor_cutoff[k]) > 0.0 and kind != "rangefinder":
                note(f"cutoff of sensor '{name}'", "not kept", "cutoff")


def _where(
    mujoco: Any,
    model: Any,
    k: int,
    names: list[str],
    sites: dict[int, str],
    joints: dict[int, str],
    driven: dict[str, str],
) -> tuple[str, str | None] | None:
    """Name of the frame or body it sits on and of that body's joint; None where it sits on nothing that is kept."""
    kind, number = int(model.sensor_objtype[k]), int(model.sensor_objid[k])
    if int(model.sensor_reftype[k]) not in (0, int(mujoco.mjtObj.mjOBJ_UNKNOWN)):
        return None  # measured against another frame than the world
    if kind == int(mujoco.mjtObj.mjOBJ_JOINT):
        return ("", joints[number]) if number in joints else None
    if kind == int(mujoco.mjtObj.mjOBJ_ACTUATOR):
        joint = driven.get(model.actuator(number).name or f"actuator_{number}")
        return ("", joint) if joint is not None else None
    if kind == int(mujoco.mjtObj.mjOBJ_SITE):
        body, frame = int(model.site_bodyid[number]), sites.get(number)
    elif kind == int(mujoco.mjtObj.mjOBJ_XBODY) or (
        kind == int(mujoco.mjtObj.mjOBJ_BODY) and not model.body_ipos[number].any()
    ):
        body, frame = number, names[number]
    else:
        return None
    first = int(model.body_jntadr[body])
    joint = joints.get(first) if first >= 0 and int(model.body_jntnum[body]) == 1 else None
    return None if frame is None else (frame, joint)


def _sensor(model: Any, k: int, kind: str, name: str, where: tuple[str, str | None]) -> Sensor | None:
    frame, joint = where
    noise = float(model.sensor_noise[k])
    cutoff = float(model.sensor_cutoff[k])
    on_frame: dict[str, Callable[[], Sensor]] = {
        "framepos": lambda: Position(name, frame, noise=noise),
        "framequat": lambda: Orientation(name, frame, noise=noise),
        "framelinvel": lambda: Velocity(name, frame, noise=noise, only="linear"),
        "frameangvel": lambda: Velocity(name, frame, noise=noise, only="angular"),
        "velocimeter": lambda: Velocity(name, frame, "frame", noise=noise, only="linear"),
        "gyro": lambda: Imu(name, frame, noise=noise, only="gyro"),
        "accelerometer": lambda: Imu(name, frame, noise=noise, only="accelerometer"),
        "touch": lambda: Touch(name, frame, noise=noise, only="pressing"),
        "rangefinder": lambda: Range(name, frame, UP, cutoff if cutoff > 0.0 else FAR, noise=noise),
    }
    if kind in on_frame and frame:
        return on_frame[kind]()
    if joint is None:
        return None
    if kind in ("jointpos", "jointvel", "ballquat", "ballangvel"):
        return Encoder(name, joint, noise=noise, only="velocity" if kind.endswith("vel") else "position")
    if kind in ("force", "torque"):
        return ForceTorque(name, joint, at=frame, noise=noise, only=kind)
    if kind in ("jointactfrc", "actuatorfrc"):
        return Effort(name, joint, noise=noise)
    return None
