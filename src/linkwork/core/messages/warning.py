"""Warnings that point at the line of the user's program, however deep within Linkwork they arise."""

from __future__ import annotations

import sys
import warnings

from linkwork.errors import LinkworkWarning


def warn_user(words: str, category: type[Warning] = LinkworkWarning) -> None:
    """A warning at the first caller outside the package. Python shows each once per line of that caller."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(words, category, stacklevel=level)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and (module == "linkwork" or module.startswith("linkwork."))
