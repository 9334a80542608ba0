"""What comes into this room from outside: paths, flags, seeds, names, torsions, poses. One rule for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import finite, integer, numbers, shown
from linkwork.errors import ModelError, StateError

LARGEST_SEED = 2**31 - 1  # OpenMM keeps seeds in 32 bits
POSE = 12  # nine numbers of the rotation, three of the origin


def path_of(value: Any, what: str) -> Path:
    """A path as text or a Path."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise StateError(f"{what} is {shown(value)}; give a path as text.")
    return Path(value)


def flag(value: Any, what: str) -> bool:
    """True or False, nothing that is merely taken for one."""
    if not isinstance(value, bool | np.bool_):
        raise StateError(f"{what} is {shown(value)}; give True or False.")
    return bool(value)


def flags(**values: Any) -> None:
    """Every one True or False."""
    for what, value in values.items():
        flag(value, what)


def seed_of(value: Any) -> int:
    """A whole number that OpenMM can keep."""
    seed = integer(value, 0, "seed")
    if seed > LARGEST_SEED:
        raise StateError(f"seed is {shown(value)}; it must be at most {LARGEST_SEED}.")
    return seed


def acidity(value: Any) -> float:
    """A pH: strong acids lie below 0, strong bases above 14."""
    ph = finite(value, "ph")
    if not -10.0 <= ph <= 24.0:
        raise StateError(f"ph is {shown(value)}; it lies between 0 and 14 in water.")
    return ph


def several(value: Any, what: str, instead: str) -> list[Any]:
    """The members of something that has some; a table or an array without a dimension has not."""
    try:
        if isinstance(value, Mapping | str | bytes):
            raise TypeError
        return list(value)
    except TypeError:
        raise StateError(f"{what} is {shown(value)}; {instead}.") from None


def words(value: Any, what: str) -> list[str]:
    """One word, or several."""
    instead = "give one name, or a sequence of names"
    found = [value] if isinstance(value, str) else several(value, what, instead)
    if not all(isinstance(word, str) for word in found):
        raise StateError(f"{what} is {shown(value)}; {instead}.")
    return found


def chain_names(value: Any) -> list[str]:
    """Names of chains: "A", "A,C" or a sequence."""
    return [name.strip() for word in words(value, "chains") for name in word.split(",")]


def force_field_of(value: Any) -> str | tuple[str, ...]:
    """The name of a force field, or OpenMM's XML files."""
    if isinstance(value, str):
        return value
    found = words(value, "force_field")
    if not found:
        raise StateError(f"force_field is {shown(value)}; name a force field, or OpenMM's XML files.")
    return tuple(found)


def residue_range(value: Any, what: str = "residues") -> tuple[int, int]:
    """First and last number of a range."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
        raise StateError(f"{what} is {shown(value)}; give the first and the last number: (first, last).")
    return _residue_number(value[0], what), _residue_number(value[1], what)


def _residue_number(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise StateError(f"{what} has {shown(value)}; residues are counted by whole numbers.")
    return int(value)


def optional_word(value: Any, what: str) -> str | None:
    """A word, or None."""
    if value is not None and not isinstance(value, str):
        raise StateError(f"{what} is {shown(value)}; give a name, or leave it out.")
    return value


def integers(value: Any, count: int, limit: int, what: str) -> IntArray:
    """`count` whole numbers from 0 to limit - 1, shape (count,)."""
    try:
        raw = np.asarray(value)
        good = raw.dtype.kind in "iu" and raw.shape == (count,) and bool(((raw >= 0) & (raw < limit)).all())
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise StateError(f"{what} must be {count} whole numbers from 0 to {limit - 1}, one per body.")
    return np.ascontiguousarray(raw, dtype=np.int64)


def poses_for_kernel(value: Any, least: int, most: int) -> FloatArray:
    """World poses as the kernels read them: shape (rows, 12) with least ≤ rows ≤ most."""
    good = type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 2 and value.flags.c_contiguous
    if not good or value.shape[1] != POSE or not least <= value.shape[0] <= most:
        raise StateError(
            f"poses must be an array of {least} rows of {POSE} double-precision numbers (rotation and origin), not "
            f"{_shape(value)}."
        )
    return value


def wrenches_for_kernel(value: Any, rows: int) -> FloatArray:
    """Where a kernel writes wrenches: shape (rows, 6) or more rows."""
    good = type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 2 and value.flags.carray
    if not good or value.shape[1] != 6 or value.shape[0] < rows:
        raise StateError(
            f"out must be a writable array of {rows} rows of 6 double-precision numbers, not {_shape(value)}."
        )
    return value


def positions_of(value: Any, count: int) -> FloatArray:
    """Positions of all atoms [nm], shape (count, 3), finite."""
    x = numbers(value, (count, 3), "positions", f"a molecule of {count} atoms")
    if not np.isfinite(x).all():
        raise StateError("positions have numbers that are not finite.")
    return x


def need_methods(value: Any, what: str, kind: str, *methods: str) -> None:
    """An object of OpenMM, recognized by what it can do."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in methods):
        raise ModelError(f"{what} is {shown(value)}; give OpenMM's {kind}.")


def _shape(value: Any) -> str:
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else shown(value)
