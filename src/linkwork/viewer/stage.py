"""What every page shows: the mechanism on its ground, a camera that frames it, layers, and bodies by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.viewer.frames import FIELD_OF_VIEW, framing, ground_height, quaternions, turn_up, up_of
from linkwork.viewer.layers import Layers
from linkwork.viewer.legend import legend
from linkwork.viewer.shapes.bodies import BodyList
from linkwork.viewer.shapes.colors import CHOSEN, Colors, by_depth
from linkwork.viewer.shapes.detail import Detail, Eye, eye
from linkwork.viewer.shapes.drawing import Drawing
from linkwork.viewer.shapes.instances import COARSE_FROM, instances_of

SCREEN = 1000.0  # [pixels] height of the picture of a page that has not said it yet
SURROUNDINGS = (
    0.5  # of the light that the surroundings of a page give: with all of it colours are paler than in the legend
)
LOOKS = 0.2  # [s] between two pictures for a camera that moves


class Stage:
    """A model in the scene of a server.

    room: points that the camera is to see too [m], shape (k, 3).
    again: called when somebody looks from elsewhere at a mechanism with levels of detail; draws it at its state.
    """

    def __init__(
        self,
        server: Any,
        model: Model,
        state: State,
        room: FloatArray | None = None,
        again: Callable[[], None] | None = None,
    ):
        self.server = server
        self._again = (lambda: self.move(self.state)) if again is None else again
        self._waits = threading.Event()
        self.layers: Layers | None = None
        self.drawing: Drawing
        self.room = np.zeros((0, 3)) if room is None else room
        server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        server.scene.configure_environment_map(environment_intensity=SURROUNDINGS)
        self.show_model(model, state)
        server.on_client_connect(self._follow)

    def show_model(self, model: Model, state: State) -> None:
        """Draws a model from the beginning: at first, and when it became another."""
        self.model, self.state = model, state
        self.poses = body_poses(model, state)
        self.instances = instances_of(model)
        corners = np.concatenate([self.instances.corners(self.poses), self.room])
        self.up = up_of(model)
        self.camera = framing(corners, self.up)
        self.plain: Colors = by_depth(model)
        self.colors = self.plain
        self.chosen = -1
        if self.layers is not None:
            self.drawing.remove()
            self.layers.remove()
        self._set_camera()
        self._lay_ground(corners)
        detail = Detail(model, self.instances) if model.n_bodies > COARSE_FROM else None
        scene, size = self.server.scene, self.camera.size
        self.drawing = Drawing(scene, "mechanism", self.instances, self.poses, self.colors, size, detail)
        self.layers = Layers(self.server.scene, model, self.camera.size)

    # -------------------------------------------------------------------------------------------------------- who looks

    def eyes(self) -> list[Eye]:
        """The cameras of all pages; the first one where there is none yet."""
        found = []
        for client in self.server.get_clients().values():
            camera = client.camera
            if camera.update_timestamp > 0.0:
                found.append(eye(camera.position, camera.fov, camera.image_height))
        return found or [eye(self.camera.position, float(np.radians(FIELD_OF_VIEW)), SCREEN)]

    def _follow(self, client: Any) -> None:
        """Draws anew a moment after the camera of a page moved, where that may change what is to be seen."""

        def moved(camera: Any) -> None:
            if self.drawing.detail is not None and not self._waits.is_set():
                self._waits.set()
                timer = threading.Timer(LOOKS, self._look_again)
                timer.daemon = True
                timer.start()

        client.camera.on_update(moved)

    def _look_again(self) -> None:
        self._waits.clear()
        self._again()

    # --------------------------------------------------------------------------------------------------------- what is seen

    def _set_camera(self) -> None:
        view, first = self.camera, self.server.initial_camera
        self.server.scene.set_up_direction(tuple(view.up))
        first.position, first.look_at, first.up = view.position, view.look_at, view.up
        first.fov = float(np.radians(FIELD_OF_VIEW))
        first.near, first.far = 1e-3 * view.size, 1e3 * view.size
        for client in self.server.get_clients().values():
            client.camera.position, client.camera.look_at = view.position, view.look_at

    def make_room(self, points: FloatArray) -> None:
        """Steps back until the camera sees these points too [m], shape (k, 3)."""
        self.room = np.concatenate([self.room, points])
        self.camera = framing(np.concatenate([self.instances.corners(self.poses), self.room]), self.up)
        self._set_camera()

    def _lay_ground(self, corners: FloatArray) -> None:
        height = ground_height(self.model, corners, self.up)
        self.cell = cell = float(10.0 ** np.floor(np.log10(0.3 * self.camera.size)))
        middle = self.camera.look_at - (self.camera.look_at @ self.up) * self.up
        middle = np.round(middle / cell) * cell if abs(self.up[2]) == 1.0 else middle
        self.grid = self.server.scene.add_grid(
            "/ground",
            width=60.0 * cell,
            height=60.0 * cell,
            cell_size=cell,
            section_size=5.0 * cell,
            cell_color=(215, 215, 220),
            section_color=(180, 180, 190),
            shadow_opacity=0.0,
            visible=not self.instances.is_molecule,  # nothing lies on a ground there
            wxyz=quaternions(turn_up(self.up)[None])[0],
            position=middle + height * self.up,
        )

    def add_look(self, is_adaptive: bool = False) -> None:
        """The legend, and checkboxes of the layers. is_adaptive: active joints and rigid groups have colours."""
        gui = self.server.gui
        is_molecule = self.instances.is_molecule
        gui.add_html(legend(self.cell, is_adaptive, is_molecule))
        with gui.add_folder("Display", expand_by_default=False):
            ground = gui.add_checkbox("Grid" if is_molecule else "Ground", not is_molecule)
            ground.on_update(lambda event: setattr(self.grid, "visible", ground.value))
            for name, words in Layers.NAMES.items():
                if name != "residues" or is_molecule:
                    self._layer_box(name, words)
            frame = gui.add_button("Frame the mechanism")
            frame.on_click(lambda event: self.frame(event.client))

    def _layer_box(self, name: str, words: str) -> None:
        assert self.layers is not None
        box = self.server.gui.add_checkbox(words, name in self.layers.shown)

        def change(event: Any) -> None:
            assert self.layers is not None
            self.layers.show(name, box.value)
            self.redraw_layers()

        box.on_update(change)

    def add_bodies(self) -> BodyList:
        self.bodies = BodyList(self.server.gui, self.model, self.choose)
        return self.bodies

    def choose_by_clicks(self) -> None:
        drawing = self.drawing

        async def clicked(event: Any) -> None:
            self.choose(drawing.body_of(event.target, event.instance_index))

        drawing.listen(lambda handle: handle.on_click(clicked))

    def choose(self, body: int) -> None:
        """Marks a body and shows its name; -1: none."""
        self.chosen = body
        self.paint(self.colors)
        assert self.layers is not None
        self.layers.mark(body, self.poses)
        if hasattr(self, "bodies"):
            self.bodies.describe(body)

    def frame(self, client: Any = None) -> None:
        """Turns the cameras of all pages, or of one, to where the mechanism is now."""
        view = framing(self.instances.corners(self.poses), self.up)
        for page in self.server.get_clients().values() if client is None else [client]:
            page.camera.position, page.camera.look_at, page.camera.up_direction = view.position, view.look_at, view.up

    def move(self, state: State, sim: Any = None) -> None:
        """Draws the model at another state."""
        self.state = state
        self.poses = body_poses(self.model, state)
        with self.server.atomic():
            self.drawing.move(self.poses, self.eyes() if self.drawing.detail is not None else None)
            self.redraw_layers(sim)
        self.server.flush()

    def redraw_layers(self, sim: Any = None) -> None:
        assert self.layers is not None
        self.layers.draw(self.state, self.poses, sim)
        self.layers.mark(self.chosen, self.poses)

    def paint(self, colors: Colors) -> None:
        """Gives bodies colours; the chosen one keeps its own."""
        self.colors = colors
        if self.chosen >= 0:
            colors = colors.copy()
            colors[self.chosen] = CHOSEN
        self.drawing.paint(colors)
