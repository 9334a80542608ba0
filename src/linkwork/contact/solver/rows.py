"""Rows of all constraints over the velocities of contact bodies, and the Delassus matrix G = J Λ Jᵀ.   (13), (14)"""

import math

from linkwork.contact.contact_list import AIMED, ALONG, DIRECTED, GAP, HU, ISOTROPIC, NORMAL, PARTS, POINT, RESTITUTION
from linkwork.contact.solver.problem import LIMIT_GAP, LIMIT_RESTITUTION, SIGN
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import any_normal, cross3, dot3, scale3, sub3

NO_RESPONSE = 1e-13  # of the response of a contact: what rounding leaves of a direction in which nothing moves
UPRIGHT = 1e-6  # sine of the angle between a normal and the direction of friction, below which there is none
TOGETHER = 1e-11  # of the responses of both sides by themselves: what rounding leaves where they only move together


@inlined
def contact_axes(data, i):
    """Normal and two tangents of a contact.

    Those of friction with a direction lie along and across it and are scaled, so that the ellipse of its forces is a disk:
    velocities along them are scaled likewise, and forces are sums of scaled tangents.   (15)
    """
    n = load3(data, i, NORMAL)
    t1 = any_normal(n)
    t2 = cross3(n, t1)
    if data[i, DIRECTED] != ISOTROPIC:
        t1 = along_tangent(data, i, n)
        t2 = scale3(data[i, AIMED + 1], cross3(n, t1))
        t1 = scale3(data[i, AIMED], t1)
    return n, t1, t2


@inlined
def along_tangent(data, i, n):
    """The direction of friction in the tangent plane, of length one; any where it stands upright on it."""
    along = load3(data, i, ALONG)
    along = sub3(along, scale3(dot3(n, along), n))
    size = math.sqrt(dot3(along, along))
    return scale3(1.0 / size, along) if size > UPRIGHT else any_normal(n)


@inlined
def aim_friction(data, i, v):
    """Scales of the tangents for a contact that slides with the velocity v (world axes) of a against b.   (15)

    ellipse: the coefficients themselves, that of the side to which it slides. hu: f = -N A û is the force of an ellipse
    with other coefficients, √(A (û·A û)), for this direction û.
    """
    n = load3(data, i, NORMAL)
    t = along_tangent(data, i, n)
    x, y = dot3(t, v), dot3(cross3(n, t), v)
    a, b = data[i, PARTS] if x >= 0.0 else data[i, PARTS + 1], data[i, PARTS + 2]
    if data[i, DIRECTED] == HU:
        square = x * x + y * y
        part = (a * x * x + b * y * y) / square if square > 0.0 else a
        a, b = math.sqrt(a * part), math.sqrt(b * part)
    data[i, AIMED], data[i, AIMED + 1] = a, b


@inlined
def part_along(axis, f):
    """How many times `axis`, of any length, is in f."""
    square = dot3(axis, axis)
    return dot3(axis, f) / square if square > 0.0 else 0.0


@routine
def fill_rows(contacts, count, problem, system, h, rest_speed, slack):
    """Writes rows, free velocities and biases of `count` contacts, all limits and all loops; returns how many rows.

    The bias of a contact or limit:  gap / h while apart; e u⁻ (u⁻ < 0) where it closes faster than rest_speed.   (17)
    Gaps of contacts below `slack` [m] count as none, see `gap_left`.
    """
    for i in range(count):
        p = load3(contacts.data, i, POINT)
        n, t1, t2 = contact_axes(contacts.data, i)
        for k in range(3):
            axis = n if k == 0 else (t1 if k == 1 else t2)
            contact_row(problem, system, 3 * i + k, problem.body_number[i, 0], problem.body_number[i, 1], p, axis)
            system.bias[3 * i + k] = 0.0
        system.bias[3 * i] = normal_bias(
            gap_left(contacts.data[i, GAP], slack, shares_its_body(problem, count, i)),
            row_velocity(system, 3 * i, problem.v_free),
            row_velocity(system, 3 * i, problem.v_before),
            contacts.data[i, RESTITUTION],
            h,
            rest_speed,
        )
    row = 3 * count
    for i in range(problem.limit_at.shape[0]):
        system.column[row, 0], system.column[row, 1], system.width[row] = problem.limit_at[i], -1, 1
        system.J[row, 0] = problem.limit[i, SIGN]
        system.bias[row] = normal_bias(
            problem.limit[i, LIMIT_GAP],
            row_velocity(system, row, problem.v_free),
            row_velocity(system, row, problem.v_before),
            problem.limit[i, LIMIT_RESTITUTION],
            h,
            rest_speed,
        )
        row += 1
    for i in range(problem.loop_row.shape[0]):
        system.width[row] = 6
        for side in range(2):
            body_number = problem.loop_body_number[i, side]
            system.column[row, side] = 6 * body_number if body_number >= 0 else -1
        for c in range(12):
            system.J[row, c] = problem.loop_row[i, c]
        system.bias[row] = -problem.loop_rate[i]
        row += 1
    for i in range(row):
        system.u_free[i] = row_velocity(system, i, problem.v_free)
    return row


