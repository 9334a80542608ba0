"""Many arrays that cross from Python as one: a table of addresses.

Numba takes some 0.6 µs to unpack each array argument of a call, and hands every field of a bundle on to each function that
gets it. A simulation works on dozens of arrays. So its arrays are described once in a table of integers, three per array
(address, rows, columns); kernels and their subroutines take that table and read from it the arrays they use:

    class Motion(NamedTuple):
        q: Float1  # (nq,)
        v: Float1  # (nv,)

    motion_of = reader(Motion)  # for kernels: table → view of a Motion

    @kernel
    def kinetic(table):
        s = motion_of(table)
        ... s.v[0] ...

Arrays that a subroutine does not use cost it nothing. A table does not keep its arrays alive: its maker holds
them. A kernel may change the number of rows of an array in the table, within what was allocated (`set_rows`): that is
how the arrays of a linkage grow and shrink with the joints that move.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, get_type_hints

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from linkwork.core.jit import inlined
from linkwork.core.views import ENTRIES, ROWS, View

# Kinds of fields: numbers and dimensions.
Float1 = Annotated[NDArray[np.float64], types.float64, 1]
Float2 = Annotated[NDArray[np.float64], types.float64, 2]
Int1 = Annotated[NDArray[np.int64], types.int64, 1]
Int2 = Annotated[NDArray[np.int64], types.int64, 2]
Byte1 = Annotated[NDArray[np.uint8], types.uint8, 1]


@cache
def _array_types(bundle: Any) -> list[types.Array]:
    hints = get_type_hints(bundle, include_extras=True)
    return [types.Array(hints[name].__metadata__[0], hints[name].__metadata__[1], "C") for name in bundle._fields]


def describe(*bundles: Any) -> NDArray[np.int64]:
    """The table of the arrays of one or several bundles, shape (3 · fields,). They must live as long as the table is used.

    Refuses arrays of another type, dimension or layout than the bundle declares: kernels trust what the table says.
    """
    return np.concatenate([_describe(bundle) for bundle in bundles])


def _describe(bundle: Any) -> NDArray[np.int64]:
    table = np.zeros(ENTRIES * len(bundle), dtype=np.int64)
    kind_of_bundle: Any = type(bundle)
    kinds = _array_types(kind_of_bundle)
    for k, (name, array, kind) in enumerate(zip(bundle._fields, bundle, kinds, strict=True)):
        if array.dtype != np.dtype(str(kind.dtype)) or array.ndim != kind.ndim or not array.flags.c_contiguous:
            raise TypeError(
                f"{type(bundle).__name__}.{name}: a contiguous {kind.ndim}-dimensional array of {kind.dtype} is needed, "
                f"not {array.ndim} dimensions of {array.dtype}."
            )
        columns = array.shape[1] if array.ndim == 2 else 1
        table[ENTRIES * k : ENTRIES * (k + 1)] = (array.ctypes.data, array.shape[0], columns)
    return table


def reader(bundle: Any, *before: Any) -> Any:
    """What kernels call to get the arrays of a table: table → view of the bundle. `before`: bundles that come first."""
    first = sum(len(other._fields) for other in before)
    arrays = dict(zip(bundle._fields, _array_types(bundle), strict=True))
    view = View(f"{bundle.__module__}.{bundle.__qualname__}", arrays, first)

    @intrinsic
    def read(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return view(table), generate

    return read


def place_of(bundle: Any, name: str, *before: Any) -> int:
    """Where the number of rows of a field stands in a table; a constant for kernels. `before`: as for `reader`."""
    first = sum(len(other._fields) for other in before)
    place: int = ENTRIES * (first + bundle._fields.index(name)) + ROWS
    return place


@inlined
def set_rows(table, place, rows):
    """From the next read on, the array whose `place_of` is given has this many rows."""
    table[place] = rows
