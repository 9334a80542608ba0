"""Hands on bodies: simulations that can be held, firm settings of a hold, and what it feels by joint reactions."""

from __future__ import annotations

import numpy as np

import linkwork as lw

SIMULATIONS = {
    "full": lambda model, state: lw.FullDynamics(model, state),
    "adaptive": lambda model, state: lw.AdaptiveDynamics(model, state, tolerance=1e-2),
    "quasi_statics": lambda model, state: lw.QuasiStatics(model, lw.State(state.q, np.zeros(model.nv))),
}
PATIENT = 60.0  # [s]: a busy machine may not let go of what a test holds
FIRM = {
    "watchdog": PATIENT,
    "stiffness": 100.0,
    "damping": 1.5,
    "torque": 3.0,
    "torque_damping": 0.1,
    "force_limit": 1e6,
    "torque_limit": 1e6,
    "passive": False,  # what is felt is what the law says, whatever energy that gives
}


def at_point(wrench, R, point):
    """[torque; force] at a point of a body in world axes → at its origin in its frame."""
    f = R.T @ wrench[3:]
    return np.concatenate([R.T @ wrench[:3] + np.cross(point, f), f])


def felt_by_reactions(sim, grasps, others=None):
    """f_ext + Σ joint reactions of the first grasp's body, at the point held, world axes; from all reactions, O(n)."""
    model, state = sim.model, sim.state
    poses = lw.body_poses(model, state)
    wrenches = np.zeros((model.n_bodies, 6)) if others is None else others.copy()
    for grasp in grasps:
        wrenches[grasp.body] += at_point(grasp.wrench, poses[grasp.body, :3, :3], grasp.at)
    if model.loops:  # what the cut joints carry, as external wrenches on the open tree
        wrenches = lw.constrained_dynamics(model, state, wrenches=wrenches).wrenches
        model = model.without_loops
    f = lw.joint_reactions(model, state, wrenches=wrenches)
    held = grasps[0].body
    R = poses[held, :3, :3]
    total = f[held] + wrenches[held] - at_point(grasps[0].wrench, R, grasps[0].at)
    for child in np.flatnonzero(model.parent == held).tolist():
        T = np.linalg.inv(poses[held]) @ poses[child]
        force = T[:3, :3] @ f[child, 3:]
        total -= np.concatenate([T[:3, :3] @ f[child, :3] + np.cross(T[:3, 3], force), force])
    mass, *moment = model.arrays.body[held, 12:16].tolist()
    weight = R.T @ model.gravity
    total += np.concatenate([np.cross(moment, weight), mass * weight])
    return np.concatenate([R @ (total[:3] - np.cross(grasps[0].at, total[3:])), R @ total[3:]])
