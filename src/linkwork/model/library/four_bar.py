"""A four-bar linkage: the smallest closed chain that goes round."""

from __future__ import annotations

import math

from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute
from linkwork.model.library.parts import placed, positive, shifted, turn_y
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box

PIN = Revolute((0.0, -1.0, 0.0))  # positive angles lift a bar that points along x
THICKNESS = 0.04  # of the bars [m]
ROOM = 0.1  # of the span that crank and rocker can reach: how far from its ends q = 0 stays


def four_bar(
    ground: float = 1.0, crank: float = 0.35, coupler: float = 0.9, rocker: float = 0.7, density: float = 1.0
) -> Linkage:
    """A crank and a rocker on the ground, joined by a coupler: a closed chain with one freedom, in the x-z plane.

    ground: between the two pins that stand in the world [m].
    crank, coupler, rocker: lengths of the bars [m]; density: their mass per length [kg/m].
    The tree is cut at the pin between coupler and rocker, the loop "pin". At q = 0 it is closed, the crank upright or as
    near to that as the lengths allow. The crank goes round if it or the ground is the shortest of the four, and the
    shortest and the longest are together less than the other two.
    """
    lengths = {"ground": ground, "crank": crank, "coupler": coupler, "rocker": rocker}
    g, c, b, r = (positive(value, name, "four_bar") for name, value in lengths.items())
    mass = positive(density, "density", "four_bar")
    crank_angle, coupler_angle, rocker_angle = _closed(g, c, b, r)
    linkage = Linkage("four_bar")

    def add_bar(name: str, parent: str, start: float, angle: float, length: float) -> None:
        size, middle = (length, THICKNESS, THICKNESS), shifted((0.5 * length, 0.0, 0.0))
        inertia = Inertia.box(mass * length, size).at(middle)
        place = placed((start, 0.0, 0.0), turn_y(-angle))
        linkage.add_body(name, parent, PIN, place, inertia, shapes=(Box(size, placement=middle),))

    add_bar("crank", "world", 0.0, crank_angle, c)
    add_bar("coupler", "crank", c, coupler_angle - crank_angle, b)
    add_bar("rocker", "world", g, rocker_angle, r)
    linkage.add_loop(PIN, "coupler", "rocker", (shifted((b, 0.0, 0.0)), shifted((r, 0.0, 0.0))), name="pin")
    return linkage


def _closed(ground: float, crank: float, coupler: float, rocker: float) -> tuple[float, float, float]:
    """Angles of crank, coupler and rocker above x at which the bars meet [rad]."""
    # From the end of the crank to the pin of the rocker: what ground and crank reach, and what coupler and rocker reach.
    low = max(abs(ground - crank), abs(coupler - rocker))
    high = min(ground + crank, coupler + rocker)
    if low >= high:
        raise ModelError(
            f"four_bar: bars of {ground:g} (ground), {crank:g}, {coupler:g} and {rocker:g} m cannot be closed; none may be "
            "as long as the other three together."
        )
    span = min(max(math.hypot(ground, crank), low + ROOM * (high - low)), high - ROOM * (high - low))
    crank_angle = math.acos((ground**2 + crank**2 - span**2) / (2.0 * ground * crank))
    x, z = ground - crank * math.cos(crank_angle), -crank * math.sin(crank_angle)  # and along its axes
    opening = math.acos((coupler**2 + span**2 - rocker**2) / (2.0 * coupler * span))
    coupler_angle = math.atan2(z, x) + opening
    end_x, end_z = coupler * math.cos(coupler_angle) - x, coupler * math.sin(coupler_angle) - z
    return crank_angle, coupler_angle, math.atan2(end_z, end_x)
