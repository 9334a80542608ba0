"""The report of an adaptive simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.simulation.protocol import Report

if TYPE_CHECKING:
    from linkwork.simulation.touching.front import ContactReport


@dataclass(frozen=True, slots=True)
class AdaptiveReport(Report):
    """The report of an adaptive simulation.

    n_active: joints that move; the bases of floating trees always do and are not counted.
    n_computed: joints whose acceleration the last region update computed to choose them.
    error_bound: acceleration, by the chosen measure, that inactive joints hide from the fully articulated linkage, as
        proven at the last region update in exact arithmetic, and rounding, measured; NaN before the first one. Updates
        that `advance` makes while something touches do not prove it: it is then found at the present state when asked for.
    reached: whether both are within the tolerance (a number of joints may have been asked for instead).
    rounding_floor: part of the bound that is rounding, in the same measure: as measured against `aba`, or carried on, much
        larger, from an earlier update.
    region_changes: joints that became active or inactive since the simulation began.
    energy: kinetic, and potential of gravity, joint springs and the field [J].
    field_energy: that of the field alone [J]; zero without one.
    contact: what contact and joint limits did in the last call of `step`; None where neither acts.
    """

    n_active: int
    n_computed: int
    error_bound: float
    reached: bool
    rounding_floor: float
    region_changes: int
    energy: float
    field_energy: float = 0.0
    contact: ContactReport | None = None

    def note(self) -> str:
        return f"{self.n_active:,} active, bound {self.error_bound:.1e}"
