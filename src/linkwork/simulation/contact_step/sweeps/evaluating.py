"""What laws of contact give for velocities, and how far impulses are from Coulomb's law.

convex     γ = P(γ₀ - (u + bias + shift) / R)                                                                      (20)
Coulomb    γ_n = max(0, y_n),  γ_t the nearest to y_t with |γ_t| ≤ μ γ_n,   y = γ₀ - (u + bias) / R                (21)
sets       y = γ₀ - (u + bias) / r with the response r;  then  u_n = 0,  u_t = 0 or γ_t = μ γ_n y_t / |y_t|, but for R  (22)
"""

import math

from linkwork.contact.solver.laws import allowed_by_coulomb, nearest_in_cone, nearest_of_cone
from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import sweeps_of
from linkwork.simulation.contact_step.sweeps.memory import (
    ACROSS,
    ALONG_A,
    ALONG_B,
    CHANGED,
    CONVEX,
    COULOMB,
    LARGEST_SPEED,
    LEAD,
    LOOP_ROWS,
    ROUNDED,
    SETS,
)
from linkwork.simulation.contact_step.sweeps.points import all_rows
from linkwork.spatial.memory import store9

LOOP_SOFT = 1e-6  # softness of loops, of their own response
BY_SPEED = 0.1  # what a speed that is wrong counts, as a part of the largest that met, beside an impulse
LARGEST = 1e3  # of the impulses that would stop one contact alone: more do not make a residual small


@routine
def evaluate(table, count, limits, law, softness):
    """`gamma` and its derivative at u; softness: of each contact's own response.

    SETS: whether contacts press, stick or slide is asked with their own responses, and softness only keeps the step
    solvable.
    """
    w = sweeps_of(table)
    changed = 0
    for c in range(count):
        before = w.mode[c]
        if w.tangents[c] < 0:
            release(w, c)
        elif law == CONVEX:
            evaluate_convex(w, c, softness)
        elif law == COULOMB:
            evaluate_coulomb(w, c, softness)
        else:
            evaluate_sets(w, c, softness)
        changed += 1 if w.mode[c] != before else 0
    asked = 1.0 if law == SETS else softness
    for k in range(limits):
        r = 3 * count + k
        x = 1.0 / (softness * w.soft[count + k])
        acts = w.center[r] - w.u[r] / (asked * w.soft[count + k]) > 0.0
        w.gamma[r] = w.center[r] - x * w.u[r] if acts else 0.0
        changed += 1 if acts != (w.stiff[count + k, 0] != 0.0) else 0
        w.stiff[count + k, 0] = x if acts else 0.0
    w.counts[CHANGED] = changed
    for k in range(w.counts[LOOP_ROWS]):
        r, e = 3 * count + limits + k, count + limits + k
        w.stiff[e, 0] = 1.0 / (LOOP_SOFT * w.soft[e])
        w.gamma[r] = w.center[r] - w.stiff[e, 0] * w.u[r]


@inlined
def release(w, c):
    w.mode[c] = FREE
    w.gamma[3 * c], w.gamma[3 * c + 1], w.gamma[3 * c + 2] = 0.0, 0.0, 0.0
    for k in range(9):
        w.stiff[c, k] = 0.0


