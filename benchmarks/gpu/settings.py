"""How many bodies one thread of the GPU does one behind the other, tried in one run; the time of each kernel; calls after
pauses."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.gpu import DeviceModel
from linkwork.gpu.cuda import CudaBackend
from linkwork.gpu.tables import Tables

from ..harness import Report, Requirement, progress, take_turns
from .cases import SEED, SHAPES

STRANDS = (1, 4, 8, 16, 32)  # bodies
AGREEMENT = 1e-9  # relative, in the largest entry
IN_A_LOOP = 0.1  # [s] in which calls of one kind follow each other
PAUSES = (0.0, 1e-3, 5e-3, 20e-3)  # [s] before a burst of calls
BURST, PLACES = 50, (1, 2, 5, 10, 20, 50)  # calls, and those that are shown


def state_of(cupy: Any, shape: str, joints: int) -> tuple[lw.Model, list[Any], np.ndarray]:
    """A linkage, its state and efforts on the GPU, and the accelerations of `aba`."""
    progress(f"{shape}, {joints:,} joints")
    model = SHAPES[shape](joints).compile()
    rng = np.random.default_rng(SEED)
    state, effort = model.random_state(rng, speed=0.1), rng.normal(size=model.nv)
    expected = lw.forward_dynamics(model, state, effort)
    return model, [cupy.asarray(x) for x in (state.q, state.v, effort)], expected


def try_settings(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """Every length of strands against `aba`, then all of one size in turns."""
    for shape in options.shapes:
        for power in options.sizes:
            model, arrays, expected = state_of(cupy, shape, 2**power)
            calls, apart = {}, {}
            for strand in STRANDS:
                name = f"strands of {strand}"
                progress(f"{shape}, 2^{power} joints, {name}")
                device = DeviceModel(model, schedule="levels", strand_length=strand)

                def setting(device: DeviceModel = device, arrays: list[Any] = arrays) -> Any:
                    qdd = device.forward_dynamics(*arrays)
                    device.backend.synchronize()
                    return qdd

                found = [setting().get() for _ in range(3)]  # by launches, then as a graph
                apart[name] = max(float(np.abs(x - expected).max() / np.abs(expected).max()) for x in found)
                if apart[name] <= AGREEMENT:
                    calls[name] = setting
            timings = take_turns(calls, options.rounds if power < 19 else min(options.rounds, 7), sample_time=IN_A_LOOP)
            for name, difference in apart.items():
                milliseconds = timings[name].median * 1e3 if name in timings else float("nan")
                report.requirements.append(
                    Requirement(
                        f"{shape}, 2^{power} joints, {name}", milliseconds, "ms", f"≤ {AGREEMENT:g} apart",
                        difference <= AGREEMENT, detail=f"differs by {difference:.0e}",
                    )
                )  # fmt: skip
            del calls
            cupy.get_default_memory_pool().free_all_blocks()


class Watched(CudaBackend):
    """Takes the time of every launch; nothing is recorded as a graph."""

    def __init__(self, dtype: str):
        super().__init__(dtype)
        self.times: dict[str, list[tuple[Any, Any]]] = {}

    def launch(self, kernel: str, tables: Tables, first: int, count: int) -> None:
        self._watched(kernel, lambda: super(Watched, self).launch(kernel, tables, first, count))

    def launch_narrow(self, kernel: str, tables: Tables, first: int, count: int, what: int) -> None:
        self._watched(kernel, lambda: super(Watched, self).launch_narrow(kernel, tables, first, count, what))

    def record(self, act: Any) -> Any:
        return act

    def _watched(self, name: str, launch: Any) -> None:
        start, end = self.xp.cuda.Event(), self.xp.cuda.Event()
        start.record()
        launch()
        end.record()
        self.times.setdefault(name, []).append((start, end))


def time_kernels(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """Time of each kernel in one call, all its launches; each waits for the host, so that short ones look longer."""
    for shape in options.shapes:
        for power in options.sizes:
            model, arrays, _ = state_of(cupy, shape, 2**power)
            device = DeviceModel(model, schedule="levels", backend=Watched)
            backend, rounds = device.backend, []
            for _ in range(5):
                device.forward_dynamics(*arrays)
                backend.synchronize()
                sums = {
                    name: (len(pairs), sum(cupy.cuda.get_elapsed_time(*pair) for pair in pairs))
                    for name, pairs in backend.times.items()
                }
                rounds.append(sums)
                backend.times.clear()
            for name, (count, _) in rounds[-1].items():
                milliseconds = statistics.median(one[name][1] for one in rounds[1:])
                detail = f"{count} launches"
                report.requirements.append(
                    Requirement(f"{shape}, 2^{power} joints: {name}", milliseconds, "ms", "", True, detail=detail)
                )
            del device, backend
            cupy.get_default_memory_pool().free_all_blocks()


def try_pauses(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """The 1st, 2nd, ... 50th call after the GPU had nothing to do, while the host slept or ran `aba`.

    By the host's clock, and by events of the GPU around what it was given to do: where only the first of the two is larger
    after a pause, it is the host that begins slowly.
    """
    for shape in options.shapes:
        for power in options.sizes:
            model, arrays, _ = state_of(cupy, shape, 2**power)
            device = DeviceModel(model, schedule="levels")
            state = lw.State(arrays[0].get(), arrays[1].get())

            def busy(seconds: float, model: lw.Model = model, state: lw.State = state) -> None:
                end = time.perf_counter() + seconds
                while time.perf_counter() < end:
                    lw.forward_dynamics(model, state)

            call = waiting(cupy, device, arrays)
            for _ in range(BURST):
                call()
            waits: dict[str, Callable[[float], None]] = {"asleep": time.sleep, "busy with aba": busy}
            for pause in PAUSES:
                for how, wait in waits.items() if pause else [("at work", time.sleep)]:
                    bursts = np.array([burst_after(call, wait, pause) for _ in range(options.rounds)])
                    host, on_device = np.median(bursts, axis=0)
                    shown = ", ".join(f"{k}: {host[k - 1]:.3f} ({on_device[k - 1]:.3f})" for k in PLACES)
                    report.requirements.append(
                        Requirement(
                            f"{shape}, 2^{power} joints, after {1e3 * pause:g} ms {how}", float(np.median(host)), "ms",
                            "", True, detail=f"call, host (device): {shown}",
                        )
                    )  # fmt: skip


def waiting(cupy: Any, device: DeviceModel, arrays: list[Any]) -> Callable[[], tuple[float, float]]:
    """A complete call; its time by the host's clock and by the device's [ms]."""
    start, end = cupy.cuda.Event(), cupy.cuda.Event()

    def call() -> tuple[float, float]:
        began = time.perf_counter()
        start.record()
        device.forward_dynamics(*arrays)
        end.record()
        device.backend.synchronize()
        return 1e3 * (time.perf_counter() - began), cupy.cuda.get_elapsed_time(start, end)

    return call


def burst_after(
    call: Callable[[], tuple[float, float]], wait: Callable[[float], None], pause: float
) -> list[tuple[float, ...]]:
    """Times of the calls of one burst after a pause: by the host, by the device [ms]."""
    if pause:
        wait(pause)
    return list(zip(*(call() for _ in range(BURST)), strict=True))
