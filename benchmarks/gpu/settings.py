"""Settings of the GPU's sweeps, tried in one run: bodies per strand, blocks that do narrow levels; time of each kernel."""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.gpu import DeviceModel
from linkwork.gpu.cuda import CudaBackend
from linkwork.gpu.tables import Tables

from ..harness import Report, Requirement, progress, take_turns
from .cases import SEED, SHAPES

STRANDS = (1, 4, 8, 16, 32)  # bodies
NARROW = ((1, 32), (8, 256), (8, 512), (8, 1024))  # blocks of a cluster, slots of a level
AGREEMENT = 1e-9  # relative, in the largest entry


class Setting:
    """One chain in one state, solved with one setting of the sweeps."""

    def __init__(self, model: lw.Model, arrays: list[Any], strand: int, cluster: int, few: int):
        backend = Narrow(cluster, few)
        self.device = DeviceModel(model, schedule="levels", strand_length=strand, backend=backend)
        self.arrays = arrays

    def __call__(self) -> Any:
        qdd = self.device.forward_dynamics(*self.arrays)
        self.device.backend.synchronize()
        return qdd


class Narrow:
    """Makes backends whose narrow levels are done by so many blocks, up to so many slots."""

    def __init__(self, cluster: int, few: int):
        self.cluster, self.few = cluster, few

    def __call__(self, dtype: str) -> CudaBackend:
        backend = CudaBackend(dtype, cluster=self.cluster)
        backend.few = self.few
        return backend


def state_of(cupy: Any, shape: str, joints: int) -> tuple[lw.Model, list[Any], np.ndarray]:
    """A linkage, its state and efforts on the GPU, and the accelerations of `aba`."""
    progress(f"{shape}, {joints:,} joints")
    model = SHAPES[shape](joints).compile()
    rng = np.random.default_rng(SEED)
    state, effort = model.random_state(rng, speed=0.1), rng.normal(size=model.nv)
    expected = lw.forward_dynamics(model, state, effort)
    return model, [cupy.asarray(x) for x in (state.q, state.v, effort)], expected


def try_settings(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """Every setting against `aba`, then all of one size in turns."""
    for shape in options.shapes:
        for power in options.sizes:
            model, arrays, expected = state_of(cupy, shape, 2**power)
            choices = [(strand, 8, 256) for strand in STRANDS]
            choices += [(8, *narrow) for narrow in NARROW if narrow != (8, 256)] if power < 19 else []
            calls, apart = {}, {}
            for strand, cluster, few in choices:
                name = f"strands of {strand}, {cluster} blocks up to {few} slots"
                progress(f"{shape}, 2^{power} joints, {name}")
                setting = Setting(model, arrays, strand, cluster, few)
                found = [setting().get() for _ in range(3)]  # by launches, then as a graph
                apart[name] = max(float(np.abs(x - expected).max() / np.abs(expected).max()) for x in found)
                if apart[name] <= AGREEMENT:
                    calls[name] = setting
            timings = take_turns(calls, options.rounds if power < 19 else min(options.rounds, 7), sample_time=5e-3)
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

    def launch_narrow(self, kernel: str, tables: Tables, first: int, count: int) -> None:
        self._watched(f"narrow {kernel}", lambda: super(Watched, self).launch_narrow(kernel, tables, first, count))

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
