"""Types of operations are looked up once per process, not at every place that uses them.

For each `a + b` Numba goes through all that was ever registered for `+`, a hundred candidates, and raises and catches an
error for each that does not fit: once for its types and up to four times more for its code, a third of the time that
kernels take to compile. The answer depends on the types of the operands and on the options of the compilation alone, and
kernels use few types.
"""

from __future__ import annotations

import copy
import operator
from types import BuiltinFunctionType
from typing import Any

from numba import TypingError
from numba.core import types
from numba.core.typing.context import Context

_contexts: dict[Any, Any] = {}  # options → context for compilations with these options
OPERATOR_MODULE = operator.add.__module__


class RememberingContext(Context):
    """Numba's typing context, which shares all its entries with the one it was made from."""

    signatures: dict[Any, Any]  # operation and types of its operands → signature, and what else must live as long
    codes: dict[Any, Any]  # the same → signature and key of its code, or the error it gives

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if kws or (isinstance(func, types.Callable) and not isinstance(func, (types.Function, types.Dispatcher))):
            return super().resolve_function_type(func, args, kws)
        try:
            key = (func, tuple(args))
            found = self.signatures.get(key)
        except TypeError:  # an index that cannot be a key, such as a slice
            return super().resolve_function_type(func, args, kws)
        if found is None:
            signature = super().resolve_function_type(func, args, kws)
            found = (signature, func.dispatcher if isinstance(func, types.Dispatcher) else None)
            if signature is not None:
                self.signatures[key] = found
        return found[0]

    def resolve_value_type(self, val: Any) -> Any:
        """As Numba's; operators of Python are given in the form with a memo."""
        if type(val) is BuiltinFunctionType and val.__module__ == OPERATOR_MODULE:
            function = self._lookup_global(val)
            if type(function) is types.Function:
                return RememberedOperator(function.templates)
        return super().resolve_value_type(val)


class RememberedOperator(types.Function):
    """An operator of Python whose signatures are remembered in the context that asks."""

    _impl_keys: dict[Any, Any]  # of Numba: types of operands → key of the code

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        if kws or not isinstance(context, RememberingContext):
            return super().get_call_type(context, args, kws)
        try:
            key = (self, tuple(args))
            found = context.codes.get(key)
        except TypeError:
            return super().get_call_type(context, args, kws)
        if found is None:
            try:
                signature: Any = super().get_call_type(context, args, kws)
                found = context.codes[key] = (signature, self._impl_keys[signature.args])
            except TypingError as error:
                found = context.codes[key] = (None, error)
        signature, code = found
        if signature is None:
            raise code.with_traceback(None)
        self._impl_keys[signature.args] = code  # of these options: with others it may be other code
        return signature


def remembering(context: Any, flags: Any) -> Any:
    """The typing context for a compilation with these options."""
    if type(context) is not Context:
        return context
    options = (context, tuple(sorted((name, str(value)) for name, value in flags.values().items())))
    made: Any = _contexts.get(options)
    if made is None:
        made = copy.copy(context)
        made.__class__ = RememberingContext
        made.signatures, made.codes = {}, {}
        _contexts[options] = made
    return made
