"""Eight doubles from one place of an array, or four each from two places."""

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic

from linkwork.spatial.simd import LANES, element_address, refuse_other_arrays, v8

_INDEX = ir.IntType(32)


def _lanes_per_place(name, array, offset, places):
    refuse_other_arrays(name, array, offset)
    if not (isinstance(places, types.UniTuple) and isinstance(places.dtype, types.Integer) and len(places) in (1, 2)):
        raise TypingError(f"{name} takes one or two whole numbers as places, not {places}.")
    return LANES // len(places)


def _addresses(context, builder, signature, args, lanes):
    """Pointers to the vectors of so many lanes at array[offset + place], one for each place."""
    array, offset, places = signature.args[:3]
    vector = ir.VectorType(ir.DoubleType(), lanes).as_pointer()
    base = context.cast(builder, args[1], offset, types.intp)
    for k in range(len(places)):
        place = builder.extract_value(args[2], k)
        index = builder.add(base, context.cast(builder, place, places.dtype, types.intp))
        first = element_address(context, builder, array, args[0], types.intp, index, lanes)
        yield builder.bitcast(first, vector)


@intrinsic
def vload_at(typingctx, array, offset, places):
    """Eight numbers: those at one place, or four at the first and four at the second, all of them `offset` further on."""
    lanes = _lanes_per_place("vload_at", array, offset, places)

    def codegen(context, builder, signature, args):
        parts = [builder.load(at, align=8) for at in _addresses(context, builder, signature, args, lanes)]
        if len(parts) == 1:
            return parts[0]
        return builder.shuffle_vector(*parts, ir.Constant(ir.VectorType(_INDEX, LANES), list(range(LANES))))

    return v8(array, offset, places), codegen


@intrinsic
def vstore_at(typingctx, array, offset, places, value):
    """Writes what `vload_at` reads, the second place first: if both are one, the first four numbers stay."""
    lanes = _lanes_per_place("vstore_at", array, offset, places)
    if value != v8 or not array.mutable:
        raise TypingError(f"vstore_at writes a V8 to an array, not {value} to {array}.")

    def codegen(context, builder, signature, args):
        addresses = list(_addresses(context, builder, signature, args, lanes))
        for number in reversed(range(len(addresses))):
            chosen = ir.Constant(ir.VectorType(_INDEX, lanes), list(range(number * lanes, (number + 1) * lanes)))
            part = builder.shuffle_vector(args[3], ir.Constant(args[3].type, ir.Undefined), chosen)
            builder.store(part, addresses[number], align=8)
        return context.get_dummy_value()

    return types.void(array, offset, places, value), codegen
