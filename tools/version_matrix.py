"""Runs a smoke set in environments of several versions, each of its own, and prints a table.

    python tools/version_matrix.py                     # every row that an interpreter is found for
    python tools/version_matrix.py --only oldest       # rows whose name contains this
    python tools/version_matrix.py --python python3.13 # with this interpreter instead of those named in the rows
    python tools/version_matrix.py --parts algorithms  # so much of the smoke set, where compiling takes long

A row is an interpreter and pins of packages. The smoke set has parts: forward dynamics by four algorithms
against each other (`algorithms`), an equilibrium (`statics`), steps of both dynamics (`steps`).
Exit status 1 where a row fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

BEGIN = """
import numpy as np, numba, sys
import linkwork as lw
model = lw.library.random_tree(20, seed=1).compile()
state = model.random_state(1)
"""
PARTS = {
    "algorithms": """
exact = lw.forward_dynamics(model, state)
for algorithm in ("aba", "dca", "virtual_work", "dense"):
    found = lw.forward_dynamics(model, state, algorithm=algorithm)
    assert np.abs(found - exact).max() <= 1e-8 * np.abs(exact).max(), algorithm
""",
    "statics": """
chain = lw.library.chain(20).compile()
assert lw.settle(chain, chain.neutral()).report.unbalanced_part < 1e-9
""",
    "steps": """
for sim in (lw.FullDynamics(model, state), lw.AdaptiveDynamics(model, state, tolerance=0.0)):
    sim.step(1e-3, 10)
    assert np.isfinite(sim.state.q).all() and np.isfinite(sim.state.v).all()
""",
}
END = 'print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, numba {numba.__version__}")'


class Row(NamedTuple):
    name: str
    python: str
    pins: tuple[str, ...]


ROWS = (
    Row("oldest of all", "python3.11", ("numpy==1.26.*", "numba==0.60.*", "rich==13.0.*")),
    Row("newest of all", "python3.11", ("numpy", "numba<0.69", "rich")),
    Row("Python 3.12", "python3.12", ("numpy", "numba<0.69", "rich")),
    Row("Python 3.13", "python3.13", ("numpy", "numba<0.69", "rich")),
    Row("Python 3.14", "python3.14", ("numpy", "numba<0.69", "rich")),
)


def try_row(row: Row, interpreter: str, folder: Path, parts: list[str]) -> str:
    """What the smoke set printed."""
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, *row.pins], check=True)
    subprocess.run([str(python), "-m", "pip", "install", *quiet, str(ROOT)], check=True)
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    program = "\n".join([BEGIN, *(PARTS[part] for part in parts), END])
    done = subprocess.run(
        [str(python), "-c", program], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--python", help="this interpreter for all rows")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="of the smoke set")
    options = parser.parse_args()
    print(f"parts: {', '.join(options.parts)}")
    print("| row | result | what ran | seconds |\n| --- | --- | --- | ---: |", flush=True)
    failed = False
    for row in ROWS:
        if options.only not in row.name:
            continue
        interpreter = shutil.which(options.python or row.python)
        if interpreter is None:
            print(f"| {row.name} | not tried: {options.python or row.python} is not here | | |", flush=True)
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                text, verdict = try_row(row, interpreter, Path(folder) / "environment", options.parts), "passes"
            except (RuntimeError, subprocess.CalledProcessError) as error:
                text, verdict, failed = str(error), "**fails**", True
        print(f"| {row.name} | {verdict} | {text} | {time.perf_counter() - start:.0f} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
