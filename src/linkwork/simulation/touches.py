"""Whether contact and joint limits act in a simulation, without importing what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.errors import StateError
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.simulation.touching.front import ContactPoint, ContactReport, Touching

ABLE = "semi_implicit_euler"


def has_limits(model: Model) -> bool:
    """Whether any coordinate of the model has a finite limit."""
    return bool(np.isfinite(model.lower).any() or np.isfinite(model.upper).any())


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
    able = integrator == ABLE and algorithm == "aba" and not outside
    if not able and (contact is not None or limits):
        what = "contact" if contact is not None else "limits=True"
        fault = f"integrator='{integrator}'" if integrator != ABLE else f"algorithm='{algorithm}'"
        fault = "a field or a thermostat" if outside else fault
        raise StateError(f"{what} works with the integrator '{ABLE}' and the algorithm 'aba', not with {fault}.")
    return able and limits is not False and has_limits(model)


class Touched:
    """What simulations with contact and limits show of them."""

    contact: Contact | None
    _touching: Touching | None

    def _begin_touching(self, model: Model, contact: Contact | None, limits: bool, trees: int) -> None:
        self.contact, self.limits = contact, limits
        self._contact_settings = "" if contact is None else repr(contact)
        self._touching = None
        if contact is not None or limits:
            from linkwork.simulation.touching.front import Touching

            self._touching = Touching(model, contact, limits, trees)

    @property
    def contacts(self) -> tuple[ContactPoint, ...]:
        """Where bodies touched each other or an obstacle in the last step; nothing without `contact`."""
        return self._touching.points() if self._touching is not None else ()

    @property
    def contact_report(self) -> ContactReport | None:
        """What contact and limits did in the last call of `step`; None where neither acts."""
        return self._touching.report() if self._touching is not None else None
