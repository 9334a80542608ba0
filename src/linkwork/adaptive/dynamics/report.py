"""The report of an adaptive simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linkwork.simulation.protocol import Report

if TYPE_CHECKING:
    from linkwork.simulation.contact_step.contact_state import ContactReport


OF_BOUND = ("error_bound", "rounding_floor", "reached")


@dataclass(frozen=True, slots=True)
class AdaptiveReport(Report):
    """The report of an adaptive simulation.

    Where an update stopped joints, its bound takes a second look at the metric. Where that would take long beside a step it
    is left until `error_bound`, `rounding_floor` or `reached` is read, or to the next call, with the same result.

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
    _prove: Callable[[], None] | None = field(default=None, init=False, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        """Only what is not there yet comes here."""
        if name not in OF_BOUND or self._prove is None:
            raise AttributeError(name)
        self._prove()
        return object.__getattribute__(self, name)

    def note(self) -> str:
        return f"{self.n_active:,} active, bound {self.error_bound:.1e}"


def report_without_bound(prove: Callable[[], None], n_active: int, n_computed: int, *more: Any) -> AdaptiveReport:
    """One whose bound is not known yet; `prove` makes someone `give_bound`. more: the fields behind those of the bound."""
    report = AdaptiveReport(n_active, n_computed, 0.0, False, 0.0, *more)
    for name in OF_BOUND:
        object.__delattr__(report, name)
    object.__setattr__(report, "_prove", prove)
    return report


def give_bound(report: AdaptiveReport, *bound: float) -> None:
    """The values of OF_BOUND, in their order, once they are known."""
    for name, value in zip(OF_BOUND, bound, strict=True):
        object.__setattr__(report, name, value)
    object.__setattr__(report, "_prove", None)
