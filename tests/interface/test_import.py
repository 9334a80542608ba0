"""`import linkwork` defines names and does nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

STRANGERS = (
    "jax",
    "mujoco",
    "pinocchio",
    "matplotlib",
    "scipy",
    "rich",
    "linkwork.importers",
    "linkwork.cli",
    "linkwork.viewer",
)


def python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_brings_no_strangers():
    """Beyond what Numba brings by itself: it looks for SciPy at its own import."""
    modules = "import sys, json, {}; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(python(modules.format("linkwork"))))
    brought_by_numba = set(json.loads(python(modules.format("numba"))))
    assert "linkwork.dynamics.front" in loaded
    assert not [name for name in STRANGERS if name in loaded - brought_by_numba]
    assert not [name for name in loaded if name.startswith("scipy.") and name not in brought_by_numba]


def test_import_says_nothing():
    result = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:linkwork", "-c", "import linkwork"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_import_flips_no_setting():
    """NumPy and Numba are imported first, so that only what linkwork changes is seen."""
    code = """
import json, locale, os, random, signal, sys, threading, warnings
import numba, numpy as np
from numba.core import config

def settings():
    return json.dumps({
        "print": {k: str(x) for k, x in np.get_printoptions().items()},
        "errors": np.geterr(),
        "numba": {k: str(x) for k, x in vars(config).items() if k.isupper()},
        "environment": dict(os.environ),
        "random": str(np.random.get_state()[1][:8]) + str(random.getstate()[1][:8]),
        "filters": len(warnings.filters),
        "recursion": sys.getrecursionlimit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "interrupt": str(signal.getsignal(signal.SIGINT)),
        "threads": [threading.active_count(), numba.get_num_threads()],
        "hooks": [repr(sys.excepthook), len(sys.meta_path), len(sys.path)],
    }, sort_keys=True)

before = settings()
import linkwork
print(before == settings() or [before, settings()])
"""
    assert python(code).strip() == "True"


def test_import_is_quick():
    """Below 1.0 s warm. The best of five: the others tell how busy the machine is."""
    code = "import time; t = time.perf_counter(); import linkwork; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(5)) < 1.0


def test_every_public_name_is_there():
    missing = python("import linkwork as lw; print([name for name in lw.__all__ if not hasattr(lw, name)])")
    assert missing.strip() == "[]"


def test_importers_load_when_they_are_used():
    code = """
import sys, linkwork as lw
try:
    lw.load("no/such/file.urdf")
except (lw.LinkworkError, OSError):
    pass
print("linkwork.importers" in sys.modules)
"""
    assert python(code).strip() == "True"
