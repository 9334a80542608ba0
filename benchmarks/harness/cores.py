"""Measurements side by side, each in a process with a core of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any


def on_cores(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int) -> list[Any]:
    """work(*task) for each task, in their order. workers: processes at a time; one or none: here, one after the other.

    Where processes cannot be copied (Windows), here. Kernels should be compiled before, or each process does it.
    """
    found = dict(as_they_come(work, tasks, workers))
    return [found[k] for k in range(len(tasks))]


def as_they_come(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int) -> Iterator[tuple[int, Any]]:
    """The same, each result when it is there, with the number of its task: whoever stops early keeps what was done."""
    if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        for k, task in enumerate(tasks):
            yield k, work(*task)
        return
    context = multiprocessing.get_context("fork")  # benchmarks have no name that another program could import
    cores: Any = context.Queue()
    for core in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ():
        cores.put(core)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_take_core, initargs=(cores,)) as pool:
        begun = {pool.submit(work, *task): k for k, task in enumerate(tasks)}
        for done in as_completed(begun):
            yield begun[done], done.result()


def _take_core(cores: Any) -> None:
    """The process keeps to a core that no other of them has, where there are enough."""
    if hasattr(os, "sched_setaffinity") and not cores.empty():
        os.sched_setaffinity(0, [cores.get()])
