"""How an end of a rod is held, and where rods are in a linkage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled
from linkwork.model.joints import Fixed, Joint, Spherical
from linkwork.spatial.pose import Pose


@tabled
@dataclass(frozen=True, slots=True)
class Clamped:
    """An end that neither moves nor turns."""

    @property
    def joint(self) -> Joint:
        return Fixed()


@tabled
@dataclass(frozen=True, slots=True)
class Pinned:
    """An end that turns freely about a point."""

    @property
    def joint(self) -> Joint:
        return Spherical()


class RodEnd(NamedTuple):
    """One end of a rod: its body, its frame there (x along the rod), mass and length of the piece up to the next joint."""

    body: str
    frame: Pose
    mass: float  # [kg]
    length: float  # [m]


@tabled
@dataclass(frozen=True, slots=True, eq=False)
class RodOn:
    """A rod in a linkage: the bodies behind its joints, from start to end, and where they are along it.

    s (n,): length from the start to each joint [m]; spacing (n,): length that each stands for [m]
    curvature (n, 3): natural twist and bending about y and z [1/m]
    """

    name: str
    bodies: tuple[str, ...]
    length: float
    s: FloatArray
    spacing: FloatArray
    curvature: FloatArray
    start: RodEnd
    end: RodEnd

    def renamed(self, prefix: str) -> RodOn:
        """The same rod in a linkage that was merged with this prefix."""
        return replace(
            self,
            name=prefix + self.name,
            bodies=tuple(prefix + body for body in self.bodies),
            start=self.start._replace(body=prefix + self.start.body),
            end=self.end._replace(body=prefix + self.end.body),
        )
