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
