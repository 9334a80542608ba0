"""Old names that still work: each call says, by a DeprecationWarning at the user's line, which name is the new one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from linkwork.core.messages.warning import warn_user
from linkwork.errors import StateError

Called = TypeVar("Called", bound=Callable[..., Any])


def warn_of_old(words: str) -> None:
    """A DeprecationWarning at the first caller outside the package."""
    warn_user(words, DeprecationWarning)


def once_positional(*names: str, renamed: Mapping[str, str] | None = None) -> Callable[[Called], Called]:
    """For a function whose options were given by position before: names, in their old order, behind those that still are.

    renamed: old names of options, and what they are called now.
    """

    def decorate(function: Called) -> Called:
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
        positional = sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)
        what = function.__qualname__.removesuffix(".__init__")
        old_names = frozenset(renamed or ())

        @functools.wraps(function)
        def called(*args: Any, **options: Any) -> Any:
            if len(args) <= positional and old_names.isdisjoint(options):  # as nearly every call is
                return function(*args, **options)
            if len(args) > positional:
                more = args[positional:]
                if len(more) > len(names):
                    return function(*args, **options)  # Python says what is wrong
                by_name = dict(zip(names, more, strict=False))
                shown = ", ".join(f"{name}=" for name in by_name)
                warn_of_old(f"{what}: give {shown} by name; options by position will be refused in the next version.")
                for name in by_name:
                    if name in options:
                        raise StateError(f"{what}: {name} is given twice, by its place and by its name.")
                args, options = args[:positional], {**by_name, **options}
            for old, new in (renamed or {}).items():
                if old in options:
                    if new in options:
                        raise StateError(f"{what}: {new} is given twice, also by its old name {old}.")
                    warn_of_old(f"{what}: {old}= is called {new}= now; the old name goes with the next version.")
                    options[new] = options.pop(old)
            return function(*args, **options)

        called.old_names = old_names  # type: ignore[attr-defined]
        return cast(Called, called)

    return decorate


def old_attribute(owner: str, old: str, new: str) -> property:
    """An attribute under its old name."""

    def warn() -> None:
        warn_of_old(f"{owner}.{old} is called {new} now; the old name goes with the next version.")

    def read(self: Any) -> Any:
        warn()
        return getattr(self, new)

    def write(self: Any, value: Any) -> None:
        warn()
        setattr(self, new, value)

    return property(read, write, doc=f"Old name of `{new}`.")
