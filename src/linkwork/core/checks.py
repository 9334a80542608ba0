"""What comes in from outside: one rule for numbers, arrays, names and choices, one wording for what is refused."""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import LinkworkError, StateError

SHOWN = 200  # letters of a value in a message
MOST = 2**53  # steps or things: more is never counted to, and would not fit the kernels
LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes of a name in a folder, and of a path


def positive(value: Any, what: str) -> float:
    """A finite number > 0."""
    if type(value) is float and 0.0 < value < math.inf:  # as it is nearly always, and asked for at every step
        return value
    number = float_or_nan(value)
    if not math.isfinite(number) or number <= 0.0:
        raise StateError(f"{what} is {shown(value)}; it must be a finite number > 0.")
    return number


def finite(value: Any, what: str) -> float:
    """A finite number."""
    number = float_or_nan(value)
    if not math.isfinite(number):
        raise StateError(f"{what} is {shown(value)}; it must be a finite number.")
    return number


def not_negative(value: Any, what: str, finite: bool = False) -> float:
    """A number ≥ 0; infinity is one unless `finite`."""
    if type(value) is float and 0.0 <= value < math.inf:
        return value
    number = float_or_nan(value)
    if math.isnan(number) or number < 0.0 or (finite and math.isinf(number)):
        raise StateError(f"{what} is {shown(value)}; it must be a {'finite ' if finite else ''}number ≥ 0.")
    return number


def integer(value: Any, least: int, what: str) -> int:
    """A whole number ≥ least that can be counted to."""
    if type(value) is int and least <= value <= MOST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StateError(f"{what} is {shown(value)}; it must be a whole number ≥ {least}.")
    if value > MOST:
        raise StateError(f"{what} is {shown(value)}; at most {MOST:,} is possible.")
    return int(value)


def number(value: Any, what: str, error: type[LinkworkError] = StateError) -> float:
    """A number that fits a float, NaN and infinity included."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise error(f"{what} must be a number, not {shown(value)}.")
    try:
        return float(value)
    except OverflowError:
        raise error(f"{what} is {shown(value)}, which is too large for a number.") from None


def flag(value: Any, what: str, error: type[LinkworkError] = StateError) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{what} must be True or False, not {shown(value)}.")
    return bool(value)


def function(value: Any, what: str, of: str = "") -> Any:
    """Something that can be called. of: its arguments, in words."""
    if not callable(value):
        raise StateError(f"{what} must be a function{f' of {of}' if of else ''}, not {shown(value)}.")
    return value


def as_path(path: Any, what: str) -> Path:
    """A place of the file system, of what can name one."""
    try:
        found = Path(path)
        encoded = os.fsencode(found)
        if b"\0" in encoded or max(map(len, encoded.split(b"/"))) > LONGEST_NAME or len(encoded) > LONGEST_PATH:
            raise ValueError
    except (TypeError, ValueError):
        raise StateError(f"{what} needs the path of a file or folder, not {shown(path)}.") from None
    return found


def refuse_memory(needed: int, what: str, instead: str) -> None:
    """Refuses to allocate more than is there, before it is tried: the system may kill the program for it later."""
    available = available_memory()
    if needed > available:
        raise StateError(f"{what} needs {needed:,} bytes; {available:,} are available. {instead}.")


def available_memory() -> int:
    """Bytes this program can still have; physical memory where the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**63


def numbers(value: Any, shape: tuple[int, ...], what: str, owner: str) -> NDArray[np.float64]:
    """`value` itself when kernels can read it as it is, a converted copy otherwise; the shape is the one asked for.

    Words, complex numbers and numbers too large for a float do not count. NaN and infinity pass: see `inputs.as_finite`.
    """
    if type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray:
        array = value
    else:
        try:
            raw = np.asarray(value)
            if raw.dtype.kind not in "iufbO":
                raise TypeError
            array = np.array(raw, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise StateError(f"{what} must be an array of numbers, not {shown(value)}.") from None
    if array.shape != shape:
        raise StateError(f"{what} has shape {array.shape}; {owner} needs {shape}.")
    return array


def dimensions(value: Any) -> int:
    """Of what may become an array; -1 where it cannot."""
    try:
        return np.ndim(value)
    except (TypeError, ValueError, OverflowError):
        return -1


def choice(value: Any, known: Iterable[str], what: str) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in known:
        raise StateError(f"{what} must be {' or '.join(map(repr, known))}, not {shown(value)}.")
    return value


def one_of(value: Any, known: Iterable[str], what: str) -> str:
    """One of many words: the message lists them."""
    if not isinstance(value, str) or value not in known:
        raise StateError(f"there is no {what} {shown(value)}; choose one of {', '.join(known)}.")
    return value


def shown(value: Any) -> str:
    """A value as an error message can carry it: short, whatever it is."""
    try:
        text = reprlib.repr(value)
    except Exception:  # a foreign object may not even be shown
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def float_or_nan(value: Any) -> float:
    """A float, NaN for what is not a number: every caller refuses it."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
