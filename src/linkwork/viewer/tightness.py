"""Colours of rods by their tension: whether they are shown, and what the largest tension is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.viewer.legend import STYLE, swatch
from linkwork.viewer.shapes.colors import TIGHT, Colors, by_tension


class Tightness:
    """A checkbox for models with rods. Colours go by parts of the largest tension seen so far."""

    def __init__(self, gui: Any, model: Model, changed: Callable[[], None]):
        self.is_shown, self.largest = False, 0.0
        if not model.rods:
            return
        box = gui.add_checkbox("Colour rods by tension", False)
        self._words = gui.add_html("", visible=False)

        def change(event: Any) -> None:
            self.is_shown, self.largest = bool(box.value), 0.0
            self._words.visible = self.is_shown
            changed()

        box.on_update(change)

    def colors(self, model: Model, along: Callable[[str], RodForces]) -> Colors | None:
        """Colours of all bodies, or None where they are not shown or the forces cannot be found."""
        if not self.is_shown:
            return None
        try:
            found = [along(rod.name) for rod in model.rods]
        except LinkworkError:
            return None
        now = max((float(np.abs(forces.tension).max(initial=0.0)) for forces in found), default=0.0)
        self.largest = max(self.largest, now)
        self._words.content = (
            f'<div style="{STYLE}">{swatch(list(TIGHT))}tension from {-self.largest:.3g} to {self.largest:.3g} N</div>'
        )
        return by_tension(model, found, self.largest)
