"""Pseudo impulses that take penetration back: they move bodies, not velocities.   (14)"""

import math

from linkwork.contact.contact_list import GAP
from linkwork.contact.solver.few import MOST_FEW, ROW, solve_few
from linkwork.contact.solver.gauss_seidel import SOFT, solve_loop
from linkwork.contact.solver.problem import LIMIT_GAP, PENETRATION
from linkwork.contact.solver.products import add_row
from linkwork.contact.solver.rows import gather_impulses
from linkwork.core.jit import inlined, routine

PUSH_SWEEPS = 50
PUSH_TOLERANCE = 1e-4  # of penetration to be taken back, relative: the next step takes the rest
GUESSES = 5  # sets whose pseudo impulses are solved for before they are swept


@routine
def push_apart(contacts, count, problem, system, rows, h, part, slack):
    """Pseudo impulses, normal only.   (14)

    u ≥ part · depth / h for what overlaps by more than `slack`, u ≥ -gap / h for the rest; loops stand still.
    """
    x, u, G = system.x, system.u, system.G
    limits = problem.limit_at.shape[0]
    deepest = 0.0
    for i in range(count):
        deepest = max(deepest, -contacts.data[i, GAP])
    system.report[PENETRATION] = deepest
    deepest = max(deepest - slack, 0.0)
    for i in range(limits):
        deepest = max(deepest, -problem.limit[i, LIMIT_GAP])
    for i in range(rows):
        x[i] = 0.0
        u[i] = 0.0
    if deepest > 0.0 and part > 0.0:
        for k in range(count + limits):
            gap = contacts.data[k, GAP] if k < count else problem.limit[k - count, LIMIT_GAP]
            if k < count and gap < 0.0:
                gap = min(gap + slack, 0.0)
            system.best[k] = -part * gap / h if gap < 0.0 else -gap / h
        guess_pushes(problem, system, count, rows)
        for _ in range(PUSH_SWEEPS):
            moved = 0.0
            for k in range(count + limits):
                r = row_of(k, count)
                y = max(x[r] - (u[r] - system.best[k]) / max(G[r, r], 1e-300), 0.0)
                if y != x[r]:
                    moved = max(moved, abs(y - x[r]) * G[r, r])
                    add_row(G, r, y - x[r], rows, u)
                    x[r] = y
            for k in range(problem.loop_first.shape[0] - 1):
                first = problem.loop_first[k]
                moved = max(
                    moved, hold_loop(system, 3 * count + limits + first, problem.loop_first[k + 1] - first, rows)
                )
            if moved <= PUSH_TOLERANCE * part * deepest / h:
                break
    gather_impulses(system, rows, x, problem.push)


@routine
def guess_pushes(problem, system, count, rows):
    """Where the sweeps of `push_apart` begin: Newton's method for the set of what is pushed.

    system.best: what is wanted of each contact and limit. A sweep then finds nothing left to do, but for rare sets.
    More than MOST_FEW are left to the sweeps.
    """
    x, u, G, M, unknown = system.x, system.u, system.G, system.few, system.unknown
    n = -1
    for _ in range(GUESSES):
        before, n, is_same = n, 0, True
        for k in range(count + problem.limit_at.shape[0]):
            r = row_of(k, count)
            if x[r] - (u[r] - system.best[k]) / max(G[r, r], 1e-300) > 0.0:
                is_same = is_same and n < before and unknown[n] == k
                unknown[n] = k
                n += 1
        if (is_same and n == before) or n > MOST_FEW:
            break
        for a in range(n):
            ra = row_of(unknown[a], count)
            for b in range(n):
                M[ROW * a + b] = G[ra, row_of(unknown[b], count)]
            M[ROW * a + a] *= 1.0 + SOFT
            M[ROW * a + n] = system.best[unknown[a]]
        if not solve_few(M, n):
            break
        put_pushes(system, count, rows, n)
    for k in range(count + problem.limit_at.shape[0]):
        r = row_of(k, count)
        if x[r] < 0.0:  # the set was not found: nothing is pulled
            add_row(G, r, -x[r], rows, u)
            x[r] = 0.0


@inlined
def put_pushes(system, count, rows, n):
    """The n unknowns in `few` as pseudo impulses, the others zero, and the velocities that they give."""
    for r in range(rows):
        system.x[r], system.u[r] = 0.0, 0.0
    for a in range(n):
        r = row_of(system.unknown[a], count)
        system.x[r] = system.few[ROW * a + n]
        add_row(system.G, r, system.x[r], rows, system.u)


@inlined
def row_of(k, count):
    """Row of the normal of contact k, or of limit k - count."""
    return 3 * k if k < count else 2 * count + k


@routine
def hold_loop(system, row, size, rows):
    """A loop block of the pseudo impulses: no motion of its rows."""
    moved, _ = solve_loop(system, row, size, rows, system.x)
    return math.sqrt(moved) * system.G[row, row]
