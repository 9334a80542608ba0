"""Contact as a convex problem in velocities, by Newton's method; each iteration is one sweep over the tree.

    min ½ |v - v_free|²_M + Σ ψ(J v)      γ = -ψ' = P(γ₀ - (u + bias + shift) / R),   P: (25), nearest in the norm R  (29)

is smooth and strictly convex: Newton's method with a line search ends from anywhere. Outer iterations take out what it adds
to the law: γ₀ ← γ the softness R (proximal point), shift ← μ |u_t| what sliding contacts part with (De Saxcé).

Before and after each, steps of Newton's on Coulomb's law itself are tried: (26) in the place of P, γ₀ the last impulses,
and a softness that falls with the residual. They find the impulses of the law in a few sweeps where the sets of contacts
that press and slide are nearly right, redundant or not, but may go round in circles elsewhere: the best of them is kept.

All of it goes on in the rows of contacts and limits. Impulses η that make the velocities u, M (v - v_free) = Jᵀη, are known
at every moment, so that the slope along a step is a sum over rows and the line search needs no sweep:

    slope(α) = Σ δu · ((1 - α) η + α η' - γ(u + α δu)),   δu = u' - u                                                 (30)
"""

import math

from linkwork.contact.solver.laws import nearest_in_cone
from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.contact.solver.projections import allowed_by_coulomb, nearest_of_cone
from linkwork.core.jit import inlined, routine
from linkwork.simulation.touching.arrays import sweeps_of
from linkwork.simulation.touching.sweeps.dense import dense_step
from linkwork.simulation.touching.sweeps.linear import sweep
from linkwork.simulation.touching.sweeps.memory import (
    ACROSS,
    ALONG_A,
    ALONG_B,
    CONVEX,
    COULOMB,
    IS_DENSE,
    IS_SINGULAR,
    LEAD,
    LOOP_ROWS,
    SETS,
    SWEEPS_MADE,
)
from linkwork.simulation.touching.sweeps.points import all_rows
from linkwork.spatial.memory import store9

MOST_OUTER = 6
MOST_INNER = 30  # sweeps of one outer iteration
MOST_TRIALS = 20  # of a line search
FLAT = 0.1  # of the slope at the start of a line search: what is small enough at its end
INNER = 1e-2  # of the largest impulse: how well (29) is solved
SOFT = 1e-2  # softness in (29), of a contact's own response
SOFTEST, HARDEST = 1e-1, 1e-5  # the same of steps on the law itself: the root of the residual, within these
SETS_SOFTEST, SETS_HARDEST = 1e-3, 1e-7  # of steps with sets; far above what rounding leaves of a response that is none
LOOP_SOFT = 1e-6  # softness of loops, of their own response
FINISHING = 12  # steps on the law itself, of one kind
PATIENCE = 4  # of them in a row that leave more than
GAIN = 0.9  # of the least residual, after which no more are made
LOST = 10.0  # residual at which they are given up
SUFFICES = 1e-5  # residual that counts as converged, see `breach`
AT_ONCE = 1e-7  # the same of steps on the law itself before anything else was tried
BY_SPEED = 0.1  # what a speed that is wrong counts, as a part of the largest that met, beside an impulse
LARGEST = 1e3  # of the impulses that would stop one contact alone: more do not make a residual small
BEST, CONVEX_ONE, FOUND = 0, 1, 2  # what is put aside


@routine
def solve_laws(table, count, limits, tolerance, most):
    """From `eta` and `u` to better ones; returns the residual of Coulomb's law."""
    w = sweeps_of(table)
    best = breach(table, count, limits, w.eta, w.u)
    put_aside(w, count, limits, BEST)
    if not best <= tolerance:
        best = try_steps(table, count, limits, tolerance, most, best, best, SETS)
    for outer in range(MOST_OUTER):
        if best <= max(tolerance, AT_ONCE) or w.counts[SWEEPS_MADE] >= most or w.counts[IS_SINGULAR] != 0:
            break
        for c in range(count):
            slip = math.hypot(w.u[3 * c + 1], w.u[3 * c + 2]) if w.ways[c] > 1 else abs(w.u[3 * c + 1])
            w.shift[c] = w.friction[c] * slip if w.ways[c] > 0 else 0.0
        copy_rows(w.center, w.eta, all_rows(w, count, limits))
        descend(table, count, limits, SOFT, INNER)
        residual = breach(table, count, limits, w.eta, w.u)
        if residual < best:
            best = residual
            put_aside(w, count, limits, BEST)
        residual = try_steps(table, count, limits, tolerance, most, residual, best, SETS)
        best = min(best, residual)
        if outer > 0 and not best <= max(tolerance, AT_ONCE):
            best = min(best, try_steps(table, count, limits, tolerance, most, residual, best, COULOMB))
    take_back(w, count, limits, BEST)
    return best


