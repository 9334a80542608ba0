"""Compiles every kernel before the tests begin, by several processes. As a script: `compile_kernels.py [WORKERS]`.

Left to the tests, a kernel is compiled by whoever calls it first, often by two at the same time, and by programs that tests
start without what their parent has compiled. The processes here go through the parts of `every_kernel` from both ends and
leave to others what others have begun; what they compile is kept on disk, where all tests find it.

A part that fails is named and left to the tests, which say more about it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_DEVICE = "host"  # kernels of a GPU are compiled as plain C++, as the tests do where there is none


def take(folder: Path, part: str) -> bool:
    """Whether this process is the first to begin the part: only one can make its file."""
    try:
        (folder / part).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def compile_parts(folder: Path, backwards: bool) -> list[str]:
    """Runs the parts that no other process has begun; says what each took, and gives what failed."""
    import numpy as np

    from linkwork.dynamics.api import ALGORITHMS
    from linkwork.gpu.host import compiler
    from tests.helpers import every_kernel

    if compiler() is None:
        del ALGORITHMS["gpu"]  # as tests/conftest.py does
    failed = []
    for part in reversed(every_kernel.PARTS) if backwards else every_kernel.PARTS:
        if not take(folder, part):
            continue
        began = time.process_time()
        try:
            for _ in every_kernel.PARTS[part](np.random.default_rng(7)):
                pass
        except Exception as error:  # the tests run the same part and show all of it
            failed.append(f"{part}: {error!r}"[:200])
        print(f"  {part.replace('_', ' ')}: {time.process_time() - began:.0f} s of a processor", flush=True)
    return failed


def main() -> int:
    import subprocess

    if len(sys.argv) == 4:  # a process that another one started
        failed = compile_parts(Path(sys.argv[2]), backwards=sys.argv[3] == "1")
        print("\n".join(f"  failed: {line}" for line in failed))
        return 0
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else os.cpu_count() or 1
    # What is on the path now stays there: the package may be found by it, and not be installed.
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    settings = {"LINKWORK_GPU": NO_DEVICE, **os.environ, "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as folder:
        started = [
            subprocess.Popen([sys.executable, "-W", "ignore", __file__, "part", folder, str(k % 2)], env=settings)
            for k in range(workers)
        ]
        return max(process.wait() for process in started)


if __name__ == "__main__":
    sys.exit(main())
