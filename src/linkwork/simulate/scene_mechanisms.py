"""Mechanisms that scenes know by name: the library's, and a few that only scenes need."""

from __future__ import annotations

import math
from collections.abc import Callable

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint, Revolute, Spherical, Universal
from linkwork.model.library import MODELS
from linkwork.model.library.parts import count, positive
from linkwork.model.linkage import Linkage
from linkwork.spatial.pose import Pose

# What a parameter `joint = "..."` of a library model may say: hinges need an axis, and these the usual one.
JOINTS: dict[str, Joint] = {
    "spherical": Spherical(),
    "universal": Universal((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "revolute": Revolute((0.0, 1.0, 0.0)),
}


def four_bar(
    ground: float = 1.0, crank: float = 0.35, coupler: float = 0.9, rocker: float = 0.7, density: float = 1.0
) -> Linkage:
    """Crank, coupler and rocker on parallel pins about y, closed by the pin between coupler and rocker.

    ground: between the two pins that stand in the world [m]; lengths of the bars [m] and their mass a length [kg/m].
    """
    lengths = {
        "crank": positive(crank, "four_bar: crank"),
        "coupler": positive(coupler, "four_bar: coupler"),
        "rocker": positive(rocker, "four_bar: rocker"),
    }
    mass = positive(density, "four_bar: density")

    def bar(length: float) -> Inertia:
        return Inertia.box(mass * length, (length, 0.04, 0.04)).at(Pose((0.5 * length, 0.0, 0.0)))

    pin = Revolute((0.0, -1.0, 0.0))  # positive angles lift a bar that points along x
    linkage = Linkage("four_bar")
    linkage.add_body("crank", "world", pin, inertia=bar(lengths["crank"]))
    linkage.add_body("coupler", "crank", pin, Pose((lengths["crank"], 0.0, 0.0)), bar(lengths["coupler"]))
    post = Pose((positive(ground, "four_bar: ground"), 0.0, 0.0))
    linkage.add_body("rocker", "world", pin, post, bar(lengths["rocker"]))
    ends = Pose((lengths["coupler"], 0.0, 0.0)), Pose((lengths["rocker"], 0.0, 0.0))
    linkage.add_loop(pin, "coupler", "rocker", ends, name="pin")
    return linkage


def ball_star(arms: int = 12) -> Linkage:
    """A plate on a ball joint, and rods that hang from it by ball joints: figure 7 of Yamane and Nakamura (2009)."""
    n = count(arms, "ball_star: arms")
    ball = Spherical()
    rod = Inertia.box(0.1, (0.02, 0.03, 0.1)).at(Pose((0.0, 0.0, -0.05)))
    linkage = Linkage("ball_star")
    linkage.add_body("hub", "world", ball, inertia=Inertia.box(0.1 * n, (0.2, 0.2, 0.05)))
    for i in range(n):
        angle = 2.0 * math.pi * i / n
        foot = Pose((0.1 * math.cos(angle), 0.1 * math.sin(angle), -0.025))
        linkage.add_body(f"arm_{i}", "hub", ball, foot, rod)
    return linkage


MECHANISMS: dict[str, Callable[..., Linkage]] = {**MODELS, "four_bar": four_bar, "ball_star": ball_star}
