"""Rows of all constraints over the velocities of what is touched, and the Delassus matrix G = J Λ Jᵀ.   (5), (6)"""

from linkwork.contact.contact_list import GAP, NORMAL, POINT, RESTITUTION
from linkwork.contact.geometry.epa import any_normal
from linkwork.contact.solver.problem import LIMIT_GAP, LIMIT_RESTITUTION, SIGN
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import cross3, dot3, scale3, sub3


@inlined
def contact_axes(data, i):
    """Normal and two tangents of a contact."""
    n = load3(data, i, NORMAL)
    t1 = any_normal(n)
    return n, t1, cross3(n, t1)


@routine
def fill_rows(contacts, count, problem, system, h, rest_speed):
    """Writes rows, free velocities and biases of `count` contacts, all limits and all loops; returns how many rows.

    The bias of a contact or limit:  gap / h while apart; e u⁻ (u⁻ < 0) where it closes faster than rest_speed.   (8)
    """
    for i in range(count):
        p = load3(contacts.data, i, POINT)
        n, t1, t2 = contact_axes(contacts.data, i)
        for k in range(3):
            axis = n if k == 0 else (t1 if k == 1 else t2)
            contact_row(problem, system, 3 * i + k, problem.slot[i, 0], problem.slot[i, 1], p, axis)
            system.bias[3 * i + k] = 0.0
        system.bias[3 * i] = normal_bias(
            contacts.data[i, GAP],
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
            slot = problem.loop_slot[i, side]
            system.column[row, side] = 6 * slot if slot >= 0 else -1
        for c in range(12):
            system.J[row, c] = problem.loop_row[i, c]
        system.bias[row] = -problem.loop_rate[i]
        row += 1
    for i in range(row):
        system.u_free[i] = row_velocity(system, i, problem.v_free)
    return row


@inlined
def normal_bias(gap, u_free, u_before, restitution, h, rest_speed):
    apart = max(gap, 0.0) / h
    if u_before < -rest_speed and restitution > 0.0 and u_free + apart <= 0.0:
        return restitution * u_before
    return apart


@inlined
def contact_row(problem, system, row, a, b, p, axis):
    """A direction at a point as a row over the twists of slots a and b."""
    system.width[row] = 6
    system.column[row, 0] = 6 * a if a >= 0 else -1
    system.column[row, 1] = 6 * b if b >= 0 else -1
    for side in range(2):
        slot = a if side == 0 else b
        d = axis if side == 0 else scale3(-1.0, axis)
        if slot >= 0:
            moment = cross3(sub3(p, load3(problem.origin, slot, 0)), d)
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
def fill_delassus(problem, system, rows):
    """W = J Λ and G = W Jᵀ, symmetric.   (6)"""
    Lambda, W, G = problem.Lambda, system.W, system.G
    s = Lambda.shape[0]
    for i in range(rows):
        for k in range(s):
            W[i, k] = 0.0
        for side in range(2):
            first = system.column[i, side]
            if first >= 0:
                for c in range(system.width[i]):
                    f = system.J[i, 6 * side + c]
                    for k in range(s):
                        W[i, k] += f * Lambda[first + c, k]
        for j in range(i + 1):
            g = 0.0
            for side in range(2):
                first = system.column[j, side]
                if first >= 0:
                    for c in range(system.width[j]):
                        g += W[i, first + c] * system.J[j, 6 * side + c]
            G[i, j] = g
            G[j, i] = g


@routine
def gather_impulses(system, rows, x, out):
    """Impulses on the touched bodies and coordinates: Jᵀ x."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(rows):
        for side in range(2):
            first = system.column[i, side]
            if first >= 0:
                for c in range(system.width[i]):
                    out[first + c] += system.J[i, 6 * side + c] * x[i]


@routine
def load_warm_start(contacts, count, problem, x):
    for i in range(count):
        n, t1, t2 = contact_axes(contacts.data, i)
        f = load3(contacts.impulse, i, 0)
        x[3 * i], x[3 * i + 1], x[3 * i + 2] = max(dot3(n, f), 0.0), dot3(t1, f), dot3(t2, f)
    row = 3 * count
    for i in range(problem.limit_impulse.shape[0]):
        x[row + i] = problem.limit_impulse[i]
    row += problem.limit_impulse.shape[0]
    for i in range(problem.loop_impulse.shape[0]):
        x[row + i] = problem.loop_impulse[i]


@routine
def store_impulses(contacts, count, problem, x):
    for i in range(count):
        n, t1, t2 = contact_axes(contacts.data, i)
        for c in range(3):
            contacts.impulse[i, c] = x[3 * i] * n[c] + x[3 * i + 1] * t1[c] + x[3 * i + 2] * t2[c]
    row = 3 * count
    for i in range(problem.limit_impulse.shape[0]):
        problem.limit_impulse[i] = x[row + i]
    row += problem.limit_impulse.shape[0]
    for i in range(problem.loop_impulse.shape[0]):
        problem.loop_impulse[i] = x[row + i]
