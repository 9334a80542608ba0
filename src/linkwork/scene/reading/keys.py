"""One key of a scene's table: how it is checked, what it means, what stands for it when it is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linkwork.scene.reading.checks import Check


@dataclass(frozen=True)
class Key:
    """One key: how it is checked, what it means, and what stands for it when it is absent (None: nothing)."""

    check: Check
    meaning: str
    unit: str = ""
    default: Any = None
    required: bool = False


Keys = Mapping[str, Key]
