"""Where runs are performed: here one after the other, or on the workers of a Dask cluster.

Dask decides which worker takes which run and does a run again whose worker died. Here: how many runs are handed over at a
time (so that a sweep of any length takes little memory), and what an answer means.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from linkwork.core.checks import integer, positive
from linkwork.core.messages.extras import needed
from linkwork.ensemble.work import FAILED, Outcome, SweepError, Work, linkwork_version, perform
from linkwork.errors import LinkworkError

HOST = "127.0.0.1"  # nothing of a local cluster can be reached from another machine
MEMORY_PER_WORKER = 1 << 30  # bytes a process with NumPy, Numba and a small model takes, generously
DEATHS = 3  # of its worker that a run survives; then it is what kills them
WAITING_PER_THREAD, WAITING_MORE = 3, 8  # runs handed over: enough that no worker waits for the next
LOOK_AGAIN = 2.0  # [s] between looks at how many workers there are
DIED = (
    f"WorkerDied: with nothing else running, the process that ran it ended {DEATHS + 1} times before the run did; it needs "
    "more memory than a worker has, or crashes."
)
# What Dask does besides, and no sweep needs.
UPDATE_TIMEOUT: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.comm.timeouts.connect": "120s",  # a machine with many programs starts processes slowly
    "distributed.comm.timeouts.tcp": "120s",
    "distributed.nanny.pre-spawn-environ": {},  # would change the environment of this process too
}


class Task(NamedTuple):
    run: int
    parameters: dict[str, Any]
    seed: int


Done = Callable[[Outcome], None]


def run_here(work: Work, tasks: Iterator[Task], done: Done) -> None:
    for task in tasks:
        done(perform(work, *task))


def dask_library() -> Any:
    return needed(
        "distributed",
        "sweeps on several workers need Dask; install it with: pip install '.[sweep]', or run one after the "
        "other with --workers 0 (workers=0).",
    )


def default_workers(runs: int, threads: int) -> int:
    """As many as cores and memory allow, and not more than there are runs."""
    dask_library()
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    return max(1, min(CPU_COUNT // threads, int(MEMORY_LIMIT // MEMORY_PER_WORKER), runs))


@contextmanager
def local_client(workers: int, threads: int) -> Iterator[Any]:
    """A client of a cluster on this machine: one process per worker, each restarted when it dies."""
    distributed = dask_library()
    import dask

    one_each = {name: str(threads) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    with (
        dask.config.set(UPDATE_TIMEOUT),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=HOST,
            dashboard_address=f"{HOST}:0",
            worker_dashboard_address=f"{HOST}:0",
            silence_logs=logging.CRITICAL,
            env=one_each,
        ) as cluster,
        distributed.Client(cluster, timeout=120) as client,
    ):
        yield client


@contextmanager
def remote_client(address: str, timeout: float = 30.0) -> Iterator[Any]:
    """A client of a cluster that is there already, by the address of its scheduler."""
    distributed = dask_library()
    positive(timeout, "the timeout")
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise LinkworkError(
            f"no Dask scheduler answers at '{address}' ({type(error).__name__}); start one with `dask scheduler`, or leave "
            "--scheduler out to run on this machine."
        ) from None
    try:
        yield client
    finally:
        client.close()


def run_on_dask(client: Any, work: Work, tasks: Iterator[Task], done: Done, one_first: bool) -> None:
    """Performs the tasks on the client's workers; `done` is called here, once for each.

    one_first: the first task runs alone, so that what it compiles is on disk before all others need it.
    Dask blames the death of a worker on every run that waited there. Whose fault it is shows when all others are done: the
    suspects run again, one at a time and alone.
    """
    distributed = dask_library()
    import cloudpickle

    payload = cloudpickle.dumps(work)
    crowd = _Crowd(client)
    finished = distributed.as_completed(with_results=True, raise_errors=False, loop=client.loop)
    keys: dict[str, Task] = {}
    suspects: list[Task] = []
    name = f"linkwork-{os.getpid()}-{time.monotonic_ns()}"

    def submit(task: Task, suffix: str = "") -> None:
        key = f"{name}-{task.run}{suffix}"
        future = client.submit(perform_pickled, payload, *task, key=key, pure=False, retries=0, priority=-task.run)
        keys[future.key] = task
        finished.add(future)

    def hand_over(most: int) -> None:
        while len(keys) < most:
            task = next(tasks, None)
            if task is None:
                return
            submit(task)

    hand_over(1 if one_first else crowd.places())
    while keys:
        future, result = next(finished)
        task = keys.pop(future.key)
        if _is_suspect(future.status, result):
            suspects.append(task)
        else:
            done(_outcome(task, future.status, result))
        del future, result
        hand_over(crowd.places())
    for task in suspects:
        submit(task, "-alone")
        future, result = next(finished)
        keys.clear()
        done(_outcome(task, future.status, result))


class _Crowd:
    """How many runs to hand over: by the threads of all workers, which may come and go."""

    def __init__(self, client: Any):
        self._client, self._looked = client, -LOOK_AGAIN
        self._threads = 1

    def places(self) -> int:
        if time.monotonic() - self._looked >= LOOK_AGAIN:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self._threads * WAITING_PER_THREAD + WAITING_MORE


def _is_suspect(status: str, result: Any) -> bool:
    """Whether workers died on which the run was, or waited."""
    from distributed.scheduler import KilledWorker

    return status == "error" and isinstance(_error(result), KilledWorker)


def _error(result: Any) -> Any:
    return result[1] if isinstance(result, tuple) and len(result) == 3 else result


def _outcome(task: Task, status: str, result: Any) -> Outcome:
    """What an answer of Dask means for the run."""
    if status == "finished" and isinstance(result, Outcome):
        return result
    error = _error(result)
    if _is_suspect(status, result):
        return Outcome(task.run, FAILED, {}, DIED, linkwork_version())
    if status == "error" and isinstance(error, BaseException):
        if isinstance(error, LinkworkError):
            raise error
        raise SweepError(
            f"the workers cannot do run {task.run}: {type(error).__name__}: {error}. Do they have the same versions of "
            "Linkwork and of your own modules?"
        ) from error
    raise SweepError("the scheduler went away. Every finished run is kept; resume when it is back.")


def perform_pickled(payload: bytes, run: int, parameters: dict[str, Any], seed: int) -> Outcome:
    """On a worker: the work comes in one piece of bytes, which is read once per process."""
    _reload_numba_settings()
    return perform(_read_work(payload), run, parameters, seed)


@lru_cache(maxsize=4)
def _read_work(payload: bytes) -> Work:
    import cloudpickle

    work: Work = cloudpickle.loads(payload)
    return work


@lru_cache(maxsize=1)
def _reload_numba_settings() -> None:
    """A script that imports Numba is imported by its workers before their environment is set."""
    from numba.core import config

    config.reload_config()


def checked_workers(workers: int | None) -> int | None:
    return None if workers is None else integer(workers, 0, "workers")
