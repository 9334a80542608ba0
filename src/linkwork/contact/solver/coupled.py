"""law="coupled": all contacts, limits and loops together.

Sweeps with warm start, accelerated; Newton's finish once the sets stand still; then, apart from velocities, the pseudo
impulses that take penetration back.
"""

import math

from linkwork.contact.contact_list import COUNT, RESTITUTION
from linkwork.contact.solver.active_set import settle
from linkwork.contact.solver.anderson import combine, push_history
from linkwork.contact.solver.gauss_seidel import sweep
from linkwork.contact.solver.laws import breach_of_laws
from linkwork.contact.solver.lemke import slides_along_lines, solve_by_exchanges
from linkwork.contact.solver.newton import MAX_STEPS, direction_step, newton_step
from linkwork.contact.solver.problem import (
    CONTACTS,
    CONVERGED,
    ENERGY,
    NEWTON_STEPS,
    RESIDUAL,
    SLIDE,
    STICK,
    SWEEPS,
)
from linkwork.contact.solver.products import times_delassus
from linkwork.contact.solver.pushing import push_apart
from linkwork.contact.solver.rows import (
    drop_directions_without_response,
    fill_delassus,
    fill_rows,
    gather_impulses,
    load_warm_start,
    release_contacts_without_response,
    store_impulses,
)
from linkwork.core.jit import inlined, kernel, routine

CALM = 1  # sweeps without a change of sets after which Newton is tried
WAIT = 4  # sweeps until it is tried again with directions held; twice as many after every failure
ROWS_PER_SWEEP = 4  # rows / this: sweeps until it is tried in full, which costs about as much; twice as many after each
EARLY_ROWS = 120  # more rows than this cost more to eliminate than the sweeps that a full step saves at the start
NEWTON_ROWS = 600  # more rows than this cost more to eliminate than to sweep
SETTLE_ROWS = 1200  # of more rows sets are seldom found one change at a time: too many contacts are in doubt
STALLED = 8  # sweeps without progress after which longer steps are tried: redundant contacts can drift for long
PROGRESS = 0.9  # of the least residual: what counts as progress
LONGEST = 1e4  # of the step of a sweep
STRETCHED = 1.1  # and such a step is kept where the residual does not grow by more than this factor
GROWTH = 1.0  # an accelerated step is kept only where the residual does not grow by more than this factor
CHANGES = 4  # steps of Newton's in which sets may change before a sweep judges them
SETTLED = 1e-2  # of the largest impulse: a step that is smaller leaves the sets as they are
GAIN = 0.5  # of the residual: a step of Newton's that leaves more is the last
FIRST_SETTLE = 4  # sweeps before sets are looked for one change at a time; later four times as many after each time
FIRST_EXCHANGED = 12  # contacts up to which Lemke's method comes before that: its time grows with their number cubed
LEAST_CHANGES = 20  # changes of sets that are tried then, and as many as half of the contacts
STILL = 10.0  # times the tolerance of impulses, of the velocities that they make: what counts as standing still
FEWEST_SWEEPS, MOST_PRODUCTS = 10, 20_000_000_000  # sweeps of a solve, whose products take so many: 10 s or so
RUNAWAY = 1e6  # of the velocities that are met: impulses of a bounce that cannot be


