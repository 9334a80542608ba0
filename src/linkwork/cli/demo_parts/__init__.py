"""The parts of `linkwork demo`. A new part is one file with `TITLE` and `show`, and one line in PARTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.cli.demo_parts import haptics, hit, molecule, pull, scale, swing, walker
from linkwork.cli.demo_parts.setup import Panel, Setup


class Part(NamedTuple):
    title: str
    show: Callable[[Setup], list[Panel]]  # prints as it goes; returns what it has to draw


PARTS: dict[str, Part] = {
    "molecule": Part(molecule.TITLE, molecule.show),
    "pull": Part(pull.TITLE, pull.show),
    "swing": Part(swing.TITLE, swing.show),
    "hit": Part(hit.TITLE, hit.show),
    "scale": Part(scale.TITLE, scale.show),
    "walker": Part(walker.TITLE, walker.show),
    "haptics": Part(haptics.TITLE, haptics.show),
}

__all__ = ["PARTS", "Panel", "Part", "Setup"]
