"""What one key of a sweep takes: listed values, an interval, or a normal distribution; and the words that say so.

100,1000            these values; each in TOML, names without quotes
1:10:10             ten values from 1 to 10, evenly spaced; whole numbers if all are
1e-6:1e-2:5:log     five values, evenly spaced in their logarithms
1:10                any value between, for samples; 1e-6:1e-2:log likewise in the logarithm
normal(2, 0.1)      normally distributed with mean 2 and standard deviation 0.1, for samples
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, integer, positive
from linkwork.errors import LinkworkError
from linkwork.scene.reading.schema import LISTS, MODEL
from linkwork.scene.reading.settings import WORD

RANGE = re.compile(r"[^:,\[\]{}\"']+(?::[^:,\[\]{}\"']+){1,3}")
WHOLE = re.compile(r"[+-]?\d+")
NORMAL = re.compile(r"normal\(([^,()]+),([^,()]+)\)")
MOST_RUNS = 10_000_000  # a grid with a slip asks for more than can be run
SMALLEST_PROBABILITY = 2.0**-53  # of a normal sample: a probability of exactly 0 has no finite quantile


@dataclass(frozen=True)
class Listed:
    """Values one after the other."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise LinkworkError("a list of values is empty; give at least one.")

    def at(self, u: FloatArray) -> list[Any]:
        """The values at places u of [0, 1), shape (count,): each value takes an equal part."""
        n = len(self.values)
        return [self.values[min(int(x * n), n - 1)] for x in u.tolist()]


@dataclass(frozen=True)
class Between:
    """Any number from low to high, evenly distributed; with `log` its logarithm is."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        check_interval(self.low, self.high, self.log)

    def at(self, u: FloatArray) -> list[float]:
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return [math.exp(low + x * (high - low)) for x in u.tolist()]
        return [self.low + x * (self.high - self.low) for x in u.tolist()]


@dataclass(frozen=True)
class Normal:
    """Normally distributed numbers."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        finite(self.mean, "the mean of normal(mean, deviation)")
        positive(self.deviation, "the deviation of normal(mean, deviation)")

    def at(self, u: FloatArray) -> list[float]:
        from statistics import NormalDist

        curve = NormalDist(self.mean, self.deviation)
        inside = np.clip(u, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        return [curve.inv_cdf(x) for x in inside.tolist()]


Axis = Listed | Between | Normal


def check_interval(low: float, high: float, log: bool) -> None:
    finite(low, "the lower end of a range")
    finite(high, "the upper end of a range")
    if not low < high:
        raise LinkworkError(f"the range from {low!r} to {high!r} is empty; the lower end comes first.")
    if log and low <= 0.0:
        raise LinkworkError(f"a range in logarithms begins above 0, not at {low!r}.")


def as_axis(given: Any, key: str) -> Axis:
    """The axis of a key: words of the grammar above, a list of values, an axis, or one value."""
    try:
        if isinstance(given, Listed | Between | Normal):
            return given
        if isinstance(given, str):
            return parse_axis(given)
        if isinstance(given, np.ndarray):
            return Listed(tuple(given.tolist()))
        if isinstance(given, Sequence | range):
            return Listed(tuple(plain_value(value) for value in given))
        return Listed((plain_value(given),))
    except LinkworkError as error:
        raise LinkworkError(f"vary {key}: {error}", about=key) from None


def parse_axis(words: str) -> Axis:
    text = words.strip()
    normal = NORMAL.fullmatch(text)
    if normal:
        return Normal(_number(normal[1], words), _number(normal[2], words))
    if RANGE.fullmatch(text):
        return _range(text.split(":"), words)
    return Listed(tuple(parse_value(part) for part in _split(text)))


def _range(parts: list[str], words: str) -> Axis:
    log = parts[-1].strip() == "log"
    numbers = parts[:-1] if log else parts
    if len(numbers) not in (2, 3):
        raise LinkworkError(f"'{words}' is not a range; write low:high, low:high:count or low:high:count:log.")
    low, high = (_number(part, words) for part in numbers[:2])
    if len(numbers) == 2:
        return Between(low, high, log)
    if not numbers[2].strip().isdigit():
        raise LinkworkError(f"'{words}': the third number of a range is how many values there are, such as 10.")
    if len(numbers[2].strip()) > len(str(MOST_RUNS)) or int(numbers[2]) > MOST_RUNS:
        raise LinkworkError(
            f"'{words}' has more values than a sweep can have runs; at most {MOST_RUNS:,} are possible."
        )
    count = integer(int(numbers[2]), 2, f"the count of '{words}'")
    check_interval(low, high, log)
    values = (np.geomspace(low, high, count) if log else np.linspace(low, high, count)).tolist()
    are_whole = all(WHOLE.fullmatch(part.strip()) for part in numbers) and all(value.is_integer() for value in values)
    return Listed(tuple(int(value) for value in values) if are_whole and not log else tuple(values))


def _number(text: str, words: str) -> float:
    try:
        return finite(float(text), f"a number of '{words}'")
    except ValueError:
        raise LinkworkError(f"'{words}': '{text.strip()}' is not a number.") from None


def _split(text: str) -> Iterator[str]:
    """Parts between commas that stand in no bracket and no quotes."""
    depth, quote, begin = 0, "", 0
    for k, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[{(":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[begin:k]
            begin = k + 1
    yield text[begin:]


def parse_value(text: str) -> Any:
    """One value in TOML; names, patterns and paths need no quotes."""
    text = text.strip()
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        if WORD.fullmatch(text):
            return text
        raise LinkworkError(f"'{text}' is not a value in TOML ({error}); put text into quotes.") from None


def plain_value(value: Any) -> Any:
    """A value as JSON keeps it: numbers, text, booleans, lists and tables."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    if isinstance(value, dict):
        return {str(name): plain_value(part) for name, part in value.items()}
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise LinkworkError(f"{value!r} is not a value that a sweep can keep: numbers, text, booleans, lists of them.")


# ----------------------------------------------------------------------------------------------------------------- keys


INDEX = re.compile(r"\[(\d+)\]")


def setting_key(key: str, given: Mapping[str, Any]) -> str:
    """The key of a setting: `load.force[2]` → load.0.force.2, `model.joints` → model.parameters.joints.

    given: the contents of the scene. A table that the scene has once needs no number; what is not a key of [model] itself
    is a parameter of its library model.
    """
    parts = INDEX.sub(r".\1", key.strip()).split(".")
    if parts[0] in LISTS and len(parts) > 1 and not parts[1].isdigit():
        count = len(given.get(parts[0], ()))
        if count != 1:
            raise LinkworkError(
                f"vary {key}: the scene has {count} tables [[{parts[0]}]]; write {parts[0]}.0.{'.'.join(parts[1:])} for "
                "the first of them.",
                about=key,
            )
        parts.insert(1, "0")
    if parts[0] == "model" and len(parts) == 2 and parts[1] not in MODEL:
        parts.insert(1, "parameters")
    return ".".join(parts)
