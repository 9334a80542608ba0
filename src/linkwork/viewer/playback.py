"""Recordings on a page: play, scrub, loop, jump to events, compare two."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, shown
from linkwork.core.units import unit
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import LinkworkError, StateError
from linkwork.record.recording import Recording
from linkwork.scene.plots.rods import recorded_water
from linkwork.simulation.reporting.along import along
from linkwork.viewer.controls.player import Player
from linkwork.viewer.controls.plots import LINES, add_plot, line_data
from linkwork.viewer.shapes.colors import SECOND, by_depth
from linkwork.viewer.shapes.drawing import Drawing
from linkwork.viewer.shapes.instances import Instances, instances_of
from linkwork.viewer.stage import Stage
from linkwork.viewer.tightness import Tightness

EVENTS = {  # scalars whose changes are events, and what a change is called
    "strikes": "heel strike",
    "region_changes": "region change",
    "active_joints": "region change",
}
MOST_EVENTS = 200
LOOKED_AT = 24  # frames that the camera must see whole
APART, BETWEEN = 1.0, 0.15  # two mechanisms stand side by side at these parts of their width and of their size


def events_of(recording: Recording) -> list[tuple[float, str]]:
    """Times [s] at which something changed by count or bodies met or parted, and what; most 200, spread over time."""
    known = {**recording.reports, **recording.scalars}
    found: dict[float, str] = {}
    for name, words in EVENTS.items():
        values = np.asarray(known.get(name, []), dtype=float)
        for k in np.flatnonzero(np.diff(values) != 0.0) + 1 if values.size > 1 else ():
            if np.isfinite(values[k - 1 : k + 1]).all():
                found.setdefault(float(recording.times[k]), words)
    if recording.has_contacts:
        for event in recording.contact_events():
            found.setdefault(event.time, f"{event.body} {'touches' if event.touches else 'leaves'} {event.other}")
    ordered = sorted(found.items())
    if len(ordered) > MOST_EVENTS:
        ordered = [ordered[i] for i in np.linspace(0, len(ordered) - 1, MOST_EVENTS).astype(int)]
    return ordered


def frame_at(recording: Recording, t: float) -> int:
    """The last frame at or before a time [s]."""
    return max(0, int(np.searchsorted(recording.times, t + 1e-12, side="right")) - 1)


def room_of(recording: Recording, instances: Instances) -> FloatArray:
    """Corners of boxes that hold the mechanism at some frames, spread over the recording [m], shape (k, 3)."""
    found: list[FloatArray] = [np.zeros((0, 3))]
    for k in np.unique(np.linspace(0, len(recording) - 1, LOOKED_AT).astype(int)).tolist():
        corners = instances.corners(body_poses(recording.model, recording.state(k)))
        if len(corners):
            found.append(np.stack([corners.min(axis=0), corners.max(axis=0)]))
    return np.concatenate(found)


class Playback(Player):
    """A page with a recording, or two beside each other, over the same time."""

    def __init__(self, server: Any, recording: Recording, other: Recording | None = None):
        for one in (recording, other):
            if one is not None and len(one) == 0:
                raise StateError(f"recording '{one.path}' has no frames to show.")
        super().__init__(server)
        self.recording, self.other, self.is_looping = recording, other, True
        self.time = float(recording.times[0])
        self._end = max(float(one.times[-1]) for one in (recording, other) if one is not None)
        self.frames = (-1, -1)
        self._is_moving = False  # while the slider follows the playback
        room = room_of(recording, instances_of(recording.model))
        self.stage = Stage(server, recording.model, recording.state(0), room=room)
        self._second: Drawing | None = None
        if other is not None:
            self._add_second(other)
        self._events = events_of(recording)
        self._add_controls()
        self.stage.add_bodies()
        self.stage.add_look()
        self.tightness = Tightness(server.gui, recording.model, self._show_again)
        self._add_plots()
        self.stage.choose_by_clicks()
        self.seek(self.time)
        self._thread.start()

    def _add_second(self, other: Recording) -> None:
        size = self.stage.camera.size
        T = body_poses(other.model, other.state(0))
        colors = (0.5 * by_depth(other.model) + 0.5 * SECOND).astype(np.uint8)
        self._second = Drawing(self.server.scene, "second", instances_of(other.model), T, colors, size)
        side = np.cross(self.stage.up, self.stage.camera.position - self.stage.camera.look_at)
        side /= np.linalg.norm(side)
        room = room_of(other, instances_of(other.model))
        width = float(np.ptp(np.concatenate([room, self.stage.room]) @ side))
        offset = -(APART * width + BETWEEN * size) * side
        self._second.root.position = offset
        # It stands on the left, and on the right is room for the controls.
        self.stage.make_room(np.concatenate([room + offset, self.stage.room - offset]))

    def _add_controls(self) -> None:
        gui = self.server.gui
        self._add_play()
        begin, end = float(self.recording.times[0]), self._end
        self._slider = gui.add_slider("Time [s]", begin, max(end, begin + 1e-9), max(end - begin, 1e-6) / 1000.0, begin)
        self._slider.on_update(lambda event: self._scrubbed())
        row = gui.add_button_group("Frame", ("<", ">"))
        row.on_click(lambda event: self.step(1 if row.value == ">" else -1))
        loop = gui.add_checkbox("Loop", True)
        loop.on_update(lambda event: setattr(self, "is_looping", bool(loop.value)))
        self._add_speed()
        if self._events:
            jump = gui.add_button_group("Event", ("previous", "next"))
            jump.on_click(lambda event: self.jump(1 if jump.value == "next" else -1))
        if self.other is not None:
            beside = gui.add_checkbox("Side by side", True, hint="off: one over the other")
            offset = np.array(self._second.root.position)  # type: ignore[union-attr]
            beside.on_update(
                lambda event: setattr(self._second.root, "position", offset if beside.value else np.zeros(3))  # type: ignore[union-attr]
            )

    def _add_plots(self) -> None:
        known = {**self.recording.reports, **self.recording.scalars}
        x = np.asarray(self.recording.times, dtype=float)
        with self.server.gui.add_folder("Plots"):
            for name in LINES:
                y = np.asarray(known.get(name, []), dtype=float)
                if y.size == x.size and x.size >= 2 and np.isfinite(y).any():
                    add_plot(self.server.gui, name, line_data(name, x, y), self.recording.units)

    # ------------------------------------------------------------------------------------------------------- what one does

    def play(self) -> None:
        if self.time >= self._end:
            self.seek(float(self.recording.times[0]))
        super().play()

    def step(self, frames: int = 1) -> None:
        """Some frames on, or back where negative."""
        if isinstance(frames, bool) or not isinstance(frames, int | np.integer):
            raise StateError(f"frames is {shown(frames)}; it must be a whole number.")
        self.pause()
        k = min(max(frame_at(self.recording, self.time) + frames, 0), len(self.recording) - 1)
        self.seek(float(self.recording.times[k]))

    def jump(self, direction: int = 1) -> None:
        """To the next event, or the one before where negative."""
        self.pause()
        times: FloatArray = np.array([t for t, _ in self._events])
        later = times[times > self.time + 1e-9] if direction > 0 else times[times < self.time - 1e-9]
        if later.size:
            self.seek(float(later[0] if direction > 0 else later[-1]))

    def seek(self, t: float) -> None:
        """Shows what was at a time [s]."""
        t = finite(t, "t")
        with self._lock:
            self.time = min(max(t, float(self.recording.times[0])), self._end)
            frames = (frame_at(self.recording, self.time), frame_at(self.other, self.time) if self.other else -1)
            if frames[0] != self.frames[0]:
                self._paint(frames[0])
                self.stage.move(self.recording.state(frames[0]))
            if self._second is not None and self.other is not None and frames[1] != self.frames[1]:
                self._second.move(body_poses(self.other.model, self.other.state(frames[1])))
            self.frames = frames
            event = next((words for t0, words in self._events if abs(t0 - self.time) < 1e-9), "")
            self.status.content = (
                f"t = **{self.time:.4g} {unit('s', self.recording.units)}**, frame {frames[0] + 1:,} of "
                f"{len(self.recording):,}{event and f', {event}'}"
            )
            self._is_moving = True
            try:
                self._slider.value = self.time
            finally:
                self._is_moving = False

    def _paint(self, frame: int) -> None:
        """Rods by their tension, where that is asked for; a scene's water acts, loads on bodies are not recorded."""
        water = recorded_water(self.recording) if self.tightness.is_shown else None
        tight = self.tightness.colors(
            self.recording.model, lambda name: along(self.recording, frame, name, water=water)
        )
        if tight is not None or self.stage.colors is not self.stage.plain:
            self.stage.paint(self.stage.plain if tight is None else tight)

    def _show_again(self) -> None:
        self.frames = (-1, -1)
        self.seek(self.time)

    def _scrubbed(self) -> None:
        if not self._is_moving and abs(float(self._slider.value) - self.time) > 1e-9:
            self.pause()
            self.seek(float(self._slider.value))

    def _go_on(self, seconds: float) -> None:
        t = self.time + self.speed * seconds
        if t >= self._end:
            if self.is_looping:
                t = float(self.recording.times[0])
            else:
                self.pause()
        try:
            self.seek(t)
        except LinkworkError as error:  # the recording went away, or is damaged
            self.pause()
            self.status.content = str(error)
