"""One solve: from the posed problem of a step to impulses, pseudo impulses and the numbers of the report."""

import math

from linkwork.contact.contact_list import GAP
from linkwork.contact.solver.laws import size_of
from linkwork.contact.solver.problem import (
    CONTACTS,
    CONVERGED,
    ENERGY,
    FREE,
    LIMIT_GAP,
    PENETRATION,
    RESIDUAL,
    SIGN,
    SLIDE,
    STICK,
    SWEEPS,
)
from linkwork.contact.solver.rows import part_along
from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, problem_of, sweeps_of, system_of
from linkwork.simulation.contact_step.sweeps.dense import dense_velocities
from linkwork.simulation.contact_step.sweeps.evaluating import find_residual
from linkwork.simulation.contact_step.sweeps.linear import respond_to_impulses, return_alone
from linkwork.simulation.contact_step.sweeps.memory import HAS_MATRIX, IS_DENSE, LOOP_ROWS, SWEEPS_MADE
from linkwork.simulation.contact_step.sweeps.newton import SUFFICES, descend, solve_laws
from linkwork.simulation.contact_step.sweeps.one_by_one import renew_row
from linkwork.simulation.contact_step.sweeps.points import all_rows
from linkwork.simulation.contact_step.sweeps.rows import assemble_rows
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, scale3

RIM = 1e-9  # relative: how near its rim an impulse is on the cone
PUSH_SOFT = 1e-4  # softness of pseudo impulses: what cannot be parted, as in a gap that is too narrow, has finite ones
PUSH_FROM = 20.0  # of the slack: penetration beyond it that is left alone, or what a solve leaves would be pushed back
LIMIT_SLACK = 1e-6  # [rad or m] the same of limits
PUSH_TOLERANCE = (
    0.1  # of the largest of them: what should be pushed and is not differs by more, its speed over softness
)
PUSH_ROUNDS = 20  # over all of them one by one, where there is a matrix: few contacts need no more than some
PUSH_SETTLED = 1e-3  # of the largest of them: changes of a round after which no more are made
STILL = 10.0  # times the tolerance of impulses, of the velocities that they make: what counts as standing still


@kernel
def solve_contacts(table, h, limits, what):
    """law="coupled". what: IMPULSES of a step, into problem.impulse, contacts.impulse, system.report; or PUSH, of a step
    that is solved, into problem.push. True if it converged."""
    count = problem_of(table).body_number.shape[0]
    if what == ca.PUSH:
        push_apart(table, h, count, limits)
        return True
    assemble_rows(table, h, count, limits)
    solve_coupled(table, count, limits)
    return store_results(table, count, limits)


@routine
def solve_coupled(table, count, limits):
    """All contacts, limits and loops together; impulses in `eta`, velocities in `u`."""
    t = contact_arrays_of(table)
    w = sweeps_of(table)
    system = system_of(table)
    report = system.report
    tolerance, most = t.settings[ca.TOLERANCE], int(t.settings[ca.MAX_SWEEPS])
    enough = max(tolerance, SUFFICES)
    start_warm(table, count, limits)
    residual = solve_laws(table, count, limits, tolerance, most)
    bounces = has_restitution(w, count, limits)
    if bounces and not residual <= enough:
        drop_restitution(w, count, limits)
        start_cold(w, count, limits)
        residual = solve_laws(table, count, limits, tolerance, most)
        bounces = False
    energy = energy_change(w, count, limits)
    if bounces and not energy <= 0.0:
        residual = max(residual, blend(table, count, limits, tolerance, most))
    put_into_cones(table, count, limits)
    residual = find_residual(table, count, limits, w.eta, w.u) if not bounces else residual
    energy = energy_change(w, count, limits)
    if not energy <= 0.0:
        energy = shorten(w, count, limits)
    note_states(table, count, limits, tolerance)
    for r in range(all_rows(w, count, limits)):
        system.y[r], system.bias[r] = w.eta[r], w.bias[r]
    report[RESIDUAL], report[SWEEPS], report[ENERGY], report[CONTACTS] = residual, w.counts[SWEEPS_MADE], energy, count
    report[CONVERGED] = 1.0 if residual <= (tolerance if w.counts[IS_DENSE] != 0 else enough) else 0.0


