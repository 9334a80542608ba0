"""From the bones of a motion-capture file to a Linkage whose bodies weigh something."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import FormatError
from linkwork.importers.mocap.body_segments import bone_masses
from linkwork.importers.report import Report
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint, Spherical
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Capsule, Sphere
from linkwork.spatial.pose import Pose

DENSITY = 1000.0  # [kg/m³] of the rods that stand for flesh and bone
STUB = 0.01  # [m] a bone shorter than this is a ball
LIVING = (0.9, 2.6)  # [m] heights of people
POSES_TRIED = 40  # of a recording, to see how tall the figure is


@dataclass
class Bone:
    """One bone of a skeleton, in the file's units until it is built."""

    name: str
    parent: str
    offset: FloatArray  # of its joint in the parent's frame, shape (3,)
    joint: Joint
    line: int
    ends: list[FloatArray] = field(default_factory=list)  # where its children and end sites are, in its own frame


def build_figure(
    bones: list[Bone],
    name: str,
    unit: float,
    upright: Pose,
    mass: float,
    masses: Mapping[str, float] | None,
    report: Report,
) -> Linkage:
    """A linkage of solid rods along the bones.

    unit: metres in one unit of the file; upright: turns the file's axes so that z is up.
    """
    tips = {bone.name: unit * np.mean(bone.ends, axis=0) if bone.ends else np.zeros(3) for bone in bones}
    lengths = {name: float(np.linalg.norm(tip)) for name, tip in tips.items()}
    weights, unknown = bone_masses(lengths, mass, masses)
    for bone in bones:
        if bone.name in unknown:
            report.note(
                bone.line, f"bone '{bone.name}'", "no part of a body by its name; its mass is a guess (masses=)",
                group="unknown bones",
            )  # fmt: skip
    figure = Linkage(name)
    for bone in bones:
        inertia, shape = _rod(weights[bone.name], tips[bone.name])
        placement = Pose(unit * bone.offset)
        if bone.parent == "world":
            placement = upright @ placement
        figure.add_body(
            bone.name, bone.parent, bone.joint, placement, inertia, shapes=(shape,), source=report.where(bone.line)
        )
    return figure


def positive_number(value: object, path: object, what: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise FormatError(f"{path}: {what} is {value!r}; it must be a finite number > 0.")
    return number


Recorded = Mapping[str, tuple[FloatArray, FloatArray]]  # positions (frames, 3) and turns or quaternions by bone


def guessed_unit(
    bones: list[Bone], upright: Pose, units: Mapping[str, float], recorded: Recorded, report: Report
) -> float:
    """Metres in a unit of the file: the first of `units` that makes the figure as tall as people are.

    Its height comes from the recorded motion: bones of a skeleton may all lie along one axis until they move. The pose of
    the skeleton itself is asked when nobody stands upright in the whole recording.
    """
    tallest = recorded_height(bones, upright, recorded)
    for height in (tallest, standing_height(bones, upright)):
        for name, unit in units.items():
            if LIVING[0] <= height * unit <= LIVING[1]:
                report.note(
                    0, "lengths", f"read as {name}; the figure is {height * unit:.2f} m tall (unit= says otherwise)"
                )
                return unit
    tried = ", ".join(units)
    report.fault(
        0,
        f"the figure is {tallest:.4g} units tall, and none of {tried} makes that the height of a person; "
        "say how many metres a unit has with unit=.",
    )
    report.raise_faults()
    return math.nan


def recorded_height(bones: list[Bone], upright: Pose, recorded: Recorded) -> float:
    """Height of the figure in the frames in which it stands, in the file's units: all but the highest twentieth."""
    frames = max((len(positions) for positions, _ in recorded.values()), default=0)
    chosen: list[int] = sorted({int(x) for x in np.linspace(0, frames - 1, min(frames, POSES_TRIED))}) if frames else []
    extents = []
    for k in chosen:
        place: dict[str, Pose] = {"world": Pose()}
        heights: list[float] = []
        for bone in bones:
            here = place[bone.parent] @ _recorded_pose(bone, recorded[bone.name], k)
            place[bone.name] = here
            heights += [upright.rotate(here.apply(end.tolist()))[2] for end in (np.zeros(3), *bone.ends)]
        extents.append(max(heights) - min(heights))
    return float(np.quantile(extents, 0.95)) if extents else 0.0


def _recorded_pose(bone: Bone, found: tuple[FloatArray, FloatArray], k: int) -> Pose:
    """Pose of a bone in its parent at frame k, in the file's units."""
    positions, turns = found
    offset = positions[k] if isinstance(bone.joint, Free) else bone.offset
    if isinstance(bone.joint, Free | Spherical):
        return Pose(offset, quaternion=turns[k])
    pose = Pose(offset)
    for screw, angle in zip(bone.joint.screws, turns[k] if turns.size else (), strict=False):
        half = 0.5 * float(angle)
        pose = pose @ Pose(quaternion=(math.cos(half), *(math.sin(half) * a for a in screw.axis)))
    return pose


def standing_height(bones: list[Bone], upright: Pose) -> float:
    """Height of the figure in its neutral configuration, in the file's units."""
    place: dict[str, FloatArray] = {"world": np.zeros(3)}
    heights = []
    for bone in bones:
        place[bone.name] = place[bone.parent] + bone.offset
        heights += [*(upright.rotate((place[bone.name] + e).tolist())[2] for e in [np.zeros(3), *bone.ends])]
    return max(heights) - min(heights) if heights else 0.0


def _rod(mass: float, tip: FloatArray) -> tuple[Inertia, Capsule | Sphere]:
    """A solid rod from the joint to `tip`, as thick as its mass says."""
    length = float(np.linalg.norm(tip))
    if length < STUB:
        radius = (3.0 * mass / (4.0 * math.pi * DENSITY)) ** (1.0 / 3.0)
        return Inertia.sphere(mass, radius), Sphere(radius)
    radius = min(math.sqrt(mass / (DENSITY * math.pi * length)), length)
    along = Pose(0.5 * tip, matrix=_z_to(tip / length))
    return Inertia.cylinder(mass, radius, length).at(along), Capsule(0.5 * radius, length, placement=along)


def _z_to(direction: FloatArray) -> FloatArray:
    """A rotation that takes z to a direction, shape (3, 3)."""
    other = np.eye(3)[int(np.argmin(np.abs(direction)))]
    x = np.cross(other, direction)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(direction, x), direction], axis=1)


# ---------------------------------------------------------------------------------------------------------------- motion


def euler_quaternions(axes: str, degrees: FloatArray) -> FloatArray:
    """Orientations of turns about moving axes, one after the other, shape (frames, 4).

    axes: such as "zyx"; degrees: shape (frames, len(axes)). Signs are chosen so that neighbouring frames are neighbours.
    """
    q = np.zeros((len(degrees), 4))
    q[:, 0] = 1.0
    for axis, column in zip(axes, degrees.T, strict=True):
        half = np.radians(column) / 2.0
        turn = np.zeros_like(q)
        turn[:, 0], turn[:, 1 + "xyz".index(axis)] = np.cos(half), np.sin(half)
        q = quaternion_products(q, turn)
    flips = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=1) < 0.0, -1.0, 1.0))
    q[1:] *= flips[:, None]
    return q


def quaternion_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """a b for rows (w, x, y, z)."""
    w = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    xyz = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w[:, None], xyz], axis=1)
