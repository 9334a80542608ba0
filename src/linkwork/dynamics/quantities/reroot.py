"""Re-rooting on the fly: any body of a model takes over the connection to the world, and the motion goes on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import flag, shown
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_body, as_finite, as_state
from linkwork.dynamics.quantities.motion import Energy, energy, momentum
from linkwork.dynamics.quantities.plastic_impact import plastic_velocities
from linkwork.errors import ModelError, StateError
from linkwork.model.joints import Free, Joint
from linkwork.model.model import Model
from linkwork.model.rerooting.path_motion import path_motion
from linkwork.model.rerooting.reroot import RerootedModel, Root, chain_of_inversion, reroot_model
from linkwork.model.rerooting.reversal import moved
from linkwork.model.rerooting.root_joint import Nearest, joint_bias, nearest_coordinates, nearest_velocity
from linkwork.model.state import State
from linkwork.spatial.pose import Pose

# What a joint may miss of pose, twist and acceleration, relative to their sizes: far above the rounding of a long chain of
# poses (some 1e-13), far below anything a simulation notices.
TOLERANCE = 1e-9
FARTHEST = 1e-6  # of a metre and of where the body stands, that a far joint may lose of its position


@tabled
class ImpactLoss(NamedTuple):
    """Velocity, momentum and energy that the new joint on the world could not carry over."""

    angle: float  # [rad] between the pose before and after
    distance: float  # [m]
    angular_velocity: float  # [rad/s] of the root body, what the joint cannot follow
    velocity: float  # [m/s]
    kinetic_energy: float  # [J] never negative but for rounding
    potential_energy: float  # [J]
    linear_momentum: FloatArray  # [kg·m/s] world frame, shape (3,)
    angular_momentum: FloatArray  # [kg·m²/s] about the joint's place in the world, shape (3,)


NOTHING_LOST = ImpactLoss(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(3), np.zeros(3))


class _Pair(NamedTuple):
    model: Model
    state: State


@tabled
class Rerooted(_Pair):
    """The re-rooted model and its state: `model, state = lw.reroot(...)`. Beside them:

    acceleration: joint accelerations in the new order, shape (nv,), if they were given; else None.
    old_index: index each body had before, shape (n,): wrenches of shape (n, 6) become `wrenches[old_index]`.
    loss: what a projection took away; zeros without one.
    """

    acceleration: FloatArray | None
    old_index: IntArray
    loss: ImpactLoss

    @classmethod
    def of(cls, rerooted: RerootedModel, loss: ImpactLoss) -> Rerooted:
        made = cls(rerooted.model, rerooted.state)
        made.acceleration, made.old_index, made.loss = rerooted.acceleration, rerooted.old_index, loss
        return made


def reroot(
    model: Model,
    state: State,
    body: str | int | None = None,
    at: ArrayLike | Pose | None = None,
    joint: Joint | None = None,
    *,
    acceleration: ArrayLike | None = None,
    project: bool = False,
    near: ArrayLike | None = None,
    joint_name: str | None = None,
) -> Rerooted:
    """The same mechanism in the same motion, hung from the world at another body.

    body: the new root, by name or index; the name of a frame means the body that carries it.
    at: where it hangs. A point of the world [m]: the joint stands there, with the axes the body has in the neutral
        configuration. A Pose: the joint's placement, as for `add_body`. None: in the body's frame where it is now.
    joint: what it hangs from, a Free joint by default.
    acceleration: joint accelerations to carry over, shape (nv,).
    project: if the joint cannot follow the body's pose or velocity, take the nearest state instead of refusing: the
        coordinates nearest to the pose, and the velocities after a plastic impact, which keep the momentum along every
        freedom that is left. What went is in `loss`.
    near: coordinates of the joint, shape (nq of the joint,), near which to look where several give the same pose: whole
        turns of a hinge, say. By default hinges are taken within half a turn of zero.
    joint_name: of the new connection; by default it takes the name of the one it replaces.
    Bodies keep their names, frames, inertias and shapes; joints between them their names, limits, springs and dampers.
    Cost: O(chain between the two roots) and one copy of the model's arrays. Theory: docs/theory/rerooting.md.
    """
    q, v = as_state(model, state)
    qdd = None if acceleration is None else as_finite(acceleration, (model.nv,), "acceleration", model)
    chain = chain_of_inversion(model, _index(model, body))
    pose, neutral, twist, spatial = _motion(model, q, v, np.zeros(model.nv) if qdd is None else qdd, chain)
    if joint_name is not None and not isinstance(joint_name, str):
        raise ModelError(f"joint_name must be a text, not {shown(joint_name)}.")
    root_joint = _checked(joint, model)
    placed, placement, place = _placed(root_joint, at, pose, neutral)
    _refuse_far(placement, place, pose)
    guess = None if near is None else as_finite(near, (root_joint.nq,), "near", model)
    coordinates = nearest_coordinates(placed, placement.inverse() @ pose, guess)
    velocity = nearest_velocity(placed, coordinates.value, twist)
    if not flag(project, "project") or not _misses(coordinates, velocity, pose, twist):
        _refuse_misfit(model, chain, root_joint, coordinates, velocity, pose, twist)
        rate = spatial - joint_bias(placed, coordinates.value, velocity.value)
        turning = nearest_velocity(placed, coordinates.value, rate)
        if qdd is not None:
            _refuse_acceleration(model, chain, root_joint, turning, spatial)
        root = Root(placed, placement, coordinates.value, velocity.value, turning.value)
        return Rerooted.of(reroot_model(model, State(q, v), chain, root, qdd, joint_name), NOTHING_LOST)
    if qdd is not None:
        raise StateError("accelerations have no meaning across an impact; leave acceleration out, or project.")
    if model.is_constrained:
        raise StateError(
            f"model '{model.name}' has closed loops, which an impact would strain: project=True knows trees only. Give a "
            "joint that follows the body, or open the loops."
        )
    free = nearest_coordinates(Free(), placement.inverse() @ pose).value
    freed = Root(Free(), placement, free, twist, np.zeros(6))
    root = Root(placed, placement, coordinates.value, velocity.value, np.zeros(placed.nv))
    before, after = _caught(model, State(q, v), chain, freed, root, joint_name)
    return Rerooted.of(after, _loss(before, after, coordinates, velocity, place))


def _caught(
    model: Model, state: State, chain: IntArray, free: Root, root: Root, joint_name: str | None
) -> tuple[RerootedModel, RerootedModel]:
    """The model on a free joint, and after the impact by which the joint of `root` catches it."""
    before = reroot_model(model, state, chain, free, None, joint_name)
    rerooted = reroot_model(model, state, chain, root, None, joint_name)
    v = plastic_velocities(before, rerooted, root)
    return before, rerooted._replace(state=State(rerooted.state.q, v))


def _loss(
    before: RerootedModel, after: RerootedModel, coordinates: Nearest, velocity: Nearest, about: FloatArray
) -> ImpactLoss:
    old: Energy = energy(before.model, before.state)
    new: Energy = energy(after.model, after.state)
    h0, h1 = momentum(before.model, before.state, about), momentum(after.model, after.state, about)
    return ImpactLoss(
        coordinates.angular,
        coordinates.linear,
        velocity.angular,
        velocity.linear,
        old.kinetic - new.kinetic,
        old.potential - new.potential,
        h0.linear - h1.linear,
        h0.angular - h1.angular,
    )


# ------------------------------------------------------------------------------------------------------------------ doors


def _index(model: Model, body: str | int | None) -> int:
    index = as_body(model, body, world=True)
    if index < 0:
        what = f"'{body}' stands on the ground and" if isinstance(body, str) else "body -1 does not exist and"
        raise ModelError(f"{what} cannot be the root; choose a body that moves.")
    return index


def _checked(joint: Joint | None, model: Model) -> Joint:
    if joint is None:
        return Free()
    if not isinstance(joint, Joint):
        raise ModelError(f"joint must be a joint such as lw.Revolute((0, 0, 1)), not {joint!r}.")
    faults = joint.faults()
    if faults:
        raise ModelError(f"model '{model.name}' cannot hang from this {type(joint).__name__} joint:", faults)
    return joint


def _motion(
    model: Model, q: FloatArray, v: FloatArray, a: FloatArray, chain: IntArray
) -> tuple[Pose, Pose, FloatArray, FloatArray]:
    """Pose, neutral pose, twist and spatial acceleration of the new root."""
    tree, body, screws, *_ = model.arrays
    pose, neutral, twist, spatial = path_motion(tree, body, screws, q, v, a, chain[::-1].copy())
    if not (np.isfinite(pose).all() and np.isfinite(twist).all() and np.isfinite(spatial).all()):
        raise StateError(f"state of model '{model.name}' has a number that is not finite; nothing was re-rooted.")
    return _as_pose(pose), _as_pose(neutral), twist, spatial


def _as_pose(numbers: FloatArray) -> Pose:
    flat = numbers.tolist()
    return Pose.raw(tuple(flat[:9]), tuple(flat[9:]))


def _placed(joint: Joint, at: ArrayLike | Pose | None, pose: Pose, neutral: Pose) -> tuple[Joint, Pose, FloatArray]:
    """The joint in the body's own frame, the placement of its zero frame in the world, and where it was asked for."""
    if at is None or isinstance(at, Pose):
        placement = pose if at is None else at
        return joint, placement, np.array(placement.xyz)
    try:
        point = np.array(at, dtype=float)
    except (TypeError, ValueError, OverflowError):
        point = np.zeros(0)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise StateError(f"at must be three finite numbers [m] or a Pose, not {at!r}.")
    on_body = pose.inverse().apply(point.tolist())  # where the joint sits on the body
    shift = point - neutral.rotate(on_body)
    return moved(joint, Pose(on_body)), Pose.raw(neutral.rotation, tuple(shift.tolist())), point


