"""MuJoCo's multi-threaded rollout of the figure of hinges: its fastest way through many samples on the CPU."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model import layout

STEPS = 20  # of one rollout


class MujocoRollout:
    """Many samples of one model of hinges, with or without a floating base, moved on by STEPS steps in all cores."""

    def __init__(self, model: lw.Model, q: np.ndarray, v: np.ndarray, h: float):
        import mujoco
        from mujoco import rollout

        self._compiled = _twin(mujoco, model)
        self._compiled.opt.timestep = h
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._datas = [mujoco.MjData(self._compiled) for _ in range(threads)]
        self._rollout, self._mujoco = rollout, mujoco
        size = mujoco.mj_stateSize(self._compiled, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self._states = np.zeros((len(q), size))
        self._states[:, 1 : 1 + q.shape[1]] = q  # after the time; velocities of the base are near enough for timing
        self._states[:, 1 + q.shape[1] : 1 + q.shape[1] + v.shape[1]] = v

    def __call__(self) -> None:
        self._rollout.rollout(self._compiled, self._datas, self._states, nstep=STEPS)

    def acceleration(self, q: np.ndarray) -> np.ndarray:
        """At rest, in Linkwork's order; a floating base must be unturned."""
        data = self._datas[0]
        data.qpos[:], data.qvel[:] = q, 0.0
        self._mujoco.mj_forward(self._compiled, data)
        found = np.array(data.qacc)
        if self._compiled.nq != self._compiled.nv:  # a free joint: Linkwork has the angular part first
            found[:6] = np.concatenate([found[3:6], found[:3]])
        return found


def _twin(mujoco: Any, model: lw.Model) -> Any:
    spec = mujoco.MjSpec()
    spec.option.gravity = list(model.gravity)
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    twins: list[Any] = []
    for i, joint in enumerate(model.joints):
        row = model.arrays.body[i]
        m, mx, my, mz, xx, xy, xz, yy, yz, zz = row[layout.INERTIA : layout.INERTIA + 10].tolist()
        com = np.array([mx, my, mz]) / m
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (com @ com * np.eye(3) - np.outer(com, com))
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, row[layout.ROTATION : layout.ROTATION + 9].copy())
        parent = twins[int(model.parent[i])] if model.parent[i] >= 0 else spec.worldbody
        twin = parent.add_body(
            name=model.body_names[i], pos=row[layout.POSITION : layout.POSITION + 3].copy(), quat=quaternion
        )
        twin.mass, twin.ipos, twin.explicitinertial = m, com, True
        twin.fullinertia = [about[0, 0], about[1, 1], about[2, 2], about[0, 1], about[0, 2], about[1, 2]]
        if isinstance(joint, lw.Free):
            twin.add_freejoint()
        else:
            twin.add_joint(name=model.body_names[i], type=mujoco.mjtJoint.mjJNT_HINGE, axis=joint.axis)
        twins.append(twin)
    return spec.compile()
