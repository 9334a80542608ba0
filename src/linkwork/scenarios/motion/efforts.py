"""From a recorded motion to joint efforts and the ground's reaction (Stępień et al. 2012, first scenario).

Rooted where the recording has it, at the hips, inverse dynamics would hold the figure up by a force on the hips. Re-rooted
frame by frame to the supporting foot, the same calculation gives the force of the ground on that foot, and the legs carry
what they carry. With both feet on the ground only the sum of their reactions is known; `sharing` splits it smoothly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.api import inverse_dynamics
from linkwork.dynamics.quantities.motion import body_poses, center_of_mass
from linkwork.dynamics.quantities.reroot import reroot
from linkwork.model.model import Model
from linkwork.scenarios.motion.smoothing import Trajectory, smooth_curve
from linkwork.scenarios.motion.support import Support, find_support


@dataclass(frozen=True, eq=False)
class MotionAnalysis:
    """What a motion takes.

    efforts: of the model's joints [N·m or N], shape (frames, nv); those of the root are what no joint or ground explains.
    powers: efforts times velocities [W], shape (frames, nv).
    reaction: force of the ground on both feet [N], world frame, shape (frames, 3).
    reaction_wrench: all of it as if on the supporting foot, in its frame at its origin [N·m, N], shape (frames, 6).
    shares: parts of it that the left and the right foot take, shape (frames, 2).
    feet_forces: force of the ground on each foot [N], world frame, shape (frames, 2, 3).
    feet_wrenches: the same with moments, each in its foot's frame at its origin [N·m, N], shape (frames, 2, 6).
    pressure: where on the ground the whole reaction acts without turning about level axes [m], shape (frames, 3).
    weight_and_push: mass·(a - g) of the centre of mass's own track [N], shape (frames, 3): a check from kinematics alone.
    """

    model: Model
    motion: Trajectory
    support: Support
    efforts: FloatArray
    powers: FloatArray
    reaction: FloatArray
    reaction_wrench: FloatArray
    shares: FloatArray
    feet_forces: FloatArray
    feet_wrenches: FloatArray
    pressure: FloatArray
    weight_and_push: FloatArray

    def effort(self, joint: str) -> FloatArray:
        """Efforts of one joint, shape (frames, degrees of freedom)."""
        return self.efforts[:, self.model.v_slice(joint)]

    def power(self, joint: str) -> FloatArray:
        """What a joint's muscles do: the sum over its freedoms [W], shape (frames,)."""
        return self.powers[:, self.model.v_slice(joint)].sum(axis=1)


def analyse_motion(model: Model, motion: Trajectory, feet: tuple[str, str] | None = None) -> MotionAnalysis:
    """Joint efforts and ground reaction of every frame.

    model: a figure with a free root, as motion-capture files give it.
    feet: names of the left and right foot; found by their names if not given.
    """
    support = find_support(model, motion, feet)
    frames, weight = len(motion.times), float(model.mass.sum() * np.linalg.norm(model.gravity))
    frame_time = float(motion.times[1] - motion.times[0])
    wrench, reaction, pressure = np.empty((frames, 6)), np.empty((frames, 3)), np.empty((frames, 3))
    center, feet_poses = np.empty((frames, 3)), np.empty((frames, 2, 4, 4))
    for t in range(frames):
        state, foot = motion.state(t), support.name(t)
        rooted = reroot(model, state, foot, acceleration=motion.acceleration[t])
        carried = inverse_dynamics(rooted.model, rooted.state, np.asarray(rooted.acceleration))
        wrench[t] = carried[rooted.model.v_slice(rooted.model.body(foot))]
        feet_poses[t] = body_poses(model, state)[[model.body(name) for name in support.feet]]
        T = feet_poses[t, support.which[t]]
        reaction[t] = T[:3, :3] @ wrench[t, 3:]
        pressure[t] = center_of_pressure(T[:3, 3], T[:3, :3] @ wrench[t, :3], reaction[t], support.ground)
        center[t] = center_of_mass(model, model.state(motion.recorded[t]))
    shares, place = shares_of_feet(support, pressure, frame_time)
    efforts, forces, wrenches = np.empty((frames, model.nv)), np.empty((frames, 2, 3)), np.empty((frames, 2, 6))
    for t in range(frames):
        T = feet_poses[t, support.which[t]]
        moment = T[:3, :3] @ wrench[t, :3] + np.cross(T[:3, 3], reaction[t])  # about the world's origin
        external = np.zeros((model.n_bodies, 6))
        for k, part in enumerate(split_wrench(shares[t], place[t], moment, reaction[t], weight)):
            R, x = feet_poses[t, k, :3, :3], feet_poses[t, k, :3, 3]
            forces[t, k] = part[3:]
            wrenches[t, k] = np.concatenate([R.T @ (part[:3] - np.cross(x, part[3:])), R.T @ part[3:]])
            external[model.body(support.feet[k])] += wrenches[t, k]
        efforts[t] = inverse_dynamics(model, motion.state(t), motion.acceleration[t], external)  # by its own joints
    # The same filter on the centre of mass of the recorded frames: no joint velocity or inertia enters.
    acceleration = smooth_curve(center, frame_time, motion.window, motion.degree)[2]
    push = float(model.mass.sum()) * (acceleration - model.gravity)
    return MotionAnalysis(
        model, motion, support, efforts, efforts * motion.v, reaction, wrench, shares, forces, wrenches, pressure, push
    )


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


