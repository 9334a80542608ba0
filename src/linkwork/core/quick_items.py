"""Single numbers of arrays, read and written in few instructions.

Numba prepares every `a[i, k]` for slices and strides: it puts the array into memory, takes all of its fields out again, and
makes some thirty instructions of what the optimizer later finds to be one. For arrays without gaps and whole indices the
address is made of the fields that it needs. Where bounds are checked, and for all else, Numba's own code serves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types


def item_access(context: Any, function: Any, signature: Any) -> Callable[..., Any] | None:
    """Code that reads (array, index) or writes (array, index, number), for Numba to call; None where it has its own."""
    if not isinstance(function, types.Function) or context.enable_boundscheck:
        return None
    key = function.typing_key
    if key is not operator.getitem and key is not operator.setitem:
        return None
    array, index = signature.args[:2]
    if not isinstance(array, types.Array) or array.layout != "C" or not isinstance(array.dtype, types.Number):
        return None
    kinds = tuple(signature.args[1]) if isinstance(index, types.BaseTuple) else (index,)
    if len(kinds) != array.ndim or not all(isinstance(kind, types.Integer) for kind in kinds):
        return None
    reads = key is operator.getitem
    if not reads and signature.args[2] != array.dtype:
        return None

    def access(builder: Any, args: Any, loc: Any = None) -> Any:
        places = cgutils.unpack_tuple(builder, args[1], len(kinds)) if isinstance(index, types.BaseTuple) else [args[1]]
        pointer = _address(context, builder, array, args[0], kinds, places)
        align = None if array.aligned else 1
        if reads:
            return context.unpack_value(builder, array.dtype, pointer, align=align)
        return context.pack_value(builder, array.dtype, args[2], pointer, align=align)

    return access


def _address(context: Any, builder: Any, array: Any, value: Any, kinds: Any, places: Any) -> Any:
    """Where a number stands; indices below zero count from the end, as in Python."""
    model = context.data_model_manager[array]
    sizes = builder.extract_value(value, model.get_field_position("shape"))
    at: Any = None
    for k, (kind, place) in enumerate(zip(kinds, places, strict=True)):
        place = context.cast(builder, place, kind, types.intp)
        size = builder.extract_value(sizes, k)
        if kind.signed:
            below = builder.icmp_signed("<", place, place.type(0))
            place = builder.select(below, builder.add(place, size), place)
        at = place if at is None else builder.add(builder.mul(at, size), place)
    return builder.gep(builder.extract_value(value, model.get_field_position("data")), [at])
