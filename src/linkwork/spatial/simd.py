"""Eight doubles in one register: a vector type for kernels, with just the operations the 6x6 algebra needs.

LLVM turns one `V8` into one 512-bit register, two of 256 bits or four of 128, whatever the machine has. A 6x6 matrix is a
tuple of six V8 (its rows); lanes 6 and 7 carry right-hand sides, so that vectors ride along with the matrix for free.
Left to itself the compiler vectorizes such small loops poorly or not at all; written this way it has no choice.
"""

import operator

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from linkwork.core.calls import function_named
from linkwork.core.jit import FASTMATH, inlined

LANES = 8
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_INDEX = ir.IntType(32)


class VectorType(types.Type):
    def __init__(self, lanes):
        self.lanes = lanes
        super().__init__(name=f"V{lanes}")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(_DOUBLE, fe_type.lanes))


v8 = VectorType(LANES)


def refuse_other_arrays(function, array, index, dimensions=1):
    """TypingError unless array is contiguous float64 with so many dimensions, and index an integer.

    The code below reads memory as it lies; anything else would be read as nonsense, or past its end.
    """
    fits = isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64
    if not (fits and (dimensions is None or array.ndim == dimensions) and isinstance(index, types.Integer)):
        shape = "" if dimensions is None else f" with {dimensions} dimension"
        raise TypingError(
            f"{function} needs a contiguous array of float64{shape} and an integer index, not {array} and {index}."
        )


def check_bounds(context, builder, index, count):
    """IndexError unless 0 ≤ index < count, for code of intrinsics."""
    beyond = builder.icmp_unsigned(">=", index, count)  # a negative index is a large one without its sign
    with builder.if_then(beyond, likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))


def element_address(context, builder, array_type, array, index_type, index, count):
    """Pointer to element `index` in memory; IndexError unless it and `count - 1` after it exist, if bounds are checked."""
    view = context.make_array(array_type)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    if context.enable_boundscheck:
        check_bounds(context, builder, index, view.nitems)
        check_bounds(context, builder, builder.add(index, index.type(count - 1)), view.nitems)
    return builder.gep(view.data, [index])


def pointer_to_lanes(context, builder, array_type, array, index_type, index):
    """Address of the eight elements from `index` on, as a pointer to a vector."""
    first = element_address(context, builder, array_type, array, index_type, index, LANES)
    return builder.bitcast(first, _VECTOR.as_pointer())


@intrinsic
def vload(typingctx, array, index):
    """The eight numbers that begin at array[index]."""
    refuse_other_arrays("vload", array, index)

    def codegen(context, builder, signature, args):
        return builder.load(pointer_to_lanes(context, builder, array, args[0], index, args[1]), align=8)

    return v8(array, index), codegen


@intrinsic
def vstore(typingctx, array, index, value):
    """Writes eight numbers to array[index:]."""
    refuse_other_arrays("vstore", array, index)
    if not array.mutable:
        raise TypingError("vstore cannot write to a read-only array.")
    if value != v8:
        raise TypingError(f"vstore writes a V8, not {value}.")

    def codegen(context, builder, signature, args):
        builder.store(args[2], pointer_to_lanes(context, builder, array, args[0], index, args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Asks for the cache line of the number `index` of an array's memory before it is needed."""
    refuse_other_arrays("prefetch", array, index, dimensions=None)

    def codegen(context, builder, signature, args):
        address = element_address(context, builder, array, args[0], index, args[1], 1)
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _INDEX, _INDEX, _INDEX])

        function = function_named(builder, kind, "llvm.prefetch.p0")  # LLVM 14 reads it too
        pointer = builder.bitcast(address, byte)
        builder.call(function, [pointer, _INDEX(0), _INDEX(3), _INDEX(1)])  # for reading, into all caches, data
        return context.get_dummy_value()

    return types.void(array, index), codegen


def splat_lanes(builder, scalar, lanes):
    """One number in so many lanes, for code of intrinsics."""
    undefined = ir.Constant(ir.VectorType(_DOUBLE, lanes), ir.Undefined)
    one = builder.insert_element(undefined, scalar, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_INDEX, lanes), [0] * lanes))


@intrinsic
def splat(typingctx, x):
    """One number in all lanes."""

    def codegen(context, builder, signature, args):
        return splat_lanes(builder, args[0], LANES)

    return v8(types.float64), codegen


