"""Optional packages, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any

from linkwork.errors import MissingExtraError


def needed(module: str, message: str) -> Any:
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(message) from None