@inlined
def shares_its_body(problem, count, i):
    """Whether a contact before or after number i is between the same two bodies."""
    a, b = problem.body_number[i, 0], problem.body_number[i, 1]
    before = i > 0 and problem.body_number[i - 1, 0] == a and problem.body_number[i - 1, 1] == b
    return before or (i + 1 < count and problem.body_number[i + 1, 0] == a and problem.body_number[i + 1, 1] == b)


@inlined
def gap_left(gap, slack, is_shared):
    """What may be used up of a gap: bodies come to rest `slack` apart.

    Where a rigid body rests on several points, differences of nanometres would decide which of them press, and sweeps
    would move impulses from one to another at a constant rate, hundreds of times: there gaps up to twice the slack are
    none.
    """
    if is_shared and gap <= 2.0 * slack:
        return 0.0
    return gap - slack


@inlined
def normal_bias(gap, u_free, u_before, restitution, h, rest_speed):
    apart = max(gap, 0.0) / h
    if u_before < -rest_speed and restitution > 0.0 and u_free + apart <= 0.0:
        return restitution * u_before
    return apart


@inlined
def contact_row(problem, system, row, a, b, p, axis):
    """A direction at a point as a row over the twists of contact bodies a and b."""
    system.width[row] = 6
    system.column[row, 0] = 6 * a if a >= 0 else -1
    system.column[row, 1] = 6 * b if b >= 0 else -1
    for side in range(2):
        body_number = a if side == 0 else b
        d = axis if side == 0 else scale3(-1.0, axis)
        if body_number >= 0:
            moment = cross3(sub3(p, load3(problem.origin, body_number, 0)), d)
            for c in range(3):
                system.J[row, 6 * side + c] = moment[c]
                system.J[row, 6 * side + 3 + c] = d[c]


@inlined
def row_velocity(system, row, v):
    """J v of one row."""
    u = 0.0
    for side in range(2):
        first = system.column[row, side]
        if first >= 0:
            for c in range(system.width[row]):
                u += system.J[row, 6 * side + c] * v[first + c]
    return u


@routine
def fill_delassus(problem, system, count, rows):
    """W = J Λ and G = W Jᵀ, symmetric.   (14)  The three rows of a contact go together: they read the same responses."""
    Lambda, W, G = problem.Lambda, system.W, system.G
    wide = 0  # numbers that contacts up to this one ask for
    for i in range(count):
        wide = max(wide, 6 + max(system.column[3 * i, 0], system.column[3 * i, 1]))
        times_responses_of_contact(Lambda, system, 3 * i, wide, W)
        for j in range(i + 1):
            contact_block(system, 3 * i, 3 * j)
    for i in range(3 * count, rows):
        times_responses(Lambda, system, i, W)
        for j in range(i + 1):
            g = 0.0
            for side in range(2):
                first = system.column[j, side]
                if first >= 0:
                    if system.width[j] == 6:
                        g += six_products(W, i, first, system.J, j, 6 * side)
                    else:
                        g += W[i, first] * system.J[j, 6 * side]
            G[i, j] = g
            G[j, i] = g


