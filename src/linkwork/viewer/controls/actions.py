"""What one can do to the chosen body: fix, release, push, pin its joint, make it the root."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.core.units import unit
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import LinkworkError, StateError
from linkwork.simulation.loading.loads import Load
from linkwork.viewer.controls.hand import SOFTNESS, hand_stiffness

if TYPE_CHECKING:
    from linkwork.viewer.live import Live


FIRMNESS = 100.0  # a body that is fixed is held this many times more firmly than the hand pulls
PUSH = 0.5  # of the force that stretches the hand's spring by SOFTNESS, the weight where there is one: first offered


class Actions:
    """Buttons that act on the chosen body. names: what they do, the same as in the menu beside a body."""

    def __init__(self, live: Live):
        self._live = live
        self._held: dict[int, Load] = {}
        self._pushed: dict[int, Load] = {}
        self._pins: set[str] = set()
        self.names: tuple[str, ...] = ()
        gui, sim = live.server.gui, _inner(live.sim)
        if not hasattr(sim, "apply_spring"):
            return
        size = live.stage.camera.size
        push = PUSH * SOFTNESS * size * hand_stiffness(sim, size)
        with gui.add_folder("Selected body", expand_by_default=False):
            self._force = gui.add_vector3(
                unit("Force [N]", live.units), (0.0, 0.0, float(np.round(push, 3))), step=0.001
            )
            names = ["Fix", "Release", "Push"]
            self._buttons(gui, "Body", names)
            if hasattr(sim, "pin_active"):
                self._buttons(gui, "Joint", ["Pin active", "Pin inactive", "Unpin"])
            if hasattr(sim, "reroot"):
                self._buttons(gui, "Tree", ["Re-root here"])

    def _buttons(self, gui: Any, label: str, names: list[str]) -> None:
        self.names = (*self.names, *names)
        group = gui.add_button_group(label, tuple(names))
        group.on_click(lambda event: self._live.do(lambda: self.perform(group.value)))

    def perform(self, name: str) -> None:
        """Does what a button says; raises StateError where no body is chosen."""
        body = self._live.stage.chosen
        if body < 0:
            raise StateError("no body is chosen: click one, or choose it in the list of bodies.")
        {
            "Fix": self.fix,
            "Release": self.release,
            "Push": self.push,
            "Pin active": lambda b: self._pin(b, "pin_active"),
            "Pin inactive": lambda b: self._pin(b, "pin_inactive"),
            "Unpin": self._unpin,
            "Re-root here": self._reroot,
        }[name](body)
        self._live._show()

    def fix(self, body: int) -> None:
        """Holds the origin of a body where it is, by a firm spring."""
        sim = _inner(self._live.sim)
        self._clear(sim, self._held.pop(body, None))
        place = body_poses(sim.model, sim.state)[body, :3, 3]
        firmness = FIRMNESS * hand_stiffness(sim, self._live.stage.camera.size)
        self._held[body] = sim.apply_spring(body, place, firmness)

    def push(self, body: int) -> None:
        """A force fixed in the world at the origin of a body, until released."""
        sim = _inner(self._live.sim)
        self._clear(sim, self._pushed.pop(body, None))
        self._pushed[body] = sim.apply_wrench(body, force=self._force.value)

    def release(self, body: int) -> None:
        """Takes away what was done to a body here."""
        sim = _inner(self._live.sim)
        self._clear(sim, self._held.pop(body, None))
        self._clear(sim, self._pushed.pop(body, None))

    def _pin(self, body: int, how: str) -> None:
        sim = _inner(self._live.sim)
        joint = sim.model.joint_names[body]
        if joint in self._pins:
            sim.unpin(joint)
            self._pins.discard(joint)
        getattr(sim, how)(joint)
        self._pins.add(joint)

    def _unpin(self, body: int) -> None:
        sim = _inner(self._live.sim)
        joint = sim.model.joint_names[body]
        sim.unpin(joint)
        self._pins.discard(joint)

    def _reroot(self, body: int) -> None:
        live = self._live
        live.pause()
        live.hand.release()
        live.replace(_inner(live.sim).reroot(live.sim.model.body_names[body]))
        self._held, self._pushed = {}, {}

    def forget(self, sim: Any) -> None:
        """Takes away all that was done here, before the simulation goes back to its start."""
        for load in (*self._held.values(), *self._pushed.values()):
            self._clear(sim, load)
        for joint in self._pins:
            sim.unpin(joint)
        self._held, self._pushed, self._pins = {}, {}, set()

    @staticmethod
    def _clear(sim: Any, load: Load | None) -> None:
        if load is not None:
            with contextlib.suppress(LinkworkError):  # it went with another simulation, or with all loads
                sim.clear(load)


def _inner(sim: Any) -> Any:
    from linkwork.viewer.live import inner

    return inner(sim)


# ------------------------------------------------------------------------------------------------------------- its menu

# The menu of a body over the page: fix, release, push, pin, re-root.
#
# viser reports no press of the right button that does not move. So the menu opens when the right button is pressed on
# a body and the pointer moves a little, or by a click with Ctrl (Cmd) held. It is a dialog: what viser 1.1 can place
# in the scene itself does not work with its own page.


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
