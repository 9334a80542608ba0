"""A model that one poses by sliders of its joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.viewer.stage import Stage

MOST_SLIDERS = 40
FULL_TURN = np.pi


class Still:
    """A page with a model at a state, and a slider for each joint of one degree of freedom."""

    def __init__(self, server: Any, model: Model, state: State):
        self.server = server
        self.stage = Stage(server, model, state)
        self._q = state.q.copy()
        self._first = state.q.copy()
        self._sliders: dict[int, Any] = {}
        server.gui.add_markdown(f"**{model.name}**: {model.n_bodies:,} bodies, {model.nv:,} degrees of freedom")
        self.stage.add_bodies()
        if not model.is_constrained:  # a slider would tear them open
            self._add_sliders(model)
        self.stage.add_look()
        self.stage.choose_by_clicks()

    def _add_sliders(self, model: Model) -> None:
        single = [i for i in range(model.n_bodies) if model.joints[i].nq == model.joints[i].nv == 1]
        if not single:
            return
        gui = self.server.gui
        with gui.add_folder("Joints", expand_by_default=len(single) <= 12):
            for i in single[:MOST_SLIDERS]:
                self._add_slider(gui, model, i)
            if len(single) > MOST_SLIDERS:
                gui.add_markdown(f"*and {len(single) - MOST_SLIDERS:,} more*")
            reset = gui.add_button("Reset")
            reset.on_click(lambda event: self.reset())

    def _add_slider(self, gui: Any, model: Model, i: int) -> None:
        k, row = model.q_slice(i).start, model.v_slice(i).start
        reach = FULL_TURN if type(model.joints[i]).__name__ != "Prismatic" else 0.25 * self.stage.camera.size
        low = float(model.lower[row]) if np.isfinite(model.lower[row]) else -reach
        high = float(model.upper[row]) if np.isfinite(model.upper[row]) else reach
        q = float(self._q[k])
        low, high = min(low, q), max(high, q, low + 1e-6)
        slider = gui.add_slider(model.joint_names[i], low, high, (high - low) / 500.0, q)
        slider.on_update(lambda event: self.set(k, float(slider.value)))
        self._sliders[k] = slider

    def set(self, k: int, value: float) -> None:
        """Sets coordinate k [rad or m]."""
        if np.isfinite(value):
            self._q[k] = value
            self.stage.move(State(self._q.copy(), np.zeros(self.stage.model.nv)))

    def reset(self) -> None:
        self._q[:] = self._first
        for k, slider in self._sliders.items():
            slider.value = float(self._first[k])
        self.stage.move(State(self._q.copy(), np.zeros(self.stage.model.nv)))

    def close(self) -> None:
        """Nothing runs beside the server."""
