"""One sweep over all constraints, each solved exactly against the rest.   (10)

Diagonal blocks are stiffened by a hair (`SOFT` of their mean). A sweep keeps the impulse it starts from as its reference,
so that this does not move the solution; it makes doubled contacts solvable. Velocities are kept up with the impulses, so
that a constraint whose impulse does not change costs nothing.
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.cone import solve_cone
from linkwork.contact.solver.products import add_row, add_three_rows, times_delassus
from linkwork.core.jit import inlined, routine

TINY = 1e-200  # of squares: what can be divided by
SOFT = 1e-7  # far above what rounding leaves of a response that is none, far below responses that matter


@inlined
def block_softness(G, r):
    """What the block of the contact with rows r, r+1, r+2 is stiffened by."""
    return SOFT * (G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2]) / 3.0 + 1e-300


@routine
def velocities(system, rows, x):
    """system.u = u_free + bias + G x."""
    times_delassus(system.G, x, rows, system.u)
    for i in range(rows):
        system.u[i] += system.u_free[i] + system.bias[i]


@routine
def sweep(contacts, count, problem, system, rows, x):
    """Updates x in place; returns the largest change and the largest impulse."""
    G, u = system.G, system.u
    velocities(system, rows, x)
    change, largest = 0.0, 0.0
    for i in range(count):
        r = 3 * i
        soft = block_softness(G, r)
        K = (G[r, r] + soft, G[r, r + 1], G[r, r + 2], G[r + 1, r + 1] + soft, G[r + 1, r + 2], G[r + 2, r + 2] + soft)
        x0, x1, x2 = x[r], x[r + 1], x[r + 2]
        b0 = u[r] - K[0] * x0 - K[1] * x1 - K[2] * x2
        b1 = u[r + 1] - K[1] * x0 - K[3] * x1 - K[4] * x2
        b2 = u[r + 2] - K[2] * x0 - K[4] * x1 - K[5] * x2
        y0, y1, y2, state = solve_cone(K, (b0, b1, b2), contacts.data[i, FRICTION], slip_of(x1, x2, u[r + 1], u[r + 2]))
        x[r], x[r + 1], x[r + 2] = y0, y1, y2
        system.state[i] = state
        moved = (y0 - x0) ** 2 + (y1 - x1) ** 2 + (y2 - x2) ** 2
        if moved > 0.0:
            add_three_rows(G, r, y0 - x0, y1 - x1, y2 - x2, rows, u)
        change = max(change, moved)
        largest = max(largest, y0 * y0 + y1 * y1 + y2 * y2)
    row = 3 * count
    for _ in range(problem.limit_at.shape[0]):
        y = max(x[row] - u[row] / (G[row, row] * (1.0 + SOFT) + 1e-300), 0.0)
        if y != x[row]:
            add_row(G, row, y - x[row], rows, u)
        change = max(change, (y - x[row]) ** 2)
        largest = max(largest, y * y)
        x[row] = y
        row += 1
    for k in range(problem.loop_first.shape[0] - 1):
        first, last = problem.loop_first[k], problem.loop_first[k + 1]
        moved, size = solve_loop(system, row + first, last - first, rows, x)
        change, largest = max(change, moved), max(largest, size)
    return math.sqrt(change), math.sqrt(largest)


@inlined
def slip_of(x1, x2, u1, u2):
    """κ ≥ 0 with which u_t = -κ λ_t fits best."""
    size = x1 * x1 + x2 * x2
    return max(-(x1 * u1 + x2 * u2) / size, 0.0) if size > TINY else 0.0


@routine
def solve_loop(system, row, size, rows, x):
    """A bilateral block: u = 0 by Cholesky's factors of its diagonal block; squared change and size of its impulse.

    system.u follows.
    """
    G, L = system.G, system.small
    trace = 0.0
    for i in range(size):
        trace += G[row + i, row + i]
    for i in range(size):
        L[8, i] = -system.u[row + i]
        for j in range(i + 1):
            value = G[row + i, row + j] + (SOFT * trace / size + 1e-300 if i == j else 0.0)
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(max(value, 1e-300)) if i == j else value / L[j, j]
    for i in range(size):
        for k in range(i):
            L[8, i] -= L[i, k] * L[8, k]
        L[8, i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            L[8, i] -= L[k, i] * L[8, k]
        L[8, i] /= L[i, i]
    moved, total = 0.0, 0.0
    for i in range(size):
        moved += L[8, i] * L[8, i]
        x[row + i] += L[8, i]
        total += x[row + i] * x[row + i]
        add_row(G, row + i, L[8, i], rows, system.u)
    return moved, total
