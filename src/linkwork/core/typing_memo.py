"""Types of operations are looked up once per process, not at every place that uses them.

For each `a + b` Numba goes through all that was ever registered for `+`, a hundred candidates, and raises and catches an
error for each that does not fit: a quarter of the time that kernels take to compile. The answer depends on the types of the
operands and on the options of the compilation alone, and kernels use few types.
"""

from __future__ import annotations

import copy
from typing import Any

from numba.core import types
from numba.core.typing.context import Context

_memos: dict[Any, dict[Any, Any]] = {}  # options → operation and types of its operands → signature


class RememberingContext(Context):
    """Numba's typing context, which shares all that it knows with the one it was made from."""

    memo: dict[Any, Any]

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if kws or (isinstance(func, types.Callable) and not isinstance(func, types.Function)):
            return super().resolve_function_type(func, args, kws)
        try:
            key = (func, tuple(args))
            found = self.memo.get(key)
        except TypeError:  # an index that cannot be a key, such as a slice
            return super().resolve_function_type(func, args, kws)
        if found is None:
            found = super().resolve_function_type(func, args, kws)
            if found is not None:
                self.memo[key] = found
        return found


def remembering(context: Any, flags: Any) -> Any:
    """The typing context for a compilation with these options."""
    if type(context) is not Context:
        return context
    made: Any = copy.copy(context)
    made.__class__ = RememberingContext
    options = tuple(sorted((name, str(value)) for name, value in flags.values().items()))
    made.memo = _memos.setdefault(options, {})
    return made
