"""Serial chains: hanging, coiled, a snake, and the chain of a bicycle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.core.checks import shown
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint, Revolute
from linkwork.model.library.parts import (
    HINGE_X,
    HINGE_Y,
    HINGE_Z,
    count,
    placed,
    positive,
    rod,
    shifted,
    turn_x,
    turn_z,
)
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box, Sphere
from linkwork.spatial.pose import Pose


def chain(
    joints: int = 100,
    joint: Joint | None = None,
    length: float = 0.1,
    mass: float = 0.1,
    radius: float = 0.01,
    axes: str = "alternating",
) -> Linkage:
    """A serial chain of equal rods that hangs from the world straight down.

    joint: the joint of every link; without one they are hinges, whose `axes` turn "alternating" about y and x (a chain
    that moves in space) or all the "same" way about y (a chain that moves in a plane).
    length, mass, radius: of each link [m, kg, m].
    """
    n = count(joints, "joints", "chain")
    if not isinstance(axes, str) or axes not in ("alternating", "same"):
        raise ModelError(f"chain: axes must be 'alternating' or 'same', not {shown(axes)}.", about="axes")
    if joint is not None and not isinstance(joint, Joint):
        raise ModelError(f"chain: joint must be a joint such as lw.Revolute((0, 1, 0)), not {joint!r}.", about="joint")
    pair: tuple[Joint, Joint]
    if joint is not None:
        pair = (joint, joint)
    else:
        pair = (HINGE_Y, HINGE_X) if axes == "alternating" else (HINGE_Y, HINGE_Y)
    link = rod(mass, radius, length)
    linkage = Linkage("chain")
    parent, place, below = "world", Pose(), shifted(link.tip)
    for i in range(n):
        name = f"link_{i}"
        linkage.add_body(name, parent, pair[i % 2], place, link.inertia, shapes=link.shapes)
        parent, place = name, below
    return linkage


def snake(joints: int = 20, length: float = 0.1, mass: float = 0.1, radius: float = 0.02) -> Linkage:
    """A snake of equal rods that lies straight along x, its first link free: `joints` hinges and one link more.

    The hinges turn about z and y by turns: it bends sideways and up and down.
    length, mass, radius: of each link [m, kg, m].
    """
    n = count(joints, "joints", "snake")
    link = rod(mass, radius, length, direction="x")
    linkage = Linkage("snake")
    linkage.add_body("link_0", "world", Free(), Pose(), link.inertia, shapes=link.shapes)
    onward = shifted(link.tip)
    for i in range(n):
        hinge = HINGE_Z if i % 2 == 0 else HINGE_Y
        linkage.add_body(f"link_{i + 1}", f"link_{i}", hinge, onward, link.inertia, shapes=link.shapes)
    return linkage


COIL_RADIUS = 0.01  # [m]


def coil(joints: int = 50) -> Linkage:
    """Featherstone's scalable coil: a chain of equal links, together 1 m long and 1 kg heavy, that lies in a helix.

    Parameters of the source, with N links: Denavit-Hartenberg a = 1/N m, α = 5π/N, d = 0, every joint at θ = 10π/N;
    each link a cylinder of mass 1/N kg and radius 10 mm. Here q = 0 is that coiled configuration, θ = q + 10π/N, and
    the first joint stands at the world's origin.
    Source: R. Featherstone, "A Divide-and-Conquer Articulated-Body Algorithm for Parallel O(log(n)) Calculation of
    Rigid-Body Dynamics. Part 2: Trees, Loops, and Accuracy", IJRR 18(9), 1999.
    """
    n = count(joints, "joints", "coil")
    link = rod(1.0 / n, COIL_RADIUS, 1.0 / n, direction="x")
    twist, bend = turn_x(5.0 * math.pi / n), turn_z(10.0 * math.pi / n)
    linkage = Linkage("coil")
    parent, place, onward = "world", placed((0.0, 0.0, 0.0), bend), placed(link.tip, twist, bend)
    for i in range(n):
        name = f"link_{i}"
        linkage.add_body(name, parent, HINGE_Z, place, link.inertia, shapes=link.shapes)
        parent, place = name, onward
    return linkage


# Half-inch pitch (ISO 606 08B); plates 8.5 mm high; a chain of 114 links weighs about 0.3 kg.
BICYCLE_PITCH = 0.0127  # [m]
BICYCLE_PLATE_HEIGHT = 0.0085  # [m]
BICYCLE_OUTER_WIDTH, BICYCLE_INNER_WIDTH = 0.0066, 0.0046  # [m]
BICYCLE_OUTER_MASS, BICYCLE_INNER_MASS = 0.0024, 0.0028  # [kg]; the inner link carries the rollers


def bicycle_chain(links: int = 30) -> Linkage:
    """An open bicycle chain: outer and inner links by turns on parallel pins (about y), held at one end, along x.

    The first benchmark of S. Redon and M. Lin, "An Efficient, Error-Bounded Approximation Algorithm for Simulating
    Quasi-Statics of Complex Linkages" (2006) is such a chain of 30 links; sizes here are those of a half-inch chain.
    """
    n = count(links, "links", "bicycle_chain")
    pin = Revolute((0.0, 1.0, 0.0))
    plates = [
        _bicycle_link(BICYCLE_OUTER_MASS, BICYCLE_OUTER_WIDTH),
        _bicycle_link(BICYCLE_INNER_MASS, BICYCLE_INNER_WIDTH),
    ]
    linkage = Linkage("bicycle_chain")
    parent, place, onward = "world", Pose(), shifted((BICYCLE_PITCH, 0.0, 0.0))
    for i in range(n):
        name = f"link_{i}"
        inertia, shape = plates[i % 2]
        linkage.add_body(name, parent, pin, place, inertia, shapes=(shape,))
        parent, place = name, onward
    return linkage


def _bicycle_link(mass: float, width: float) -> tuple[Inertia, Box]:
    size = (BICYCLE_PITCH + BICYCLE_PLATE_HEIGHT, width, BICYCLE_PLATE_HEIGHT)  # the plates reach round both pins
    middle = shifted((0.5 * BICYCLE_PITCH, 0.0, 0.0))
    return Inertia.box(mass, size).at(middle), Box(size, placement=middle)


def pendulum(length: float = 1.0, mass: float = 1.0) -> Linkage:
    """A point mass [kg] on a massless rod [m] that swings about y; q = 0 hangs straight down.

    Closed form: period 4 K(sin(θ₀/2)) √(length/g) for the amplitude θ₀.
    """
    return _point_masses("pendulum", (length,), (mass,), ("bob",))


def double_pendulum(lengths: Sequence[float] = (1.0, 1.0), masses: Sequence[float] = (1.0, 1.0)) -> Linkage:
    """Two point masses [kg] on massless rods [m], one below the other, about y; q[1] counts from the first rod."""
    for what, values in (("lengths", lengths), ("masses", masses)):
        if not isinstance(values, Sequence) or len(values) != 2:
            raise ModelError(f"double_pendulum: {what} must be two numbers, not {values!r}.", about=what)
    return _point_masses("double_pendulum", lengths, masses, ("upper", "lower"))


def _point_masses(name: str, lengths: Sequence[float], masses: Sequence[float], names: Sequence[str]) -> Linkage:
    linkage = Linkage(name)
    parent, place = "world", Pose()
    for body, length, mass in zip(names, lengths, masses, strict=True):
        reach = positive(length, "length", name)
        bob = (0.0, 0.0, -reach)
        inertia = Inertia.point_mass(positive(mass, "mass", name), bob)
        ball = Sphere(0.05 * reach, placement=shifted(bob))
        linkage.add_body(body, parent, HINGE_Y, place, inertia, shapes=(ball,))
        parent, place = body, shifted(bob)
    return linkage
