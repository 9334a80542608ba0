"""One contact, limit and row of a loop after the other, each exactly with the others as they are (Gauss and Seidel).

Newton's steps ask for all contacts at once what presses, sticks and slides, and go round in circles where one of them
would press itself deeper by sliding (Painlevé). Contacts alone always have an answer: a few rounds over all of them lead
Newton's steps to where they converge. It needs the matrix of responses.
"""

from linkwork.contact.solver.products import add_row
from linkwork.contact.solver.single import solve_single
from linkwork.core.jit import inlined, routine
from linkwork.simulation.touching.arrays import sweeps_of, system_of
from linkwork.simulation.touching.sweeps.dense import dense_velocities
from linkwork.simulation.touching.sweeps.points import all_rows

SETTLED = 1e-9  # of the largest impulse: changes of a round after which no more are made


@routine
def go_round(table, count, limits, rounds):
    """Up to so many rounds from (eta, u) on."""
    w = sweeps_of(table)
    G = system_of(table).G
    rows = all_rows(w, count, limits)
    for _ in range(rounds):
        moved, largest = 0.0, 0.0
        for c in range(count):
            if w.ways[c] >= 0:
                moved = max(moved, renew_contact(w, G, rows, c))
                largest = max(largest, w.eta[3 * c])
        for r in range(3 * count, rows):
            if w.soft[r - 2 * count] < 1e300:
                value = w.eta[r] - w.u[r] / G[r, r]
                moved = max(moved, renew_row(w, G, rows, r, value if r >= 3 * count + limits else max(value, 0.0)))
                largest = max(largest, abs(w.eta[r]))
        if not moved > SETTLED * largest:
            break
    dense_velocities(table, count, limits, w.eta, w.u)


@inlined
def renew_contact(w, G, rows, c):
    """The impulse of contact c for the velocity that the others give it; returns by how much it changed."""
    r = 3 * c
    x, y, z = w.eta[r], w.eta[r + 1], w.eta[r + 2]
    K = (G[r, r], G[r, r + 1], G[r, r + 2], G[r + 1, r + 1], G[r + 1, r + 2], G[r + 2, r + 2])
    q = (
        w.u[r] - K[0] * x - K[1] * y - K[2] * z,
        w.u[r + 1] - K[1] * x - K[3] * y - K[4] * z,
        w.u[r + 2] - K[2] * x - K[4] * y - K[5] * z,
    )
    n, a, b = solve_single(w.friction[c], w.ways[c], K, q, (y, z))
    x, y, z = n - x, a - y, b - z
    moved = max(abs(x), abs(y), abs(z))
    if moved > 0.0:
        w.eta[r], w.eta[r + 1], w.eta[r + 2] = n, a, b
        for k in range(rows):
            w.u[k] += x * G[r, k] + y * G[r + 1, k] + z * G[r + 2, k]
    return moved


@inlined
def renew_row(w, G, rows, r, value):
    change = value - w.eta[r]
    if change != 0.0:
        w.eta[r] = value
        add_row(G, r, change, rows, w.u)
    return abs(change)
