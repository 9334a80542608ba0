"""Newton's method for contacts, limits and loops; each iteration is one linear step, over a matrix or over the tree.

    sets       what presses, sticks and slides is asked with each contact's own response (Alart and Curnier)          (22)
    convex     min ½ |v - v_free|²_M + Σ ψ(J v),  γ = -ψ' = P(γ₀ - (u + bias + shift) / R),   P: (20)                (23)
    Coulomb    (21) in the place of P

Steps with sets come first: from a warm start they are all there is to do. The convex problem is smooth and strictly convex:
Newton's method with a line search ends from anywhere. Outer iterations take out what it adds to the law: γ₀ ← γ the
softness R (proximal point), shift ← μ |u_t| what sliding contacts part with (De Saxcé); after each, steps on Coulomb's law
are tried again, with sets or as (21) asks for them, and the best of all is kept.

All of it goes on in the rows of contacts and limits. Impulses η that make the velocities u, M (v - v_free) = Jᵀη, are known
at every moment, so that the slope along a step is a sum over rows and the line search needs no linear step:

    slope(α) = Σ δu · ((1 - α) η + α η' - γ(u + α δu)),   δu = u' - u                                                 (24)
"""

import math

from linkwork.contact.solver.laws import nearest_in_cone, size_of
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import sweeps_of
from linkwork.simulation.contact_step.sweeps.dense import dense_step
from linkwork.simulation.contact_step.sweeps.evaluating import LOOP_SOFT, evaluate, find_residual
from linkwork.simulation.contact_step.sweeps.linear import sweep
from linkwork.simulation.contact_step.sweeps.memory import (
    CHANGED,
    CONVEX,
    COULOMB,
    HAS_MATRIX,
    IS_DENSE,
    IS_SINGULAR,
    SETS,
    SWEEPS_MADE,
)
from linkwork.simulation.contact_step.sweeps.one_by_one import gauss_seidel
from linkwork.simulation.contact_step.sweeps.points import all_rows

MOST_OUTER = 6
MOST_INNER = 30  # sweeps of one outer iteration
MOST_TRIALS = 20  # of a line search
FIRST_ROUNDS, ROUNDS = 5, 20  # over all contacts one by one, before the first outer iteration and each later one
FLAT = 0.1  # of the slope at the start of a line search: what is small enough at its end
INNER = 1e-2  # of the largest impulse: how well (23) is solved
SOFT = 5e-4  # softness in (23), of a contact's own response
SOFTEST, HARDEST = 1e-1, 1e-5  # the same of steps on the law itself: the root of the residual, within these
SETS_SOFTEST, SETS_HARDEST = 1e-3, 1e-7  # of steps with sets; far above what rounding leaves of a response that is none
TREE_SOFTEST = 1e-2  # of steps with sets over the tree: of many contacts more can carry the same
FINISHING = 12  # steps on the law itself, of one kind
HARDER = 0.1  # of the softness of a step that changed no set, is that of the next where its residual lies between
STALLED = (0.1, 3.0)  # times the one before
PATIENCE = 4  # of them in a row that leave more than
GAIN = 0.9  # of the least residual, after which no more are made
SOON = 2  # the same where the residual is good enough
LOST = 10.0  # residual at which they are given up
SUFFICES = 1e-5  # residual that counts as converged, see `find_residual`
AT_ONCE = 1e-7  # the same over the matrix of responses, after the first
STRICT = 2  # outer iterations
GOOD = 1e-6  # over the tree: no more steps are tried from here on
ROUNDED = 1e-13  # residual of impulses that need no step: what is within the tolerance would add up over many steps
BEST, FOUND = 0, 1  # what is put aside


@routine
def solve_laws(table, count, limits, tolerance, most):
    """From `eta` and `u` to better ones; returns the residual of Coulomb's law."""
    w = sweeps_of(table)
    best = find_residual(table, count, limits, w.eta, w.u)
    save_iterate(w, count, limits, BEST)
    if not best <= ROUNDED:
        best = try_steps(table, count, limits, tolerance, most, best, best, SETS)
    for outer in range(MOST_OUTER):
        enough = SUFFICES if w.counts[IS_DENSE] == 0 else (AT_ONCE if outer >= STRICT else tolerance)
        enough = max(tolerance, enough)
        if best <= enough or w.counts[SWEEPS_MADE] >= most or w.counts[IS_SINGULAR] != 0:
            break
        for c in range(count):
            slip = size_of(w.u[3 * c + 1], w.u[3 * c + 2]) if w.tangents[c] > 1 else abs(w.u[3 * c + 1])
            w.shift[c] = w.friction[c] * slip if w.tangents[c] > 0 else 0.0
        if w.counts[HAS_MATRIX] != 0:
            gauss_seidel(table, count, limits, ROUNDS if outer > 0 else FIRST_ROUNDS)
            residual = find_residual(table, count, limits, w.eta, w.u)
            best = keep_better(w, count, limits, residual, best)
            residual = try_steps(table, count, limits, tolerance, most, residual, best, SETS)
            if min(best, residual) <= enough:
                best = min(best, residual)
                break
            if not residual <= best:  # what was better goes on
                restore_iterate(w, count, limits, BEST)
            best = min(best, residual)
        copy_rows(w.center, w.eta, all_rows(w, count, limits))
        descend(table, count, limits, SOFT, INNER)
        residual = find_residual(table, count, limits, w.eta, w.u)
        best = keep_better(w, count, limits, residual, best)
        residual = try_steps(table, count, limits, tolerance, most, residual, best, SETS)
        best = min(best, residual)
        if outer > 0 and not best <= enough:
            best = min(best, try_steps(table, count, limits, tolerance, most, residual, best, COULOMB))
    restore_iterate(w, count, limits, BEST)
    return best


