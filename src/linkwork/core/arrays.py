"""Names of array types, and arrays that nobody may write to."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AnyArray = TypeVar("AnyArray", bound="NDArray[Any]")


def frozen(array: AnyArray) -> AnyArray:
    """The same array, from now on read-only."""
    array.setflags(write=False)
    return array


def lazy_zeros(rows: int, columns: int | None = None, dtype: type = np.float64) -> NDArray[Any]:
    """Zeros that begin at a cache line and take no memory before they are written to."""
    size = rows * (columns or 1)
    raw: NDArray[Any] = np.zeros(size + 8, dtype=dtype)
    start = (-raw.ctypes.data // raw.itemsize) % (64 // raw.itemsize)
    flat = raw[start : start + size]
    return flat if columns is None else flat.reshape(rows, columns)
