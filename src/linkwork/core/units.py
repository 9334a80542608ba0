"""Units in which numbers are given: SI, and those of molecules. Numbers themselves are never converted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# What stands for each SI unit where lengths are nm, times ps and masses Da; 1 Da nm²/ps² = 1 kJ/mol.
MOLECULAR = {"kg": "Da", "m": "nm", "s": "ps", "J": "kJ/mol", "N": "kJ/mol/nm", "N·m": "kJ/mol"}
FORCE_IN_PN = 1.66053906892  # [pN] one kJ/mol/nm
# The units a linkage can be given in, and what stands for SI units there.
UNITS: dict[str, Mapping[str, str]] = {"SI": {}, "molecular": MOLECULAR}
BOLTZMANN = {"SI": 1.380649e-23, "molecular": 0.00831446261815324}  # [J/K, kJ/mol/K]
FREE_FALL = {"SI": 9.81, "molecular": 9.81e-15}  # on Earth [m/s², nm/ps²]
_given_in: ContextVar[Mapping[str, str]] = ContextVar("units")
_UNIT = re.compile(
    r"(?<![A-Za-z·])(?:" + "|".join(sorted(map(re.escape, MOLECULAR), key=len, reverse=True)) + r")(?![A-Za-z·])"
)


def units_of(settings: Mapping[str, Any]) -> Mapping[str, str]:
    """What stands for SI units in a simulation of these settings; nothing where SI units hold."""
    return UNITS[settings.get("units", "SI")]


@contextmanager
def given_in(units: Mapping[str, str]) -> Iterator[None]:
    """Within it `unit` gives these instead of SI units."""
    before = _given_in.set(units)
    try:
        yield
    finally:
        _given_in.reset(before)


def unit(name: str, units: Mapping[str, str] | None = None) -> str:
    """The unit that stands for an SI unit, such as "s", or for "rad or m". units: those of `given_in` without them."""
    chosen = _given_in.get({}) if units is None else units
    return _UNIT.sub(lambda found: chosen[found[0]], name) if chosen else name


def force(value: float, units: Mapping[str, str]) -> str:
    """A force for people: "2.5 N", and of molecules "40 pN"."""
    return f"{value * FORCE_IN_PN:.3g} pN" if units else f"{value:.3g} N"


def has_prefixes() -> bool:
    """Whether prefixes such as milli make sense: they do with SI units."""
    return not _given_in.get({})
