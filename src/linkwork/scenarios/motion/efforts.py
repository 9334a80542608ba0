"""From a recorded motion to joint efforts and the ground's reaction (Stępień et al. 2012, first scenario).

Rooted where the recording has it, at the hips, inverse dynamics would hold the figure up by a force on the hips. Re-rooted
frame by frame to the supporting foot, the same calculation gives the force of the ground on that foot, and the legs carry
what they carry. With both feet on the ground only the sum of their reactions is known; it is given to the supporting one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.front import body_poses, center_of_mass, inverse_dynamics
from linkwork.dynamics.reroot import reroot
from linkwork.model.model import Model
from linkwork.scenarios.motion.smoothing import Trajectory, smooth_curve
from linkwork.scenarios.motion.support import Support, find_support


@dataclass(frozen=True, eq=False)
class MotionAnalysis:
    """What a motion takes.

    efforts: of the model's joints [N·m or N], shape (frames, nv); those of the root are what no joint or ground explains.
    reaction: force of the ground [N], world frame, shape (frames, 3).
    reaction_wrench: on the supporting foot, in its frame at its origin [N·m, N], shape (frames, 6).
    pressure: where on the ground the reaction acts without turning about level axes [m], shape (frames, 3).
    weight_and_push: mass·(a - g) of the centre of mass's own track [N], shape (frames, 3): a check from kinematics alone.
    """

    model: Model
    motion: Trajectory
    support: Support
    efforts: FloatArray
    reaction: FloatArray
    reaction_wrench: FloatArray
    pressure: FloatArray
    weight_and_push: FloatArray

    def effort(self, joint: str) -> FloatArray:
        """Efforts of one joint, shape (frames, degrees of freedom)."""
        return self.efforts[:, self.model.v_slice(joint)]


def analyse_motion(model: Model, motion: Trajectory, feet: tuple[str, str] | None = None) -> MotionAnalysis:
    """Joint efforts and ground reaction of every frame.

    model: a figure with a free root, as motion-capture files give it.
    feet: names of the left and right foot; found by their names if not given.
    """
    support = find_support(model, motion, feet)
    frames = len(motion.times)
    efforts, wrench = np.empty((frames, model.nv)), np.empty((frames, 6))
    reaction, pressure, center = np.empty((frames, 3)), np.empty((frames, 3)), np.empty((frames, 3))
    for t in range(frames):
        state, acceleration, foot = motion.state(t), motion.acceleration[t], support.name(t)
        rooted = reroot(model, state, foot, acceleration=acceleration)
        carried = inverse_dynamics(rooted.model, rooted.state, np.asarray(rooted.acceleration))
        i = model.body(foot)
        wrench[t] = carried[rooted.model.v_slice(rooted.model.body(foot))]
        external = np.zeros((model.n_bodies, 6))
        external[i] = wrench[t]
        efforts[t] = inverse_dynamics(model, state, acceleration, external)  # by the model's own joints
        T = body_poses(model, state)[i]
        reaction[t] = T[:3, :3] @ wrench[t, 3:]
        pressure[t] = center_of_pressure(T[:3, 3], T[:3, :3] @ wrench[t, :3], reaction[t], support.ground)
        center[t] = center_of_mass(model, model.state(motion.recorded[t]))
    frame_time = float(motion.times[1] - motion.times[0])
    # The same filter on the centre of mass of the recorded frames: no joint velocity or inertia enters.
    acceleration = smooth_curve(center, frame_time, motion.window, motion.degree)[2]
    push = float(model.mass.sum()) * (acceleration - model.gravity)
    return MotionAnalysis(model, motion, support, efforts, reaction, wrench, pressure, push)


def center_of_pressure(at: FloatArray, torque: FloatArray, force: FloatArray, ground: float) -> FloatArray:
    """The point of the level ground about which a wrench has no turning moment about level axes [m], shape (3,).

    The wrench is given at the point `at`; NaN when it does not press on the ground.
    """
    if force[2] <= 0.0:
        return np.full(3, np.nan)
    up = at[2] - ground
    x = at[0] - (torque[1] + up * force[0]) / force[2]
    y = at[1] - (up * force[1] - torque[0]) / force[2]
    return np.array([x, y, ground])
