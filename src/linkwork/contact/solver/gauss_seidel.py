"""One sweep over all constraints, each solved exactly against the rest.   (10)

Diagonal blocks are stiffened by a hair (`SOFT` of their mean). A sweep keeps the impulse it starts from as its reference,
so that this does not move the solution; it makes blocks without response in some direction (planar linkages) and doubled
contacts solvable.
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.cone import solve_cone
from linkwork.core.jit import inlined, routine

SOFT = 1e-10


@inlined
def row_dot(G, i, x, rows):
    u = 0.0
    for j in range(rows):
        u += G[i, j] * x[j]
    return u


@routine
def sweep(contacts, count, problem, system, rows, x):
    """Updates x in place; returns the largest change and the largest impulse."""
    G, free, bias = system.G, system.u_free, system.bias
    change, largest = 0.0, 0.0
    for i in range(count):
        r = 3 * i
        soft = SOFT * (G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2]) / 3.0 + 1e-300
        K = (G[r, r] + soft, G[r, r + 1], G[r, r + 2], G[r + 1, r + 1] + soft, G[r + 1, r + 2], G[r + 2, r + 2] + soft)
        x0, x1, x2 = x[r], x[r + 1], x[r + 2]
        b0 = free[r] + bias[r] + row_dot(G, r, x, rows) - K[0] * x0 - K[1] * x1 - K[2] * x2
        b1 = free[r + 1] + row_dot(G, r + 1, x, rows) - K[1] * x0 - K[3] * x1 - K[4] * x2
        b2 = free[r + 2] + row_dot(G, r + 2, x, rows) - K[2] * x0 - K[4] * x1 - K[5] * x2
        y0, y1, y2, state = solve_cone(K, (b0, b1, b2), contacts.data[i, FRICTION])
        x[r], x[r + 1], x[r + 2] = y0, y1, y2
        system.state[i] = state
        change = max(change, (y0 - x0) ** 2 + (y1 - x1) ** 2 + (y2 - x2) ** 2)
        largest = max(largest, y0 * y0 + y1 * y1 + y2 * y2)
    row = 3 * count
    for _ in range(problem.limit_at.shape[0]):
        u = free[row] + bias[row] + row_dot(G, row, x, rows)
        y = max(x[row] - u / (G[row, row] * (1.0 + SOFT) + 1e-300), 0.0)
        change = max(change, (y - x[row]) ** 2)
        largest = max(largest, y * y)
        x[row] = y
        row += 1
    for k in range(problem.loop_first.shape[0] - 1):
        first, last = problem.loop_first[k], problem.loop_first[k + 1]
        moved, size = solve_loop(system, row + first, last - first, rows, x)
        change, largest = max(change, moved), max(largest, size)
    return math.sqrt(change), math.sqrt(largest)


@routine
def solve_loop(system, row, size, rows, x):
    """A bilateral block: u = 0 by Cholesky's factors of its diagonal block; squared change and size of its impulse."""
    G, L = system.G, system.small
    trace = 0.0
    for i in range(size):
        trace += G[row + i, row + i]
    for i in range(size):
        L[8, i] = -(system.u_free[row + i] + system.bias[row + i] + row_dot(G, row + i, x, rows))
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
    return moved, total