@intrinsic
def lane(typingctx, v, k):
    """The number in lane k."""

    def codegen(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _INDEX))

    return types.float64(v8, types.int64), codegen


@intrinsic
def with_lane(typingctx, v, k, x):
    """The vector with lane k replaced."""

    def codegen(context, builder, signature, args):
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], _INDEX))

    return v8(v8, types.int64, types.float64), codegen


@intrinsic
def vsum(typingctx, v):
    """Sum of all lanes, in a fixed order: halves folded onto each other."""

    def codegen(context, builder, signature, args):
        value = args[0]
        width = LANES
        while width > 1:
            half = width // 2
            undefined = ir.Constant(value.type, ir.Undefined)
            low = ir.Constant(ir.VectorType(_INDEX, half), list(range(half)))
            high = ir.Constant(ir.VectorType(_INDEX, half), list(range(half, width)))
            value = builder.fadd(
                builder.shuffle_vector(value, undefined, low), builder.shuffle_vector(value, undefined, high)
            )
            width = half
        return builder.extract_element(value, ir.Constant(_INDEX, 0))

    return types.float64(v8), codegen


def define_operators(vector):
    """Sums, differences and products of two vectors, or of a number and a vector: one instruction each, given to Numba
    without a detour. (An `@overload` would be a function of its own, compiled for every set of options, and typed at every
    use.)"""
    for operation, name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
        _define_operator(vector, operation, name)


def _define_operator(vector, operation, name):
    @type_callable(operation)
    def _result(context):
        def of_operands(a, b):
            return vector if b == vector and a in (vector, types.float64) else None

        return of_operands

    @lower_builtin(operation, vector, vector)
    def _of_vectors(context, builder, signature, args):
        return getattr(builder, name)(args[0], args[1], flags=FASTMATH)

    @lower_builtin(operation, types.float64, vector)
    def _of_number_and_vector(context, builder, signature, args):
        return getattr(builder, name)(splat_lanes(builder, args[0], vector.lanes), args[1], flags=FASTMATH)


define_operators(v8)


@inlined
def load_rows(a, o):
    """Six rows of eight that begin at a[o]."""
    return (vload(a, o), vload(a, o + 8), vload(a, o + 16), vload(a, o + 24), vload(a, o + 32), vload(a, o + 40))


@inlined
def store_rows(a, o, m):
    vstore(a, o, m[0])
    vstore(a, o + 8, m[1])
    vstore(a, o + 16, m[2])
    vstore(a, o + 24, m[3])
    vstore(a, o + 32, m[4])
    vstore(a, o + 40, m[5])


@inlined
def combine_column(a, o, m):
    """Σ_k a[o + 8 k] m_k: column-th row of Aᵀ M, for a matrix A in memory whose column begins at a[o]."""
    low = a[o] * m[0] + a[o + 8] * m[1] + a[o + 16] * m[2]
    return low + (a[o + 24] * m[3] + a[o + 32] * m[4] + a[o + 40] * m[5])


@inlined
def transposed_product(a, o, m):
    """Aᵀ M, with A the 6x8 block at a[o] and M in registers."""
    return (
        combine_column(a, o, m),
        combine_column(a, o + 1, m),
        combine_column(a, o + 2, m),
        combine_column(a, o + 3, m),
        combine_column(a, o + 4, m),
        combine_column(a, o + 5, m),
    )


@inlined
def combine(x, m):
    """Σ_k x_k m_k for six numbers x: xᵀ M."""
    low = x[0] * m[0] + x[1] * m[1] + x[2] * m[2]
    return low + (x[3] * m[3] + x[4] * m[4] + x[5] * m[5])


@inlined
def no_rows():
    zero = splat(0.0)
    return (zero, zero, zero, zero, zero, zero)


