"""Runs a smoke set in environments of several versions, each of its own, and prints a table.

    python tools/version_matrix.py                      # every row that an interpreter is found for
    python tools/version_matrix.py --only oldest        # rows whose name contains this
    python tools/version_matrix.py --python python3.13  # with this interpreter instead of those named in the rows
    python tools/version_matrix.py --parts algorithms   # so much of the smoke set, where compiling takes long
    python tools/version_matrix.py --work FOLDER        # keeps the package and its kernels there for the next call

A row is an interpreter and pins of packages. Rows of versions run the parts of the smoke set: forward dynamics by four
algorithms against each other (`algorithms`), an equilibrium (`statics`), steps of both dynamics (`steps`). Rows of extras
install the oldest packages that pyproject.toml allows, exactly those, or the newest, and run `tools/smoke_extras.py`.
Where `uv` is there, it installs them, which takes seconds.
Exit status 1 where a row fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LONGEST = 1500  # [s] of the smoke set in one row

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
VERSIONS = (
    "import sys; from importlib.metadata import version; print(', '.join(f'{n} {version(n)}' for n in sys.argv[1:]))"
)
NEWEST = ("numpy", "numba<0.69", "rich")
# What an extra is used with: recordings are what the viewer animates.
TOGETHER = {"viewer": ("record",)}


class Row(NamedTuple):
    name: str
    python: str
    pins: tuple[str, ...]
    extra: str = ""


def rows() -> list[Row]:
    """Rows of versions, then the oldest and the newest of each extra that pyproject.toml names, but those of developers."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras: dict[str, list[str]] = tomllib.loads(text)["project"]["optional-dependencies"]
    found = [Row("oldest of all", "python3.11", ("numpy==1.26.0", "numba==0.60.0", "rich==13.0.0"))]
    found += [Row(f"Python 3.{minor}", f"python3.{minor}", NEWEST) for minor in range(11, 16)]
    for extra in sorted(set(extras) - {"dev"}):
        wanted = [pin for name in (extra, *TOGETHER.get(extra, ())) for pin in extras[name]]
        oldest = tuple(re.sub(r">=([\d.]+)(,<[\d.]+)?", r"==\1", pin) for pin in wanted)
        found.append(Row(f"{extra}, oldest", "python3.11", (*NEWEST, *oldest), extra))
        found.append(Row(f"{extra}, newest", "python3.13", (*NEWEST, *wanted), extra))
    return found


def unpacked(work: Path) -> Path:
    """The package as its wheel holds it, in a folder: files keep their times, so that rows can share kernels."""
    package = work / "package"
    if not package.exists():
        wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work), str(ROOT)]
        subprocess.run([sys.executable, *wheel], check=True)
        with zipfile.ZipFile(next(work.glob("linkwork-*.whl"))) as file:
            file.extractall(package)
    return package


def try_row(row: Row, interpreter: str, work: Path, folder: Path, parts: list[str]) -> str:
    """What the smoke set printed."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    uv = shutil.which("uv")
    subprocess.run([interpreter, "-m", "venv", *(["--without-pip"] if uv else []), str(folder)], check=True)
    pip = [uv, "pip", "install", "--python", str(python)] if uv else [str(python), "-m", "pip", "install"]
    done = subprocess.run([*pip, "--quiet", *row.pins], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(_last_line(done.stderr))
    kernels = work / "kernels" / f"{row.python}-{row.pins[1]}".replace("<", "-").replace("=", "-")
    settings = {**os.environ, "PYTHONPATH": str(unpacked(work)), "NUMBA_CACHE_DIR": str(kernels)}
    if row.extra:
        program = [str(ROOT / "tools" / "smoke_extras.py"), row.extra]
    else:
        program = ["-c", "\n".join([BEGIN, *(PARTS[part] for part in parts), END])]
    done = subprocess.run(
        [str(python), *program], cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=LONGEST
    )
    if done.returncode:
        raise RuntimeError(_last_line(done.stderr))
    names = [re.split(r"[<=>]", pin)[0] for pin in row.pins[len(NEWEST) :]]
    versions = subprocess.run([str(python), "-c", VERSIONS, *names], capture_output=True, text=True, check=True).stdout
    return ", ".join(filter(None, (done.stdout.strip().splitlines()[-1], versions.strip())))


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if not line.startswith(("WARNING", "[notice]"))]
    return lines[-1] if lines else "no message"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="rows whose name contains one of these")
    parser.add_argument("--python", help="this interpreter for all rows")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="of the smoke set")
    parser.add_argument("--work", type=Path, help="folder that keeps the package and its kernels")
    options = parser.parse_args()
    print(f"parts: {', '.join(options.parts)}")
    print("| row | result | what ran | seconds |\n| --- | --- | --- | ---: |", flush=True)
    failed = False
    for row in rows():
        if not any(word in row.name for word in options.only):
            continue
        interpreter = shutil.which(options.python or row.python)
        if interpreter is None:
            print(f"| {row.name} | not tried: {options.python or row.python} is not here | | |", flush=True)
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            work = options.work or Path(folder)
            work.mkdir(parents=True, exist_ok=True)
            try:
                text = try_row(row, interpreter, work.resolve(), Path(folder) / "environment", options.parts)
                verdict = "passes"
            except (RuntimeError, subprocess.SubprocessError) as error:
                text, verdict, failed = str(error), "**fails**", True
        print(f"| {row.name} | {verdict} | {text} | {time.perf_counter() - start:.0f} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
