"""Values with operators inside kernels: plain Python classes whose methods are traced into machine code.

A value is so many numbers with names: `class Twist(Value, w=Vec3, v=Vec3)`. Its methods say once, in Python, what they
compute; called from Python, that is what runs. In a kernel the same method runs while code is made, twice: on numbers that
emit nothing, for the type of its result, and on numbers that emit instructions (`Number`). So Numba compiles no operator
and no method: it sees one call for each, and the compiled form and the Python form are the same text.

    @formula
    def power(V, F):  # a function of values, numbers and rows; methods of values are formulas by themselves
        return V @ F

A formula is straight-line code: sums, products, quotients, `root`. Branches, loops over counts, sines stay in kernels.
In memory of a kernel a value is an array of doubles, as a tuple of floats is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import (
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
)

from linkwork.core.calls import function_named

DOUBLE, LONG = ir.DoubleType(), ir.IntType(64)
FLAGS = ("contract", "nsz", "arcp")  # as kernels have them (`core.jit`)
BINARY = ("add", "sub", "mul", "matmul", "truediv", "getitem")


# --------------------------------------------------------------------------------------------------------------- numbers


def _operation(name: str, is_swapped: bool = False) -> Any:
    def emit(self: Number, other: Any) -> Any:
        if isinstance(other, (int, float)):
            other = Number(self.builder, DOUBLE(float(other)))
        if not isinstance(other, Number):
            return NotImplemented
        if self.builder is None:
            return Number()
        a, b = (other, self) if is_swapped else (self, other)
        return Number(self.builder, getattr(self.builder, name)(a.double(), b.double(), flags=FLAGS))

    return emit


class Number:
    """A float64 of the code that is made; without a builder it stands for its type."""

    type: Any = types.float64

    def __init__(self, builder: Any = None, code: Any = None):
        self.builder, self.code = builder, code

    def double(self) -> Any:
        return self.code

    __add__, __sub__, __mul__, __truediv__ = map(_operation, ("fadd", "fsub", "fmul", "fdiv"))
    __radd__, __rsub__ = _operation("fadd", is_swapped=True), _operation("fsub", is_swapped=True)
    __rmul__, __rtruediv__ = _operation("fmul", is_swapped=True), _operation("fdiv", is_swapped=True)

    def __neg__(self) -> Any:
        return -1.0 * self

    def __bool__(self) -> bool:
        raise TypeError("a formula may not ask about a number: branches stand in kernels")


class Integer(Number):
    """An int64; in arithmetic a float64."""

    type = types.int64

    def double(self) -> Any:
        return self.builder.sitofp(self.code, DOUBLE)


def root(x: Any) -> Any:
    """Square root of a number, in formulas and in Python."""
    if not isinstance(x, Number):
        return math.sqrt(x)
    if x.builder is None:
        return Number()
    kind = ir.FunctionType(DOUBLE, [DOUBLE])
    return Number(x.builder, x.builder.call(function_named(x.builder, kind, "llvm.sqrt.f64"), [x.double()]))


# ---------------------------------------------------------------------------------------------------------------- values


class Kind(types.Type):
    """Numba's type of a value or of a row. code: what LLVM makes of it; name: says all that code depends on."""

    def __init__(self, cls: Any, code: Any, name: str):
        self.cls, self.code = cls, code
        super().__init__(name)
        for function in (cls, *_methods(cls).values()):
            lower_builtin(function, types.VarArg(types.Any))(partial(_lower, function))
        infer_global(cls, types.Function(_template(cls, cls.__name__, cls)))


def _methods(cls: Any) -> dict[str, Any]:
    """Methods that kernels may call, of a class and of its bases."""
    return {name: getattr(cls, name) for name in dir(cls) if name[0] != "_" and callable(getattr(cls, name))}


