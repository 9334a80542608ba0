"""Modes of vibration on a page: one at a time, large and slow enough to be seen."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.statics.modes import Modes
from linkwork.viewer.stage import Stage

FRAME = 1.0 / 30.0  # [s] between two pictures
PERIOD = 2.0  # [s] of every mode on the page, whatever its frequency
LARGE = 0.12  # of the mechanism's size: how far the body that moves most goes at first
MOST_TURN = 1.0  # [rad] of the joint that turns most


def _named(roll: float, axial: float) -> str:
    """What a mode mostly is, where rods do something else than bend."""
    return ", roll" if roll > 0.5 else ", axial" if axial > 0.5 else ""


class Vibration:
    """A page with the modes of a model about an equilibrium, which swing by q ⊕ ε shape sin."""

    def __init__(self, server: Any, model: Model, state: State, modes: Modes):
        if not isinstance(modes, Modes) or modes.shapes.shape[1:] != (model.nv,) or len(modes.shapes) == 0:
            raise StateError(f"modes must be those of lw.modes for model '{model.name}', at least one.")
        self.server, self.model, self.state, self.modes = server, model, state, modes
        self.is_playing, self.mode, self.size = True, 0, 1.0
        self.phase = 0.0
        self._lock, self._ended = threading.RLock(), threading.Event()
        self.stage = Stage(server, model, state)
        self._scales = [self._scale(shape) for shape in modes.shapes]
        self._add_controls()
        self.stage.add_bodies()
        self.stage.add_look()
        self._thread = threading.Thread(target=self._loop, name="linkwork-modes", daemon=True)
        self._thread.start()

    def _scale(self, shape: FloatArray) -> float:
        """The amplitude at which the body that moves most goes some way, and no joint turns too far."""
        little = 1e-4 / max(float(np.abs(shape).max(initial=0.0)), 1e-300)
        moved = State(self.model.integrate(self.state.q, little * shape), self.state.v)
        way = np.linalg.norm(
            body_poses(self.model, moved)[:, :3, 3] - body_poses(self.model, self.state)[:, :3, 3], axis=1
        )
        far = LARGE * self.stage.camera.size * little / max(float(way.max(initial=0.0)), 1e-300)
        return min(far, MOST_TURN / max(float(np.abs(shape).max(initial=0.0)), 1e-300))

    def _add_controls(self) -> None:
        gui = self.server.gui
        modes = zip(self.modes.frequencies.tolist(), self.modes.roll, self.modes.axial, strict=True)
        names = [f"{k + 1}: {f:.4g} Hz{_named(roll, axial)}" for k, (f, roll, axial) in enumerate(modes)]
        chosen = gui.add_dropdown("Mode", names, initial_value=names[0])
        chosen.on_update(lambda event: self.show(names.index(chosen.value)))
        size = gui.add_slider("Amplitude", 0.0, 3.0, 0.05, 1.0)
        size.on_update(lambda event: setattr(self, "size", float(size.value)))
        button = gui.add_button("Pause", icon="player-pause")

        def toggle(event: Any) -> None:
            self.is_playing = not self.is_playing
            button.label = "Pause" if self.is_playing else "Play"

        button.on_click(toggle)
        gui.add_markdown(f"{self.model.name}: every mode swings once in {PERIOD:g} s here")

    def show(self, mode: int) -> None:
        """Swings in another mode, counted from 0."""
        mode = integer(mode, 0, "mode")
        if mode >= len(self.modes.shapes):
            raise StateError(f"mode is {mode}; there are {len(self.modes.shapes)}, counted from 0.")
        with self._lock:
            self.mode, self.phase = mode, 0.0

    def at(self, phase: float) -> State:
        """The state at a phase [rad] of the mode that is shown."""
        way = self.size * self._scales[self.mode] * math.sin(phase)
        return State(self.model.integrate(self.state.q, way * self.modes.shapes[self.mode]), self.state.v)

    def play(self) -> None:
        self.is_playing = True

    def pause(self) -> None:
        self.is_playing = False

    def _loop(self) -> None:
        while not self._ended.wait(FRAME):
            if self.is_playing:
                began = time.perf_counter()
                with self._lock:
                    self.phase = (self.phase + 2.0 * math.pi * FRAME / PERIOD) % (2.0 * math.pi)
                    self.stage.move(self.at(self.phase))
                self._ended.wait(max(0.0, time.perf_counter() - began - FRAME))

    def close(self) -> None:
        self._ended.set()
        self._thread.join(timeout=5.0)