@inlined
def evaluate_convex(w, c, softness):
    r, tangents, mu = 3 * c, w.tangents[c], w.friction[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    p, q = math.sqrt(x), math.sqrt(y)
    n = w.center[r] - x * (w.u[r] + w.shift[c])
    a = w.center[r + 1] - y * w.u[r + 1] if tangents > 0 else 0.0
    b = w.center[r + 2] - y * w.u[r + 2] if tangents > 1 else 0.0
    g, w.mode[c], D = nearest_of_cone(mu * p / q, n / p, a / q, b / q)
    w.gamma[r], w.gamma[r + 1], w.gamma[r + 2] = p * g[0], q * g[1], q * g[2]
    store9(w.stiff, c, 0, scaled_block(D, (p, q), (p, q)))
    note_lead(w, c, a, b, x / (1.0 + mu * mu * x / y))
    if tangents < 2:
        leave_out(w, c, tangents)


@inlined
def evaluate_coulomb(w, c, softness):
    r, tangents = 3 * c, w.tangents[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    a = w.center[r + 1] - y * w.u[r + 1] if tangents > 0 else 0.0
    b = w.center[r + 2] - y * w.u[r + 2] if tangents > 1 else 0.0
    g, w.mode[c], D = allowed_by_coulomb(w.friction[c], w.center[r] - x * w.u[r], a, b)
    w.gamma[r], w.gamma[r + 1], w.gamma[r + 2] = g
    store9(w.stiff, c, 0, scaled_block(D, (1.0, 1.0), (x, y)))
    note_lead(w, c, a, b, x)
    if tangents < 2:
        leave_out(w, c, tangents)


@inlined
def evaluate_sets(w, c, softness):
    """A sliding contact has the stiffness μ λ_n / |u_t| across its direction."""
    r, tangents, mu = 3 * c, w.tangents[c], w.friction[c]
    x, y = 1.0 / (softness * w.soft[c]), 1.0 / (softness * w.soft_along[c])
    n = w.center[r] - w.u[r] / w.soft[c]
    if not n > 0.0:
        release(w, c)
        return
    a = w.center[r + 1] - w.u[r + 1] / w.soft_along[c] if tangents > 0 else 0.0
    b = w.center[r + 2] - w.u[r + 2] / w.soft_along[c] if tangents > 1 else 0.0
    size = math.sqrt(a * a + b * b)
    gamma = w.center[r] - x * w.u[r]
    w.gamma[r] = gamma
    if size <= mu * n and mu > 0.0:
        w.mode[c] = STICK
        w.gamma[r + 1] = w.center[r + 1] - y * w.u[r + 1] if tangents > 0 else 0.0
        w.gamma[r + 2] = w.center[r + 2] - y * w.u[r + 2] if tangents > 1 else 0.0
        store9(w.stiff, c, 0, (x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, y))
    else:
        w.mode[c] = SLIDE
        p, q = (a / size, b / size) if size > 0.0 else (0.0, 0.0)
        turn = mu * n / size if size > 0.0 else 0.0
        k = min(turn / ((1.0 - turn) * w.soft_along[c]), y) if turn < 1.0 else y
        k = k if tangents > 1 else 0.0
        u = p * w.u[r + 2] - q * w.u[r + 1]
        w.gamma[r + 1], w.gamma[r + 2] = mu * gamma * p + k * u * q, mu * gamma * q - k * u * p
        store9(w.stiff, c, 0, (x, 0.0, 0.0, mu * p * x, k * q * q, -k * p * q, mu * q * x, -k * p * q, k * p * p))
        w.lead[c, ALONG_A], w.lead[c, ALONG_B], w.lead[c, LEAD], w.lead[c, ACROSS] = p, q, x, k
    if tangents < 2:
        leave_out(w, c, tangents)


@inlined
def note_lead(w, c, a, b, k):
    """Of a contact that slides along (a, b): its direction, stiffness k of its impulse, and that across."""
    size = math.sqrt(a * a + b * b)
    p, q = (a / size, b / size) if size > 0.0 else (0.0, 0.0)
    across = q * q * w.stiff[c, 4] - 2.0 * p * q * w.stiff[c, 5] + p * p * w.stiff[c, 8]
    w.lead[c, ALONG_A], w.lead[c, ALONG_B], w.lead[c, LEAD] = p, q, k
    w.lead[c, ACROSS] = across if w.tangents[c] > 1 else 0.0


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
def leave_out(w, c, tangents):
    """Tangents along which nothing moves carry no impulse."""
    for k in range(3):
        w.stiff[c, 6 + k], w.stiff[c, 3 * k + 2] = 0.0, 0.0
        if tangents < 1:
            w.stiff[c, 3 + k], w.stiff[c, 3 * k + 1] = 0.0, 0.0


@routine
def find_residual(table, count, limits, impulse, u):
    """How far impulses are from Coulomb's law with the velocities u: the largest of all contacts, limits and loops, each

        min( |λ - P(λ - ρ ũ)| / largest impulse,   BY_SPEED |λ - P(λ - ρ ũ)| / ρ / largest speed that met )        (18)

    The largest impulse counts up to a limit that follows from the velocities to be stopped, which no impulse can move.
    Where there is none yet, what would stop the contacts that approach counts instead.
    """
    w = sweeps_of(table)
    largest, given, needed, met = 0.0, 0.0, 0.0, ROUNDED * w.scales[LARGEST_SPEED]
    for c in range(count):
        r = 3 * c
        if w.tangents[c] >= 0:
            rho, a, b = 1.0 / w.response[c], abs(w.free[r + 1]), abs(w.free[r + 2])
            largest = max(largest, abs(impulse[r]))
            own = rho * max(abs(w.free[r]) + abs(w.bias[r]), a, b)
            given = max(given, own)
            if impulse[r] > 0.0 or w.free[r] + w.bias[r] < 0.0:
                needed, met = max(needed, own), max(met, math.sqrt(w.free[r] * w.free[r] + a * a + b * b))
    for r in range(3 * count, 3 * count + limits):
        largest = max(largest, abs(impulse[r]))
        own = (abs(w.free[r]) + abs(w.bias[r])) / w.response[r - 2 * count]
        given = max(given, own)
        if impulse[r] > 0.0 or w.free[r] + w.bias[r] < 0.0:
            needed, met = max(needed, own), max(met, abs(w.free[r]))
    largest = min(largest, LARGEST * given) if largest > 0.0 else needed
    wrong = 0.0
    for c in range(count):
        if w.tangents[c] >= 0:
            off = off_by_contact(w, c, impulse, u)
            wrong = larger_error(wrong, off, off * w.response[c], largest, met)
    for r in range(3 * count, all_rows(w, count, limits)):
        rho = 1.0 / w.response[r - 2 * count]
        off = abs(rho * u[r]) if r >= 3 * count + limits else abs(max(impulse[r] - rho * u[r], 0.0) - impulse[r])
        wrong = larger_error(wrong, off, off / rho, largest, met)
    return wrong


@inlined
def off_by_contact(w, c, impulse, u):
    r, mu, tangents, rho = 3 * c, w.friction[c], w.tangents[c], 1.0 / w.response[c]
    x, y, z = impulse[r], impulse[r + 1], impulse[r + 2]
    a, b = u[r + 1] if tangents > 0 else 0.0, u[r + 2] if tangents > 1 else 0.0
    slip = math.sqrt(a * a + b * b)
    p, q, s = nearest_in_cone(mu, x - rho * (u[r] + mu * slip), y - rho * a, z - rho * b)
    return math.sqrt((p - x) ** 2 + (q - y) ** 2 + (s - z) ** 2)


@inlined
def larger_error(wrong, impulse, speed, largest, met):
    """The larger of what was wrong before and what this impulse or speed is wrong by, as a part; infinite for NaN."""
    part = impulse / largest if largest > 0.0 else impulse
    if met > 0.0:
        part = min(part, BY_SPEED * speed / met)
    return max(wrong, part) if part >= 0.0 else math.inf