class Value:
    """So many numbers: `class Vec3(Value, size=3)`. Parts with names are numbers or values: `Twist(Value, w=Vec3, v=Vec3)`.

    Values of one class add, subtract and scale. dual: the class with which `@` gives a number, the sum of products.
    """

    type: Any
    size: int
    dual: str | None
    x: tuple[Any, ...]
    __array_ufunc__ = None  # NumPy leaves products with values to them

    def __init_subclass__(cls, size: int = 0, dual: str | None = None, **parts: Any):
        for name, part in parts.items():
            setattr(cls, name, property(partial(_cut, part=part, first=size)))
            size += _size(part)
        cls.size, cls.dual = size, dual
        cls.type = Kind(cls, ir.ArrayType(DOUBLE, size), f"{cls.__module__}.{cls.__qualname__}")

    def __init__(self, *parts: Any):
        flat: list[Any] = []
        for part in parts:
            flat.extend(part.x if isinstance(part, Value) else part if isinstance(part, tuple) else (part,))
        if len(flat) != self.size:
            raise TypeError(f"{type(self).__name__} takes {self.size} numbers, not {len(flat)}")
        self.x = tuple(flat)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # parts are made by `__init_subclass__`

    def __getitem__(self, k: int) -> Any:
        return self.x[k]

    def __add__(self, other: Any) -> Any:
        return type(self)(*map(operator.add, self.x, other.x)) if type(other) is type(self) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return type(self)(*map(operator.sub, self.x, other.x)) if type(other) is type(self) else NotImplemented

    def __mul__(self, k: Any) -> Any:
        return NotImplemented if isinstance(k, Value) else type(self)(*(k * x for x in self.x))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return type(self)(*(-x for x in self.x))

    def __matmul__(self, other: Any) -> Any:
        if type(other).__name__ != self.dual:
            return NotImplemented
        first, *rest = map(operator.mul, self.x, other.x)
        return sum(rest, first)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(float(x) for x in self.x)}"


def _size(part: Any) -> int:
    size: int = 1 if part in (int, float) else part.size
    return size


def _cut(self: Value, part: Any, first: int) -> Any:
    return self.x[first] if part is float else part(*self.x[first : first + part.size])


@typeof_impl.register(Value)
def _typeof(value: Any, context: Any) -> Any:
    return value.type


@lower_constant(Kind)
def _constant(context: Any, builder: Any, kind: Kind, value: Any) -> Any:
    return ir.Constant(kind.code, [DOUBLE(float(x)) for x in value.x])


@register_model(Kind)
class _KindModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Kind):
        super().__init__(manager, kind, kind.code)


# ------------------------------------------------------------------------------------------------------- typing and code


def enter(kind: Any, context: Any = None, builder: Any = None, code: Any = None) -> Any:
    """What a formula is called with for an argument of this type; without a builder it emits nothing."""

    def part(k: int) -> Any:
        return builder.extract_value(code, k) if builder else None

    if isinstance(kind, Kind):
        return (
            kind.cls.entered(kind, context, builder, part)
            if hasattr(kind.cls, "entered")
            else _entered(kind.cls, builder, part)
        )
    if isinstance(kind, (types.Tuple, types.UniTuple)):
        return tuple(enter(each, context, builder, part(k)) for k, each in enumerate(tuple(kind)))
    if isinstance(kind, types.IntegerLiteral):
        return kind.literal_value
    if isinstance(kind, types.Array):
        from linkwork.algebra.rows import Table

        return Table.entered(kind, context, builder, code)
    if not isinstance(kind, (types.Integer, types.Float, types.Boolean)):
        raise TypeError(f"{kind} is neither a number nor a value")
    return (Number if isinstance(kind, types.Float) else Integer)(builder, code)


def _entered(cls: Any, builder: Any, part: Callable[[int], Any]) -> Any:
    return cls(*(Number(builder, part(k)) for k in range(cls.size)))


def kind_of(result: Any) -> Any:
    """The type of what a formula returned."""
    if isinstance(result, (Value, Number)) or hasattr(result, "leave"):
        return result.type
    if isinstance(result, tuple):
        return types.Tuple(tuple(kind_of(part) for part in result))
    return types.int64 if isinstance(result, int) else types.float64


