"""Checks of single values of a scene: each takes what the file says, and gives it back in one form or notes a fault."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.scene.reading.expression import Expression, ExpressionError
from linkwork.scene.reading.faults import Faults, dotted
from linkwork.scene.reading.lines import KeyPath

Check = Callable[[Any, KeyPath, Faults], Any]  # returns None after a fault

KINDS = {bool: "a boolean", int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a table"}


def kind_of(value: object) -> str:
    return KINDS.get(type(value), f"a {type(value).__name__}")


def shown(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a whole number of more than 60 digits"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_number(value: object) -> bool:
    """Finite, and within what a float can hold: TOML has whole numbers of any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def must(fits: Callable[[Any], bool], rule: str, form: Callable[[Any], Any] = lambda value: value) -> Check:
    """The value in its form where it fits; else a fault that gives the rule."""

    def check(value: Any, path: KeyPath, faults: Faults) -> Any:
        if fits(value):
            return form(value)
        faults.add(path, f"{dotted(path)} is {shown(value)}; it must be {rule}.")
        return None

    return check


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Check:
    """A finite number of at least `low` (or above it) and at most `high`."""
    least = f" {'>' if above else '≥'} {low:g}" if low > -math.inf else ""
    most = f" ≤ {high:g}" if high < math.inf else ""

    def fits(value: Any) -> bool:
        return is_number(value) and low <= value <= high and not (above and value == low)

    return must(fits, f"a finite number{least}{most}", float)


def friction(value: Any, path: KeyPath, faults: Faults) -> Any:
    """Coulomb's coefficient, or a table of those of `lw.Friction`."""
    if isinstance(value, dict):
        return value  # what makes a Friction of it reports what is wrong
    return number(0.0)(value, path, faults)


def integer(low: int = 0, high: int | None = None) -> Check:
    def fits(value: Any) -> bool:
        return (
            isinstance(value, int) and not isinstance(value, bool) and low <= value <= (value if high is None else high)
        )

    return must(fits, f"a whole number of at least {low}" + (f" and at most {high:,}" if high is not None else ""))


boolean = must(lambda value: isinstance(value, bool), "true or false")
text = must(lambda value: isinstance(value, str) and bool(value.strip()), "text that is not empty")


def choice(*names: str) -> Check:
    def check(value: Any, path: KeyPath, faults: Faults) -> str | None:
        if isinstance(value, str) and value in names:
            return value
        faults.add(path, f"{dotted(path)} is {shown(value)}{did_you_mean_or_list(value, names)}")
        return None

    return check


def vector(*sizes: int) -> Check:
    """As many finite numbers as one of `sizes`."""

    def fits(value: Any) -> bool:
        return isinstance(value, list) and len(value) in sizes and all(map(is_number, value))

    return must(
        fits, f"{' or '.join(map(str, sizes))} finite numbers in a list", lambda value: [float(x) for x in value]
    )


def _is_grid(value: Any) -> bool:
    rows = value if isinstance(value, list) else []
    if len(rows) < 2 or not all(isinstance(row, list) and all(map(is_number, row)) for row in rows):
        return False
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


grid = must(
    _is_grid,
    "a list of at least two rows of at least two finite numbers, all rows of one length",
    lambda value: [[float(x) for x in row] for row in value],
)


def numbers(low: float = -math.inf, *, above: bool = False) -> Check:
    """One number for all degrees of freedom of a joint, or a list of one each."""
    one = number(low, above=above)

    def check(value: Any, path: KeyPath, faults: Faults) -> Any:
        if not isinstance(value, list):
            return one(value, path, faults)
        before = len(faults)
        found = [one(x, (*path, k), faults) for k, x in enumerate(value)]
        return found if len(faults) == before else None

    return check


def weights(value: Any, path: KeyPath, faults: Faults) -> Any:
    """One number > 0 for all joints, or a table of numbers by joint name or pattern."""
    if not isinstance(value, dict):
        return number(0.0, above=True)(value, path, faults)
    before = len(faults)
    found = {name: numbers(0.0, above=True)(part, (*path, name), faults) for name, part in value.items()}
    return found if len(faults) == before else None


