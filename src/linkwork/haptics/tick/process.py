"""The coupling loop as a process of its own: `python -m linkwork.haptics.tick.process FILE`, the memory of a session."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.haptics.clock import take_real_time_priority
from linkwork.haptics.sharing.memory import open_shared_memory
from linkwork.haptics.tick.coupling_loop import run_coupling
from linkwork.haptics.tick.scratch import SCRATCH


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--real-time"]):
        print("usage: python -m linkwork.haptics.tick.process FILE [--real-time]", file=sys.stderr)
        return 2
    try:
        memory = open_shared_memory(Path(arguments[0]))
        if arguments[1:]:
            take_real_time_priority()
    except LinkworkError as error:
        print(error, file=sys.stderr)
        return 1
    run_coupling(memory, np.zeros(SCRATCH))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
