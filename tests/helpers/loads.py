"""What acts on the bodies of a simulation, worked out by the plainest means."""

from __future__ import annotations

import copy

import numpy as np

import linkwork as lw
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE


def wrenches_of(sim: LinkageSimulation) -> np.ndarray:
    """All loads of a simulation as wrenches in the frames of their bodies, shape (n, 6)."""
    total = np.zeros((sim.model.n_bodies, 6))
    poses, table = lw.body_poses(sim.model, sim.state), sim.checkpoint()["load_table"]
    for load in sim.loads:
        for k, body in enumerate(load.bodies.tolist()):
            R, p = poses[body, :3, :3], poses[body, :3, 3]
            if load.is_fixed:
                at, f, torque = load.at[k], load.axes[k] @ load.force[k], load.axes[k] @ load.torque[k]
            else:
                row = table[load.rows[k]]
                at, force, turn, target = (row[c : c + 3] for c in (LOAD_AT, LOAD_FORCE, LOAD_TORQUE, LOAD_TARGET))
                pull = row[LOAD_STIFFNESS] * (target - p - R @ at) if row[LOAD_STIFFNESS] else np.zeros(3)
                f, torque = R.T @ (force + pull), R.T @ turn
            total[body] += np.concatenate([torque + np.cross(at, f), f])
    return total


def efforts_of(sim: LinkageSimulation) -> np.ndarray:
    """Given efforts and those of motors at the present state, shape (nv,)."""
    efforts = copy.deepcopy(sim).efforts  # before the first step: those that would act
    return efforts.given + efforts.motors
