"""What algorithms remember of a model: made once per model and thread, freed with the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from linkwork.model.model import Model

T = TypeVar("T")


def remembered(model: Model, key: str, make: Callable[[Model], T]) -> T:
    """What `make` gave for a model when it was first asked for under this key; not None."""
    memory = model.workspaces.__dict__
    found: T | None = memory.get(key)
    if found is None:
        found = memory[key] = make(model)
    return found
