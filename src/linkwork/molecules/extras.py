"""Optional packages of this room, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any

from linkwork.errors import MissingExtraError


def need(module: str, what_for: str) -> Any:
    """The module, or an error that names the extra which brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{what_for} needs the package '{module.partition('.')[0]}'; install it with: pip install '.[proteins]'."
        ) from error


def openmm(what_for: str) -> Any:
    return need("openmm", what_for)


def app(what_for: str) -> Any:
    return need("openmm.app", what_for)