@inlined
def keep_better(w, count, limits, residual, best):
    """Puts (eta, u) aside where they are better than what was; returns the least residual."""
    if residual < best:
        save_iterate(w, count, limits, BEST)
    return min(residual, best)


@inlined
def copy_rows(to, source, rows):
    for r in range(rows):
        to[r] = source[r]


@inlined
def save_iterate(w, count, limits, place):
    for r in range(all_rows(w, count, limits)):
        w.aside[2 * place, r], w.aside[2 * place + 1, r] = w.eta[r], w.u[r]


@inlined
def restore_iterate(w, count, limits, place):
    for r in range(all_rows(w, count, limits)):
        w.eta[r], w.u[r] = w.aside[2 * place, r], w.aside[2 * place + 1, r]


@routine
def try_steps(table, count, limits, tolerance, most, residual, best, law):
    """Steps of Newton's on Coulomb's law from (eta, u), to the best of them; returns its residual.

    Each has a softness of the root of the residual, within the bounds of its kind: as long as sets change, it keeps loads
    from running to and fro between contacts that can carry the same. Where they change no more, softness is all that is
    left to remove, and steps become harder. best: the least residual so far; what is better is put aside.
    """
    w = sweeps_of(table)
    rows = all_rows(w, count, limits)
    softest, hardest = (SETS_SOFTEST, SETS_HARDEST) if law == SETS else (SOFTEST, HARDEST)
    if law == SETS and w.counts[IS_DENSE] == 0:
        softest = TREE_SOFTEST
    found, waited, ease = residual, 0, 1.0
    soon = SOON if w.counts[IS_DENSE] == 0 else PATIENCE
    enough = tolerance if w.counts[IS_DENSE] != 0 else max(tolerance, GOOD)
    save_iterate(w, count, limits, FOUND)
    for step in range(min(FINISHING, most - w.counts[SWEEPS_MADE])):
        copy_rows(w.center, w.eta, rows)
        softness = min(max(math.sqrt(residual), hardest), softest)
        evaluate(table, count, limits, law, max(ease * softness, hardest))
        last, is_settled = residual, step > 0 and w.counts[CHANGED] == 0  # sets before the first are of another solve
        linear_step(table, count, limits, law)
        residual = find_residual(table, count, limits, w.eta_new, w.u_new)
        ease = HARDER * ease if is_settled and STALLED[0] * last < residual <= STALLED[1] * last else 1.0
        waited = 0 if residual < GAIN * found else waited + 1
        copy_rows(w.u, w.u_new, rows)
        copy_rows(w.eta, w.eta_new, rows)
        if residual < found:
            found = residual
            save_iterate(w, count, limits, FOUND)
        if found <= enough or waited >= (soon if found <= SUFFICES else PATIENCE) or not residual < LOST:
            break
    restore_iterate(w, count, limits, FOUND)
    if found < best:
        save_iterate(w, count, limits, BEST)
    return found


@routine
def descend(table, count, limits, softness, tolerance):
    """Newton's method with a line search on (23): `eta`, `u` and `gamma` agree to `tolerance` of the largest impulse."""
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
    """`eta_new` and `u_new` with the laws that `evaluate` linearized: over the matrix of responses, or over the tree."""
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


@inlined
def step_right_side(w, count, limits):
    """f = γ + G (u - u_free) of (19)"""
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
    """Share of the step after which the slope (24) is small; all of it where it falls to the end."""
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
    """(24)"""
    w = sweeps_of(table)
    slope = 0.0
    for c in range(count):
        r, tangents = 3 * c, w.tangents[c]
        if tangents < 0:
            continue
        soft, along = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
        p, q = math.sqrt(soft), math.sqrt(along)
        x, y, z = w.u_new[r] - w.u[r], w.u_new[r + 1] - w.u[r + 1], w.u_new[r + 2] - w.u[r + 2]
        n = w.center[r] - soft * (w.u[r] + share * x + w.shift[c])
        a = w.center[r + 1] - along * (w.u[r + 1] + share * y) if tangents > 0 else 0.0
        b = w.center[r + 2] - along * (w.u[r + 2] + share * z) if tangents > 1 else 0.0
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
