"""What made a recording: versions, processor, and the kernels themselves. Equal bits are promised where these are equal."""

from __future__ import annotations

import importlib.metadata
import platform
import warnings
from pathlib import Path

from linkwork.core.kernel_cache import kernel_digest, processor
from linkwork.errors import LinkworkWarning

PACKAGES = ("linkwork", "numpy", "numba", "llvmlite", "zarr")
DECIDE_BITS = {  # and what to call them
    "numpy": "NumPy",
    "numba": "Numba",
    "llvmlite": "llvmlite",
    "processor": "the processor",
    "kernels": "the kernels",
}


def versions() -> dict[str, str]:
    """What makes a recording here and now, by name."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return {**found, "processor": processor(), "kernels": kernel_digest()}


def warn_of_other_kernels(path: Path, noted: dict[str, str]) -> None:
    """Warns where a run resumes with other kernels than it began with: it goes on to rounding, not in the same bits."""
    now = versions()
    other = [
        f"{what} ({noted[key]}, now {now[key]})"
        for key, what in DECIDE_BITS.items()
        if key in noted and noted[key] != now[key]
    ]
    if other:
        warnings.warn(
            f"recording '{path}' was begun with other code: {', '.join(other)}. The run goes on, but its end is that of "
            "a run without interruption to rounding only, not in every bit.",
            LinkworkWarning,
            stacklevel=4,
        )
