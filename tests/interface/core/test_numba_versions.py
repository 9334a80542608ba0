"""`tools/numba_versions.py` tries kernels in environments that hold Numba and little else."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys

SHOWN = {"rich", "markdown_it", "mdurl", "pygments"}
ALLOWED = {"linkwork", "tests", "numba", "llvmlite", "numpy", "scipy", *SHOWN, *sys.stdlib_module_names}

class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NothingElse())
try:
    import gymnasium
except ModuleNotFoundError:
    print("blocked")
from tests.helpers import every_kernel
print(len(every_kernel.PARTS))
"""


def test_what_calls_kernels_needs_no_extra():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    blocked, parts = done.stdout.split()
    assert blocked == "blocked"
    assert int(parts) > 10
