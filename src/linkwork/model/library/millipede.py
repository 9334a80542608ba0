"""The millipede robot of Redon and Lin: a long spine with very many legs."""

from __future__ import annotations

import math

from linkwork.errors import ModelError
from linkwork.model.joints import Free, Joint
from linkwork.model.library.parts import (
    HINGE_X,
    HINGE_Y,
    HINGE_Z,
    count,
    placed,
    rod,
    shifted,
    turn_x,
    turn_z,
    yes_or_no,
)
from linkwork.model.linkage import Linkage
from linkwork.spatial.pose import Pose

SPINE_LENGTH, SPINE_MASS, SPINE_RADIUS = 0.02, 0.02, 0.012  # of a spine link [m, kg, m]
LEG_LENGTH, LEG_MASS, LEG_RADIUS = 0.15, 0.02, 0.004  # of a whole leg, shared by its links
LEG_RISE = math.radians(105.0)  # the first link points sideways, 15° above the horizon ...
LEG_BEND = math.radians(105.0)  # ... and the last one straight down


def millipede(segments: int = 1000, leg_links: int = 10, spine: int = 3000, floating: bool = True) -> Linkage:
    """A spine along x that carries one leg per segment, left and right by turns: 13,000 links by default.

    segments: how many legs; leg_links: links of a leg; spine: links of the spine, at least one per segment.
    The first spine link moves freely, or hangs from the world on a hinge about z with `floating=False`.
    Bodies: spine + segments × leg_links.
    Source: S. Redon and M. Lin (2006), section 6.2: 1,000 legs of 10 links, a spine of 3,000.
    """
    legs, m, n = (
        count(segments, "segments", "millipede"),
        count(leg_links, "leg_links", "millipede"),
        count(spine, "spine", "millipede"),
    )
    if n < legs:
        raise ModelError(
            f"millipede: spine has {n} links for {legs} segments; give at least one link per segment.", about="spine"
        )
    bone = rod(SPINE_MASS, SPINE_RADIUS, SPINE_LENGTH, direction="x")
    linkage = Linkage("millipede")
    root: Joint = Free() if yes_or_no(floating, "floating") else HINGE_Z
    parent, place, onward = "world", Pose(), shifted(bone.tip)
    for i in range(n):
        name = f"spine_{i}"
        joint = root if i == 0 else (HINGE_Z, HINGE_Y)[i % 2]
        linkage.add_body(name, parent, joint, place, bone.inertia, shapes=bone.shapes)
        parent, place = name, onward
    _add_legs(linkage, legs, m, n)
    return linkage


def _add_legs(linkage: Linkage, legs: int, links: int, spine: int) -> None:
    limb = rod(LEG_MASS / links, LEG_RADIUS, LEG_LENGTH / links)
    # A right leg leaves the spine towards -y: hanging links (-z) turn about x. A left leg is the same about its own z.
    knee = placed(limb.tip, turn_x(LEG_BEND / links))
    middle = (0.5 * SPINE_LENGTH, 0.0, 0.0)
    hips = [placed(middle, turn_z(side), turn_x(-LEG_RISE)) for side in (0.0, math.pi)]
    joints = (HINGE_Y, HINGE_X)
    for i in range(legs):
        parent, place = f"spine_{i * spine // legs}", hips[i % 2]
        for k in range(links):
            name = f"leg_{i}_{k}"
            linkage.add_body(name, parent, joints[k % 2], place, limb.inertia, shapes=limb.shapes)
            parent, place = name, knee