# ------------------------------------------------------------------------------------------------------------- two feet

# How two feet share the reaction of the ground, which inverse dynamics gives only in sum.
#
# With both feet down the problem is indeterminate. The split here is smooth in place and time, so that no joint
# effort jumps when a foot lands or leaves:
#
#     c_k   contact of foot k, from 1 (low and slow) to 0 (high or fast), smoothed over 20 ms
#     a_k   the point of foot k, from heel to tip, nearest to the centre of pressure P of the whole reaction
#     d_k   the distance from there to P
#     s_k   ~ c_k / d_k                                                        the share, in sum one
#     f_k   = s_k F,    n_k = s_k N + s_k (a_k - Σ s a) × F                    wrench of foot k
#
# (F, N) is the whole reaction. While P lies under a foot, that foot carries all; between the feet they share as a
# beam on two props would, the rear foot at its tip, the front one at its heel. So a share begins and ends at zero.
# The last term lets each share act at its own foot; it cancels in sum, and fades out where the ground hardly pushes.


DOWN, OFF = 0.1, 0.25  # [m] heights, with 0.1 s of speed added, between which a foot's contact fades from 1 to 0
BLUR = 0.02  # [s] standard deviation over which contact is smoothed: a few frames of a usual recording
NEAR = 0.01  # [m] distances below this count as none: the share of the other foot goes smoothly to zero
PUSHING = (0.05, 0.25)  # parts of the weight between which shares begin to act at their own feet


def smooth_step(x: FloatArray) -> FloatArray:
    """0 below 0, 1 above 1, with level ends between."""
    t = np.clip(x, 0.0, 1.0)
    return np.asarray(t * t * (3.0 - 2.0 * t))


def shares_of_feet(support: Support, pressure: FloatArray, frame_time: float) -> tuple[FloatArray, FloatArray]:
    """s of both feet, shape (frames, 2), summing to one, and where they act, a, shape (frames, 2, 3) [m].

    pressure: centre of pressure of the whole reaction [m], shape (frames, 3), NaN where the ground does not push.
    """
    contact = _blurred(1.0 - smooth_step((support.lift - DOWN) / (OFF - DOWN)), frame_time)
    heel, along = support.soles[:, :, 0], support.soles[:, :, 1] - support.soles[:, :, 0]
    known = np.where(np.isnan(pressure), support.soles.mean(axis=(1, 2)), pressure)[:, None]
    part = ((known - heel) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-12)
    place = heel + np.clip(part, 0.0, 1.0)[:, :, None] * along
    away = np.linalg.norm((known - place)[:, :, :2], axis=2)
    away = away * away / (away + NEAR)  # level at zero, so that shares end without a kink
    weight = contact * (away[:, ::-1] + 1e-9)
    lost = contact.sum(axis=1) < 1e-3  # nobody is down: the nearer foot, so that what is left of a reaction has a place
    weight[lost] = away[lost, ::-1] + 1e-9
    return weight / weight.sum(axis=1, keepdims=True), place


def _blurred(values: FloatArray, frame_time: float) -> FloatArray:
    """Each column smoothed by a Gauss curve of BLUR, ends continued."""
    half = max(1, round(3.0 * BLUR / frame_time))
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) * frame_time / BLUR) ** 2)
    padded = np.pad(values, ((half, half), (0, 0)), mode="edge")
    columns = [np.convolve(column, kernel / kernel.sum(), mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)


def split_wrench(
    share: FloatArray, place: FloatArray, moment: FloatArray, force: FloatArray, weight: float
) -> FloatArray:
    """Wrenches [n; f] of both feet about the world's origin, shape (2, 6), whose sum is (moment, force).

    share: (2,); place: of the feet on the ground, shape (2, 3) [m]; weight: of the figure [N].
    """
    low, high = PUSHING
    fade = float(smooth_step(np.array((force[2] / weight - low) / (high - low))))
    middle = share @ place
    own = [fade * s * np.cross(a - middle, force) for s, a in zip(share, place, strict=True)]
    return np.array([np.concatenate([s * moment + extra, s * force]) for s, extra in zip(share, own, strict=True)])
