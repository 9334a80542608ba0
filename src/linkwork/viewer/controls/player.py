"""A page on which time goes on: a button that plays and pauses, a speed, and the thread that draws."""

from __future__ import annotations

import threading
import time
from typing import Any

FRAME = 1.0 / 30.0  # [s] between two pictures
PATIENCE = 0.5  # [s] between two looks at a page on which nothing moves
SPEEDS = ("0.001", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10", "100")


class Player:
    """What a simulation and a recording share. A page gives `_go_on`, which goes on by some seconds of real time."""

    def __init__(self, server: Any):
        self.server, self.is_playing, self.speed = server, False, 1.0
        self._rest = PATIENCE  # [s] between two looks while it does not play
        self._lock, self._wake, self._ended = threading.RLock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="linkwork-viewer", daemon=True)

    def _add_play(self) -> None:
        self.status = self.server.gui.add_markdown("")  # the line above the buttons: time, step and pace
        self._play = self.server.gui.add_button("Play", icon="player-play")
        self._play.on_click(lambda event: self._clicked())

    def _add_speed(self) -> None:
        speed = self.server.gui.add_dropdown("Speed ×", SPEEDS, initial_value="1", hint="simulated time over real time")
        speed.on_update(lambda event: setattr(self, "speed", speed_of(speed.value, self.speed)))

    def _clicked(self) -> None:
        self.toggle()

    def play(self) -> None:
        self.is_playing = True
        self._play.label, self._play.icon = "Pause", "player-pause"
        self._wake.set()

    def pause(self) -> None:
        self.is_playing = False
        self._play.label, self._play.icon = "Play", "player-play"

    def toggle(self) -> None:
        (self.pause if self.is_playing else self.play)()

    def _between(self) -> None:
        """What is done between two pictures, whether it plays or not."""

    def _go_on(self, seconds: float) -> None:
        raise NotImplementedError

    def _loop(self) -> None:
        last = time.perf_counter()
        while not self._ended.is_set():
            began = time.perf_counter()
            self._between()
            if not self.is_playing:
                self._wake.wait(timeout=self._rest)
                self._wake.clear()
                last = time.perf_counter()
                continue
            self._go_on(began - last)
            last = began
            self._ended.wait(max(0.0, FRAME - (time.perf_counter() - began)))

    def close(self) -> None:
        self._ended.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)


def speed_of(chosen: object, before: float) -> float:
    """The speed of a choice of SPEEDS; `before` where a page sends anything else."""
    return float(chosen) if isinstance(chosen, str) and chosen in SPEEDS else before