@inlined
def own_responses(Lambda, system, r):
    """Σ J_s Λ_ss J_sᵀ of the sides s of row r, as if the other one stood still."""
    if system.column[r, 0] < 0 or system.column[r, 1] < 0:  # against the world they are the response
        return system.G[r, r]
    total = 0.0
    for side in range(2):
        first, o = system.column[r, side], 6 * side
        if first >= 0:
            for a in range(6):
                for b in range(6):
                    total += system.J[r, o + a] * Lambda[first + a, first + b] * system.J[r, o + b]
    return total


@inlined
def times_responses_of_contact(Lambda, system, r, wide, W):
    """Rows r, r+1, r+2 of the first `wide` columns of W = J Λ."""
    J = system.J
    written = False
    for side in range(2):
        first, o = system.column[r, side], 6 * side
        if first < 0:
            continue
        a0, a1, a2, a3, a4, a5 = J[r, o], J[r, o + 1], J[r, o + 2], J[r, o + 3], J[r, o + 4], J[r, o + 5]
        t = r + 1
        b0, b1, b2, b3, b4, b5 = J[t, o], J[t, o + 1], J[t, o + 2], J[t, o + 3], J[t, o + 4], J[t, o + 5]
        t = r + 2
        c0, c1, c2, c3, c4, c5 = J[t, o], J[t, o + 1], J[t, o + 2], J[t, o + 3], J[t, o + 4], J[t, o + 5]
        for k in range(wide):
            x0, x1, x2 = Lambda[first, k], Lambda[first + 1, k], Lambda[first + 2, k]
            x3, x4, x5 = Lambda[first + 3, k], Lambda[first + 4, k], Lambda[first + 5, k]
            a = a0 * x0 + a1 * x1 + a2 * x2 + (a3 * x3 + a4 * x4 + a5 * x5)
            b = b0 * x0 + b1 * x1 + b2 * x2 + (b3 * x3 + b4 * x4 + b5 * x5)
            c = c0 * x0 + c1 * x1 + c2 * x2 + (c3 * x3 + c4 * x4 + c5 * x5)
            if written:
                a, b, c = a + W[r, k], b + W[r + 1, k], c + W[r + 2, k]
            W[r, k], W[r + 1, k], W[r + 2, k] = a, b, c
        written = True
    if not written:
        for k in range(wide):
            W[r, k], W[r + 1, k], W[r + 2, k] = 0.0, 0.0, 0.0


@inlined
def contact_block(system, r, q):
    """Rows r to r+2 and columns q to q+2 of G, and their mirror image."""
    W, G, J = system.W, system.G, system.J
    for a in range(3):
        x, y, z = 0.0, 0.0, 0.0
        for side in range(2):
            at, o = system.column[q, side], 6 * side
            if at >= 0:
                x += six_products(W, r + a, at, J, q, o)
                y += six_products(W, r + a, at, J, q + 1, o)
                z += six_products(W, r + a, at, J, q + 2, o)
        G[r + a, q], G[r + a, q + 1], G[r + a, q + 2] = x, y, z
        G[q, r + a], G[q + 1, r + a], G[q + 2, r + a] = x, y, z


@inlined
def times_responses(Lambda, system, i, W):
    """Row i of W = J Λ, six rows of Λ at a time."""
    s = W.shape[1]
    written = False
    for side in range(2):
        first, o = system.column[i, side], 6 * side
        if first < 0:
            continue
        J = system.J
        if system.width[i] == 6:
            a, b, c, d, e, f = J[i, o], J[i, o + 1], J[i, o + 2], J[i, o + 3], J[i, o + 4], J[i, o + 5]
            for k in range(s):
                w = a * Lambda[first, k] + b * Lambda[first + 1, k] + c * Lambda[first + 2, k]
                w += d * Lambda[first + 3, k] + e * Lambda[first + 4, k] + f * Lambda[first + 5, k]
                W[i, k] = W[i, k] + w if written else w
        else:
            for k in range(s):
                w = J[i, o] * Lambda[first, k]
                W[i, k] = W[i, k] + w if written else w
        written = True
    if not written:
        for k in range(s):
            W[i, k] = 0.0


@inlined
def six_products(W, i, at, J, j, o):
    first = W[i, at] * J[j, o] + W[i, at + 1] * J[j, o + 1] + W[i, at + 2] * J[j, o + 2]
    return first + (W[i, at + 3] * J[j, o + 3] + W[i, at + 4] * J[j, o + 4] + W[i, at + 5] * J[j, o + 5])
