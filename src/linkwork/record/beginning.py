"""How a recording begins: what it is about, the model, and empty arrays that frames will fill."""

from __future__ import annotations

import importlib.metadata
import platform
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linkwork.core.checks import shown
from linkwork.core.kernel_cache import kernel_digest, processor
from linkwork.errors import LinkworkWarning, StateError
from linkwork.model.model import Model
from linkwork.record import layout
from linkwork.record.layout import GROUPS, GROWING
from linkwork.record.store.checksums import description_sums
from linkwork.record.store.container import FORMAT, MARK, create_array, write_root, zarr_library
from linkwork.record.store.model_store import write_model


def what_it_is_about(
    metadata: dict[str, Any] | None, scene: str | None, settings: dict[str, Any] | None
) -> dict[str, Any]:
    """What users say of a recording, checked, each a copy."""
    return {
        "metadata": _table(metadata, "metadata"),
        "scene": _text(scene, "scene"),
        "settings": _table(settings, "settings"),
    }


def _table(value: Any, what: str) -> dict[str, Any]:
    """A dict of its own, of names that JSON can hold."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise StateError(f"{what} of a recording must be a table by name, not {shown(value)}.")
    return dict(value or {})


def _text(value: Any, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise StateError(f"{what} of a recording must be a text, not {shown(value)}.")
    return value


def write_beginning(folder: Path, model: Model, about: dict[str, Any]) -> dict[str, Any]:
    """Writes the model, the arrays that will grow, and the file that describes them; returns what that file says.

    about: what `what_it_is_about` gave.
    """
    group = zarr_library().create_group(folder)
    tables = write_model(group.create_group("model"), model)
    width = model.nq + model.nv
    rows = (layout.FRAME_ROWS,)
    for name, kind, unit in (("time", "f8", "s"), ("step", "i8", "1"), ("changes_end", "i8", "index")):
        create_array(group, f"frames/{name}", (), kind, rows, unit)
    create_array(group, "changes/index", (), "u4", (layout.CHANGE_ROWS,), "index into q followed by v")
    create_array(group, "changes/value", (), "f8", (layout.CHANGE_ROWS,), "rad, m, rad/s or m/s")
    create_array(group, "keys/frame", (), "i8", rows, "index")
    create_array(group, "keys/state", (width,), "f8", layout.key_chunk(width), "rad, m; rad/s, m/s: q, then v")
    for name in ("scalars", "reports", "checkpoints"):
        group.create_group(name)
    written_once = {f"model/{name}": checksum for name, checksum in tables.items()}
    root: dict[str, Any] = {
        MARK: FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": model.name,
        "versions": versions(),
        **about,
        "descriptions": description_sums(folder, (*GROUPS, *GROWING, *written_once)),
        "contents": written_once,
        "committed": {
            "frames": 0,
            "changes": 0,
            "keys": 0,
            "contacts": 0,
            "samples": 0,
            "scalars": [],
            "reports": [],
            "checkpoint": None,
            "earlier": None,
            "sums": {},
            "status": "running",
        },
    }
    write_root(folder, root)
    return root


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