@routine
def velocities_by(table, count, limits, impulse, out):
    """out = free + bias + J M⁻¹ Jᵀ impulse. Over the tree it needs the linkage eliminated without contact."""
    if sweeps_of(table).counts[IS_DENSE] != 0:
        dense_velocities(table, count, limits, impulse, out)
    else:
        respond_to_impulses(table, count, limits, impulse, out)


@routine
def start_warm(table, count, limits):
    """Begins from the impulses of the last step and the velocities that they make; from none where these would make energy,
    as those of an impact in the step after it would."""
    w = sweeps_of(table)
    contacts = contacts_of(table)
    problem = problem_of(table)
    any_impulse = False
    for c in range(count):
        f = load3(contacts.impulse, c, 0)
        n = max(dot3(load3(w.axes, c, 0), f), 0.0) if w.tangents[c] >= 0 else 0.0
        a = part_along(load3(w.axes, c, 3), f) if w.tangents[c] > 0 else 0.0
        b = part_along(load3(w.axes, c, 6), f) if w.tangents[c] > 1 else 0.0
        w.eta[3 * c], w.eta[3 * c + 1], w.eta[3 * c + 2] = n, a, b
        any_impulse = any_impulse or n > 0.0
    for k in range(limits):
        w.eta[3 * count + k] = problem.limit_impulse[k]
        any_impulse = any_impulse or problem.limit_impulse[k] > 0.0
    for k in range(w.counts[LOOP_ROWS]):
        w.eta[3 * count + limits + k] = problem.loop_impulse[k] if any_impulse else 0.0
    if any_impulse:
        velocities_by(table, count, limits, w.eta, w.u)
        for r in range(all_rows(w, count, limits)):
            w.center[r] = w.eta[r]
    if not any_impulse or not energy_change(w, count, limits) <= 0.0:
        start_cold(w, count, limits)


@inlined
def start_cold(w, count, limits):
    for r in range(all_rows(w, count, limits)):
        w.eta[r], w.center[r] = 0.0, 0.0
        w.u[r] = w.free[r] + w.bias[r]


@inlined
def has_restitution(w, count, limits):
    found = False
    for r in range(3 * count + limits):
        found = found or w.bias[r] < 0.0
    return found


@inlined
def drop_restitution(w, count, limits):
    for r in range(3 * count + limits):
        w.u[r] += max(w.bias[r], 0.0) - w.bias[r]
        w.bias[r] = max(w.bias[r], 0.0)


@inlined
def energy_change(w, count, limits):
    """Change of kinetic energy by the impulses [J]: ½ η·(u_free + u).   (26)"""
    total = 0.0
    for r in range(all_rows(w, count, limits)):
        total += 0.5 * w.eta[r] * (w.free[r] + w.u[r] - w.bias[r])
    return total


@routine
def blend(table, count, limits, tolerance, most):
    """Moves impulses that make energy towards those without restitution, as far as needed; returns their residual."""
    w = sweeps_of(table)
    rows = all_rows(w, count, limits)
    keep = system_of(table).y
    keep_u = system_of(table).best
    for r in range(rows):
        keep[r], keep_u[r] = w.eta[r], w.u[r] - w.bias[r]
    drop_restitution(w, count, limits)
    residual = solve_laws(table, count, limits, tolerance, most)
    dull, slope, curve = energy_change(w, count, limits), 0.0, 0.0
    for r in range(rows):
        now = w.u[r] - w.bias[r]
        x, y = keep[r] - w.eta[r], keep_u[r] - now
        slope += 0.5 * (x * (w.free[r] + now) + w.eta[r] * y)
        curve += 0.5 * x * y
    share = 0.0  # dull + slope t + curve t² ≤ 0 for the largest t in [0, 1]
    root = slope * slope - 4.0 * curve * min(dull, 0.0)
    if curve > 0.0 and root >= 0.0:
        share = min(max((-slope + math.sqrt(root)) / (2.0 * curve), 0.0), 1.0)
    for r in range(rows):
        w.u[r] += share * (keep_u[r] + w.bias[r] - w.u[r])
        w.eta[r] += share * (keep[r] - w.eta[r])
    return residual


