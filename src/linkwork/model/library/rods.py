"""Rods and nets of rods with physical numbers, by plain parameters, for scenes and the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linkwork.core.checks import not_negative, shown
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Prismatic
from linkwork.model.library.parts import MOST
from linkwork.model.linkage import WORLD, Linkage
from linkwork.model.rods.ends import Clamped, Pinned
from linkwork.model.rods.rod import Rod
from linkwork.model.rods.rod import rod as make_rod
from linkwork.model.rods.section import above_zero
from linkwork.model.shapes import Sphere
from linkwork.spatial.pose import Pose, vector3

ENDS: dict[str, type[Clamped] | type[Pinned]] = {"clamped": Clamped, "pinned": Pinned}


def rod(
    length: float = 1.0,
    segments: int = 50,
    EI: float | Sequence[float] = 1.0,
    GJ: float | None = None,
    EA: float | None = None,
    mass_per_length: float = 1.0,
    radius: float = 0.01,
    damping: float | None = None,
    start: str = "clamped",
    end: str = "free",
    at: Sequence[float] = (0.0, 0.0, 0.0),
    pitch: float = 0.0,
    yaw: float = 0.0,
    end_at: Sequence[float] | None = None,
    tip_mass: float = 0.0,
    tip_radius: float = 0.1,
    joints: str = "ball",
) -> Linkage:
    """A rod whose ends are "clamped", "pinned" or "free"; `lw.rod` says what its numbers mean.

    start: also "guided", on a slider along the rod, for one that is fed: joint "rod_0".
    at [m], pitch, yaw [rad]: where it starts and where it points, x along it; end_at [m]: where its end is held.
    tip_mass [kg], tip_radius [m]: of a ball at its end. GJ: two thirds of one EI by default, as of a round rod.
    """
    if GJ is None and isinstance(EI, int | float):
        GJ = EI / 1.5
    made = make_rod(
        length, segments, EI=EI, GJ=GJ, EA=EA, mass_per_length=mass_per_length, radius=radius, damping=damping,
        joints=joints,
    )  # fmt: skip
    for name, how in (("start", start), ("end", end)):
        if not (isinstance(how, str) and (how in (*ENDS, "free") or (name, how) == ("start", "guided"))):
            raise ModelError(f"rod: {name} is {shown(how)}; it is 'clamped', 'pinned' or 'free'.", about=name)
    place = Pose(vector3(at, "rod: at"), rpy=vector3((0.0, pitch, yaw), "rod: (0, pitch, yaw)"))
    if start == "guided":
        made.edit_body(made.on.start.body, parent=WORLD, joint=Prismatic((1.0, 0.0, 0.0)), placement=place)
    elif start != "free":
        made.attach_world("start", ENDS[start](), at=place)
    if end != "free":
        made.attach_world("end", ENDS[end](), at=None if end_at is None else vector3(end_at, "rod: end_at"))
    if not_negative(tip_mass, "rod: tip_mass", finite=True) > 0.0:
        _hang_ball(made, tip_mass, tip_radius)
    return made


def _hang_ball(made: Rod, mass: float, radius: float) -> None:
    """A ball at the end of a rod, with its middle there."""
    ball = Inertia.sphere(mass, radius)
    made.add_body("tip", made.on.end.body, Fixed(), made.on.end.frame, ball, shapes=(Sphere(radius),))


def net(
    rows: int = 4,
    columns: int = 5,
    cell: float = 0.25,
    segments: int = 4,
    EI: float = 1e-3,
    mass_per_length: float = 0.05,
    radius: float = 0.003,
    damping: float | None = None,
) -> Linkage:
    """A net of rods: `columns` of them hang from the world, and `rows` of pieces between neighbours are pinned to both.

    cell [m]: width and height of a mesh; segments: joints of a rod per cell, even so that knots lie on pieces.
    """
    for name, value, least in (("rows", rows, 1), ("columns", columns, 2), ("segments", segments, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ModelError(f"net: {name} is {shown(value)}; it is a whole number from {least} on.", about=name)
    cell = above_zero(cell, "net: cell")
    bodies = columns * (rows * segments + 1) + rows * (columns - 1) * (segments + 1)
    if bodies > MOST:
        raise ModelError(
            f"net: {shown(rows)} rows, {shown(columns)} columns and {shown(segments)} segments per cell are more than "
            f"{MOST:,} bodies, too many for memory."
        )
    numbers = {
        "EI": EI,
        "GJ": above_zero(EI, "net: EI") / 1.5,
        "mass_per_length": mass_per_length,
        "radius": radius,
        "damping": damping,
    }
    made = Linkage("net")
    down = Pose(rpy=(0.0, 0.5 * math.pi, 0.0))
    hanging = make_rod(rows * cell, rows * segments, name="column", **numbers)  # type: ignore[arg-type]
    across = make_rod(cell, segments, name="row", **numbers)  # type: ignore[arg-type]
    ell = cell / segments
    turn = np.array(down.matrix[:3, :3]).T @ np.array(Pose(rpy=(0.0, 0.0, 0.5 * math.pi)).matrix[:3, :3])
    for c in range(columns):
        place = Pose((0.0, c * cell, 0.0), rpy=(0.0, 0.5 * math.pi, 0.0))
        hanging.attach_to(made, f"c{c}_", start=("world", Pinned(), place))
    for r in range(1, rows + 1):
        for c in range(columns - 1):
            knots = [_knot(f"c{k}_column", r * segments, ell) for k in (c, c + 1)]
            poses = [Pose.raw(tuple(turn.ravel().tolist()), (x, 0.0, 0.0)) for _, x in knots]  # type: ignore[arg-type]
            across.attach_to(
                made, f"r{r}_{c}_", start=(knots[0][0], Pinned(), poses[0]), end=(knots[1][0], Pinned(), poses[1])
            )
    return made


def _knot(name: str, joint: int, ell: float) -> tuple[str, float]:
    """The body of a rod at `joint` segments from its start, and where in it [m]."""
    return f"{name}_{joint}", 0.5 * ell
