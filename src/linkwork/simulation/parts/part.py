"""What parts of simulations have in common, and the one function that checks a checkpoint before it is restored.

A part says by a schema which arrays a checkpoint holds for it: name, shape, kind and range. Kernels trust these arrays
without looking at them again, so whatever could lead them out of bounds is refused here, before anything is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.core.checks import shown
from linkwork.errors import StateError

Saved = Mapping[str, Any]  # a checkpoint: arrays and plain values by name

LARGEST_COUNT = 2**62  # steps and seconds beyond this are none


class Entry(NamedTuple):
    """One array of a checkpoint.

    shape: of a dimension its size, or a word: all dimensions of that word in a part have the same size, whatever it is.
    kind: of its numbers, `dtype.kind` or the letters of several. least, most: range that its numbers must be in.
    """

    name: str
    shape: tuple[int | str, ...]
    kind: str = "f"
    least: float = -math.inf
    most: float = math.inf
    finite: bool = False


class Part(Protocol):
    """A part of a simulation."""

    @property
    def fault(self) -> str:
        """What is said of a checkpoint whose numbers for this part do not fit the model or each other."""
        ...

    def schema(self) -> tuple[Entry, ...]:
        """All that `saved` gives."""
        ...

    def saved(self) -> dict[str, NDArray[Any]]:
        """What depends on history, for a checkpoint: copies."""
        ...

    def fits(self, saved: Saved) -> bool:
        """Whether entries that the schema allows, each by itself, fit each other."""
        ...

    def restore(self, saved: Saved) -> None:
        """Goes back to what `saved` gave; it was checked before."""
        ...

    def reset(self) -> None:
        """As in the beginning."""
        ...


def entry_of(name: str, array: NDArray[Any]) -> Entry:
    """An array of fixed shape, any numbers in it."""
    return Entry(name, array.shape, array.dtype.kind)


def copies(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: array.copy() for name, array in arrays.items()}


def write(arrays: Mapping[str, NDArray[Any]], saved: Saved) -> None:
    """Into arrays that kernels use by their addresses."""
    for name, array in arrays.items():
        array[...] = saved[name]


# ------------------------------------------------------------------------------------------------------------ checking


def refuse_other_kind(saved: object, kind: str) -> None:
    """Refuses what is not a checkpoint of a simulation of this kind."""
    if not isinstance(saved, dict):
        raise StateError(f"a checkpoint is what sim.checkpoint() gives, not {shown(saved)}.")
    if not isinstance(saved.get("simulation"), str) or saved["simulation"] != kind:
        raise StateError(f"this is a checkpoint of {shown(saved.get('simulation'))}, not of {kind}.")


def check(saved: Saved, parts: Sequence[Part], settings: Mapping[str, Any], counters: Mapping[str, Any]) -> None:
    """Refuses a checkpoint of another model, one made with other settings, and a damaged one.

    settings, counters: plain values of the simulation that is to be restored, by name; settings must be the same.
    """
    if isinstance(saved.get("integrator"), str):
        _refuse_other_settings(saved, {name: x for name, x in settings.items() if name == "integrator"})  # it says
    schemas = [part.schema() for part in parts]  # what else a checkpoint holds, so it comes first
    plain = {**counters, **settings}
    entries = [entry for schema in schemas for entry in schema]
    missing = [name for name in (*(entry.name for entry in entries), *plain) if name not in saved]
    if missing:
        raise StateError(f"this checkpoint lacks {', '.join(missing)}.")
    for name, sound in (
        *((entry.name, _is_such_an_array(entry, saved[entry.name])) for entry in entries),
        *((name, is_alike(mine, saved[name])) for name, mine in plain.items()),
    ):
        if not sound:
            raise StateError(f"the checkpoint is damaged: its {name} is {shown(saved[name])}.")
    _refuse_other_shapes(saved, entries)
    _refuse_other_settings(saved, settings)
    for name, mine in counters.items():
        if saved[name] is None and mine is not None:
            raise StateError(f"the checkpoint is damaged: its {name} is None.")
    for part, schema in zip(parts, schemas, strict=True):
        _refuse_numbers(saved, part, schema)


def _is_such_an_array(entry: Entry, other: object) -> bool:
    return isinstance(other, np.ndarray) and other.dtype.kind in entry.kind and other.ndim == len(entry.shape)


def is_alike(mine: Any, other: Any) -> bool:
    """Whether a plain value of a checkpoint is of the kind that it must be, whatever its number; numbers are finite."""
    if isinstance(mine, np.ndarray):
        return isinstance(other, np.ndarray) and (other.dtype.kind, other.ndim) == (mine.dtype.kind, mine.ndim)
    if isinstance(mine, bool | np.bool_ | str):
        return isinstance(other, str if isinstance(mine, str) else bool | np.bool_) or other is None
    if mine is None or other is None:
        return isinstance(other, bool | int | float | str | None)
    number = isinstance(other, int | float | np.integer | np.floating) and not isinstance(other, bool)
    return bool(number and abs(other) < LARGEST_COUNT and (other >= 0 or not isinstance(mine, int)))


def _refuse_other_shapes(saved: Saved, entries: Iterable[Entry]) -> None:
    for entry in entries:
        shape = np.shape(saved[entry.name])
        if all(isinstance(size, int) for size in entry.shape) and shape != entry.shape:
            raise StateError(
                f"the checkpoint belongs to another model or another version: its {entry.name} has shape {shape}, "
                f"not {entry.shape}."
            )


def _refuse_other_settings(saved: Saved, settings: Mapping[str, Any]) -> None:
    for name, mine in settings.items():
        other = saved[name]
        if not np.array_equal(mine, other):
            both = "" if np.ndim(mine) else f" ({shown(other)}, not {mine!r})"
            what = f"other {name}" if name.endswith("s") else f"another {name}"
            raise StateError(
                f"the checkpoint was made with {what}{both}; make the simulation with the same "
                "arguments, or it would take another course."
            )


def _refuse_numbers(saved: Saved, part: Part, schema: Iterable[Entry]) -> None:
    """Sizes that must be the same, ranges, and what the part itself says of its entries."""
    sizes: dict[str, int] = {}
    for entry in schema:
        array = saved[entry.name]
        if entry.finite and not np.isfinite(array).all():
            raise StateError(f"the checkpoint is damaged: its {entry.name} holds numbers that are not finite.")
        same = all(
            size == (wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size))
            for wanted, size in zip(entry.shape, array.shape, strict=True)
        )
        in_range = (entry.least == -math.inf or (array >= entry.least).all()) and (
            entry.most == math.inf or (array <= entry.most).all()
        )
        if not (same and in_range):
            raise StateError(part.fault)
    if not part.fits(saved):
        raise StateError(part.fault)