@inlined
def copy_rows(to, source, rows):
    for r in range(rows):
        to[r] = source[r]


@inlined
def put_aside(w, count, limits, place):
    for r in range(all_rows(w, count, limits)):
        w.kept[2 * place, r], w.kept[2 * place + 1, r] = w.eta[r], w.u[r]


@inlined
def take_back(w, count, limits, place):
    for r in range(all_rows(w, count, limits)):
        w.eta[r], w.u[r] = w.kept[2 * place, r], w.kept[2 * place + 1, r]


@routine
def try_steps(table, count, limits, tolerance, most, residual, best, law):
    """Steps of Newton's on Coulomb's law from (eta, u), to the best of them; returns its residual.

    Each has a softness of the root of the residual, within the bounds of its kind. best: the least residual so far; what is
    better is put aside.
    """
    w = sweeps_of(table)
    rows = all_rows(w, count, limits)
    softest, hardest = (SETS_SOFTEST, SETS_HARDEST) if law == SETS else (SOFTEST, HARDEST)
    found, waited = residual, 0
    put_aside(w, count, limits, FOUND)
    for _ in range(min(FINISHING, most - w.counts[SWEEPS_MADE])):
        copy_rows(w.center, w.eta, rows)
        evaluate(table, count, limits, law, min(max(math.sqrt(residual), hardest), softest))
        linear_step(table, count, limits, law)
        residual = breach(table, count, limits, w.eta_new, w.u_new)
        waited = 0 if residual < GAIN * found else waited + 1
        copy_rows(w.u, w.u_new, rows)
        copy_rows(w.eta, w.eta_new, rows)
        if residual < found:
            found = residual
            put_aside(w, count, limits, FOUND)
        if found <= tolerance or waited >= PATIENCE or not residual < LOST:
            break
    take_back(w, count, limits, FOUND)
    if found < best:
        put_aside(w, count, limits, BEST)
    return found


@routine
def descend(table, count, limits, softness, tolerance):
    """Newton's method with a line search on (29): `eta`, `u` and `gamma` agree to `tolerance` of the largest impulse."""
    w = sweeps_of(table)
    evaluate(table, count, limits, CONVEX, softness)
    for _ in range(MOST_INNER):
        if apart(w, count, limits) <= tolerance:
            break
        linear_step(table, count, limits, CONVEX)
        share = search_line(table, count, limits, softness)
        for r in range(all_rows(w, count, limits)):
            w.u[r] += share * (w.u_new[r] - w.u[r])
            w.eta[r] += share * (w.eta_new[r] - w.eta[r])
        evaluate(table, count, limits, CONVEX, softness)


@routine
def linear_step(table, count, limits, law):
    """`eta_new` and `u_new` where contacts answer as `evaluate` says: over the matrix of responses, or over the tree."""
    w = sweeps_of(table)
    w.counts[SWEEPS_MADE] += 1
    if w.counts[IS_DENSE] != 0:
        dense_step(table, count, limits, law)
    else:
        step_right_side(w, count, limits)
        sweep(table, count, limits)


@inlined
def apart(w, count, limits):
    """The largest difference of the impulses that act and those that the law gives, of the largest."""
    wrong, largest = 0.0, 0.0
    for r in range(all_rows(w, count, limits)):
        wrong, largest = max(wrong, abs(w.eta[r] - w.gamma[r])), max(largest, abs(w.gamma[r]))
    return wrong / largest if largest > 0.0 else wrong