def leave(context: Any, builder: Any, result: Any) -> Any:
    """The code of what a formula returned."""
    if isinstance(result, Number):
        return result.code
    if isinstance(result, Value):
        return _packed(
            builder, result.type.code, [x.code if isinstance(x, Number) else DOUBLE(float(x)) for x in result.x]
        )
    if isinstance(result, tuple):
        return context.make_tuple(builder, kind_of(result), [leave(context, builder, part) for part in result])
    if isinstance(result, (int, float)):
        return (LONG if isinstance(result, int) else DOUBLE)(result)
    return result.leave(builder)


def _packed(builder: Any, kind: Any, codes: list[Any]) -> Any:
    whole = ir.Constant(kind, ir.Undefined)
    for k, code in enumerate(codes):
        whole = builder.insert_value(whole, code, k)
    return whole


def _lower(function: Any, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = [enter(kind, context, builder, code) for kind, code in zip(sig.args, args, strict=True)]
    return leave(context, builder, function(*given))


def _template(function: Any, name: str, key: Any, bound: tuple[Any, ...] = ()) -> Any:
    """Numba's typing of a formula: it runs on numbers that emit nothing. bound: the value whose method it is."""

    def generic(self: Any, args: Any, kws: Any) -> Any:
        operands = (*bound, *args)
        is_asked = (
            isinstance(function, type) or function in _formulas or any(isinstance(kind, Kind) for kind in operands)
        )
        if kws or not is_asked:
            return None
        try:
            result = function(*map(enter, operands))
        except (TypeError, AttributeError, ValueError) as error:  # what Python says about operands that do not fit
            given = ", ".join(map(str, operands))
            raise TypingError(f"{getattr(function, '__qualname__', name)}({given}): {error}") from error
        return (
            None if result is NotImplemented else signature(kind_of(result), *args, recvr=bound[0] if bound else None)
        )

    members = {"key": staticmethod(key) if not isinstance(key, type) else key, "generic": generic}
    return type(name, (AbstractTemplate,), members)


_formulas: set[Any] = set()


def formula(function: Any) -> Any:
    """Marks a function of values, numbers and rows that kernels call and Python traces; called from Python it is itself."""
    _formulas.add(function)
    infer_global(function, types.Function(_template(function, function.__name__, function)))
    lower_builtin(function, types.VarArg(types.Any))(partial(_lower, function))
    return function


for _name in BINARY:
    _function = getattr(operator, _name)
    for _key in {_function, getattr(operator, f"i{_name}", _function)}:
        infer_global(_key)(_template(_function, _name, _key))
        for _pair in ((Kind, types.Any), (types.Number, Kind)):
            lower_builtin(_key, *_pair)(partial(_lower, _function))
infer_global(operator.neg)(_template(operator.neg, "neg", operator.neg))
lower_builtin(operator.neg, Kind)(partial(_lower, operator.neg))


@infer_getattr
class _Members(AttributeTemplate):
    """Parts, fields and methods."""

    key = Kind

    def generic_resolve(self, kind: Kind, name: str) -> Any:  # type: ignore[override]
        member = getattr(kind.cls, name, None)
        if callable(member):
            return types.BoundFunction(_template(member, name, member, (kind,)), kind)
        if name != "x" and member is None and name not in getattr(kind.cls, "place", ()):
            return None
        return kind_of(getattr(enter(kind), name))


@lower_getattr_generic(Kind)
def _read(context: Any, builder: Any, kind: Kind, code: Any, name: str) -> Any:
    return leave(context, builder, getattr(enter(kind, context, builder, code), name))


@lower_setattr_generic(Kind)
def _write(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    value = enter(sig.args[1], context, builder, args[1])
    setattr(enter(sig.args[0], context, builder, args[0]), name, value)
