"""A scene as MuJoCo sees it: the same links, joints, motors, springs and obstacles, the same step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model import layout

from .scenes import CLOCK


class MujocoTwin:
    """MuJoCo on a scene of hinges, with a free base or a fixed one; its default solver, elliptic cones."""

    def __init__(self, scene: lw.Scene):
        import mujoco

        self.mj = mujoco
        self.scene = scene.build()
        model, state = scene.model, scene.state
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = scene.h, list(model.gravity)
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.memory = 256 << 20
        self.friction = scene.given["contact"]["friction"]
        own = not scene.given["contact"].get("self_contact", True)
        twins: list[Any] = []
        for i in range(model.n_bodies):
            twins.append(self._add_body(spec, model, i, twins))
        for k, shape in model.shapes:
            self._add_shape(twins[k], shape, 1, 2 if own else 3)
        for _, shape in model.obstacles:
            self._add_shape(spec.worldbody, shape, 2, 1)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = self._coordinates(model, state.q)
        self.h, self.spent, self.steps, self.contacts, self.deepest, self.slip = scene.h, 0.0, 0, 0, 0.0, 0.0
        self.pulls = [a for a in self.scene.acting if a.load is not None]
        mujoco.mj_forward(self.model, self.data)

    def _add_body(self, spec: Any, model: lw.Model, i: int, twins: list[Any]) -> Any:
        mj, row = self.mj, model.arrays.body[i]
        parent = twins[model.parent[i]] if model.parent[i] >= 0 else spec.worldbody
        quaternion = np.empty(4)
        mj.mju_mat2Quat(quaternion, row[layout.ROTATION : layout.ROTATION + 9].copy())
        twin = parent.add_body(
            name=model.body_names[i], pos=row[layout.POSITION : layout.POSITION + 3], quat=quaternion
        )
        mass, mx, my, mz, xx, xy, xz, yy, yz, zz = row[layout.INERTIA : layout.INERTIA + 10].tolist()
        com = np.array([mx, my, mz]) / mass
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - mass * (
            com @ com * np.eye(3) - np.outer(com, com)
        )
        twin.mass, twin.ipos, twin.explicitinertial = mass, com, True
        twin.fullinertia = [moments[0, 0], moments[1, 1], moments[2, 2], moments[0, 1], moments[0, 2], moments[1, 2]]
        joint = model.joints[i]
        if isinstance(joint, lw.Free):
            twin.add_freejoint(name=model.joint_names[i])
            return twin
        name = model.joint_names[i]
        twin.add_joint(name=name, type=mj.mjtJoint.mjJNT_HINGE, axis=joint.axis, damping=joint.damping or 0.0)
        motor = self.scene.sim.view.joints.motor[model.v_slice(name)][0]
        if motor[:2].any():
            drive = spec.add_actuator(name=name, target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
            drive.gaintype, drive.biastype = mj.mjtGain.mjGAIN_FIXED, mj.mjtBias.mjBIAS_AFFINE
            drive.gainprm[0], drive.biasprm[1], drive.biasprm[2] = motor[0], -motor[0], -motor[1]
        return twin

    def _add_shape(self, body: Any, shape: Any, kind: int, touches: int) -> None:
        mj = self.mj
        T = shape.placement.matrix
        quaternion = np.empty(4)
        mj.mju_mat2Quat(quaternion, T[:3, :3].ravel().copy())
        sizes = {
            lw.Box: lambda s: (mj.mjtGeom.mjGEOM_BOX, [0.5 * x for x in s.size]),
            lw.Capsule: lambda s: (mj.mjtGeom.mjGEOM_CAPSULE, [s.radius, 0.5 * s.length, 0.0]),
            lw.Cylinder: lambda s: (mj.mjtGeom.mjGEOM_CYLINDER, [s.radius, 0.5 * s.length, 0.0]),
        }
        which, size = sizes[type(shape)](shape)
        body.add_geom(
            type=which, size=size, pos=T[:3, 3], quat=quaternion, friction=[self.friction, 0.0, 0.0], condim=3,
            contype=kind, conaffinity=touches,
        )  # fmt: skip

    def _coordinates(self, model: lw.Model, q: Any) -> Any:
        result = np.zeros(self.model.nq)
        for i in range(model.n_bodies):
            at = self.model.joint(model.joint_names[i]).qposadr[0]
            rows = model.q_slice(model.joint_names[i])
            result[at : at + rows.stop - rows.start] = q[rows]
        return result

    def _set_loads(self) -> None:
        """Targets of motors, and the springs of the scene as forces."""
        self.scene.set_loads(self.data.time + 0.5 * self.h)
        sim = self.scene.sim
        for k in range(self.model.nu):
            name = self.model.actuator(k).name
            self.data.ctrl[k] = sim.view.joints.motor[sim.model.v_slice(name).start, 2]
        self.data.xfrc_applied[:] = 0.0
        for acting in self.pulls:
            body = self.model.body(acting.action.body).id
            target = acting.action.base + np.array(acting.value)
            force = acting.action.stiffness * (target - self.data.xpos[body])
            self.data.xfrc_applied[body, :3] += force
            self.data.xfrc_applied[body, 3:] += np.cross(self.data.xpos[body] - self.data.xipos[body], force)

    def advance(self, steps: int, is_timed: bool = True) -> float:
        spent = 0.0
        for _ in range(steps):
            self._set_loads()
            start = time.thread_time()
            self.mj.mj_step(self.model, self.data)
            spent += time.thread_time() - start - CLOCK
        if is_timed:
            self.spent += spent
            self.steps += steps
        return spent

    def note(self) -> None:
        force = np.zeros(6)
        self.contacts = max(self.contacts, self.data.ncon)
        for k in range(self.data.ncon):
            self.deepest = max(self.deepest, -float(self.data.contact[k].dist))
            self.mj.mj_contactForce(self.model, self.data, k, force)
            if force[0] > 0.0:
                self.slip = max(self.slip, float(np.hypot(force[1], force[2])) / float(force[0]) - self.friction)

    @property
    def per_step(self) -> float:
        return self.spent / max(1, self.steps)
