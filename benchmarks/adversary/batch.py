"""Tries cases in this process, one line before and one after each: so whoever watches knows which one never came back.

`python -m benchmarks.adversary.batch BORDER SEED FIRST COUNT [TIMES]`. Lines between say that compiling of a kernel begins
or ends. The processor time of a case is counted without that: no case is to blame for compiling. With TIMES each case is
made so often, and the last time counts: everything is loaded by then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, TextIO

from numba.core import event

from . import BEGINS_TO_COMPILE, ENDS_TO_COMPILE
from .borders import try_case


class Compiling(event.Listener):
    """Says when compiling begins and ends, and adds up the processor time that it takes."""

    def __init__(self, lines: TextIO):
        self._lines, self._depth, self._since, self.seconds = lines, 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._since = time.process_time()
            self._say(BEGINS_TO_COMPILE)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.process_time() - self._since
            self._say(ENDS_TO_COMPILE)

    def _say(self, what: str) -> None:
        print(json.dumps(what), file=self._lines, flush=True)


def main() -> None:
    border, seed, first, count, *times = sys.argv[1], *map(int, sys.argv[2:])
    lines = os.fdopen(os.dup(1), "w")  # what cases print goes elsewhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    compiling = Compiling(lines)
    event.register("numba:compile", compiling)
    for number in range(first, first + count):
        for _ in range(times[0] if times else 1):
            print(json.dumps([number]), file=lines, flush=True)
            before = time.process_time() - compiling.seconds
            what = try_case(border, seed, number)
            seconds = time.process_time() - compiling.seconds - before
        print(json.dumps([number, what, seconds]), file=lines, flush=True)


if __name__ == "__main__":
    main()
