"""Tries cases in this process, one line before and one after each: so whoever watches knows which one never came back.

Lines between say that a kernel is being compiled, which no case is to blame for.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from numba.core import event

from . import COMPILING
from .borders import try_case


class Tells(event.Listener):
    """Writes a line whenever a function begins or ends to be compiled."""

    def __init__(self, lines: TextIO):
        self._lines = lines

    def on_start(self, event: Any) -> None:
        print(json.dumps(COMPILING), file=self._lines, flush=True)

    on_end = on_start


def main() -> None:
    border, seed, first, count = sys.argv[1], *map(int, sys.argv[2:5])
    lines = os.fdopen(os.dup(1), "w")  # what cases print goes elsewhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    event.register("numba:compile", Tells(lines))
    for number in range(first, first + count):
        print(json.dumps([number]), file=lines, flush=True)
        print(json.dumps([number, try_case(border, seed, number)]), file=lines, flush=True)


if __name__ == "__main__":
    main()
