"""Values from Python as a TOML file would give them: tables, lists, text, numbers and booleans, and nothing else.

A scene may come from a dictionary as well as from a file, and its recording keeps it as JSON. So numbers and arrays of
NumPy, tuples and paths become what they mean, once and at the border; whatever else there is (a date, None) is a fault.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.scene.reading.faults import Faults, dotted
from linkwork.scene.reading.lines import KeyPath


def plain(value: Any, path: KeyPath, faults: Faults) -> Any:
    """The value in plain types; None after a fault."""
    if isinstance(value, Mapping):
        return _plain_table(value, path, faults)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item, (*path, k), faults) for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool | int | float | str):
        return value
    kind = "nothing" if value is None else f"a {type(value).__name__}"
    faults.add(path, f"{dotted(path)} is {kind}; a scene has tables, lists, text, numbers and booleans only.")
    return None


def _plain_table(table: Mapping[Any, Any], path: KeyPath, faults: Faults) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(key, str):
            before = len(faults)
            made = plain(value, (*path, key), faults)
            if made is not None or len(faults) == before:
                found[key] = made
        else:
            faults.add(path, f"{dotted(path) or 'the scene'} has the key {key!r}; keys are text.")
    return found
