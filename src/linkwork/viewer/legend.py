"""What the colours of a page mean, and how large the squares of its ground are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.viewer.layers import CONTACT, FORCE, SPRING
from linkwork.viewer.shapes.colors import ACTIVE, CHOSEN, DOWN, GREYS
from linkwork.viewer.shapes.molecules import ELEMENTS

STYLE = "font-size:0.8em;line-height:1.6;padding:0 1em"
MARK = "display:inline-block;width:1.6em;height:0.75em;margin-right:0.4em;border-radius:2px"


def legend(cell: float, is_adaptive: bool, is_molecule: bool = False) -> str:
    """HTML. cell: side of a square of the ground [m, nm of molecules]."""
    bodies: list[tuple[str, list[Any]]] = (
        [("active joints", [ACTIVE]), ("rigid groups", [np.full(3, GREYS[0]), np.full(3, GREYS[1])])]
        if is_adaptive
        else [("base to tips", list(DOWN))]
    )
    if is_molecule:
        bodies += [(name, [color]) for name, color in ELEMENTS.items()]
    others = {"selected": CHOSEN, "force": FORCE, "spring": SPRING, "contact": CONTACT}
    bodies += [(words, [color]) for words, color in others.items()]
    rows = [f'<span style="white-space:nowrap">{swatch(colors)}{words}</span>' for words, colors in bodies]
    side = f"{cell:g} nm" if is_molecule else length(cell)
    return f'<div style="{STYLE}">{" &ensp; ".join(rows)}<br>Grid: squares of {side}</div>'


def swatch(colors: Sequence[Sequence[float]]) -> str:
    """A mark in one colour, or in one that runs through several."""
    named = ["rgb({},{},{})".format(*(int(part) for part in color)) for color in colors]
    filled = named[0] if len(named) == 1 else f"linear-gradient(to right,{','.join(named)})"
    return f'<span style="{MARK};background:{filled}"></span>'


def length(metres: float) -> str:
    """In the unit that gives a short number."""
    for unit, size in (("km", 1e3), ("m", 1.0), ("cm", 1e-2), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9)):
        if metres >= 0.999 * size:
            return f"{metres / size:.4g} {unit}"
    return f"{metres:.4g} m"
