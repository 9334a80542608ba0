"""Rods on one plate, all by ball joints: many freedoms on many children of one body."""

from __future__ import annotations

import math

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Spherical
from linkwork.model.library.parts import count, shifted
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box

MASS = 0.1  # of a rod; the plate weighs as much as all of them [kg]
ROD = (0.02, 0.03, 0.1)  # [m]
PLATE = (0.2, 0.2, 0.05)  # [m]
RING = 0.1  # radius on which the rods hang [m]


def ball_star(arms: int = 12) -> Linkage:
    """A plate that hangs from the world by a ball joint, and rods that hang from it by ball joints, in a ring.

    Bodies: 1 + arms. The shape of figure 7 in K. Yamane and Y. Nakamura, "O(N) forward dynamics computation of open
    kinematic chains based on the principle of virtual work"; sizes and masses are ours.
    """
    n = count(arms, "arms", "ball_star")
    ball, middle = Spherical(), shifted((0.0, 0.0, -0.5 * ROD[2]))
    rod, look = Inertia.box(MASS, ROD).at(middle), Box(ROD, placement=middle)
    linkage = Linkage("ball_star")
    linkage.add_body("hub", "world", ball, inertia=Inertia.box(MASS * n, PLATE), shapes=(Box(PLATE),))
    for i in range(n):
        angle = 2.0 * math.pi * i / n
        foot = shifted((RING * math.cos(angle), RING * math.sin(angle), -0.5 * PLATE[2]))
        linkage.add_body(f"arm_{i}", "hub", ball, foot, rod, shapes=(look,))
    return linkage
