"""Objects that threads may share: they hold memory that kernels write, so one call at a time works on them.

Kernels run without Python's lock. Two threads in one object would write the same memory, and a load that is applied while
another thread steps could take arrays from under a running kernel. So every public method and property of such an
object takes the object's own lock: a second thread waits for its turn. The lock counts, so methods may call each other,
and a callback may change what it is called with.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar

MARK = "_takes_turns"


class TakesTurns:
    """Gives every public method and property of its subclasses the lock of the object, those of other bases included."""

    _AT_ANY_TIME: ClassVar[tuple[str, ...]] = ()  # members that take no lock: they work through others that do
    _ALSO: ClassVar[tuple[str, ...]] = ()  # private members that are called from outside
    _turn: Any

    def __new__(cls, *args: Any, **options: Any) -> Any:
        made = super().__new__(cls)
        made._turn = threading.RLock()
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        public = [name for name in dir(cls) if not name.startswith("_") and name not in cls._AT_ANY_TIME]
        for name in (*public, *cls._ALSO):
            member = inspect.getattr_static(cls, name)
            if isinstance(member, FunctionType):
                guarded: Any = in_turn(member)
            elif isinstance(member, property):
                get, put, take = map(_in_turn_if_any, (member.fget, member.fset, member.fdel))
                guarded = property(get, put, take, member.__doc__)
            else:
                continue
            setattr(cls, name, guarded)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has a lock of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_turn"}


def turn_of(shared: TakesTurns) -> Any:
    """The lock of an object, for those who do several things with it in one turn."""
    return shared._turn


def in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that waits until no other thread is in a method of the same object."""
    if hasattr(method, MARK):
        return method

    @wraps(method)
    def taken(self: Any, *args: Any, **options: Any) -> Any:
        with self._turn:
            return method(self, *args, **options)

    setattr(taken, MARK, True)
    return taken


def _in_turn_if_any(method: Callable[..., Any] | None) -> Any:
    return None if method is None else in_turn(method)