@routine
def evaluate(table, count, limits, law, softness):
    """`gamma` and its derivative at u; softness: of each contact's own response.

    SETS: whether contacts press, stick or slide is asked with their own responses, and softness only keeps the step
    solvable.
    """
    w = sweeps_of(table)
    for c in range(count):
        if w.ways[c] < 0:
            let_go(w, c)
        elif law == CONVEX:
            evaluate_convex(w, c, softness)
        elif law == COULOMB:
            evaluate_coulomb(w, c, softness)
        else:
            evaluate_sets(w, c, softness)
    asked = 1.0 if law == SETS else softness
    for k in range(limits):
        r = 3 * count + k
        x = 1.0 / (softness * w.soft[count + k])
        acts = w.center[r] - w.u[r] / (asked * w.soft[count + k]) > 0.0
        w.gamma[r] = w.center[r] - x * w.u[r] if acts else 0.0
        w.stiff[count + k, 0] = x if acts else 0.0
    for k in range(w.counts[LOOP_ROWS]):
        r, e = 3 * count + limits + k, count + limits + k
        w.stiff[e, 0] = 1.0 / (LOOP_SOFT * w.soft[e])
        w.gamma[r] = w.center[r] - w.stiff[e, 0] * w.u[r]


@inlined
def let_go(w, c):
    w.mode[c] = FREE
    w.gamma[3 * c], w.gamma[3 * c + 1], w.gamma[3 * c + 2] = 0.0, 0.0, 0.0
    for k in range(9):
        w.stiff[c, k] = 0.0