@routine
def solve_coupled(contacts, problem, system, h, settings, most):
    """Solves one step; results in problem.impulse, problem.push, contacts.impulse, system.report.

    settings (5,): tolerance, most sweeps, rest speed [m/s], part of a penetration taken back per step, gap below which
    bodies touch [m]. most: sweeps of this solve.
    Returns whether the residual came below the tolerance.
    """
    tolerance, rest_speed, part = settings[0], settings[2], settings[3]
    count = contacts.number[COUNT]
    rows = fill_rows(contacts, count, problem, system, h, rest_speed, settings[4])
    fill_delassus(problem, system, count, rows)
    release_contacts_without_response(problem.Lambda, system, count, rows)
    load_warm_start(contacts, count, problem, system.x)
    drop_directions_without_response(system, count, rows, system.x)
    most = min(most, max(FEWEST_SWEEPS, MOST_PRODUCTS // (rows * rows + 1)))
    good = iterate(contacts, count, problem, system, rows, tolerance, most)
    strayed = runs_away(system, rows)
    if strayed or (not good and has_restitution(contacts, count, problem, system)):
        good = forget_restitution(contacts, count, problem, system, rows, tolerance, most)
    energy = energy_change(system, rows, system.y)
    if not energy <= 0.0 and has_restitution(contacts, count, problem, system):
        energy = blend(contacts, count, problem, system, rows, tolerance, most)
    call_still_ones_sticking(system, count, tolerance)
    if not energy <= 0.0:  # only where the sweeps did not converge
        energy = shorten(system, rows, system.y)
    store_impulses(contacts, count, problem, system.y)
    gather_impulses(system, rows, system.y, problem.impulse)
    system.report[ENERGY] = energy
    system.report[CONTACTS] = count
    push_apart(contacts, count, problem, system, rows, h, part, settings[4])
    return good


@kernel
def solve_coupled_step(contacts, problem, system, h, settings):
    """`solve_coupled` as an entry from Python."""
    return solve_coupled(contacts, problem, system, h, settings, int(settings[1]))


@routine
def iterate(contacts, count, problem, system, rows, tolerance, most):
    """From system.x to system.y; residual, sweeps and Newton steps in the report.   (10), (11), (12)"""
    x, y = system.x, system.y
    has_loops = rows > 3 * count + problem.limit_at.shape[0]
    if rows <= EARLY_ROWS and not has_loops and slides_along_lines(system, count):
        steps, residual = go_on_with_sets(contacts, count, problem, system, rows, tolerance)
        if residual <= tolerance:
            system.report[RESIDUAL], system.report[SWEEPS], system.report[NEWTON_STEPS] = residual, 0, steps
            system.report[CONVERGED] = 1.0
            return True
    copy(y, x, rows)
    change, largest = sweep(contacts, count, problem, system, rows, y)
    residual = relative(change, largest)
    sweeps, steps, depth, used, calm, next_try, wait = 1, 0, 0, 0, 0, 0, WAIT
    next_full = max(WAIT, rows // ROWS_PER_SWEEP)
    if residual > tolerance and change < largest:  # a warm start: the sets of the step before, most likely
        steps, residual = finish(contacts, count, problem, system, rows, tolerance, residual, rows > EARLY_ROWS)
        sweeps += 1
    sets = fingerprint(system, count)
    least, stalled, stretch, next_settle = residual, 0, 2.0, FIRST_SETTLE
    while residual > tolerance and sweeps < most:
        used = push_history(system, rows, x, y, depth, used)
        depth += 1
        copy(system.best, y, rows)
        stretched = stalled >= STALLED
        if stretched:
            go_on(x, y, rows, stretch)
        accelerated = stretched or (used > 0 and combine(system, rows, used, x))
        if not accelerated:
            copy(x, y, rows)
        copy(y, x, rows)
        change, largest = sweep(contacts, count, problem, system, rows, y)
        sweeps += 1
        new = relative(change, largest)
        if stretched:
            is_good = new <= STRETCHED * residual
            stretch = min(2.0 * stretch, LONGEST) if is_good else 2.0
            stalled, depth, used = STALLED - 2, 0, 0
        if accelerated and not new <= (STRETCHED if stretched else GROWTH) * residual:
            copy(x, system.best, rows)
            copy(y, x, rows)
            change, largest = sweep(contacts, count, problem, system, rows, y)
            sweeps += 1
            new = relative(change, largest)
            depth, used = 0, 0
        residual = new
        stalled = stalled + 1 if residual > PROGRESS * least else 0
        least = min(least, residual)
        now = fingerprint(system, count)
        calm = calm + 1 if now == sets else 0
        sets = now
        if residual > tolerance and calm >= CALM and sweeps >= next_try:
            is_held = sweeps < next_full
            taken, residual = finish(contacts, count, problem, system, rows, tolerance, residual, is_held)
            steps += taken
            sweeps += 1
            depth, used, calm, next_try, wait = 0, 0, 0, sweeps + wait, 2 * wait
            if not is_held:
                next_full, wait = 2 * sweeps, WAIT
        if residual > tolerance and sweeps >= next_settle and rows <= SETTLE_ROWS:
            taken, residual = finish_settled(contacts, count, problem, system, rows, tolerance, residual)
            steps += taken
            sweeps += 1
            depth, used, calm, next_settle = 0, 0, 0, 4 * sweeps
    system.report[RESIDUAL], system.report[SWEEPS], system.report[NEWTON_STEPS] = residual, sweeps, steps
    system.report[CONVERGED] = 1.0 if residual <= tolerance else 0.0
    return residual <= tolerance


@routine
def go_on_with_sets(contacts, count, problem, system, rows, tolerance):
    """Newton's step from the impulses x of the step before to system.y: all there is to do where its sets still hold, and
    contacts slide along lines. The second time with the sets that the first one shows.

    Returns how many there were, and how far the last one is from the laws.
    """
    copy(system.y, system.x, rows)
    steps, residual = 0, math.inf
    while steps < 2 and residual > tolerance:
        steps += 1
        if direction_step(contacts, count, problem, system, rows, system.y) < 0.0:
            return steps, math.inf
        residual = breach_of_laws(contacts, count, problem, system, rows, system.y)
    return steps, residual


@routine
def finish(contacts, count, problem, system, rows, tolerance, residual, is_held_only):
    """Newton's finish from system.y: with the directions of sliding held and, where that is not enough and
    not excluded, in full.

    A sweep says what is left of the residual; steps that make it larger are taken back.
    """
    steps, residual = newton(contacts, count, problem, system, rows, tolerance, residual, True)
    if not is_held_only:
        more, residual = newton(contacts, count, problem, system, rows, tolerance, residual, False)
        steps += more
    copy(system.x, system.y, rows)
    return steps, residual


@routine
def newton(contacts, count, problem, system, rows, tolerance, residual, is_held):
    """Newton's steps from system.y, in full or with the directions of sliding held; steps taken and the residual left."""
    steps = 0
    if residual <= tolerance or (not is_held and rows > NEWTON_ROWS):
        return steps, residual
    for _ in range(MAX_STEPS):
        copy(system.best, system.y, rows)
        size = math.inf
        for _ in range(CHANGES):
            if size > SETTLED:
                if is_held:
                    size = direction_step(contacts, count, problem, system, rows, system.y)
                else:
                    size = newton_step(contacts, count, problem, system, rows, system.y)
                steps += 1
        new = math.inf
        if size >= 0.0:
            change, largest = sweep(contacts, count, problem, system, rows, system.y)
            new = relative(change, largest)
        if not new < residual:
            copy(system.y, system.best, rows)
            break
        goes_on = new < GAIN * residual
        residual = new
        if residual <= tolerance or not goes_on:
            break
    return steps, residual


@routine
def finish_settled(contacts, count, problem, system, rows, tolerance, residual):
    """The same from sets that are found in another way: `settle`, one change at a time, or Lemke's method.   (20), (22)

    Lemke's comes first where it is exact and takes little time.
    """
    is_first = count <= FIRST_EXCHANGED and slides_along_lines(system, count)
    steps, by_exchanges = 0, is_first
    for _ in range(2):
        copy(system.best, system.y, rows)
        if by_exchanges:
            steps += 1
            found = solve_by_exchanges(contacts, count, problem, system, rows, system.y)
            if found:
                new = breach_of_laws(contacts, count, problem, system, rows, system.y)
                if new <= tolerance:
                    residual = new
                    break
        else:
            most = LEAST_CHANGES + (count + problem.limit_at.shape[0]) // 2
            taken, _ = settle(contacts, count, problem, system, rows, system.y, most)
            steps += taken
            found = True
        new = math.inf
        if found:
            change, largest = sweep(contacts, count, problem, system, rows, system.y)
            new = relative(change, largest)
        if new < residual:
            taken, residual = newton(contacts, count, problem, system, rows, tolerance, new, rows > NEWTON_ROWS)
            steps += taken
        else:
            copy(system.y, system.best, rows)
        if residual <= tolerance or (not is_first and by_exchanges):
            break
        by_exchanges = not by_exchanges
    copy(system.x, system.y, rows)
    return steps, residual


@inlined
def relative(change, largest):
    return change / largest if largest > 0.0 else change


@inlined
def copy(to, source, rows):
    for i in range(rows):
        to[i] = source[i]


@inlined
def go_on(x, y, rows, stretch):
    """x = y + stretch (y - x): so many times further along the way of the last sweep."""
    for i in range(rows):
        x[i] = y[i] + stretch * (y[i] - x[i])


@inlined
def fingerprint(system, count):
    """A number that changes when a contact changes between free, stick and slide."""
    total = 0
    for i in range(count):
        total = (total * 31 + system.state[i] + 1) & 0xFFFFFFFFFFFF
    return total


# ----------------------------------------------------------------------------------------------------------------- energy


@routine
def energy_change(system, rows, x):
    """Change of kinetic energy by the impulses x [J]: xᵀ u_free + ½ xᵀ G x.   (13)"""
    times_delassus(system.G, x, rows, system.u)
    total = 0.0
    for i in range(rows):
        total += x[i] * (system.u_free[i] + 0.5 * system.u[i])
    return total


@inlined
def call_still_ones_sticking(system, count, tolerance):
    """Contacts on the rim of their cones slide only where bodies do: of redundant ones some may be there at rest."""
    scale = 0.0
    for i in range(count):
        scale = max(scale, system.G[3 * i, 3 * i] * system.y[3 * i])
    for i in range(count):
        a, b = 3 * i + 1, 3 * i + 2
        speed = math.hypot(system.u_free[a] + system.u[a], system.u_free[b] + system.u[b])
        if system.state[i] == SLIDE and speed <= STILL * tolerance * scale:
            system.state[i] = STICK


@inlined
def has_restitution(contacts, count, problem, system):
    found = False
    for i in range(count):
        if contacts.data[i, RESTITUTION] > 0.0 and system.bias[3 * i] < 0.0:
            found = True
    for i in range(problem.limit_at.shape[0]):
        if system.bias[3 * count + i] < 0.0:
            found = True
    return found


@inlined
def runs_away(system, rows):
    """Whether impulses make velocities far beyond those that they are to stop, and cancel each other."""
    made, met = 0.0, 0.0
    for i in range(rows):
        own = abs(system.y[i]) * system.G[i, i]
        made = own if not own <= made else made  # NaN too
        met = max(met, abs(system.u_free[i]))
    return not made <= RUNAWAY * met


@routine
def forget_restitution(contacts, count, problem, system, rows, tolerance, most):
    """Solves again without restitution, from nothing; returns whether that converged.

    A bounce that friction jams has no solution: impulses grow without end, where the sides come to rest against each other.
    """
    sweeps, steps = system.report[SWEEPS], system.report[NEWTON_STEPS]
    for i in range(3 * count + problem.limit_at.shape[0]):
        system.bias[i] = max(system.bias[i], 0.0)
    for i in range(rows):
        system.x[i] = 0.0
    good = iterate(contacts, count, problem, system, rows, tolerance, most)
    system.report[SWEEPS] += sweeps
    system.report[NEWTON_STEPS] += steps
    return good


@routine
def blend(contacts, count, problem, system, rows, tolerance, most):
    """Moves an answer that makes energy towards the one without restitution, as far as needed.   (13)

    Newton's restitution can make energy where contacts are coupled by friction; without it energy is lost, and on the
    line between the two it is a parabola.
    """
    keep = system.W[:, 0]  # W is not needed any more
    copy(keep, system.y, rows)
    residual, sweeps, steps = system.report[RESIDUAL], system.report[SWEEPS], system.report[NEWTON_STEPS]
    for i in range(3 * count + problem.limit_at.shape[0]):
        system.bias[i] = max(system.bias[i], 0.0)
    copy(system.x, system.y, rows)
    iterate(contacts, count, problem, system, rows, tolerance, most)
    system.report[SWEEPS] += sweeps
    system.report[NEWTON_STEPS] += steps
    system.report[RESIDUAL] = max(residual, system.report[RESIDUAL])
    dull = energy_change(system, rows, system.y)
    slope, curve = 0.0, 0.0
    for i in range(rows):
        system.x[i] = keep[i] - system.y[i]
    times_delassus(system.G, system.y, rows, system.u)
    for i in range(rows):
        slope += system.x[i] * (system.u_free[i] + system.u[i])
    times_delassus(system.G, system.x, rows, system.u)
    for i in range(rows):
        curve += 0.5 * system.x[i] * system.u[i]
    # dull + slope t + curve t² ≤ 0 for the largest t in [0, 1]
    t = 0.0
    root = slope * slope - 4.0 * curve * min(dull, 0.0)
    if curve > 0.0 and root >= 0.0:
        t = min(max((-slope + math.sqrt(root)) / (2.0 * curve), 0.0), 1.0)
    for i in range(rows):
        system.y[i] += t * system.x[i]
    return energy_change(system, rows, system.y)


@routine
def shorten(system, rows, x):
    """Scales impulses down until they make no energy; cones keep what is scaled. Returns the change of energy."""
    first = 0.0
    for i in range(rows):
        first += x[i] * system.u_free[i]
    second = energy_change(system, rows, x) - first
    t = min(max(-first / second, 0.0), 1.0) if second > 0.0 and first < 0.0 else 0.0
    for i in range(rows):
        x[i] = t * x[i] if t > 0.0 else 0.0
    return t * (first + t * second) if t > 0.0 else 0.0
