"""Sets of free, sticking and sliding contacts, one change at a time.   (20)

Where contacts are redundant, Newton's steps go in circles: of two contacts that can carry the same load, but whose gaps
differ by nanometres, only one presses, and a step that takes both as pressing moves a load without limit from one to the
other. So the way from the present impulses to those of the sets is followed only as far as all laws of impulses hold. The
contact that stops it leaves its set: one that presses no longer is free, one on the rim of its cone slides. Sets that are
followed to the end are judged by velocities: free contacts that would overlap press, sliding ones that slide along their
friction stick. Directions of sliding are held on the way and turn at its end.
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.cone import solve_cone
from linkwork.contact.solver.gauss_seidel import block_softness, velocities
from linkwork.contact.solver.newton import solve_factored, solve_members
from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.contact.solver.rows import NO_RESPONSE
from linkwork.core.jit import inlined, routine

WRONG = 1e-11  # of the largest velocity that an impulse makes: what counts as overlapping, or sliding along friction
RIM = 1e-12  # relative: how near its rim an impulse is on the cone
TIES = 1e-12  # of the way: what stops it at the same place
NEARLY_WORST = 0.3  # of the worst: what is changed together with it
LOST = 2  # changes for which a system counts that was not followed to its end
AT_ONCE = 0.5  # of the changes: so long all that is wrong is changed at once, then the worst alone
MOST_UNKNOWNS = 600  # more than these cost more to eliminate than the sweeps that are saved
OFTEN = 3  # times that a contact may leave its set at once before it stays as it is
NO_CHANGE = 1e-12  # of what makes it up: an answer that is nothing but rounding
# rows of history_f, by contact, then by limit: direction of sliding, whether it stays as it is, where it stops the way
D1, D2, BARRED, STOPS_AT = 0, 1, 2, 3
# and by condition: unknown a is a multiple of unknown b; how much of a condition one unit of its impulse makes
UNKNOWN_A, UNKNOWN_B, MULTIPLE, ANSWER = 4, 5, 6, 7


@routine
def settle(contacts, count, problem, system, rows, x, most):
    """Finds the sets from the impulses x, which hold their laws, in at most so many changes; x is new in place.

    Returns how many systems were solved and whether the sets were found. x holds all laws of impulses whatever is returned.
    """
    begin_sets(contacts, count, problem, system, x)
    solved, changes = 0, 0
    while changes < most:
        n = list_members(contacts, count, problem, system, rows, x)
        if n > MOST_UNKNOWNS or not solve_members(system, n, count, x):
            return solved, False
        solved += 1
        if follow(contacts, count, problem, system, rows, x, n, most):
            changes += 1
            if not change_sets(contacts, count, problem, system, rows, x, changes < AT_ONCE * most):
                return solved, True
        else:
            changes += LOST
    return solved, False


@routine
def follow(contacts, count, problem, system, rows, x, n, most):
    """Goes from x towards the impulses of the unknowns (last_f); what stops the way leaves its set, and it goes on.

    Returns whether the end was reached; if not, the system is to be solved anew.
    """
    conditions = 0
    for _ in range(most):
        spread(count, system, rows, n)
        part = part_of_the_way(contacts, count, problem, system, x)
        for r in range(rows):
            x[r] += part * (system.last_g[r] - x[r])
        if part == 1.0:
            return True
        conditions = stop_there(contacts, count, problem, system, x, part, n, conditions)
        if conditions < 0:
            return False
    return False


@routine
def begin_sets(contacts, count, problem, system, x):
    """Sets of the contacts and limits as the impulses x have them."""
    own = system.history_f
    for i in range(count):
        r = 3 * i
        size, rim = math.hypot(x[r + 1], x[r + 2]), contacts.data[i, FRICTION] * x[r]
        own[D1, i], own[D2, i], own[BARRED, i] = 0.0, 0.0, 0.0
        if x[r] <= 0.0:
            system.state[i] = FREE
        elif size < (1.0 - RIM) * rim:
            system.state[i] = STICK
        else:
            system.state[i] = SLIDE
            if size > 0.0:
                own[D1, i], own[D2, i] = x[r + 1] / size, x[r + 2] / size
    for k in range(problem.limit_at.shape[0]):
        system.state[count + k] = STICK if x[3 * count + k] > 0.0 else FREE
        own[BARRED, count + k] = 0.0


@routine
def list_members(contacts, count, problem, system, rows, x):
    """Rows of the unknowns, as `list_unknowns` writes them; impulses of free ones are zero, of sliding ones on the rim."""
    G, own, along = system.G, system.history_f, system.history_g
    found, limits = 0, problem.limit_at.shape[0]
    for i in range(count):
        r, state = 3 * i, system.state[i]
        if state == FREE:
            x[r], x[r + 1], x[r + 2] = 0.0, 0.0, 0.0
            continue
        mu = contacts.data[i, FRICTION] if state == SLIDE else 0.0
        if state == SLIDE:
            x[r + 1], x[r + 2] = mu * own[D1, i] * x[r], mu * own[D2, i] * x[r]
        for k in range(1 if state == SLIDE else 3):
            if k > 0 and not G[r + k, r + k] > NO_RESPONSE * G[r, r]:
                continue  # a direction that was dropped
            system.unknown[found] = r + k
            along[0, found], along[1, found] = mu * own[D1, i], mu * own[D2, i]
            found += 1
    for r in range(3 * count, rows):
        if r < 3 * count + limits and system.state[r - 2 * count] == FREE:
            x[r] = 0.0
            continue
        system.unknown[found] = r
        along[0, found], along[1, found] = 0.0, 0.0
        found += 1
    return found


@routine
def spread(count, system, rows, n):
    """Impulses of all rows (last_g) from those of the unknowns (last_f)."""
    z, along = system.last_g, system.history_g
    for r in range(rows):
        z[r] = 0.0
    for a in range(n):
        r = system.unknown[a]
        k = r // 3 if r < 3 * count else min(r - 2 * count, system.state.shape[0] - 1)
        if r < 3 * count and system.state[k] == FREE:
            continue
        z[r] = system.last_f[a]
        if r < 3 * count and (along[0, a] != 0.0 or along[1, a] != 0.0):
            z[r + 1], z[r + 2] = along[0, a] * z[r], along[1, a] * z[r]


# ------------------------------------------------------------------------------------------------------------ on the way


@routine
def part_of_the_way(contacts, count, problem, system, x):
    """How far from x to last_g all laws of impulses hold, 0 to 1; where each contact and limit would stop it."""
    z, stops = system.last_g, system.history_f
    part = 1.0
    for i in range(count):
        r = 3 * i
        at = math.inf
        if system.state[i] != FREE:
            at = until_zero(x[r], z[r])
            if system.state[i] == STICK:
                mu = contacts.data[i, FRICTION]
                at = min(at, until_rim(mu * x[r], x[r + 1], x[r + 2], mu * z[r], z[r + 1], z[r + 2]))
        stops[STOPS_AT, i] = at
        part = min(part, at)
    for k in range(problem.limit_at.shape[0]):
        r = 3 * count + k
        at = until_zero(x[r], z[r]) if system.state[count + k] != FREE else math.inf
        stops[STOPS_AT, count + k] = at
        part = min(part, at)
    return part


@inlined
def until_zero(x, z):
    """Part of the way from x ≥ 0 to z at which the impulse is zero; inf: it stays above."""
    return max(x, 0.0) / (max(x, 0.0) - z) if z < 0.0 else math.inf


@inlined
def until_rim(rim, x1, x2, end, z1, z2):
    """Part of the way from x, inside its cone, to z at which it leaves it; inf: never. rim, end: μ λ_n at x and at z."""
    if end >= 0.0 and z1 * z1 + z2 * z2 <= end * end:
        return math.inf
    d1, d2, dr = z1 - x1, z2 - x2, end - rim
    a, b, c = d1 * d1 + d2 * d2 - dr * dr, x1 * d1 + x2 * d2 - rim * dr, x1 * x1 + x2 * x2 - rim * rim
    if c >= 0.0:
        return 0.0
    # |x_t + t d_t| = rim + t dr: a t² + 2 b t + c = 0 with c < 0; its least positive root, in the form without cancellation
    root = math.sqrt(max(b * b - a * c, 0.0))
    if b >= 0.0:
        return -c / (b + root) if b + root > 0.0 else math.inf
    return (root - b) / a if a > 0.0 else -c / (b + root) if b + root > 0.0 else math.inf


@routine
def stop_there(contacts, count, problem, system, x, part, n, conditions):
    """What stopped the way leaves its set: without a normal impulse it is free, on the rim of its cone it slides.

    One that stops it at once stays as it is from now on: it would go on like that without end. The impulses of the unknowns
    follow, without a new elimination. Returns how many conditions they fulfil, -1 where no more can be added.
    """
    own, z = system.history_f, system.last_g
    for k in range(count + problem.limit_at.shape[0]):
        if not own[STOPS_AT, k] <= part + TIES:
            continue
        r, size = (3 * k, 3) if k < count else (2 * count + k, 1)
        if own[STOPS_AT, k] <= TIES:
            own[BARRED, k] += 1.0
        if z[r] < 0.0 and (k >= count or system.state[k] == SLIDE or not x[r] > TIES * abs(z[r])):
            for e in range(size):
                x[r + e] = 0.0
                if e == 0 or system.state[k] == STICK:
                    conditions = add_condition(system, n, conditions, r + e, r, 0.0)
            system.state[k] = FREE
            continue
        d1, d2 = x[r + 1], x[r + 2]
        if d1 == 0.0 and d2 == 0.0:
            d1, d2 = z[r + 1], z[r + 2]
        length = max(math.hypot(d1, d2), 1e-300)
        system.state[k] = SLIDE
        own[D1, k], own[D2, k] = d1 / length, d2 / length
        for e in range(2):
            multiple = contacts.data[k, FRICTION] * own[D1 + e, k]
            conditions = add_condition(system, n, conditions, r + 1 + e, r, multiple)
    return conditions


@routine
def add_condition(system, n, conditions, row, other, multiple):
    """From now on the impulse of `row` is a multiple of that of another row, and its velocity is free; last_f follows.

    With the answers y of the unknowns to a unit of velocity at the row, under the conditions before,
    z ← z - y (v z) / (v y), v z = 0 the condition. Answers stand behind the n rows of the matrix. Returns the number of
    conditions, -1: no room, or no answer.
    """
    if conditions < 0:
        return conditions
    M, f, own = system.matrix, system.last_f, system.history_f
    a, b = place_of(system.unknown, n, row), place_of(system.unknown, n, other)
    if a < 0:
        return conditions  # a direction that was dropped
    at = n + conditions
    if at >= M.shape[0]:
        return -1
    for i in range(n):
        M[at, i] = 0.0
    M[at, a] = 1.0
    solve_factored(M, n, at, system.pivot)
    for k in range(conditions):
        along = M[at, int(own[UNKNOWN_A, k])] - own[MULTIPLE, k] * M[at, int(own[UNKNOWN_B, k])]
        subtract_row(M, at, along / own[ANSWER, k], n + k, n)
    made = M[at, a] - multiple * M[at, b]
    if not abs(made) > NO_CHANGE * (abs(M[at, a]) + abs(multiple * M[at, b])):
        return -1
    own[UNKNOWN_A, conditions], own[UNKNOWN_B, conditions] = float(a), float(b)
    own[MULTIPLE, conditions], own[ANSWER, conditions] = multiple, made
    wrong = (f[a] - multiple * f[b]) / made
    for i in range(n):
        f[i] -= wrong * M[at, i]
    return conditions + 1


@inlined
def subtract_row(M, to, factor, row, n):
    for i in range(n):
        M[to, i] -= factor * M[row, i]


@inlined
def place_of(unknown, n, row):
    """Number of the unknown of a row, -1: it has none. Rows are in order."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if unknown[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low if low < n and unknown[low] == row else -1


