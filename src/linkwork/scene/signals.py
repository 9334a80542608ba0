"""Time functions of a scene: a number, an expression, or a table of times and values, as something to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.scene.reading.expression import Expression, vector_form


class Signal:
    """A function of time [s] to vectors of one size, shape (size,).

    is_constant: whether asking once is enough.
    """

    formula: tuple[str, float, float] | None = None  # text of a single expression, and its i and n

    def __init__(self, parts: Sequence[Callable[[float], float]], is_constant: bool):
        self._parts = tuple(parts)
        self.is_constant = is_constant
        self.size = len(self._parts)
        self._always = tuple(part(0.0) for part in self._parts) if is_constant else None

    def at(self, t: float) -> tuple[float, ...]:
        """Its value as plain numbers, which are quickly compared with others."""
        return tuple([part(t) for part in self._parts]) if self._always is None else self._always

    def __call__(self, t: float) -> FloatArray:
        return np.array(self.at(t))

    def along(self, direction: FloatArray) -> Signal:
        """This scalar times a direction."""
        (size,) = self._parts
        return Signal([_scaled(size, float(d)) for d in direction], self.is_constant)


def make_signal(value: Any, index: int = 0, count: int = 1) -> Signal:
    """The time function that a checked value of a scene describes; a scalar has size 1.

    index, count: what `i` and `n` stand for in expressions.
    """
    if isinstance(value, Mapping) and isinstance(value["values"][0], list):
        columns = np.array(value["values"], dtype=float).T
        parts = [_part({"times": value["times"], "values": column.tolist()}, index, count) for column in columns]
    else:
        parts = [_part(part, index, count) for part in (value if isinstance(value, list) else [value])]
    signal = Signal([call for call, _ in parts], all(constant for _, constant in parts))
    if isinstance(value, str):
        signal.formula = (value, float(index), float(count))
    return signal


def values_of(signals: Sequence[Signal]) -> Callable[[float], FloatArray]:
    """The values of several signals one after the other, as a function of time [s].

    Where all are one expression for different i they are found at once, and one by one only where that is not finite.
    """

    def one_by_one(t: float) -> FloatArray:
        return np.array([x for signal in signals for x in signal.at(t)])

    formulas = [signal.formula for signal in signals]
    if not formulas or formulas[0] is None or any(x is None or x[0] != formulas[0][0] for x in formulas):
        return one_by_one
    form = vector_form(formulas[0][0], ("t", "i", "n"))
    if form is None or not any(not signal.is_constant for signal in signals):
        return one_by_one
    known = {name: np.array([x[k] for x in formulas if x is not None]) for k, name in ((1, "i"), (2, "n"))}
    size = len(signals)

    def at_once(t: float) -> FloatArray:
        with np.errstate(all="ignore"):
            found = np.broadcast_to(form({"t": t, **known}), size)
        return found if np.isfinite(found).all() else one_by_one(t)

    return at_once


def constant(values: Sequence[float]) -> Signal:
    return make_signal([float(value) for value in values])


def _scaled(call: Callable[[float], float], factor: float) -> Callable[[float], float]:
    return lambda t: factor * call(t)


def _part(value: Any, index: int, count: int) -> tuple[Callable[[float], float], bool]:
    if isinstance(value, str):
        expression = Expression(value, ("t", "i", "n"))
        i, n = float(index), float(count)
        if "t" not in expression.used:
            return _always(expression(t=0.0, i=i, n=n)), True
        return lambda t: expression(t=t, i=i, n=n), False
    if isinstance(value, Mapping):
        times, values = np.array(value["times"], dtype=float), np.array(value["values"], dtype=float)
        return lambda t: float(np.interp(t, times, values)), bool(np.ptp(values) == 0.0)
    return _always(float(value)), True


def _always(number: float) -> Callable[[float], float]:
    return lambda t: number
