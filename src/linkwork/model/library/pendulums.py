"""Pendulums with closed-form answers."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.library.parts import HINGE_Y, positive, shifted
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Sphere
from linkwork.spatial.pose import Pose


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