# ------------------------------------------------------------------------------------------------------------ at its end


@routine
def change_sets(contacts, count, problem, system, rows, x, at_once):
    """Changes the sets that velocities contradict, all of them or the worst; whether there were any. Directions turn."""
    velocities(system, rows, x)
    total, scale = count + problem.limit_at.shape[0], 0.0
    for k in range(total):
        r = 3 * k if k < count else 2 * count + k
        scale = max(scale, system.G[r, r] * x[r])
    worst, which = WRONG * scale, -1
    for k in range(total):
        bad = wrongness(count, system, k)
        if bad > worst:
            worst, which = bad, k
        elif k < count and system.state[k] == SLIDE and not bad > WRONG * scale:
            turn(contacts, system, k, x)
    if which >= 0 and at_once:
        least = max(NEARLY_WORST * worst, WRONG * scale)
        for k in range(total):
            if k != which and wrongness(count, system, k) > least:
                change_set(contacts, count, system, k)
    if which >= 0:
        change_set(contacts, count, system, which)
    return which >= 0


@inlined
def wrongness(count, system, k):
    """Velocity that contradicts the set of a contact or limit [m/s or rad/s]."""
    u, own = system.u, system.history_f
    r = 3 * k if k < count else 2 * count + k
    if own[BARRED, k] >= OFTEN:
        return 0.0
    if system.state[k] == FREE:
        return -u[r]
    if k < count and system.state[k] == SLIDE:
        return u[r + 1] * own[D1, k] + u[r + 2] * own[D2, k]
    return 0.0


