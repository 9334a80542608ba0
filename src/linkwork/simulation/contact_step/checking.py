"""Checks impulses after a solve, whatever solver found them.

The velocities that the impulses give come from the linkage itself (`apply_impulses`, a sweep over its joints), not from the
matrix that the solver worked with. For these velocities

    every number is finite,
    λᵀ(u_free + ½ Δu) ≤ 0: impulses make no energy,
    λ = P(λ - ρ ũ) of every contact, max(0, λ - ρ u) of every limit, but for a residual                            (31)

are checked. The residual is a speed: what a contact would have to change its velocity by, over the largest velocity with
which contacts and limits met before they acted. That one cannot grow with impulses that do.
"""

import math

from linkwork.contact.contact_list import COUNT, FRICTION
from linkwork.contact.solver.laws import nearest_in_cone, size_of
from linkwork.contact.solver.linear_systems import is_semidefinite
from linkwork.contact.solver.problem import CONVERGED, ENERGY, RESIDUAL
from linkwork.contact.solver.rows import row_velocity
from linkwork.core.jit import inlined, routine
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import (
    contact_arrays_of,
    contacts_of,
    note_worst,
    problem_of,
    sweeps_of,
    system_of,
)
from linkwork.simulation.contact_step.sweeps.memory import LARGEST_SPEED, ROUNDED
from linkwork.simulation.moving import CONTACT_UNSOLVED, LATE_TOP, OK, moving_of
from linkwork.spatial.memory import load6, load9
from linkwork.spatial.vectors import to_world

MADE = (
    1e-2  # of the energy that impulses exchange: more than this is made by impulses that are none; less is left to (34)
)
AS_PREDICTED = 1e-6  # of the same: farther from the solver's own energy, its matrix is not the linkage's
NOTHING, LONG_AGO = 1e-12, 1e-3  # of the kinetic energy now, and of the largest lately: energies below are rounding
ROUNDING = 1e-13  # of what impulses exchange that cancel each other
AS_SOLVED = 10.0  # times the tolerance of sweeps: what a residual of (31) may be, which another rule measures; or
SUFFICES = 1e-4  # of the speeds that met: 2e-6 m/s where gravity acts for 2 ms, and 4e-9 m in that time
LARGEST_CHECKED = 600  # rows of a matrix whose pivots are checked where a solve did not converge


@routine
def check_impulses(table, limits):
    """After `apply_impulses`, its result in `change`: OK or CONTACT_UNSOLVED; residual and convergence into the report."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    problem = problem_of(table)
    system = system_of(table)
    contacts = contacts_of(table)
    first, second = velocities_after(s, t, x, problem, limits)
    size = abs(first) + abs(second)
    predicted = system.report[ENERGY]
    b = t.balance
    rounding = NOTHING * (b[ca.KINETIC_START] + b[ca.BY_FORCES] + LONG_AGO * s.numbers[LATE_TOP])
    is_sound = size < math.inf and first + second <= MADE * size + rounding
    if (
        is_sound and t.counts[ca.LAW] == ca.COUPLED and t.counts[ca.BY_SWEEPS] == ca.BY_MATRIX
    ):  # sweeps measure with the linkage itself
        least = ROUNDED * sweeps_of(table).scales[LARGEST_SPEED]
        residual = residual_of_laws(contacts, contacts.number[COUNT], problem, system, least)
        agrees = abs(first + second - predicted) <= AS_PREDICTED * size + rounding + ROUNDING * products(system)
        system.report[RESIDUAL] = residual
        system.report[CONVERGED] = (
            1.0 if residual <= max(AS_SOLVED * t.settings[ca.TOLERANCE], SUFFICES) and agrees else 0.0
        )
        rows = system.G.shape[0]
        if not agrees and rows <= LARGEST_CHECKED:
            is_sound = residual < math.inf and is_semidefinite(system.G, rows, system.matrix)
    if not is_sound:
        note_worst(b, contacts)
    return OK if is_sound else CONTACT_UNSOLVED


@inlined
def products(system):
    """Σ λ² G of all rows [J]: what impulses that cancel each other exchange, and rounding is a part of."""
    total = 0.0
    for r in range(system.G.shape[0]):
        total += system.y[r] * system.y[r] * system.G[r, r]
    return total


@inlined
def velocities_after(s, t, x, problem, limits):
    """v_after of contact bodies and near limits; λᵀu_free and ½ λᵀΔu, what impulses take and give of energy [J]."""
    first, second = 0.0, 0.0
    m = t.counts[ca.CONTACT_BODIES]
    for r in range(m):
        i = t.contact_bodies[r]
        change = to_world(load9(s.world, i, 0), load6(x.response, i, 0))
        for e in range(6):
            k = 6 * r + e
            problem.v_after[k] = problem.v_free[k] + change[e]
            first += problem.impulse[k] * problem.v_free[k]
            second += 0.5 * problem.impulse[k] * change[e]
    for c in range(limits):
        k = 6 * m + c
        change = x.change[t.bound[c, 1]]
        problem.v_after[k] = problem.v_free[k] + change
        first += problem.impulse[k] * problem.v_free[k]
        second += 0.5 * problem.impulse[k] * change
    return first, second


@routine
def residual_of_laws(contacts, count, problem, system, least):
    """(31): relative to the largest velocity of a contact or limit that would have closed, or acts, or to `least`."""
    G, y = system.G, system.y
    wrong, met = 0.0, least
    for i in range(count):
        r, mu = 3 * i, contacts.data[i, FRICTION]
        free = math.sqrt(system.u_free[r] ** 2 + system.u_free[r + 1] ** 2 + system.u_free[r + 2] ** 2)
        if y[r] > 0.0 or system.u_free[r] + system.bias[r] < 0.0:
            met = max(met, free)
        response = max(G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
        u = row_velocity(system, r, problem.v_after) + system.bias[r]
        a, b = row_velocity(system, r + 1, problem.v_after), row_velocity(system, r + 2, problem.v_after)
        n, p, q = nearest_in_cone(
            mu, y[r] - (u + mu * size_of(a, b)) / response, y[r + 1] - a / response, y[r + 2] - b / response
        )
        off = response * math.sqrt((n - y[r]) ** 2 + (p - y[r + 1]) ** 2 + (q - y[r + 2]) ** 2)
        wrong = off if not off <= wrong else wrong
    for k in range(problem.limit_at.shape[0]):
        r = 3 * count + k
        if y[r] > 0.0 or system.u_free[r] + system.bias[r] < 0.0:
            met = max(met, abs(system.u_free[r]))
        response = max(G[r, r], 1e-300)
        u = row_velocity(system, r, problem.v_after) + system.bias[r]
        off = response * abs(max(y[r] - u / response, 0.0) - y[r])
        wrong = off if not off <= wrong else wrong
    return wrong / met if met > 0.0 else wrong