@routine
def put_into_cones(table, count, limits):
    """Impulses obey the laws of impulses to the last bit, and velocities are those that they make, by M alone."""
    w = sweeps_of(table)
    for c in range(count):
        r = 3 * c
        w.eta[r] = max(w.eta[r], 0.0)
        size, most = size_of(w.eta[r + 1], w.eta[r + 2]), w.friction[c] * w.eta[r]
        if size > most:
            w.eta[r + 1], w.eta[r + 2] = w.eta[r + 1] * (most / size), w.eta[r + 2] * (most / size)
    for r in range(3 * count, 3 * count + limits):
        w.eta[r] = max(w.eta[r], 0.0)
    if w.counts[IS_DENSE] == 0:
        return_alone(table)
    velocities_by(table, count, limits, w.eta, w.u)


@routine
def shorten(w, count, limits):
    """Scales impulses down until they make no energy; cones keep what is scaled. Returns the change of energy."""
    first, second = 0.0, 0.0
    for r in range(all_rows(w, count, limits)):
        first += w.eta[r] * w.free[r]
        second += 0.5 * w.eta[r] * (w.u[r] - w.bias[r] - w.free[r])
    share = min(max(-first / second, 0.0), 1.0) if second > 0.0 else 0.0
    for r in range(all_rows(w, count, limits)):
        start = w.free[r] + w.bias[r]
        w.eta[r] *= share
        w.u[r] = start + share * (w.u[r] - start)
    return share * (first + share * second)


@routine
def note_states(table, count, limits, tolerance):
    """Free, sticking or sliding; contacts on the rim of their cones slide only where bodies do."""
    w = sweeps_of(table)
    state = system_of(table).state
    scale = 0.0
    for c in range(count):
        scale = max(scale, w.response[c] * w.eta[3 * c])
    for c in range(count):
        r = 3 * c
        size, most = size_of(w.eta[r + 1], w.eta[r + 2]), w.friction[c] * w.eta[r]
        speed = size_of(w.u[r + 1], w.u[r + 2])
        state[c] = STICK
        if not w.eta[r] > 0.0:
            state[c] = FREE
        elif size >= (1.0 - RIM) * most and speed > STILL * tolerance * scale:
            state[c] = SLIDE


@routine
def store_results(table, count, limits):
    """Impulses in world axes, for the next step and for the report, and on contact bodies; whether the solve converged."""
    w = sweeps_of(table)
    contacts = contacts_of(table)
    problem = problem_of(table)
    for c in range(count):
        store3(contacts.impulse, c, 0, impulse_of(w, c))
    for k in range(limits):
        problem.limit_impulse[k] = w.eta[3 * count + k]
    for k in range(w.counts[LOOP_ROWS]):
        problem.loop_impulse[k] = w.eta[3 * count + limits + k]
    gather(table, count, limits, w.eta, problem.impulse)
    return system_of(table).report[CONVERGED] > 0.0


@inlined
def impulse_of(w, c):
    n = scale3(w.eta[3 * c], load3(w.axes, c, 0))
    return add3(n, add3(scale3(w.eta[3 * c + 1], load3(w.axes, c, 3)), scale3(w.eta[3 * c + 2], load3(w.axes, c, 6))))


