"""Whether contact and joint limits act in a simulation, without importing what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import IntArray
from linkwork.core.calls import address_of
from linkwork.core.messages.describe import quoted
from linkwork.core.messages.notice import part_of_series
from linkwork.core.messages.warning import warn_user
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.stepping.choice import advance_of

if TYPE_CHECKING:
    from linkwork.simulation.contact_step.arrays import ContactArrays

# Kernels of a step with contact, by what they do.
TRIAL, SOLVER, SEARCH = "a step", "impulses of contacts", "search for contacts"
WAY, FLIGHT = "where bodies meet on their way", "steps in which nothing meets"
NAMED_AT_MOST = 3  # obstacles in a warning
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
    acts_from_python: bool = False,
) -> bool:
    """Whether joint limits act; refuses contact or limits that were asked for and cannot.

    acts_from_python: a field or a thermostat acts, whose steps are driven from Python.
    """
    if contact is not None and not isinstance(contact, Contact):
        raise StateError(f"contact is {contact!r}; it must be lw.Contact(...), or None.")
    if limits is not None and not isinstance(limits, bool | np.bool_):
        raise StateError(f"limits is {limits!r}; it must be True, False or None.")
    fault = f"algorithm='{algorithm}'" if algorithm != "aba" else ""
    fault = "a field or a thermostat" if acts_from_python else fault
    fault = f"integrator='{integrator}'" if integrator == UNABLE else fault
    if fault and (contact is not None or limits):
        what = "contact" if contact is not None else "limits=True"
        raise StateError(f"{what} does not work with {fault}; {WAY_OUT}")
    return not fault and limits is not False and has_limits(model)


def warn_of_untouched(model: Model, contact: Contact | None, limits: bool) -> None:
    """A warning where obstacles are there and contact is not; or contact, and neither shapes of bodies nor joint limits."""
    moving = any(body >= 0 and not shape.visual_only for body, shape in model.shapes)
    solid = [name for name, shape in model.obstacles if not shape.visual_only]
    if contact is None and moving and solid:
        warn_user(
            f"model '{model.name}' has obstacles ({quoted(solid, len(solid), NAMED_AT_MOST)}), and bodies go through them: "
            "contact= is not given. Simulate with contact=lw.Contact(...), or leave the obstacles out."
        )
    if contact is not None and not moving and not limits:
        warn_user(
            f"model '{model.name}': contact= is given, but no body that moves has a shape, so nothing touches. Give bodies "
            "shapes (shapes=[lw.Sphere(0.1)]), or leave contact= out."
        )


def advance_with_contact(
    arrays: ContactArrays, contact: Contact | None, method: int, has_loops: bool
) -> Callable[..., tuple[int, int]]:
    """advance(table, h, n), which makes steps with contact, or with limits alone, by the integrator of a number (`moving`).

    The kernels that it calls are found when the first step is made.
    """
    steps: list[Any] = []  # the kernel, once it is imported

    def advance(table: IntArray, h: float, n: int) -> tuple[int, int]:
        if not steps or arrays.calls.item(-1) == 0:
            steps[:] = [kernel_with_contact(arrays, contact, method, has_loops)]
        made: tuple[int, int] = steps[0](table, h, n)
        return made

    return advance


def kernel_with_contact(arrays: ContactArrays, contact: Contact | None, method: int, has_loops: bool) -> Any:
    """The kernel of `advance_with_contact`; finds those that it calls."""
    from linkwork.simulation.contact_step import driver

    arrays.calls[:] = _addresses(contact, method, has_loops)
    return driver.advance_contact


def _addresses(contact: Contact | None, method: int, has_loops: bool) -> tuple[int, ...]:
    """Entries of `ContactArrays.calls`."""
    from linkwork.simulation.contact_step import calling
    from linkwork.simulation.contact_step.search.finding import find_contacts
    from linkwork.simulation.contact_step.search.path_check import shorter_part

    kernels = {TRIAL: (_trial(method), calling.TRIAL), SOLVER: (_solver(contact), calling.SOLUTION)}
    if contact is not None:
        kernels |= {SEARCH: (find_contacts, calling.SEARCH), WAY: (shorter_part, calling.PATH_CHECK)}
    if method != mv.SEMI_IMPLICIT_EULER:
        kernels[FLIGHT] = (advance_of(method, has_loops), calling.STEPS)
    found = {}
    for number, (what, (kernel, signature)) in enumerate(kernels.items(), 1):
        with part_of_series(number, len(kernels), what):
            found[what] = address_of(kernel, signature)
    return tuple(found.get(what, 0) for what in (TRIAL, FLIGHT, SEARCH, WAY, SOLVER))


def _trial(method: int) -> Any:
    """The kernel of a step in one part."""
    if method == mv.SEMI_IMPLICIT_EULER:
        from linkwork.simulation.contact_step.step import try_euler

        return try_euler
    from linkwork.simulation.contact_step.by_integrator import try_integrator

    return try_integrator


def _solver(contact: Contact | None) -> Any:
    """The kernel of a solve; limits alone are solved by the coupled law."""
    if contact is not None and contact.law == "impacts":
        from linkwork.simulation.contact_step.sweeps.solve_by_impacts import solve_contacts_by_impacts

        return solve_contacts_by_impacts
    from linkwork.simulation.contact_step.sweeps.solve import solve_contacts

    return solve_contacts
