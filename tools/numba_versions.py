"""Runs Linkwork's kernels with several releases of Numba, each in an environment of its own, and prints a table.

    python tools/numba_versions.py             # the oldest and the newest release that pyproject.toml allows
    python tools/numba_versions.py 0.60 0.63   # these
    python tools/numba_versions.py --all-parts # every kernel, not only the algorithms that all else rests on

Results are compared with those of this environment's Numba, to rounding. Exit status 1 where one differs or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "helpers" / "every_kernel.py"
PARTS = ("vector_algorithms", "one_full_step")
# Releases before 0.61 need a NumPy from before 2.1.
NUMPY = {"0.60": "numpy<2.1", "0.61": "numpy<2.3"}


def allowed() -> tuple[str, str]:
    """The oldest release that pyproject.toml allows, and the newest of the line before the first that it does not."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'"numba>=(\d+\.\d+),<(\d+)\.(\d+)"', text)
    if found is None:
        raise SystemExit('pyproject.toml has no line of the form "numba>=0.60,<0.69"')
    return found[1], f"{found[2]}.{int(found[3]) - 1}"


def run(python: Path, folder: Path, parts: tuple[str, ...]) -> dict[str, object]:
    """What `every_kernel` finds with an interpreter; compiled in `folder`."""
    out = folder / "results.json"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    settings["NUMBA_CACHE_DIR"] = str(folder / "cache")
    subprocess.run([str(python), str(SCRIPT), str(out), *parts], check=True, env=settings, cwd=ROOT)
    found: dict[str, object] = json.loads(out.read_text(encoding="utf-8"))
    return found


def environment(folder: Path, version: str) -> Path:
    """An interpreter with this release of Numba and what Linkwork needs beside it."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    needed = [f"numba=={version}.*", NUMPY.get(version, "numpy"), "rich", "scipy"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *needed], check=True)
    return python


def differences(ours: dict[str, object], theirs: dict[str, object]) -> list[str]:
    import numpy as np

    sys.path.insert(0, str(ROOT))
    from tests.helpers.compiled_elsewhere import SAME

    names = []
    for name, value in ours["results"].items():  # type: ignore[attr-defined]
        here, there = np.array(value, dtype=float), np.array(theirs["results"][name], dtype=float)  # type: ignore[index]
        if here.shape != there.shape or not np.abs(here - there).max(initial=0.0) <= SAME * max(
            1.0, np.abs(here).max()
        ):
            names.append(name)
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help="releases such as 0.60")
    parser.add_argument("--all-parts", action="store_true", help="every kernel")
    options = parser.parse_args()
    parts = () if options.all_parts else PARTS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "here").mkdir()
        ours = run(Path(sys.executable), Path(folder) / "here", parts)
        for version in options.versions or allowed():
            try:
                python = environment(Path(folder) / version, version)
                wrong = differences(ours, run(python, Path(folder) / version, parts))
                text = "the same results" if not wrong else f"differs in {', '.join(wrong)}"
            except subprocess.CalledProcessError as error:
                wrong, text = ["run"], f"failed: {error}"
            failed += bool(wrong)
            print(f"Numba {version}: {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
