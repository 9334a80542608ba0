"""Keys of a scene as people write them in a sweep: load.force[2], model.joints; and as settings have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from linkwork.errors import LinkworkError
from linkwork.scene.reading.schema import LISTS, MODEL

INDEX = re.compile(r"\[(\d+)\]")


def setting_key(key: str, given: Mapping[str, Any]) -> str:
    """The key of a setting: `load.force[2]` → load.0.force.2, `model.joints` → model.parameters.joints.

    given: the contents of the scene. A table that the scene has once needs no number; what is not a key of [model] itself
    is a parameter of its library model.
    """
    parts = INDEX.sub(r".\1", key.strip()).split(".")
    if parts[0] in LISTS and len(parts) > 1 and not parts[1].isdigit():
        count = len(given.get(parts[0], ()))
        if count != 1:
            raise LinkworkError(
                f"vary {key}: the scene has {count} tables [[{parts[0]}]]; write {parts[0]}.0.{'.'.join(parts[1:])} for "
                "the first of them.",
                about=key,
            )
        parts.insert(1, "0")
    if parts[0] == "model" and len(parts) == 2 and parts[1] not in MODEL:
        parts.insert(1, "parameters")
    return ".".join(parts)
