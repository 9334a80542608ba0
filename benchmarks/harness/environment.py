"""Where results come from: machine, versions, date, memory."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import linkwork

PACKAGES = ("numpy", "numba", "llvmlite", "pin", "mujoco", "openmm", "jax")


def environment() -> dict[str, Any]:
    """Where results come from: machine, versions, date."""
    packages = {"linkwork": linkwork.__version__}  # of the code that runs, whatever was once installed
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,  # at the start
        "memory_bytes": _total_memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": packages,
    }


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def resident_bytes() -> int | None:
    """Memory this process holds now; None where the system does not say."""
    if not sys.platform.startswith("linux"):
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
