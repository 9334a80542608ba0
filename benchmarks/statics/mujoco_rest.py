"""MuJoCo's way to an equilibrium: the same model with dampers, stepped until it hardly moves."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

STEP = 5e-4  # [s] at 2 ms light links of a cable never come to rest
LONGEST = 8.0  # [s] of wall clock
DAMPINGS = (2e-3, 2e-2, 1e-1)  # [N·m·s] of every joint, tried in turn: which comes to rest first is not known before
STILL = 1e-6  # [rad/s] of the fastest joint: at rest


class Rest(NamedTuple):
    steps: int
    seconds: float
    points: np.ndarray  # (links, 3) origins of all links [m]
    still: bool


def _chain(links: int, size: float, mass: float, joint: str, gravity: float) -> str:
    """Links along x, one body inside the other, with a diagonal inertia as in `models`."""
    half, thin = size / 2, mass * (2 * 1e-3**2) / 12
    long = mass * (size**2 + 1e-3**2) / 12
    head = tail = ""
    for i in range(links):
        hinge = joint.format(i=i, axis="0 1 0" if i % 2 == 0 else "0 0 1", factor=2.0 if i == 0 else 1.0)
        head += (
            f'<body name="b{i}" pos="{0 if i == 0 else size} 0 0">{hinge}'
            f'<inertial pos="{half} 0 0" mass="{mass}" diaginertia="{thin} {long} {long}"/>'
        )
        tail += "</body>"
    return (
        f'<mujoco><compiler autolimits="true"/><option timestep="{STEP}" gravity="0 0 {-gravity}" integrator="implicit"/>'
        f'<size memory="200M"/><worldbody>{head}{tail}</worldbody></mujoco>'
    )


def hang(
    links: int, length: float, mass: float, gravity: float, force: tuple[float, float, float], damping: float
) -> Rest:
    """A cable of hinges with a force at its far end, let go from level."""
    joint = f'<joint type="hinge" axis="{{axis}}" damping="{damping}"/>'
    xml = _chain(links, length / links, mass / links, joint, gravity)
    return _run(xml, links, np.array(force), np.zeros(3), (length / links, 0.0, 0.0))


def left_unbalanced(
    links: int, length: float, mass: float, gravity: float, force: tuple[float, float, float], q: np.ndarray
) -> float:
    """Largest joint effort [N·m] that MuJoCo finds unbalanced in the same cable at coordinates q."""
    import mujoco

    joint = '<joint type="hinge" axis="{axis}"/>'
    model = mujoco.MjModel.from_xml_string(_chain(links, length / links, mass / links, joint, gravity))
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, f"b{links - 1}")
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ np.array([length / links, 0.0, 0.0])
    applied = np.zeros(model.nv)
    mujoco.mj_applyFT(model, data, np.array(force), np.zeros(3), point, body, applied)
    return float(np.abs(applied - data.qfrc_bias).max())


def bend(links: int, stiffness: float, moment: float, damping: float) -> Rest:
    """An elastic rod of unit length bent by a moment about y at its end."""
    joint = f'<joint type="hinge" axis="0 1 0" stiffness="{stiffness}" damping="{damping}"/>'
    xml = _chain(links, 1.0 / links, 1.0 / links, joint, 0.0)
    xml = xml.replace(
        f'stiffness="{stiffness}"', f'stiffness="{2 * stiffness}"', 1
    )  # half a cell before the first joint
    return _run(xml, links, np.zeros(3), np.array([0.0, moment, 0.0]), (0.0, 0.0, 0.0))


def _run(xml: str, links: int, force: np.ndarray, torque: np.ndarray, at: tuple[float, float, float]) -> Rest:
    import mujoco

    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, f"b{links - 1}")
    steps, start = 0, time.perf_counter()
    still = False
    while time.perf_counter() - start < LONGEST and not still:
        for _ in range(50):
            point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ np.array(at)
            data.qfrc_applied[:] = 0.0
            mujoco.mj_applyFT(model, data, force, torque, point, body, data.qfrc_applied)
            mujoco.mj_step(model, data)
        steps += 50
        still = bool(np.abs(data.qvel).max() < STILL)
    mujoco.mj_forward(model, data)
    first = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "b0")
    return Rest(steps, time.perf_counter() - start, data.xpos[first : first + links].copy(), still)
