"""Kernels compiled in a process of their own: with other settings of Numba, and a cache that nobody else sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from tests.helpers import every_kernel
from tests.helpers.kernel_parts import mechanisms

EPS = np.finfo(float).eps
CONDITION = 1e4  # of the mass matrices of `mechanisms.mixed_joints`, and of its loops
MARGIN = 10.0
# Another compiler setting fuses and orders other operations: each step of a simulation may be wrong by ε times the
# condition of its equations, relative to the largest number involved.
SAME = EPS * CONDITION * mechanisms.STEPS * MARGIN


def environment(cache: Path, root: Path | None = None, **more: str) -> dict[str, str]:
    """This environment, with a cache of its own and the package from `root`."""
    root = root or Path(lw.__file__).parents[1]
    places = os.pathsep.join((str(root), str(Path(__file__).parents[2])))  # of the package, and of these helpers
    return {**os.environ, "PYTHONPATH": places, "NUMBA_CACHE_DIR": str(cache), **more}


def run_every_kernel(folder: Path, *parts: str, **settings: str) -> dict[str, Any]:
    """What the script `every_kernel` found under other settings of Numba."""
    out = folder / "results.json"
    done = subprocess.run(
        [sys.executable, every_kernel.__file__, str(out), *parts],
        env=environment(folder / "cache", **settings),
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(encoding="utf-8"))


def assert_same_results(theirs: dict[str, Any], *parts: str) -> None:
    """What kernels gave elsewhere is what they give here, to rounding."""
    ours = every_kernel.results(list(parts))
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        here, there = np.array(value, dtype=float), np.array(theirs[name], dtype=float)
        scale = max(1.0, np.abs(here).max(initial=0.0))
        assert here.shape == there.shape, name
        assert np.abs(here - there).max(initial=0.0) <= SAME * scale, name
