"""Whether contact and joint limits act in a simulation, without importing what they need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation import moving as mv

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


def advance_with_contact(contact: Contact | None, method: int, has_loops: bool) -> Callable[..., tuple[int, int]]:
    """The kernel that makes steps with contact, or with limits alone, by the integrator of a number (`moving`)."""
    room = "step" if method == mv.SEMI_IMPLICIT_EULER else "drivers.others"
    if method == mv.VARIATIONAL and not has_loops:
        room = "drivers.variational"
    kernels = import_module(f"linkwork.simulation.touching.{room}")
    advance: Callable[..., tuple[int, int]] = kernels.advance_limited if contact is None else kernels.advance_touching
    return advance
