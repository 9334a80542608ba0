"""Measurements side by side, each in a process with a core of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def on_cores(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int) -> list[Any]:
    """work(*task) for each task, in their order. workers: processes at a time; one or none: here, one after the other.

    Where processes cannot be copied (Windows), here. Kernels should be compiled before, or each process does it.
    """
    if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        return [work(*task) for task in tasks]
    context = multiprocessing.get_context("fork")  # benchmarks have no name that another program could import
    cores: Any = context.Queue()
    for core in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ():
        cores.put(core)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_take_core, initargs=(cores,)) as pool:
        return list(pool.map(work, *zip(*tasks, strict=True)))


def _take_core(cores: Any) -> None:
    """The process keeps to a core that no other of them has, where there are enough."""
    if hasattr(os, "sched_setaffinity") and not cores.empty():
        os.sched_setaffinity(0, [cores.get()])
