"""Says why a first call takes seconds: on a terminal, in a notebook and in a log alike.

Kernels that compile quickly are not mentioned. What takes longer is reported once per process, after two seconds; each
kernel of a series that belongs together (a step with contact) by a line of its own, with its number and how many there are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # [s] of compiling before it is reported
TEXT = "linkwork: compiling kernels for their first use; the result is kept for later runs ..."

_reported = threading.Event()
_series: list[str] = []  # which kernel of a series is compiled, if one is


@contextmanager
def part_of_series(number: int, total: int, what: str) -> Iterator[None]:
    """While it lasts, kernel `number` of `total` may be compiled."""
    _series.append(f"linkwork: kernel {number} of {total}: {what}")
    try:
        yield
    finally:
        _series.pop()


@contextmanager
def notice_of_compiling() -> Iterator[None]:
    """While it lasts, something is being compiled; after PATIENCE that is reported."""
    timer = threading.Timer(PATIENCE, _report)
    timer.daemon = True
    if _series or not _reported.is_set():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _report() -> None:
    if not _reported.is_set():
        _reported.set()
        print(TEXT, file=sys.stderr, flush=True)
    if _series:
        print(_series[-1], file=sys.stderr, flush=True)