@inlined
def add_rows(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inlined
def sub_rows(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@inlined
def scale_rows(d, m):
    """Row i times d[i]."""
    return (d[0] * m[0], d[1] * m[1], d[2] * m[2], d[3] * m[3], d[4] * m[4], d[5] * m[5])


@inlined
def sub_outer(m, x, v):
    """Row i less x[i] v."""
    return (m[0] - x[0] * v, m[1] - x[1] * v, m[2] - x[2] * v, m[3] - x[3] * v, m[4] - x[4] * v, m[5] - x[5] * v)


@inlined
def add_outer(m, x, v):
    """Row i and x[i] v."""
    return (m[0] + x[0] * v, m[1] + x[1] * v, m[2] + x[2] * v, m[3] + x[3] * v, m[4] + x[4] * v, m[5] + x[5] * v)


@inlined
def set_lane(m, k, x):
    """Lane k of row i becomes x[i]."""
    return (
        with_lane(m[0], k, x[0]),
        with_lane(m[1], k, x[1]),
        with_lane(m[2], k, x[2]),
        with_lane(m[3], k, x[3]),
        with_lane(m[4], k, x[4]),
        with_lane(m[5], k, x[5]),
    )


@inlined
def get_lane(m, k):
    """Lane k of all six rows."""
    return (lane(m[0], k), lane(m[1], k), lane(m[2], k), lane(m[3], k), lane(m[4], k), lane(m[5], k))


@inlined
def motion_rows_to_child(R, p, m):
    """X_cp M for the rows of M: the transform of a twist, applied to every column at once."""
    # below: M_v - p̂ M_ω, then both halves turned by Rᵀ
    l0 = m[3] - p[1] * m[2] + p[2] * m[1]
    l1 = m[4] - p[2] * m[0] + p[0] * m[2]
    l2 = m[5] - p[0] * m[1] + p[1] * m[0]
    return (
        R[0] * m[0] + R[3] * m[1] + R[6] * m[2],
        R[1] * m[0] + R[4] * m[1] + R[7] * m[2],
        R[2] * m[0] + R[5] * m[1] + R[8] * m[2],
        R[0] * l0 + R[3] * l1 + R[6] * l2,
        R[1] * l0 + R[4] * l1 + R[7] * l2,
        R[2] * l0 + R[5] * l1 + R[8] * l2,
    )


@inlined
def flat6(a, o):
    """Six numbers that begin at a[o]."""
    return (a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5])


@inlined
def negate6(x):
    return (-x[0], -x[1], -x[2], -x[3], -x[4], -x[5])


@inlined
def six_lanes(v):
    """The first six lanes as numbers."""
    return (lane(v, 0), lane(v, 1), lane(v, 2), lane(v, 3), lane(v, 4), lane(v, 5))


@inlined
def lane_vector(x, last):
    """Six numbers as a vector, with `last` in the lanes 6 and 7."""
    v = with_lane(with_lane(with_lane(splat(last), 0, x[0]), 1, x[1]), 2, x[2])
    return with_lane(with_lane(with_lane(v, 3, x[3]), 4, x[4]), 5, x[5])


@inlined
def unit_lane(k):
    """One in lane k, zero elsewhere."""
    return with_lane(splat(0.0), k, 1.0)


@inlined
def identity_rows():
    return (unit_lane(0), unit_lane(1), unit_lane(2), unit_lane(3), unit_lane(4), unit_lane(5))


@inlined
def row_sums(a, o, v):
    """The 6x8 block at a[o] times the eight numbers v."""
    return (
        vsum(vload(a, o) * v),
        vsum(vload(a, o + 8) * v),
        vsum(vload(a, o + 16) * v),
        vsum(vload(a, o + 24) * v),
        vsum(vload(a, o + 32) * v),
        vsum(vload(a, o + 40) * v),
    )


@inlined
def wrench_rows_to_parent(R, p, m):
    """X_cpᵀ M for the rows of M: the transform of a wrench, applied to every column at once."""
    f0 = R[0] * m[3] + R[1] * m[4] + R[2] * m[5]
    f1 = R[3] * m[3] + R[4] * m[4] + R[5] * m[5]
    f2 = R[6] * m[3] + R[7] * m[4] + R[8] * m[5]
    return (
        R[0] * m[0] + R[1] * m[1] + R[2] * m[2] + p[1] * f2 - p[2] * f1,
        R[3] * m[0] + R[4] * m[1] + R[5] * m[2] + p[2] * f0 - p[0] * f2,
        R[6] * m[0] + R[7] * m[1] + R[8] * m[2] + p[0] * f1 - p[1] * f0,
        f0,
        f1,
        f2,
    )
