"""A checkpoint as one array of bytes with a table of contents: one file to write, one to rename."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.errors import StateError
from linkwork.record.store.checksums import array_sum
from linkwork.record.store.container import read_rows, write_array

PLAIN = (bool, int, float, str, type(None))


def write_bundle(group: Any, name: str, content: dict[str, object]) -> int:
    """Arrays and plain values by name; an older bundle of that name goes. Returns the checksum of its bytes."""
    layout: dict[str, Any] = {}
    values: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for key, value in content.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray):
            part = np.ascontiguousarray(value).tobytes()
            layout[key] = [value.dtype.str, list(value.shape), at]
            parts.append(part)
            at += len(part)
        elif isinstance(value, float):
            values[key] = {"float": value.hex()}  # JSON has no NaN and no infinity, and hexadecimal keeps every bit
        elif isinstance(value, PLAIN):
            values[key] = value
        else:
            what = key.partition(".")[2] or key
            raise StateError(
                f"checkpoint entry '{what}' is a {type(value).__name__}; it must be an array, a number or text."
            )
    if name in group:
        del group[name]
    data = np.frombuffer(b"".join(parts), dtype=np.uint8)
    write_array(group, name, data, "bytes", {"arrays": layout, "values": values})
    return array_sum(data)


def read_bundle(group: Any, name: str, checksum: int) -> dict[str, object]:
    """What was written. checksum: of its bytes."""
    array = group[name]
    bytes_read = read_rows(array)
    if array_sum(bytes_read) != checksum:
        raise ValueError(f"checkpoint '{name}' holds other numbers than were written")
    data = bytes_read.tobytes()
    content: dict[str, object] = {}
    for key, value in array.attrs["values"].items():
        content[key] = float.fromhex(value["float"]) if isinstance(value, dict) else value
    for key, (kind, shape, at) in array.attrs["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        content[key] = np.frombuffer(data, dtype=kind, count=count, offset=at).reshape(shape).copy()
    return content


def read_checkpoint(group: Any, slot: str, checksum: int) -> tuple[dict[str, object], dict[str, object]]:
    """What the simulation saved, and what the run noted. checksum: as of `read_bundle`."""
    entries = read_bundle(group["checkpoints"], slot, checksum)
    saved = {key[4:]: value for key, value in entries.items() if key.startswith("sim.")}
    return saved, {key[4:]: value for key, value in entries.items() if key.startswith("run.")}
