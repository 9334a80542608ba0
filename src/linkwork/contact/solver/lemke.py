"""All sets at once, by Lemke's method (1965): for few contacts whose sets neither sweeps nor Newton's steps find.   (22)

With friction along directions d_k in the place of its cone, contacts and limits are a linear complementarity problem
(Stewart and Trinkle 1996):

    0 ≤ λ_n ⊥ u_n ≥ 0        0 ≤ β_k ⊥ d_kᵀu_t + σ ≥ 0        0 ≤ σ ⊥ μ λ_n - Σ β_k ≥ 0        λ_t = Σ β_k d_k

An artificial unknown makes all of them true; exchanges of unknowns, each forced by the one before, drive it out. No sets
are guessed, so none can go in circles. Contacts of planar linkages move along one line: with its two directions the answer
is exact. Others get DIRECTIONS, all within the cone: a start from which Newton's steps find the cone itself.
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.problem import LARGEST_TABLEAU
from linkwork.contact.solver.rows import ways_to_slide
from linkwork.core.jit import inlined, routine

DIRECTIONS = 8  # of friction of a contact that can move along a plane
SMALL_PIVOT = 1e-11  # of the largest of its column: what is not divided by
TIES = 1e-12  # of the scale of the unknowns: what is as far as the nearest
MOST_EXCHANGES = 8  # times the unknowns
SHARED = 1e-9  # of its response: by so much a contact gives way, so that doubled ones share what they carry

# Columns of `member`, one row per unknown: contact, or -1 - limit, or AUXILIARY - contact; number of its direction, -1:
# the normal. Then by place: which unknown is basic in each row, which stands in each column.
OWNER, DIRECTION, BASIC, OUTSIDE = 0, 1, 2, 3
AUXILIARY = -1 << 40


@routine
def solve_by_exchanges(contacts, count, problem, system, rows, x):
    """Impulses x of all contacts and limits; False, and x as it was, where they are too many, or no answer was found.

    There must be no loops.
    """
    if rows > 3 * count + problem.limit_at.shape[0]:
        return False
    n = list_unknowns(contacts, count, problem, system)
    if n < 0:
        return False
    fill_tableau(contacts, count, system, n)
    if not exchange_all(system, n):
        return False
    read_impulses(count, system, n, rows, x)
    return True


@routine
def slides_along_lines(system, count):
    """Whether every contact can slide along one line at most, so that the answer is exact."""
    exact = True
    for i in range(count):
        exact = exact and ways_to_slide(system.G, 3 * i)[0] < 2
    return exact


@routine
def list_unknowns(contacts, count, problem, system):
    """Unknowns of all contacts and limits into `member`; returns how many, -1 where they are too many."""
    member = system.member
    n = 0
    for i in range(count):
        ways, _, _ = ways_to_slide(system.G, 3 * i)
        directions = 0 if contacts.data[i, FRICTION] == 0.0 else DIRECTIONS if ways == 2 else 2 * ways
        if n + directions + 2 > LARGEST_TABLEAU:
            return -1
        for k in range(-1, directions):
            member[n, OWNER], member[n, DIRECTION] = i, k
            n += 1
        if directions > 0:
            member[n, OWNER], member[n, DIRECTION] = AUXILIARY - i, -1
            n += 1
    for k in range(problem.limit_at.shape[0]):
        if n == LARGEST_TABLEAU:
            return -1
        member[n, OWNER], member[n, DIRECTION] = -1 - k, -1
        n += 1
    return n


@inlined
def row_over_contact(system, count, a):
    """Unknown a as a row of the system: the first of three, or of one, and its coefficients, scaled to a response of one.

    All unknowns of a contact have one scale, so that its cone stays as it is.
    """
    G = system.G
    owner, direction = system.member[a, OWNER], system.member[a, DIRECTION]
    if owner < 0:
        r = 3 * count - 1 - owner
        return r, 1.0 / math.sqrt(max(G[r, r], 1e-300)), 0.0, 0.0
    r = 3 * owner
    scale = 1.0 / math.sqrt(max(G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300))
    if direction < 0:
        return r, scale, 0.0, 0.0
    ways, p, q = ways_to_slide(G, r)
    if ways == 2:
        angle = 2.0 * math.pi * direction / DIRECTIONS
        p, q = math.cos(angle), math.sin(angle)
    elif direction == 1:
        p, q = -p, -q
    return r, 0.0, scale * p, scale * q


@routine
def fill_tableau(contacts, count, system, n):
    """w = q + M z + z₀, row by row: M, a column of ones for the artificial unknown z₀, and q."""
    T, G, member = system.tableau, system.G, system.member
    for a in range(n):
        member[a, BASIC], member[a, OUTSIDE] = -1 - a, a  # basic at first: w, written -1 - a
        for b in range(n + 2):
            T[a, b] = 0.0
        T[a, n] = 1.0
        if member[a, OWNER] <= AUXILIARY:
            i = AUXILIARY - member[a, OWNER]
            for b in range(n):
                if member[b, OWNER] == i:
                    T[a, b] = -1.0 if member[b, DIRECTION] >= 0 else contacts.data[i, FRICTION]
            continue
        r, a0, a1, a2 = row_over_contact(system, count, a)
        T[a, n + 1] = a0 * (system.u_free[r] + system.bias[r])
        if a1 != 0.0 or a2 != 0.0:
            T[a, n + 1] += a1 * (system.u_free[r + 1] + system.bias[r + 1])
            T[a, n + 1] += a2 * (system.u_free[r + 2] + system.bias[r + 2])
        for b in range(n):
            if member[b, OWNER] <= AUXILIARY:
                T[a, b] = 1.0 if member[a, DIRECTION] >= 0 and member[b, OWNER] == AUXILIARY - member[a, OWNER] else 0.0
                continue
            s, b0, b1, b2 = row_over_contact(system, count, b)
            T[a, b] = response(G, r, a0, a1, a2, s, b0, b1, b2)
        T[a, a] += SHARED
    member[n, OUTSIDE] = n


@inlined
def response(G, r, a0, a1, a2, s, b0, b1, b2):
    """aᵀ G b, rows that begin at r and s; coefficients of rows that are not there are zero."""
    value = a0 * b0 * G[r, s] if a0 != 0.0 and b0 != 0.0 else 0.0
    if b1 != 0.0 or b2 != 0.0:
        if a0 != 0.0:
            value += a0 * (b1 * G[r, s + 1] + b2 * G[r, s + 2])
        if a1 != 0.0 or a2 != 0.0:
            value += a1 * (b1 * G[r + 1, s + 1] + b2 * G[r + 1, s + 2])
            value += a2 * (b1 * G[r + 2, s + 1] + b2 * G[r + 2, s + 2])
    elif (a1 != 0.0 or a2 != 0.0) and b0 != 0.0:
        value += b0 * (a1 * G[r + 1, s] + a2 * G[r + 2, s])
    return value


@routine
def exchange_all(system, n):
    """Exchanges until the artificial unknown is out; False where it stays."""
    T, member = system.tableau, system.member
    row, least = -1, 0.0
    for a in range(n):
        if T[a, n + 1] < least:
            row, least = a, T[a, n + 1]
    if row < 0:
        return True  # nothing presses
    scale = -least
    column = n
    for _ in range(MOST_EXCHANGES * n):
        left = member[row, BASIC]
        member[row, BASIC], member[column, OUTSIDE] = member[column, OUTSIDE], left
        exchange(T, n, row, column)
        if left == n:
            return True
        partner = -1 - left  # of w the z, of z the w
        column = -1
        for c in range(n + 1):
            if member[c, OUTSIDE] == partner:
                column = c
        row = next_row(T, member, n, column, scale)
        if row < 0:
            return False
    return False


@inlined
def next_row(T, member, n, column, scale):
    """The basic unknown that is zero first as that of a column grows; of several the artificial one, or the safest."""
    steepest = 0.0
    for a in range(n):
        steepest = max(steepest, -T[a, column])
    nearest = math.inf
    for a in range(n):
        if -T[a, column] > SMALL_PIVOT * steepest:
            nearest = min(nearest, max(T[a, n + 1], 0.0) / -T[a, column])
    row = -1
    for a in range(n):
        if -T[a, column] > SMALL_PIVOT * steepest:
            far = max(T[a, n + 1], 0.0) + T[a, column] * nearest
            if far <= TIES * scale:
                if member[a, BASIC] == n:
                    return a
                if row < 0 or T[a, column] < T[row, column]:
                    row = a
    return row


@routine
def exchange(T, n, row, column):
    """The basic unknown of a row changes places with that of a column."""
    inverse = 1.0 / T[row, column]
    for b in range(n + 2):
        T[row, b] *= -inverse
    T[row, column] = inverse
    for a in range(n):
        factor = T[a, column]
        if a != row and factor != 0.0:
            T[a, column] = 0.0
            for b in range(n + 2):
                T[a, b] += factor * T[row, b]


@routine
def read_impulses(count, system, n, rows, x):
    """The impulses of the unknowns that are basic."""
    T, member = system.tableau, system.member
    for r in range(rows):
        x[r] = 0.0
    for a in range(n):
        z = member[a, BASIC]
        if 0 <= z < n and member[z, OWNER] > AUXILIARY:
            value = max(T[a, n + 1], 0.0)
            r, c0, c1, c2 = row_over_contact(system, count, z)
            x[r] += c0 * value
            if c1 != 0.0 or c2 != 0.0:
                x[r + 1] += c1 * value
                x[r + 2] += c2 * value
