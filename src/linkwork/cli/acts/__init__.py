"""The acts of `linkwork demo`. A new act is one file with `TITLE` and `play`, and one line in ACTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.cli.acts import hit, molecule, pull, scale, swing, walker
from linkwork.cli.acts.stage import Panel, Stage


class Act(NamedTuple):
    title: str
    play: Callable[[Stage], list[Panel]]  # prints as it goes; returns what it has to draw


ACTS: dict[str, Act] = {
    "molecule": Act(molecule.TITLE, molecule.play),
    "pull": Act(pull.TITLE, pull.play),
    "swing": Act(swing.TITLE, swing.play),
    "hit": Act(hit.TITLE, hit.play),
    "scale": Act(scale.TITLE, scale.play),
    "walker": Act(walker.TITLE, walker.play),
}

__all__ = ["ACTS", "Act", "Panel", "Stage"]
