"""Words of memory that two threads or processes share: single loads and stores that the compiler may not split or move.

The memory is one array of float64. A word holds a number or, in the same eight bytes, an integer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from linkwork.spatial.simd import element_address, refuse_other_arrays

_WORD = 8  # bytes
_INTEGER = ir.IntType(64)


def _place(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    """Pointer to a word as an integer."""
    word = element_address(context, builder, array_type, array, index_type, index, 1)
    return builder.bitcast(word, _INTEGER.as_pointer())


@intrinsic
def load_integer(typing_context, memory, index):
    """The integer in a word; nothing read after it is read before it (acquire)."""
    refuse_other_arrays("load_integer", memory, index)

    def generate(context, builder, signature, args):
        place = _place(context, builder, memory, args[0], index, args[1])
        return builder.load_atomic(place, "acquire", _WORD)

    return types.int64(memory, index), generate


@intrinsic
def store_integer(typing_context, memory, index, value):
    """Writes an integer into a word, after everything written before it (release)."""
    refuse_other_arrays("store_integer", memory, index)

    def generate(context, builder, signature, args):
        place = _place(context, builder, memory, args[0], index, args[1])
        number = context.cast(builder, args[2], value, types.int64)
        builder.store_atomic(number, place, "release", _WORD)
        return context.get_dummy_value()

    return types.void(memory, index, value), generate


@intrinsic
def load_word(typing_context, memory, index):
    """The number in a word, read in one piece; in no order with other words."""
    refuse_other_arrays("load_word", memory, index)

    def generate(context, builder, signature, args):
        place = _place(context, builder, memory, args[0], index, args[1])
        word = builder.load_atomic(place, "monotonic", _WORD)
        return builder.bitcast(word, ir.DoubleType())

    return types.float64(memory, index), generate


@intrinsic
def store_word(typing_context, memory, index, value):
    """Writes a number into a word, in one piece; in no order with other words."""
    refuse_other_arrays("store_word", memory, index)

    def generate(context, builder, signature, args):
        place = _place(context, builder, memory, args[0], index, args[1])
        word = builder.bitcast(context.cast(builder, args[2], value, types.float64), _INTEGER)
        builder.store_atomic(word, place, "monotonic", _WORD)
        return context.get_dummy_value()

    return types.void(memory, index, value), generate


@intrinsic
def fence_after_reads(typing_context):
    """Reads before it are done before anything after it (acquire)."""

    def generate(context, builder, signature, args):
        builder.fence("acquire")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def fence_before_writes(typing_context):
    """Everything before it is done before writes after it (release)."""

    def generate(context, builder, signature, args):
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate
