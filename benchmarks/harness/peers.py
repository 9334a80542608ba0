"""The same mechanism in other engines: a compiled model of revolute joints for Pinocchio and MuJoCo.

Each peer has `forward(state, effort)` and, where the engine offers it, `inverse`, ready to be timed; the answers come in
Linkwork's order of joints. Engines that are not installed are absent, never an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model import layout

Call = Callable[[], object]


@dataclass(frozen=True)
class Peer:
    """One engine loaded with one mechanism and one state."""

    name: str
    forward: Call
    acceleration: Callable[[], np.ndarray]  # of the last `forward`, in Linkwork's order, shape (nv,)
    inverse: Call | None = None
    effort: Callable[[], np.ndarray] | None = None  # of the last `inverse`
    engine: Any = None  # model and data, where a benchmark makes steps of its own


# Pinocchio's Data holds several tensors of nv x nv x nv numbers, whatever the shape: 1.8 GB at 300 joints, 13.8 GB at 600,
# where making it takes more than a minute.
PINOCCHIO_MOST_JOINTS = 300
# MuJoCo 4.0 compiles no deeper chain ("depth limit exceeded in signature computation").
MUJOCO_MOST_DEPTH = 1023
ARENA = 1 << 30  # [bytes] of MuJoCo's memory for one model: its default is too small for some thousand joints


def pinocchio_peer(model: lw.Model, state: lw.State, effort: np.ndarray, acceleration: np.ndarray) -> Peer | None:
    """Pinocchio with joints of its fastest kind (aligned axes where they are). None when not installed or too long."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    if model.n_bodies > PINOCCHIO_MOST_JOINTS:
        return None
    aligned = {(1.0, 0.0, 0.0): pin.JointModelRX, (0.0, 1.0, 0.0): pin.JointModelRY, (0.0, 0.0, 1.0): pin.JointModelRZ}
    twin = pin.Model()
    twin.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    numbers: list[int] = []
    for body in bodies_of(model):
        kind = aligned.get(body.axis)
        joint = kind() if kind else pin.JointModelRevoluteUnaligned(np.array(body.axis))
        parent = numbers[body.parent] if body.parent >= 0 else 0
        numbers.append(twin.addJoint(parent, joint, pin.SE3(body.rotation, body.position), body.name))
        inertia = pin.Inertia(body.mass, body.com, body.moments)
        twin.appendBodyToJoint(numbers[-1], inertia, pin.SE3.Identity())
    order = np.array([twin.joints[number].idx_v for number in numbers])
    data = twin.createData()
    q, v, tau, qdd = (np.empty(model.nv) for _ in range(4))
    q[order], v[order], tau[order], qdd[order] = state.q, state.v, effort, acceleration
    return Peer(
        "pinocchio",
        forward=lambda: pin.aba(twin, data, q, v, tau),
        acceleration=lambda: np.array(data.ddq)[order],
        inverse=lambda: pin.rnea(twin, data, q, v, qdd),
        effort=lambda: np.array(data.tau)[order],
        engine=(twin, data, (q, v, tau), order),
    )


def mujoco_peer(model: lw.Model, state: lw.State, effort: np.ndarray) -> Peer | None:
    """MuJoCo's `mj_forward` with contacts switched off. None when not installed or too long."""
    try:
        import mujoco
    except ImportError:
        return None
    if _depth(model) > MUJOCO_MOST_DEPTH:
        return None
    spec = mujoco.MjSpec()
    spec.memory = ARENA
    spec.option.gravity = list(model.gravity)
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    twins: list[Any] = []
    for body in bodies_of(model):
        parent = twins[body.parent] if body.parent >= 0 else spec.worldbody
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, body.rotation.ravel())
        twin = parent.add_body(name=body.name, pos=body.position, quat=quaternion)
        M = body.moments
        twin.mass, twin.ipos, twin.explicitinertial = body.mass, body.com, True
        twin.fullinertia = [M[0, 0], M[1, 1], M[2, 2], M[0, 1], M[0, 2], M[1, 2]]
        twin.add_joint(name=body.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=body.axis)
        twins.append(twin)
    compiled = spec.compile()
    data = mujoco.MjData(compiled)
    order = np.array([compiled.joint(name).dofadr[0] for name in model.body_names])
    data.qpos[order], data.qvel[order], data.qfrc_applied[order] = state.q, state.v, effort
    return Peer(
        "mujoco",
        forward=lambda: mujoco.mj_forward(compiled, data),
        acceleration=lambda: np.array(data.qacc)[order],
        engine=(compiled, data),
    )


def _depth(model: lw.Model) -> int:
    """Bodies on the longest way from the world."""
    depth = np.ones(model.n_bodies, dtype=int)
    for i, parent in enumerate(model.parent):
        if parent >= 0:
            depth[i] = depth[parent] + 1
    return int(depth.max())


@dataclass(frozen=True)
class _Body:
    name: str
    parent: int
    axis: tuple[float, float, float]
    rotation: np.ndarray  # (3, 3) of the joint's zero frame in the parent
    position: np.ndarray  # (3,) [m]
    mass: float  # [kg]
    com: np.ndarray  # (3,) [m]
    moments: np.ndarray  # (3, 3) about the centre of mass [kg·m²]


def bodies_of(model: lw.Model) -> list[_Body]:
    """The model's tables as bodies other engines understand."""
    found = []
    for i, joint in enumerate(model.joints):
        plain = type(joint) is lw.Revolute and not any(joint.point) and not model.arrays.dof[model.v_slice(i)].any()
        if not plain:
            raise lw.ModelError(f"joint '{model.joint_names[i]}': peers are built of plain revolute joints only.")
        row = model.arrays.body[i]
        mass, mx, my, mz, xx, xy, xz, yy, yz, zz = row[layout.INERTIA : layout.INERTIA + 10].tolist()
        com = np.array([mx, my, mz]) / mass
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found.append(
            _Body(
                name=model.body_names[i],
                parent=int(model.parent[i]),
                axis=joint.axis,
                rotation=row[layout.ROTATION : layout.ROTATION + 9].reshape(3, 3).copy(),
                position=row[layout.POSITION : layout.POSITION + 3].copy(),
                mass=mass,
                com=com,
                moments=about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)),
            )
        )
    return found
