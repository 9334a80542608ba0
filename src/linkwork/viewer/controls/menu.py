"""The menu of a body over the page: fix, release, push, pin, re-root.

viser reports no press of the right button that does not move. So the menu opens when the right button is pressed on a body
and the pointer moves a little, or by a click with Ctrl (Cmd) held. It is a dialog: what viser 1.1 can place in the scene
itself does not work with its own page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.viewer.live import Live

CLOSE = "Close"


class Menu:
    """At most one, of the chosen body."""

    def __init__(self, live: Live):
        self._live = live
        self._container: Any = None

    @property
    def is_open(self) -> bool:
        return self._container is not None

    def open(self, body: int) -> None:
        """Opens the menu of a body; that of another closes."""
        self.close()
        live = self._live
        live.stage.choose(body)
        names = live.actions.names
        if body < 0 or not names:
            return
        gui = live.server.gui
        self._container = gui.add_modal(live.sim.model.body_names[body])
        with self._container:
            for name in (*names, CLOSE):
                self._button(gui, name)

    def _button(self, gui: Any, name: str) -> None:
        button = gui.add_button(name)
        button.on_click(lambda event: self._live.do(lambda: self.pick(name)))

    def pick(self, name: str) -> None:
        """Does what an entry says to the chosen body, and closes."""
        self.close()
        if name != CLOSE:
            self._live.actions.perform(name)

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None
