"""Vectors of eight lanes that are rows of memory, and moves of numbers between lanes: wrenches and twists in registers.

A wrench or a twist stands in the lanes 0 to 5, turning before sliding; the lanes 6 and 7 are zero, and stay it.
"""

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic

from linkwork.core.jit import FASTMATH, inlined
from linkwork.spatial.simd import LANES, check_bounds, refuse_other_arrays, v8

_INDEX = ir.IntType(32)


def _address_of_row(context, builder, array_type, array, index_type, index):
    """Pointer to row `index` of an array (n, 8), as a vector; IndexError unless it is there and has eight
    numbers, if bounds are checked."""
    view = context.make_array(array_type)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    if context.enable_boundscheck:
        rows, columns = (builder.extract_value(view.shape, k) for k in range(2))
        check_bounds(context, builder, index, rows)
        check_bounds(context, builder, columns, columns.type(LANES + 1))
        check_bounds(context, builder, columns.type(LANES - 1), columns)
    first = builder.gep(view.data, [builder.mul(index, index.type(LANES))])
    return builder.bitcast(first, ir.VectorType(ir.DoubleType(), LANES).as_pointer())


@intrinsic
def load_row(typingctx, array, index):
    """Row `index` of an array (n, 8)."""
    refuse_other_arrays("load_row", array, index, dimensions=2)

    def codegen(context, builder, signature, args):
        return builder.load(_address_of_row(context, builder, array, args[0], index, args[1]), align=8)

    return v8(array, index), codegen


@intrinsic
def store_row(typingctx, array, index, value):
    """Writes row `index` of an array (n, 8)."""
    refuse_other_arrays("store_row", array, index, dimensions=2)
    if not array.mutable or value != v8:
        raise TypingError(f"store_row writes a V8 to an array that may be written, not {value} to {array}.")

    def codegen(context, builder, signature, args):
        builder.store(args[2], _address_of_row(context, builder, array, args[0], index, args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


def _shuffle(builder, a, b, lanes):
    """Lanes of two vectors, those of b from 8 on."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, LANES), lanes))


def _moved(*lanes):
    """A subroutine that moves lanes of one vector."""

    @intrinsic
    def move(typingctx, v):
        def codegen(context, builder, signature, args):
            return _shuffle(builder, args[0], args[0], lanes)

        return v8(v8), codegen

    return move


# With r = (x, y, z) in the lanes 0 to 2 and zero behind them: factors of the two products of a cross product with r, and
# the lanes that they belong to. Up: r x f of a wrench, to its moment. Down: ω x r of a twist, to its velocity.
_up_first, _up_second = _moved(1, 2, 0, 6, 6, 6, 6, 6), _moved(2, 0, 1, 6, 6, 6, 6, 6)
_force_first, _force_second = _moved(5, 3, 4, 6, 6, 6, 6, 6), _moved(4, 5, 3, 6, 6, 6, 6, 6)
_down_first, _down_second = _moved(6, 6, 6, 2, 0, 1, 6, 6), _moved(6, 6, 6, 1, 2, 0, 6, 6)
_turn_first, _turn_second = _moved(6, 6, 6, 1, 2, 0, 6, 6), _moved(6, 6, 6, 2, 0, 1, 6, 6)


@inlined
def ways_up(r):
    """Of r in lanes 0 to 2: what `row_up` needs."""
    return _up_first(r), _up_second(r)


@inlined
def row_up(ways, f):
    """A wrench on a body, about the origin of its parent."""
    return f + ways[0] * _force_first(f) - ways[1] * _force_second(f)


@inlined
def ways_down(r):
    """Of r in lanes 0 to 2: what `row_down` needs."""
    return _down_first(r), _down_second(r)


@inlined
def row_down(ways, a):
    """A twist of the parent, at the origin of the body."""
    return a + ways[0] * _turn_first(a) - ways[1] * _turn_second(a)


@intrinsic
def sums_of(typingctx, a, b, c, d, e, f):
    """Sums of the first six lanes of six vectors, as lanes 0 to 5 of one; its lanes 6 and 7 are sums of lanes 6 and 7."""

    def codegen(context, builder, signature, args):
        pairs = []
        for k in range(3):
            even = _shuffle(builder, args[2 * k], args[2 * k + 1], (0, 8, 2, 10, 4, 12, 6, 14))
            odd = _shuffle(builder, args[2 * k], args[2 * k + 1], (1, 9, 3, 11, 5, 13, 7, 15))
            pairs.append(builder.fadd(even, odd, flags=FASTMATH))
        total = None
        for first in (0, 2, 4):
            two = _shuffle(builder, pairs[0], pairs[1], (first, first + 1, first + 8, first + 9, 6, 7, 6, 7))
            three = _shuffle(builder, two, pairs[2], (0, 1, 2, 3, first + 8, first + 9, 6, 7))
            total = three if total is None else builder.fadd(total, three, flags=FASTMATH)
        return total

    return v8(v8, v8, v8, v8, v8, v8), codegen


@inlined
def rows_times(m, v):
    """The rows m times v: M v in lanes."""
    return sums_of(m[0] * v, m[1] * v, m[2] * v, m[3] * v, m[4] * v, m[5] * v)


@inlined
def columns_up(r, X):
    """Each column of X as a wrench about the origin of the parent. r: three numbers."""
    x, y, z = r
    return (X[0] + y * X[5] - z * X[4], X[1] + z * X[3] - x * X[5], X[2] + x * X[4] - y * X[3], X[3], X[4], X[5])


@inlined
def columns_down(r, X):
    """Each column of X, a twist of the parent, at the origin of the body."""
    x, y, z = r
    return (X[0], X[1], X[2], X[3] + z * X[1] - y * X[2], X[4] + x * X[2] - z * X[0], X[5] + y * X[0] - x * X[1])


@inlined
def block_up(r, ways, X):
    """A block of a body, on the twist of its parent. ways: `ways_up` of r."""
    Y = columns_up(r, X)
    return (
        row_up(ways, Y[0]), row_up(ways, Y[1]), row_up(ways, Y[2]),
        row_up(ways, Y[3]), row_up(ways, Y[4]), row_up(ways, Y[5]),
    )  # fmt: skip


@inlined
def block_down(r, ways, X):
    """Twists of the parent per impulse on it, as those of the body per impulse on the body, were the joint locked."""
    Y = columns_down(r, X)
    return (
        row_down(ways, Y[0]), row_down(ways, Y[1]), row_down(ways, Y[2]),
        row_down(ways, Y[3]), row_down(ways, Y[4]), row_down(ways, Y[5]),
    )  # fmt: skip
