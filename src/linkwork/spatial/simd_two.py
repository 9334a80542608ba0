"""Sixteen doubles, two times eight: what is done with them is done with both halves in turn.

Where a result waits for a long chain of operations, the processor works on the other half meanwhile. A loop over eight at a
time leaves it waiting: it does not look far enough ahead to find the next turn of the loop.
"""

import operator

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from linkwork.core.jit import FASTMATH
from linkwork.spatial.simd import LANES, _pointer, _refuse_other_arrays, v8

_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(32)


class V16Type(types.Type):
    def __init__(self):
        super().__init__(name="V16")


v16 = V16Type()


@register_model(V16Type)
class _V16Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(_DOUBLE, 2 * LANES))


def splat_lanes(builder, scalar, lanes):
    """One number in so many lanes, for code of intrinsics."""
    undefined = ir.Constant(ir.VectorType(_DOUBLE, lanes), ir.Undefined)
    one = builder.insert_element(undefined, scalar, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_INDEX, lanes), [0] * lanes))


def _half(builder, value, begin):
    lanes = ir.Constant(ir.VectorType(_INDEX, LANES), list(range(begin, begin + LANES)))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), lanes)


@intrinsic
def splat_two(typingctx, x):
    """One number in all sixteen lanes."""

    def codegen(context, builder, signature, args):
        return splat_lanes(builder, args[0], 2 * LANES)

    return v16(types.float64), codegen


@intrinsic
def folded(typingctx, v):
    """Both halves added: eight numbers."""

    def codegen(context, builder, signature, args):
        return builder.fadd(_half(builder, args[0], 0), _half(builder, args[0], LANES))

    return v8(v16), codegen


@intrinsic
def vload_two(typingctx, array, first, second):
    """Sixteen numbers: eight from array[first] on, then eight from array[second] on."""
    _refuse_other_arrays("vload_two", array, first)
    _refuse_other_arrays("vload_two", array, second)

    def codegen(context, builder, signature, args):
        halves = (
            builder.load(_pointer(context, builder, array, args[0], kind, index), align=8)
            for kind, index in ((first, args[1]), (second, args[2]))
        )
        return builder.shuffle_vector(*halves, ir.Constant(ir.VectorType(_INDEX, 2 * LANES), list(range(2 * LANES))))

    return v16(array, first, second), codegen


@intrinsic
def vstore_two(typingctx, array, first, second, value):
    """Writes eight numbers to array[second:], then the other eight to array[first:], which stay if both are one place."""
    _refuse_other_arrays("vstore_two", array, first)
    _refuse_other_arrays("vstore_two", array, second)
    if value != v16 or not array.mutable:
        raise TypingError(f"vstore_two writes a V16 to an array, not {value} to {array}.")

    def codegen(context, builder, signature, args):
        for kind, index, begin in ((second, args[2], LANES), (first, args[1], 0)):
            builder.store(
                _half(builder, args[3], begin), _pointer(context, builder, array, args[0], kind, index), align=8
            )
        return context.get_dummy_value()

    return types.void(array, first, second, value), codegen


def _define_operator(operation, name):
    """As in `simd`: of two vectors, or of a number and a vector."""

    @type_callable(operation)
    def _result(context):
        def of_operands(a, b):
            return v16 if b == v16 and a in (v16, types.float64) else None

        return of_operands

    @lower_builtin(operation, v16, v16)
    def _of_vectors(context, builder, signature, args):
        return getattr(builder, name)(args[0], args[1], flags=FASTMATH)

    @lower_builtin(operation, types.float64, v16)
    def _of_number_and_vector(context, builder, signature, args):
        return getattr(builder, name)(splat_lanes(builder, args[0], 2 * LANES), args[1], flags=FASTMATH)


_define_operator(operator.add, "fadd")
_define_operator(operator.sub, "fsub")
_define_operator(operator.mul, "fmul")
