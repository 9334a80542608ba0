"""Whether contact and joint limits act in a simulation, without importing what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.errors import StateError
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.contact.points import ContactPoint, ContactRows
    from linkwork.simulation.touching.front import ContactReport, Touching

UNABLE = "implicit_euler"  # its steps are driven from Python, by sweeps of their own

WAY_OUT = (
    "use algorithm='aba' and another integrator, without field and thermostat: "
    "integrator='semi_implicit_euler', or 'variational' for long runs."
)


def has_limits(model: Model) -> bool:
    """Whether any coordinate of the model has a finite limit."""
    return bool(np.isfinite(model.lower).any() or np.isfinite(model.upper).any())


def has_limited_motors(model: Model) -> bool:
    """Whether motors of any joint have a limit of effort or speed."""
    return bool(np.isfinite(model.effort_limit).any() or np.isfinite(model.velocity_limit).any())


def choose_limits(
    model: Model,
    contact: Contact | None,
    limits: bool | None,
    integrator: str,
    algorithm: str = "aba",
    outside: bool = False,
) -> bool:
    """Whether joint limits act; refuses contact or limits that were asked for and cannot.

    outside: a field or a thermostat acts, whose steps are driven from Python.
    """
    if contact is not None and not isinstance(contact, Contact):
        raise StateError(f"contact is {contact!r}; it must be lw.Contact(...), or None.")
    if limits is not None and not isinstance(limits, bool | np.bool_):
        raise StateError(f"limits is {limits!r}; it must be True, False or None.")
    fault = f"algorithm='{algorithm}'" if algorithm != "aba" else ""
    fault = "a field or a thermostat" if outside else fault
    fault = f"integrator='{integrator}'" if integrator == UNABLE else fault
    if fault and (contact is not None or limits):
        what = "contact" if contact is not None else "limits=True"
        raise StateError(f"{what} does not work with {fault}; {WAY_OUT}")
    return not fault and limits is not False and has_limits(model)


def advance_with_contact(contact: Contact | None, integrator: str) -> Callable[..., tuple[int, int]]:
    """The kernel that makes steps with contact, or with limits alone."""
    if integrator == "semi_implicit_euler":
        from linkwork.simulation.touching.step import advance_limited, advance_touching

        return advance_limited if contact is None else advance_touching
    from linkwork.simulation.touching.by_integrator import advance_limited_by, advance_touching_by

    return advance_limited_by if contact is None else advance_touching_by


class Touched:
    """What simulations with contact and limits show of them."""

    contact: Contact | None
    _touching: Touching | None

    def _begin_touching(self, model: Model, contact: Contact | None, limits: bool) -> None:
        self.contact, self.limits = contact, limits
        self._contact_settings = "" if contact is None else repr(contact)
        self._touching = None
        if contact is not None or limits:
            from linkwork.simulation.touching.front import Touching

            self._touching = Touching(model, contact, limits)

    @property
    def contacts(self) -> tuple[ContactPoint, ...]:
        """Where bodies touched each other or an obstacle in the last step; nothing without `contact`."""
        return self._touching.points() if self._touching is not None else ()

    @property
    def contact_report(self) -> ContactReport | None:
        """What contact and limits did in the last call of `step`; None where neither acts."""
        return self._touching.report() if self._touching is not None else None

    @property
    def _is_pushed_apart(self) -> bool:
        """Whether steps pushed bodies apart that were deeper inside each other than the margin: that brings energy in."""
        return self._touching is not None and self._touching.is_pushed_apart

    def _watched(self, kinetic: float) -> float:
        """Kinetic energy for the watch of energy: at rest in contact not less than what forces give in a step [J]."""
        return kinetic if self._touching is None else max(kinetic, self._touching.largest_kinetic)

    def _explain_contact(self, status: int) -> StateError | None:
        """Why a step failed, where contact or limits were the cause."""
        return self._touching.explain(status) if self._touching is not None else None

    def recorded_contacts(self) -> ContactRows | None:
        """What a recording keeps of `contacts`; None without `contact`."""
        return None if self._touching is None or self.contact is None else self._touching.rows()

    def _contact_scalars(self) -> dict[str, float]:
        """Contacts that press, and the energy lost to contact and limits since the beginning [J]."""
        if self._touching is None:
            return {}
        lost = {"contact_energy_lost": self._touching.all_energy_lost}
        return lost if self.contact is None else {"contacts": float(self._touching.pressing), **lost}
