"""Every argument of everything public with every odd value, one after the other: what chance would leave out."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .calls import CALLS
from .values import NUMBERS, WORDS

SHAPES = ((), (0,), (3,), (6,), (3, 3), (2, 6), (1, 1, 1))
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *WORDS,
    *(None, True, False, b"q", 1j, (), [], {}, {"q": 1}, object(), set(), range(3), int),
    *([1e308] * 3, [10**400] * 3, [float("nan")] * 3, [1e-320] * 6, [float("inf")] * 6, [1e308, -1e308]),
    *([0, -1, 7], [2**63, 1], [0.5] * 2, [[1.0], [1.0, 2.0]]),
    *(np.full(shape, x) for shape in SHAPES for x in (0.0, 1.0, np.nan, np.inf)),
    *(np.array([x] * k, dtype=object) for x in ("a", None, 1.0) for k in (1, 2, 3)),
)


class Place(NamedTuple):
    call: str
    parameter: str
    value: int  # of VALUES


@cache
def places(seed: int) -> list[Place]:
    """All of them, in an order that a seed decides, so that a part of them is a sample of all."""
    found = [
        Place(name, parameter, k)
        for name in sorted(CALLS)
        for parameter in CALLS[name].parameters()
        for k in range(len(VALUES))
    ]
    random.Random(seed).shuffle(found)
    return found
