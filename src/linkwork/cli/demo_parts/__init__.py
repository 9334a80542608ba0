"""The parts of `linkwork demo`. A new part is one file with `TITLE`, `SAYS` and `show`, and one line in PARTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.cli.demo_parts import haptics, hit, molecule, pull, scale, swing, walker
from linkwork.cli.demo_parts.setup import Panel, Setup


class Part(NamedTuple):
    title: str
    says: str  # one sentence for newcomers: what is to be seen, and why it matters
    show: Callable[[Setup], list[Panel]]  # prints as it goes; returns what it has to draw


PARTS: dict[str, Part] = {
    "molecule": Part(molecule.TITLE, molecule.SAYS, molecule.show),
    "pull": Part(pull.TITLE, pull.SAYS, pull.show),
    "swing": Part(swing.TITLE, swing.SAYS, swing.show),
    "hit": Part(hit.TITLE, hit.SAYS, hit.show),
    "scale": Part(scale.TITLE, scale.SAYS, scale.show),
    "walker": Part(walker.TITLE, walker.SAYS, walker.show),
    "haptics": Part(haptics.TITLE, haptics.SAYS, haptics.show),
}

__all__ = ["PARTS", "Panel", "Part", "Setup"]
