"""A human-like figure with a floating base.

Masses of the segments: P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomechanics
29(9), 1996, table 4, men. Lengths: R. Drillis and R. Contini, "Body segment parameters" (1966), as fractions of the
height. Moments are those of the capsules, boxes and balls that are drawn.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint, Revolute, Spherical, Universal
from linkwork.model.library.parts import positive, shifted, yes_or_no
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box, Capsule, Shape, Sphere
from linkwork.spatial.pose import Vector3

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Fractions of the height (Drillis and Contini).
HIP_HEIGHT, SHOULDER_HEIGHT = 0.530, 0.818
HIP_HALF_WIDTH, SHOULDER_HALF_WIDTH = 0.0955, 0.129
THIGH, SHANK, FOOT_HEIGHT, FOOT_LENGTH = 0.245, 0.246, 0.039, 0.152
UPPER_ARM, FOREARM, HAND = 0.186, 0.146, 0.108
TRUNK = SHOULDER_HEIGHT - HIP_HEIGHT
LOWER_TRUNK, MIDDLE_TRUNK, UPPER_TRUNK = 0.25 * TRUNK, 0.36 * TRUNK, 0.39 * TRUNK
HEAD = 1.0 - SHOULDER_HEIGHT


class _Segment(NamedTuple):
    name: str
    parent: str
    joint: Joint
    at: Vector3  # the joint in the parent's frame, fractions of the height
    mass: float  # fraction of the body's mass
    form: str  # "capsule" along z, "box" or "ball"
    size: Vector3  # capsule: radius, length between the half balls; box: edges; ball: radius (fractions of the height)
    middle: Vector3  # centre of the form in the segment's frame, fractions of the height


def _limbs(side: str, sign: float) -> list[_Segment]:
    """An arm and a leg. x points forward, y to the left, z up; arms and legs hang along -z."""

    def down(length: float) -> Vector3:
        return (0.0, 0.0, -length)

    shoulder = (0.0, sign * SHOULDER_HALF_WIDTH, 0.85 * UPPER_TRUNK)
    hip = (0.0, sign * 0.55 * HIP_HALF_WIDTH, 0.0)
    foot_middle = (0.3 * FOOT_LENGTH, 0.0, -0.5 * FOOT_HEIGHT)
    return [
        _Segment(f"{side}_upper_arm", "chest", Spherical(), shoulder, 0.0271, "capsule",
                 (0.024, UPPER_ARM - 0.048, 0.0), down(0.5 * UPPER_ARM)),
        _Segment(f"{side}_forearm", f"{side}_upper_arm", Universal(Y, Z, limits=((-2.6, 0.0), (-1.5, 1.5))),
                 down(UPPER_ARM), 0.0162, "capsule", (0.019, FOREARM - 0.038, 0.0), down(0.5 * FOREARM)),
        _Segment(f"{side}_hand", f"{side}_forearm", Universal(X, Y, limits=((-0.5, 0.5), (-1.2, 1.2))),
                 down(FOREARM), 0.0061, "box", (0.022, 0.05, 0.8 * HAND), down(0.45 * HAND)),
        _Segment(f"{side}_thigh", "pelvis", Spherical(), hip, 0.1416, "capsule",
                 (0.04, THIGH - 0.08, 0.0), down(0.5 * THIGH)),
        _Segment(f"{side}_shank", f"{side}_thigh", Revolute(Y, limits=(0.0, 2.6)), down(THIGH), 0.0433, "capsule",
                 (0.028, SHANK - 0.056, 0.0), down(0.5 * SHANK)),
        _Segment(f"{side}_foot", f"{side}_shank", Universal(Y, X, limits=((-0.9, 0.5), (-0.4, 0.4))), down(SHANK),
                 0.0137, "box", (FOOT_LENGTH, 0.055, FOOT_HEIGHT), foot_middle),
    ]  # fmt: skip


SEGMENTS = [
    _Segment("pelvis", "world", Free(), (0.0, 0.0, HIP_HEIGHT), 0.1117, "box", (0.11, 0.17, LOWER_TRUNK),
             (0.0, 0.0, 0.5 * LOWER_TRUNK)),
    _Segment("abdomen", "pelvis", Spherical(), (0.0, 0.0, LOWER_TRUNK), 0.1633, "box", (0.11, 0.15, MIDDLE_TRUNK),
             (0.0, 0.0, 0.5 * MIDDLE_TRUNK)),
    _Segment("chest", "abdomen", Spherical(), (0.0, 0.0, MIDDLE_TRUNK), 0.1596, "box", (0.12, 0.2, UPPER_TRUNK),
             (0.0, 0.0, 0.5 * UPPER_TRUNK)),
    _Segment("head", "chest", Spherical(), (0.0, 0.0, UPPER_TRUNK), 0.0694, "ball", (0.065, 0.0, 0.0),
             (0.0, 0.0, HEAD - 0.065)),
    *_limbs("left", 1.0),
    *_limbs("right", -1.0),
]  # fmt: skip


def humanoid(height: float = 1.75, mass: float = 75.0, floating: bool = True) -> Linkage:
    """A standing figure of 16 segments with 41 degrees of freedom.

    height [m] and mass [kg] of the whole body. x points forward, y to the left, z up; the soles stand on z = 0.
    The pelvis has 6 freedoms; waist, chest, neck, shoulders and hips 3 each (balls); elbows, wrists and ankles 2; knees 1.
    floating: the pelvis moves freely, or stands on a ball joint.
    """
    h, m = positive(height, "height", "humanoid"), positive(mass, "mass", "humanoid")
    linkage = Linkage("humanoid")
    for segment in SEGMENTS:
        joint = Spherical() if segment.parent == "world" and not yes_or_no(floating, "floating") else segment.joint
        inertia, shape = _solid(segment, h, m)
        linkage.add_body(segment.name, segment.parent, joint, shifted(_scaled(segment.at, h)), inertia, shapes=(shape,))
    return linkage


def _scaled(v: Vector3, factor: float) -> Vector3:
    return (factor * v[0], factor * v[1], factor * v[2])


def _solid(segment: _Segment, height: float, mass: float) -> tuple[Inertia, Shape]:
    own, (a, b, c) = mass * segment.mass, _scaled(segment.size, height)
    place = shifted(_scaled(segment.middle, height))
    if segment.form == "capsule":
        return Inertia.capsule(own, a, b).at(place), Capsule(a, b, placement=place)
    if segment.form == "box":
        return Inertia.box(own, (a, b, c)).at(place), Box((a, b, c), placement=place)
    return Inertia.sphere(own, a).at(place), Sphere(a, placement=place)