@routine
def change_set(contacts, count, system, k):
    """Free ones press, and stick or slide as they would alone; sliding ones stick."""
    G, u, own = system.G, system.u, system.history_f
    if k >= count or system.state[k] == SLIDE:
        system.state[k] = STICK
        return
    r = 3 * k
    soft = block_softness(G, r)
    K = (G[r, r] + soft, G[r, r + 1], G[r, r + 2], G[r + 1, r + 1] + soft, G[r + 1, r + 2], G[r + 2, r + 2] + soft)
    _, y1, y2, state = solve_cone(K, (u[r], u[r + 1], u[r + 2]), contacts.data[k, FRICTION], 0.0)
    size = math.hypot(y1, y2)
    system.state[k] = state
    own[D1, k], own[D2, k] = (y1 / size, y2 / size) if size > 0.0 else (0.0, 0.0)


@inlined
def turn(contacts, system, k, x):
    """The direction of sliding follows λ_t - ρ u_t."""
    G, u, own, r = system.G, system.u, system.history_f, 3 * k
    rho = 2.0 / max(G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
    rim = contacts.data[k, FRICTION] * x[r]
    s1, s2 = rim * own[D1, k] - rho * u[r + 1], rim * own[D2, k] - rho * u[r + 2]
    size = math.hypot(s1, s2)
    if rim > 0.0 and size > 0.0:
        own[D1, k], own[D2, k] = s1 / size, s2 / size