@routine
def gather(table, count, limits, impulse, out):
    """Impulses on the contact bodies and coordinates."""
    w = sweeps_of(table)
    problem = problem_of(table)
    for k in range(out.shape[0]):
        out[k] = 0.0
    for c in range(count):
        f = impulse_of(w, c)
        for side in range(2):
            body_number = problem.body_number[c, side]
            if body_number >= 0:
                g = f if side == 0 else scale3(-1.0, f)
                n = cross3(load3(w.arm, c, 3 * side), g)
                for e in range(3):
                    out[6 * body_number + e] += n[e]
                    out[6 * body_number + 3 + e] += g[e]
    for k in range(limits):
        out[problem.limit_at[k]] += problem.limit[k, SIGN] * impulse[3 * count + k]
    for k in range(w.counts[LOOP_ROWS]):
        for side in range(2):
            body_number = problem.loop_body_number[k, side]
            if body_number >= 0:
                for e in range(6):
                    out[6 * body_number + e] += problem.loop_row[k, 6 * side + e] * impulse[3 * count + limits + k]


@routine
def push_apart(table, h, count, limits):
    """Pseudo impulses that take penetration back, normal only, by the same method.   (32)"""
    t = contact_arrays_of(table)
    w = sweeps_of(table)
    data = contacts_of(table).data
    problem = problem_of(table)
    part, slack = t.settings[ca.CORRECTION], t.settings[ca.SLACK]
    deepest = 0.0
    for c in range(count):
        deepest = max(deepest, -data[c, GAP])
    system_of(table).report[PENETRATION] = deepest
    is_deep = deepest > (1.0 + PUSH_FROM) * slack
    for k in range(limits):
        is_deep = is_deep or -problem.limit[k, LIMIT_GAP] > LIMIT_SLACK
    if not (is_deep and part > 0.0):
        for k in range(problem.push.shape[0]):
            problem.push[k] = 0.0
        return
    for c in range(count):
        gap = data[c, GAP]
        if gap < 0.0:
            gap = min(gap + slack, 0.0)
        w.friction[c] = 0.0
        for e in range(3):
            w.free[3 * c + e], w.bias[3 * c + e] = 0.0, 0.0
        w.bias[3 * c] = part * gap / h if gap < 0.0 else gap / h
    for k in range(limits):
        gap = problem.limit[k, LIMIT_GAP]
        w.free[3 * count + k] = 0.0
        w.bias[3 * count + k] = part * gap / h if gap < 0.0 else gap / h
    for r in range(3 * count + limits, all_rows(w, count, limits)):  # loops stand still
        w.free[r], w.bias[r] = 0.0, 0.0
    start_cold(w, count, limits)
    if not push_in_rounds(table, count, limits):
        for c in range(count):
            w.shift[c] = 0.0
        descend(table, count, limits, PUSH_SOFT, PUSH_TOLERANCE)
    for r in range(3 * count + limits):
        w.eta[r] = max(w.eta[r], 0.0)
    gather(table, count, limits, w.eta, problem.push)


@inlined
def push_in_rounds(table, count, limits):
    """The same one after the other, from nothing, with the same softness; whether they settled."""
    w = sweeps_of(table)
    if w.counts[HAS_MATRIX] == 0 or w.counts[LOOP_ROWS] > 0:
        return False
    G = system_of(table).G
    rows = 3 * count + limits
    for _ in range(PUSH_ROUNDS):
        moved, largest = 0.0, 0.0
        for k in range(count + limits):
            r = 3 * k if k < count else 2 * count + k
            if k >= count or w.tangents[k] >= 0:
                soft = PUSH_SOFT * w.soft[k]
                value = max(w.eta[r] - (w.u[r] + soft * w.eta[r]) / (G[r, r] + soft), 0.0)
                moved, largest = max(moved, renew_row(w, G, rows, r, value)), max(largest, value)
        if moved <= PUSH_SETTLED * largest:
            return True
    return False
