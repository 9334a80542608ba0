"""What functions and classes of the package make while a test runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def noting(make: Callable[..., Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The same function (or class), and a list that grows by all that it returns."""
    made: list[Any] = []

    def noted(*args: Any, **options: Any) -> Any:
        made.append(make(*args, **options))
        return made[-1]

    return noted, made
