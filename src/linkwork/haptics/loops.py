"""The loops of a session by the clock: coupling, devices, simulation."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import LinkworkError, StateError
from linkwork.haptics.clock import HAS_COMPILED_CLOCK, REAL_TIME_SPIN, SPIN, now_ns, take_real_time_priority
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import new_memory, new_shared_memory
from linkwork.haptics.statistics import LoopClock, LoopStatistics, coupling_statistics
from linkwork.haptics.tick.coupling_loop import run_coupling
from linkwork.haptics.tick.scratch import SCRATCH

if TYPE_CHECKING:
    from linkwork.haptics.session import Session

LONGEST_START = 120.0  # [s] that the coupling loop may take to begin: kernels are compiled on first use
LONGEST_END = 10.0  # [s]


class Loops:
    """Threads (and perhaps a process) that run until they are stopped. One that fails ends alone; the others go on."""

    def __init__(
        self,
        session: Session,
        h: float,
        n: int,
        rates: dict[str, float],
        in_process: bool,
        spins: bool,
        real_time: bool,
    ):
        if not HAS_COMPILED_CLOCK:
            raise StateError("loops by the clock need Linux or macOS; Session.run() works everywhere.")
        self._session, self._h, self._n = session, h, n
        self._rates, self._in_process, self._spins, self._real_time = rates, in_process, spins, real_time
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self.file: Path | None = None
        self.failure: Exception | None = None
        self._sim_clock = LoopClock("simulation", 1e9 / rates["sim_rate"])
        self._device_clock = LoopClock("devices", 1e9 / rates["device_rate"])

    # ----------------------------------------------------------------------------------------------------- start and stop

    def start(self) -> None:
        session = self._session
        if self._in_process:
            session.memory, self.file = new_shared_memory()
        else:
            session.memory = new_memory()
        words = session.memory.view(np.int64)
        spin = 0 if not self._spins else REAL_TIME_SPIN if self._real_time else SPIN
        words[at.H_PERIOD], words[at.H_SPIN] = round(1e9 / self._rates["rate"]), spin
        if self._in_process:
            command = [sys.executable, "-m", "linkwork.haptics.tick.process", str(self.file)]
            self._process = subprocess.Popen([*command, "--real-time"] if self._real_time else command)
        else:
            self._thread("coupling", self._run_coupling)
        self._await_coupling(words)  # without a snapshot it does nothing; one that is old would make it let go
        session.read_devices()
        session.publish()
        self._thread("devices", self._run_devices)
        self._thread("simulation", self._run_simulation)

    def _await_coupling(self, words: np.ndarray) -> None:
        end = time.monotonic() + LONGEST_START
        while words[at.H_RUNS] == 0:
            if self._process is not None and self._process.poll() is not None:
                raise LinkworkError(f"the process of the coupling loop ended at once, with {self._process.returncode}.")
            if self.failure is not None:
                raise self.failure
            if time.monotonic() > end:
                raise LinkworkError(f"the coupling loop did not begin within {LONGEST_START:g} s.")
            time.sleep(1e-3)

    def _thread(self, name: str, run: object) -> None:
        thread = threading.Thread(target=self._guarded, args=(run,), name=f"linkwork haptics {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, run: object) -> None:
        try:
            run()  # type: ignore[operator]
        except Exception as error:  # reported by stop(); meanwhile the watchdog lets hands go
            self.failure = self.failure or error

    def stop(self) -> None:
        self._stop.set()
        self._session.memory.view(np.int64)[at.H_STOP] = 1
        for thread in self._threads:
            thread.join(LONGEST_END)
        if self._process is not None:
            try:
                self._process.wait(LONGEST_END)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self.file is not None:
            session = self._session
            session.memory = session.memory.copy()  # results stay readable when the file is gone
            self.file.unlink(missing_ok=True)

    # ----------------------------------------------------------------------------------------------------------- the loops

    def _run_coupling(self) -> None:
        if self._real_time:
            take_real_time_priority()
        run_coupling(self._session.memory, np.zeros(SCRATCH))

    def _run_simulation(self) -> None:
        self._every(self._sim_clock, lambda: self._session.step(self._h, self._n))

    def _run_devices(self) -> None:
        def tick() -> None:
            self._session.read_devices()
            self._session.write_devices()

        self._every(self._device_clock, tick)

    def _every(self, clock: LoopClock, tick: object) -> None:
        due, period = float(now_ns()), clock.period
        while not self._stop.is_set():
            start = now_ns()
            tick()  # type: ignore[operator]
            end = now_ns()
            clock.count(start, end)
            due += period
            if end >= due + period:  # late: what was missed is not made up for
                lost = int((end - due) // period)
                clock.missed += lost
                due += lost * period
            left = due - now_ns()
            if left > 0.0:
                self._stop.wait(left * 1e-9)

    def statistics(self) -> list[LoopStatistics]:
        return [
            coupling_statistics(self._session.memory),
            self._sim_clock.statistics,
            self._device_clock.statistics,
        ]
