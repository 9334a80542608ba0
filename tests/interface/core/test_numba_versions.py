"""`tools/numba_versions.py` tries kernels in environments that hold Numba and little else."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]
PARTS = runpy.run_path(str(ROOT / "tools" / "numba_versions.py"))["PARTS"]
PROGRAM = """
import sys

SHOWN = {"rich", "markdown_it", "mdurl", "pygments"}
OURS = {"linkwork", "linkwork_kernels", "tests", "benchmarks"}
ALLOWED = {*OURS, "numba", "llvmlite", "numpy", "scipy", *SHOWN, *sys.stdlib_module_names}

class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NothingElse())
try:
    import gymnasium
except ModuleNotFoundError:
    print("blocked")
from tests.helpers.every_kernel import write
write(sys.argv[1], sys.argv[2:])
"""


def test_what_calls_kernels_needs_no_extra(tmp_path):
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "results.json"), *PARTS]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["blocked"]
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert all(np.isfinite(x).all() for x in found["results"].values())