def _are_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) and name for name in names)


texts = must(_are_names, "a name or a list of names", lambda value: [value] if isinstance(value, str) else value)


def anything(value: Any, path: KeyPath, faults: Faults) -> Any:
    return value


# ---------------------------------------------------------------------------------------------------------- time functions


def signal(variables: Sequence[str] = ("t", "i", "n")) -> Check:
    """A number, an expression, or a table of times and values."""

    def check(value: Any, path: KeyPath, faults: Faults) -> Any:
        if is_number(value):
            return float(value)
        if isinstance(value, str):
            return _expression(value, path, faults, variables)
        if isinstance(value, dict) and "t" in variables:
            return _time_table(value, path, faults, 0)
        forms = "a number or an expression" + (", or { times = [...], values = [...] }" if "t" in variables else "")
        faults.add(path, f"{dotted(path)} is {shown(value)}; it must be {forms}.")
        return None

    return check


def signal_vector(size: int = 3) -> Check:
    """A list of `size` time functions, or one table whose values are lists of `size` numbers."""
    one = signal()

    def check(value: Any, path: KeyPath, faults: Faults) -> Any:
        if isinstance(value, dict):
            return _time_table(value, path, faults, size)
        if not isinstance(value, list) or len(value) != size:
            what = f"{size} components (numbers, expressions or tables of times and values)"
            faults.add(path, f"{dotted(path)} is {shown(value)}; it must be a list of {what}.")
            return None
        before = len(faults)
        found = [one(part, (*path, k), faults) for k, part in enumerate(value)]
        return found if len(faults) == before else None

    return check


def signals(value: Any, path: KeyPath, faults: Faults) -> Any:
    """A time function for the one degree of freedom of a joint, or a list of them."""
    if not isinstance(value, list):
        return signal()(value, path, faults)
    return signal_vector(max(1, len(value)))(value, path, faults)


def _expression(value: str, path: KeyPath, faults: Faults, variables: Sequence[str]) -> str | None:
    try:
        Expression(value, variables)
    except ExpressionError as error:
        faults.add(path, f"{dotted(path)}: {error}")
        return None
    return value


def _time_table(value: dict[str, Any], path: KeyPath, faults: Faults, size: int) -> Any:
    """times: rising; values: as many, each a number (size 0) or a list of `size` numbers."""
    before = len(faults)
    for key in value:
        if key not in ("times", "values"):
            faults.add((*path, key), f"{dotted(path)} has no key '{key}'; a table has times and values.")
    times, values = value.get("times"), value.get("values")
    if not isinstance(times, list) or not times or not all(map(is_number, times)):
        faults.add((*path, "times"), f"{dotted(path)}.times is {shown(times)}; it must be a list of times [s].")
    elif any(a >= b for a, b in pairwise(times)):
        faults.add((*path, "times"), f"{dotted(path)}.times must rise from each to the next.")

    def is_value(x: object) -> bool:
        return is_number(x) if size == 0 else isinstance(x, list) and len(x) == size and all(map(is_number, x))

    if not isinstance(values, list) or not all(map(is_value, values)):
        each = "numbers" if size == 0 else f"lists of {size} numbers"
        faults.add((*path, "values"), f"{dotted(path)}.values is {shown(values)}; it must be a list of {each}.")
    elif isinstance(times, list) and len(times) != len(values):
        faults.add(path, f"{dotted(path)} has {len(times)} times and {len(values)} values; give as many of both.")
    return value if len(faults) == before else None


# ------------------------------------------------------------------------------------------------------- keys of tables


@dataclass(frozen=True)
class Key:
    """One key: how it is checked, what it means, and what stands for it when it is absent (None: nothing)."""

    check: Check
    meaning: str
    unit: str = ""
    default: Any = None
    required: bool = False


Keys = Mapping[str, Key]
