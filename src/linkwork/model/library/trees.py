"""Regular trees: star, broom, caterpillar, binary tree. Each stresses another shape of the computation."""

from __future__ import annotations

import math

from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint
from linkwork.model.library.parts import (
    HINGE_X,
    HINGE_Y,
    HINGE_Z,
    Rod,
    count,
    even_directions,
    placed,
    positive,
    rod,
    shifted,
    turn_x,
    turn_y,
    turn_z,
    yes_or_no,
)
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Sphere
from linkwork.spatial.pose import Pose

LENGTH, MASS, RADIUS = 0.1, 0.1, 0.008  # of a link [m, kg, m] where no parameter says otherwise


def _limb(linkage: Linkage, name: str, parent: str, place: Pose, link: Rod, joints: int) -> str:
    """A straight run of links `name_0`, `name_1`, ...; returns the name of the last."""
    onward = shifted(link.tip)
    for k in range(joints):
        body = f"{name}_{k}"
        linkage.add_body(body, parent, (HINGE_Y, HINGE_X)[k % 2], place, link.inertia, shapes=link.shapes)
        parent, place = body, onward
    return parent


def star(arms: int = 24, joints_per_arm: int = 1, floating: bool = True) -> Linkage:
    """A ball with straight arms in all directions: very many children on one body.

    The ball moves freely, or turns about z on the world with `floating=False`. Bodies: 1 + arms × joints_per_arm.
    """
    n, m = count(arms, "arms", "star"), count(joints_per_arm, "joints_per_arm", "star")
    core, link = 0.5 * LENGTH, rod(MASS, RADIUS, LENGTH)
    linkage = Linkage("star")
    root: Joint = Free() if yes_or_no(floating, "floating") else HINGE_Z
    linkage.add_body("hub", "world", root, inertia=Inertia.sphere(10 * MASS, core), shapes=(Sphere(core),))
    for i, (turn, tilt) in enumerate(even_directions(n)):
        direction = placed((0.0, 0.0, 0.0), turn_z(turn), turn_y(tilt))
        foot = direction @ shifted((0.0, 0.0, -core))
        _limb(linkage, f"arm_{i}", "hub", foot, link, m)
    return linkage


BROOM_SPREAD = math.radians(50.0)  # between the axis of the handle and the outermost bristle


def broom(handle: int = 20, bristles: int = 40) -> Linkage:
    """A chain of `handle` links with `bristles` single links on its end. Bodies: handle + bristles."""
    n, m = count(handle, "handle", "broom"), count(bristles, "bristles", "broom")
    link, straw = rod(MASS, RADIUS, LENGTH), rod(0.3 * MASS, 0.5 * RADIUS, 2.0 * LENGTH)
    linkage = Linkage("broom")
    last = _limb(linkage, "handle", "world", Pose(), link, n)
    golden = math.pi * (3.0 - math.sqrt(5.0))
    for i in range(m):
        tilt = BROOM_SPREAD * math.sqrt((i + 0.5) / m)  # even over the disc, as sunflower seeds lie
        place = placed(link.tip, turn_z(golden * i), turn_y(tilt))
        linkage.add_body(f"bristle_{i}", last, HINGE_Y, place, straw.inertia, shapes=straw.shapes)
    return linkage


def caterpillar(spine: int = 30, legs_per_link: int = 2, leg_joints: int = 1) -> Linkage:
    """A chain along x, held at one end, with short legs on every link.

    Legs stand round the lower half of the spine. Bodies: spine × (1 + legs_per_link × leg_joints).
    """
    n = count(spine, "spine", "caterpillar")
    m = count(legs_per_link, "legs_per_link", "caterpillar", least=0)
    k = count(leg_joints, "leg_joints", "caterpillar")
    link, leg = rod(MASS, RADIUS, LENGTH, direction="x"), rod(0.2 * MASS, 0.5 * RADIUS, LENGTH)
    angles = [math.radians(100.0) * ((i + 0.5) / m - 0.5) for i in range(m)]
    hips = [placed((0.5 * LENGTH, 0.0, 0.0), turn_x(angle)) for angle in angles]
    linkage = Linkage("caterpillar")
    parent, place, onward = "world", Pose(), shifted(link.tip)
    for i in range(n):
        name = f"spine_{i}"
        linkage.add_body(name, parent, (HINGE_Z, HINGE_Y)[i % 2], place, link.inertia, shapes=link.shapes)
        for j, hip in enumerate(hips):
            _limb(linkage, f"leg_{i}_{j}", name, hip, leg, k)
        parent, place = name, onward
    return linkage


MOST_DECADES = 60  # between the masses of the thickest and of the thinnest branch
BRANCH_ANGLE = math.radians(32.0)  # between a branch and the one it grows from


def binary_tree(joints: int = 127, taper: float = 0.9) -> Linkage:
    """A balanced binary tree, filled level by level: body i hangs from body (i - 1) // 2. It stands upright on the world.

    taper: length and mass of a branch, relative to the one it grows from.
    Depth: ⌊log₂ joints⌋ + 1.
    """
    n = count(joints, "joints", "binary_tree")
    ratio = positive(taper, "taper", "binary_tree")
    if n.bit_length() * abs(math.log10(ratio)) > MOST_DECADES:
        message = f"binary_tree: with taper {ratio:g}, {n.bit_length()} levels differ by more than 10^{MOST_DECADES}."
        raise ModelError(message, about="taper")
    linkage = Linkage("binary_tree")
    branches = [rod(MASS * ratio**level, RADIUS, LENGTH * ratio**level) for level in range(n.bit_length())]
    # Every level forks in a plane at right angles to the last, so that the tree fills space.
    forks = [
        [placed(branch.tip, turn_z(0.5 * math.pi), turn_x(side * BRANCH_ANGLE)) for side in (1.0, -1.0)]
        for branch in branches
    ]
    linkage.add_body("branch_0", "world", HINGE_Y, placed((0.0, 0.0, 0.0), turn_x(math.pi)), branches[0].inertia,
                     shapes=branches[0].shapes)  # fmt: skip
    for i in range(1, n):
        level = (i + 1).bit_length() - 1
        link, joint = branches[level], (HINGE_Y, HINGE_X)[level % 2]
        place = forks[level - 1][(i - 1) % 2]
        linkage.add_body(f"branch_{i}", f"branch_{(i - 1) // 2}", joint, place, link.inertia, shapes=link.shapes)
    return linkage
