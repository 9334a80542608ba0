"""Loops of other programs for the same poses of the same arm: Pinocchio's manual, pink and mink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

STEPS = 1000  # iterations of a loop at most, as in Pinocchio's manual
QP_STEPS = 200  # of loops that solve a quadratic program per step
ENOUGH = 1e-8
Loop = tuple[Callable[[], None], float]  # all poses once, and the part of them that is reached


def peers(linkage: lw.Linkage, cases: list[Any], limits: bool) -> dict[str, Loop]:
    """Those that are installed; cases are goals (4, 4), poses and starts."""
    found = {}
    makers = {"pink": pink_loop, "mink": mink_loop} if limits else {"pinocchio, log6 loop": pinocchio_loop}
    for name, make in makers.items():
        try:
            solve = make(linkage)
        except ImportError:
            continue

        def loop(solve: Callable[..., bool] = solve) -> None:
            for goal, _, start in cases:
                solve(start.q.copy(), goal)

        found[name] = loop, float(np.mean([solve(start.q.copy(), goal) for goal, _, start in cases]))
    return found


def pinocchio_arm(linkage: lw.Linkage) -> tuple[Any, Any, int]:
    import pinocchio as pin

    model = pin.Model()
    parent = 0
    for body in linkage:
        place = pin.SE3(body.placement.matrix)
        low, high = body.joint.limits
        wide = np.array([1e3])
        parent = model.addJoint(
            parent, pin.JointModelRZ(), place, body.name, wide, wide, np.array([low]), np.array([high])
        )
        model.addJointFrame(parent)
    return pin, model, parent


def pinocchio_loop(linkage: lw.Linkage) -> Callable[[np.ndarray, np.ndarray], bool]:
    """The loop of Pinocchio's manual: damped steps on log6 of the error, half a step at a time, without limits."""
    pin, model, tip = pinocchio_arm(linkage)
    data = model.createData()

    def solve(q: np.ndarray, goal: np.ndarray) -> bool:
        target = pin.SE3(goal)
        for _ in range(STEPS):
            pin.forwardKinematics(model, data, q)
            away = data.oMi[tip].actInv(target)
            e = pin.log(away).vector
            if np.linalg.norm(e) < ENOUGH:
                return True
            J = -pin.Jlog6(away.inverse()) @ pin.computeJointJacobian(model, data, q, tip)
            q = pin.integrate(model, q, -J.T @ np.linalg.solve(J @ J.T + 1e-8 * np.eye(6), e) * 0.5)
        return False

    return solve


def pink_loop(linkage: lw.Linkage) -> Callable[[np.ndarray, np.ndarray], bool]:
    """pink's `solve_ik` with a frame task and limits of joints, whole steps."""
    import pink
    import qpsolvers
    from pink.limits import ConfigurationLimit

    pin, model, tip = pinocchio_arm(linkage)
    data = model.createData()
    task = pink.FrameTask(model.names[tip], position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
    limit = ConfigurationLimit(model, config_limit_gain=1.0)
    solver = qpsolvers.available_solvers[0]

    def solve(q: np.ndarray, goal: np.ndarray) -> bool:
        configuration = pink.Configuration(model, data, q)
        task.set_target(pin.SE3(goal))
        for _ in range(QP_STEPS):
            if np.linalg.norm(task.compute_error(configuration)) < ENOUGH:
                return True
            try:
                v = pink.solve_ik(configuration, [task], 1.0, solver=solver, limits=[limit], safety_break=False)
            except Exception:  # a program it cannot solve: the loop has failed
                return False
            configuration.integrate_inplace(v, 1.0)
        return False

    return solve


def mink_loop(linkage: lw.Linkage) -> Callable[[np.ndarray, np.ndarray], bool]:
    """mink's `solve_ik` with a frame task and limits of joints, whole steps."""
    import tempfile
    from pathlib import Path

    import mink
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        linkage.to_mjcf(Path(folder) / "arm.xml")
        model = mujoco.MjModel.from_xml_path(str(Path(folder) / "arm.xml"))
    configuration = mink.Configuration(model)
    tip = list(linkage)[-1].name
    task = mink.FrameTask(tip, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
    limit = mink.ConfigurationLimit(model, gain=1.0)

    def solve(q: np.ndarray, goal: np.ndarray) -> bool:
        configuration.update(q)
        task.set_target(mink.SE3.from_matrix(goal))
        for _ in range(QP_STEPS):
            if np.linalg.norm(task.compute_error(configuration)) < ENOUGH:
                return True
            try:
                v = mink.solve_ik(configuration, [task], 1.0, solver="daqp", limits=[limit])
            except Exception:
                return False
            configuration.integrate_inplace(v, 1.0)
        return False

    return solve
