"""Says why a first call takes seconds: on a terminal, in a notebook and in a log alike.

Kernels that compile quickly are not mentioned. What takes longer is reported once per process, after two seconds.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # [s] of compiling before it is reported
TEXT = "linkwork: compiling kernels for their first use; the result is kept for later runs ..."

_reported = threading.Event()


@contextmanager
def notice_of_compiling() -> Iterator[None]:
    """While it lasts, something is being compiled; after PATIENCE that is reported."""
    timer = threading.Timer(PATIENCE, _report)
    timer.daemon = True
    if not _reported.is_set():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _report() -> None:
    if not _reported.is_set():
        _reported.set()
        print(TEXT, file=sys.stderr, flush=True)