def _refuse_far(placement: Pose, place: FloatArray, pose: Pose) -> None:
    """Refuses a joint so far away that the position of the body behind it would be lost in rounding."""
    lost = np.finfo(float).eps * max(np.abs(placement.xyz).max(), np.abs(place).max())
    if not lost <= FARTHEST * (1.0 + np.abs(pose.xyz).max()):
        raise StateError(
            f"at lies {np.abs(place).max():.3g} m away: the position of the body would be lost by {lost:.3g} m in "
            "rounding. Give a place nearer to it."
        )


def _misses(coordinates: Nearest, velocity: Nearest, pose: Pose, twist: FloatArray) -> bool:
    reach, speed = 1.0 + np.abs(pose.xyz).max(), 1.0 + np.abs(twist).max()
    return not (
        max(coordinates.angular, coordinates.linear / reach) <= TOLERANCE
        and max(velocity.angular, velocity.linear) <= TOLERANCE * speed
    )


def _refuse_misfit(
    model: Model,
    chain: IntArray,
    joint: Joint,
    coordinates: Nearest,
    velocity: Nearest,
    pose: Pose,
    twist: FloatArray,
) -> None:
    if _misses(coordinates, velocity, pose, twist):
        raise StateError(
            f"body '{model.body_names[chain[0]]}' cannot hang from a {type(joint).__name__} joint as it stands and moves: "
            f"its pose would be lost by {coordinates.angular:.3g} rad and {coordinates.linear:.3g} m, its velocity by "
            f"{velocity.angular:.3g} rad/s and {velocity.linear:.3g} m/s. Give a joint with more freedom or another place "
            "(at=), or take the nearest state with project=True."
        )


def _refuse_acceleration(model: Model, chain: IntArray, joint: Joint, rate: Nearest, spatial: FloatArray) -> None:
    scale = 1.0 + float(np.abs(spatial).max())
    if not max(rate.angular, rate.linear) <= TOLERANCE * scale:
        raise StateError(
            f"body '{model.body_names[chain[0]]}' accelerates as a {type(joint).__name__} joint cannot: "
            f"{rate.angular:.3g} rad/s² and {rate.linear:.3g} m/s² would be lost. Give a Free joint, or no accelerations."
        )