@inlined
def evaluate_convex(w, c, softness):
    r, ways, mu = 3 * c, w.ways[c], w.friction[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    p, q = math.sqrt(x), math.sqrt(y)
    n = w.center[r] - x * (w.u[r] + w.shift[c])
    a = w.center[r + 1] - y * w.u[r + 1] if ways > 0 else 0.0
    b = w.center[r + 2] - y * w.u[r + 2] if ways > 1 else 0.0
    g, w.mode[c], D = nearest_of_cone(mu * p / q, n / p, a / q, b / q)
    w.gamma[r], w.gamma[r + 1], w.gamma[r + 2] = p * g[0], q * g[1], q * g[2]
    store9(w.stiff, c, 0, scaled_block(D, (p, q), (p, q)))
    note_lead(w, c, a, b, x / (1.0 + mu * mu * x / y))
    if ways < 2:
        leave_out(w, c, ways)


@inlined
def evaluate_coulomb(w, c, softness):
    r, ways = 3 * c, w.ways[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    a = w.center[r + 1] - y * w.u[r + 1] if ways > 0 else 0.0
    b = w.center[r + 2] - y * w.u[r + 2] if ways > 1 else 0.0
    g, w.mode[c], D = allowed_by_coulomb(w.friction[c], w.center[r] - x * w.u[r], a, b)
    w.gamma[r], w.gamma[r + 1], w.gamma[r + 2] = g
    store9(w.stiff, c, 0, scaled_block(D, (1.0, 1.0), (x, y)))
    note_lead(w, c, a, b, x)
    if ways < 2:
        leave_out(w, c, ways)


@inlined
def evaluate_sets(w, c, softness):
    """A contact that slides answers velocities across its direction by μ λ_n / |u_t|."""
    r, ways, mu = 3 * c, w.ways[c], w.friction[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    n = w.center[r] - w.u[r] / w.soft[c]
    if not n > 0.0:
        let_go(w, c)
        return
    a = w.center[r + 1] - w.u[r + 1] / w.soft_along[c] if ways > 0 else 0.0
    b = w.center[r + 2] - w.u[r + 2] / w.soft_along[c] if ways > 1 else 0.0
    size = math.sqrt(a * a + b * b)
    gamma = w.center[r] - x * w.u[r]
    w.gamma[r] = gamma
    if size <= mu * n and mu > 0.0:
        w.mode[c] = STICK
        w.gamma[r + 1] = w.center[r + 1] - y * w.u[r + 1] if ways > 0 else 0.0
        w.gamma[r + 2] = w.center[r + 2] - y * w.u[r + 2] if ways > 1 else 0.0
        store9(w.stiff, c, 0, (x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, y))
    else:
        w.mode[c] = SLIDE
        p, q = (a / size, b / size) if size > 0.0 else (0.0, 0.0)
        turn = mu * n / size if size > 0.0 else 0.0
        k = min(turn / ((1.0 - turn) * w.soft_along[c]), y) if turn < 1.0 else y
        k = k if ways > 1 else 0.0
        u = p * w.u[r + 2] - q * w.u[r + 1]
        w.gamma[r + 1], w.gamma[r + 2] = mu * gamma * p + k * u * q, mu * gamma * q - k * u * p
        store9(w.stiff, c, 0, (x, 0.0, 0.0, mu * p * x, k * q * q, -k * p * q, mu * q * x, -k * p * q, k * p * p))
        w.lead[c, ALONG_A], w.lead[c, ALONG_B], w.lead[c, LEAD], w.lead[c, ACROSS] = p, q, x, k
    if ways < 2:
        leave_out(w, c, ways)


@inlined
def note_lead(w, c, a, b, k):
    """Of a contact that slides along (a, b): its direction, stiffness k of its impulse, and that across."""
    size = math.sqrt(a * a + b * b)
    p, q = (a / size, b / size) if size > 0.0 else (0.0, 0.0)
    across = q * q * w.stiff[c, 4] - 2.0 * p * q * w.stiff[c, 5] + p * p * w.stiff[c, 8]
    w.lead[c, ALONG_A], w.lead[c, ALONG_B], w.lead[c, LEAD] = p, q, k
    w.lead[c, ACROSS] = across if w.ways[c] > 1 else 0.0


@inlined
def scaled_block(D, left, right):
    """Rows of D times left, columns times right: factors of the normal and of both tangents."""
    p, q = left
    x, y = right
    return (
        p * x * D[0],
        p * y * D[1],
        p * y * D[2],
        q * x * D[3],
        q * y * D[4],
        q * y * D[5],
        q * x * D[6],
        q * y * D[7],
        q * y * D[8],
    )


@inlined
def leave_out(w, c, ways):
    """Tangents along which nothing moves carry no impulse."""
    for k in range(3):
        w.stiff[c, 6 + k], w.stiff[c, 3 * k + 2] = 0.0, 0.0
        if ways < 1:
            w.stiff[c, 3 + k], w.stiff[c, 3 * k + 1] = 0.0, 0.0


@inlined
def step_right_side(w, count, limits):
    """f = γ + G (u - u_free) of (27)"""
    for c in range(count):
        r = 3 * c
        x, y, z = (
            w.u[r] - w.free[r] - w.bias[r],
            w.u[r + 1] - w.free[r + 1] - w.bias[r + 1],
            w.u[r + 2] - w.free[r + 2] - w.bias[r + 2],
        )
        for e in range(3):
            w.right[r + e] = (
                w.gamma[r + e] + w.stiff[c, 3 * e] * x + w.stiff[c, 3 * e + 1] * y + w.stiff[c, 3 * e + 2] * z
            )
    for r in range(3 * count, all_rows(w, count, limits)):
        w.right[r] = w.gamma[r] + w.stiff[r - 2 * count, 0] * (w.u[r] - w.free[r] - w.bias[r])


@routine
def search_line(table, count, limits, softness):
    """Share of the step after which the slope (30) is small; all of it where it falls to the end."""
    first = slope_along(table, count, limits, softness, 0.0)
    low, high, below = 0.0, 1.0, first
    above = slope_along(table, count, limits, softness, 1.0)
    if not above > FLAT * abs(first):
        return 1.0
    share, side = 1.0, 0
    for _ in range(MOST_TRIALS):
        share = (low * above - high * below) / (above - below)
        slope = slope_along(table, count, limits, softness, share)
        if abs(slope) <= FLAT * abs(first):
            break
        if slope > 0.0:
            high, above = share, slope
            below = 0.5 * below if side > 0 else below
            side = 1
        else:
            low, below = share, slope
            above = 0.5 * above if side < 0 else above
            side = -1
    return share


@routine
def slope_along(table, count, limits, softness, share):
    """(30)"""
    w = sweeps_of(table)
    slope = 0.0
    for c in range(count):
        r, ways = 3 * c, w.ways[c]
        if ways < 0:
            continue
        soft, along = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
        p, q = math.sqrt(soft), math.sqrt(along)
        x, y, z = w.u_new[r] - w.u[r], w.u_new[r + 1] - w.u[r + 1], w.u_new[r + 2] - w.u[r + 2]
        n = w.center[r] - soft * (w.u[r] + share * x + w.shift[c])
        a = w.center[r + 1] - along * (w.u[r + 1] + share * y) if ways > 0 else 0.0
        b = w.center[r + 2] - along * (w.u[r + 2] + share * z) if ways > 1 else 0.0
        g0, g1, g2 = nearest_in_cone(w.friction[c] * p / q, n / p, a / q, b / q)
        slope += x * (w.eta[r] + share * (w.eta_new[r] - w.eta[r]) - p * g0)
        slope += y * (w.eta[r + 1] + share * (w.eta_new[r + 1] - w.eta[r + 1]) - q * g1)
        slope += z * (w.eta[r + 2] + share * (w.eta_new[r + 2] - w.eta[r + 2]) - q * g2)
    for r in range(3 * count, 3 * count + limits):
        x = w.u_new[r] - w.u[r]
        y = w.center[r] - (w.u[r] + share * x) / (softness * w.soft[r - 2 * count])
        slope += x * (w.eta[r] + share * (w.eta_new[r] - w.eta[r]) - max(y, 0.0))
    for r in range(3 * count + limits, all_rows(w, count, limits)):
        x = w.u_new[r] - w.u[r]
        y = w.center[r] - (w.u[r] + share * x) / (LOOP_SOFT * w.soft[r - 2 * count])
        slope += x * (w.eta[r] + share * (w.eta_new[r] - w.eta[r]) - y)
    return slope


@routine
def breach(table, count, limits, impulse, u):
    """How far impulses are from Coulomb's law with the velocities u: the largest of all contacts, limits and loops, each

        min( |λ - P(λ - ρ ũ)| / largest impulse,   BY_SPEED |λ - P(λ - ρ ũ)| / ρ / largest speed that met )        (24)

    The largest impulse counts up to a limit that follows from the velocities to be stopped, which no impulse can move.
    """
    w = sweeps_of(table)
    largest, given, met = 0.0, 0.0, 0.0
    for c in range(count):
        r = 3 * c
        if w.ways[c] >= 0:
            rho, a, b = 1.0 / w.response[c], abs(w.free[r + 1]), abs(w.free[r + 2])
            largest = max(largest, abs(impulse[r]))
            given = max(given, rho * (abs(w.free[r]) + abs(w.bias[r])), rho * a, rho * b)
            if impulse[r] > 0.0 or w.free[r] + w.bias[r] < 0.0:
                met = max(met, math.sqrt(w.free[r] * w.free[r] + a * a + b * b))
    for r in range(3 * count, 3 * count + limits):
        largest = max(largest, abs(impulse[r]))
        given = max(given, (abs(w.free[r]) + abs(w.bias[r])) / w.response[r - 2 * count])
        if impulse[r] > 0.0 or w.free[r] + w.bias[r] < 0.0:
            met = max(met, abs(w.free[r]))
    largest = min(largest, LARGEST * given)
    wrong = 0.0
    for c in range(count):
        if w.ways[c] >= 0:
            off = off_by_contact(w, c, impulse, u)
            wrong = worse(wrong, off, off * w.response[c], largest, met)
    for r in range(3 * count, all_rows(w, count, limits)):
        rho = 1.0 / w.response[r - 2 * count]
        off = abs(rho * u[r]) if r >= 3 * count + limits else abs(max(impulse[r] - rho * u[r], 0.0) - impulse[r])
        wrong = worse(wrong, off, off / rho, largest, met)
    return wrong


@inlined
def off_by_contact(w, c, impulse, u):
    r, mu, ways, rho = 3 * c, w.friction[c], w.ways[c], 1.0 / w.response[c]
    x, y, z = impulse[r], impulse[r + 1], impulse[r + 2]
    a, b = u[r + 1] if ways > 0 else 0.0, u[r + 2] if ways > 1 else 0.0
    slip = math.sqrt(a * a + b * b)
    p, q, s = nearest_in_cone(mu, x - rho * (u[r] + mu * slip), y - rho * a, z - rho * b)
    return math.sqrt((p - x) ** 2 + (q - y) ** 2 + (s - z) ** 2)


@inlined
def worse(wrong, impulse, speed, largest, met):
    """The larger of what was wrong before and what this impulse or speed is wrong by, as a part; infinite for NaN."""
    part = impulse / largest if largest > 0.0 else impulse
    if met > 0.0:
        part = min(part, BY_SPEED * speed / met)
    return max(wrong, part) if part >= 0.0 else math.inf
