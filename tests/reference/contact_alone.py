"""A posed problem without a linkage behind it: what plain references and tests of the solver solve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.contact.contact_list import Contacts
from linkwork.contact.solver.problem import Problem, System
from linkwork.core.bundles import describe
from linkwork.core.views import ENTRIES
from linkwork.dynamics.tree_factor import TreeFactor
from linkwork.simulation.constrained.constraints import Constraints
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.sweeps.memory import make_sweeps
from linkwork.simulation.contact_step.sweeps.solve import solve_contacts
from linkwork.simulation.contact_step.sweeps.solve_by_impacts import solve_contacts_by_impacts
from linkwork.simulation.moving import Moving
from linkwork.simulation.parts.contact_arrays import allocate_contact_arrays


def solve_alone(
    contacts: Contacts,
    problem: Problem,
    system: System,
    h: float,
    settings: NDArray[np.float64],
    law: str = "coupled",
) -> bool:
    """Solves by the matrix of responses that the problem holds; whether it converged. Results as in a simulation.

    settings (5,): tolerance, most steps, rest speed [m/s], part of a penetration taken back per step, gap below which
    bodies touch [m].
    """
    count, limits = problem.body_number.shape[0], problem.limit_at.shape[0]
    touch = allocate_contact_arrays(0, 0, 0, 0, count, 0, limits)
    touch.settings[: settings.shape[0]] = settings
    touch.counts[ca.LAW] = ca.COUPLED if law == "coupled" else ca.IMPACTS
    sweeps = make_sweeps(0, 0, count, limits, problem.loop_rate.shape[0])
    before, between = (_nothing(Moving), _nothing(Constraints)), _nothing(TreeFactor)
    table = np.concatenate([*before, describe(touch, contacts, problem, system), between, describe(sweeps)])
    solve = solve_contacts if law == "coupled" else solve_contacts_by_impacts
    has_converged = bool(solve(table, h, limits, ca.IMPULSES))
    solve(table, h, limits, ca.PUSH)
    return has_converged


def _nothing(bundle: Any) -> NDArray[np.int64]:
    """Entries of a table for arrays that are not there: nobody reads them."""
    return np.zeros(ENTRIES * len(bundle._fields), dtype=np.int64)
