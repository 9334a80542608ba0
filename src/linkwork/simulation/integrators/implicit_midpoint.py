"""The implicit midpoint rule on the joint manifold, with its energy kept in balance: for long conservative runs.

    v⁺ = v + h q̈(q ⊕ ½ h v̄, v̄) + 2 μ v̄,   q⁺ = q ⊕ h v̄   with v̄ = ½ (v + v⁺)                        (3)  docs/integrators.md

Order 2, symmetric in time. The rule alone (μ = 0) lets the energy of chaotic motions wander where the mass matrix changes
with q. As in Gonzalez's discrete gradients (1996), a change of speed along the motion, 2 μ v̄, makes up for what is missing:
energy (kinetic, gravity, joint springs) changes by the work of everything else, taken at the midpoint. It is of third order
in h; a step that cannot be solved with it is made without. Each iteration is a Newton step in the springs, dampers and
motors of joints (equation 2 of `accelerate`) and a fixed-point step in all else, accelerated by Anderson's method.
"""

import math

import numpy as np

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import TWIST
from linkwork.model.layout import COMPOUND, DAMPING, DOF, HELICAL, KIND, Q, V
from linkwork.simulation import moving as mv
from linkwork.simulation.energy import energies
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.loading.accelerate import AT_MIDPOINT, load_wrench
from linkwork.simulation.loading.applied_efforts import record_joints
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.spatial.memory import load6
from linkwork.spatial.vectors import dot6

EPS = float(np.finfo(float).eps)
SOLVE_TOLERANCE = 1e-12  # of the equation, relative to the velocities
MAX_ITERATIONS = 60
# The balance is not corrected below rounding: 4 ε of the energies involved, or 64 ε where the linkage moves so slowly that
# correcting rounding would change its speed by more than STEADY.
ENERGY_ROUNDING, SLOW_ROUNDING = 4.0 * EPS, 64.0 * EPS
STEADY = 1e-12
HISTORY = 5  # former iterates that speed up the solution
ROUNDING_FLOOR = 1e-9  # a residual that no longer falls, but lies below this part of the velocities, is rounding
PATIENCE = 6  # iterations without progress that count as "no longer falls"
SMALLEST_PART = 1e-10  # of a column of Anderson's system that its predecessors do not explain

GUESS, RESIDUALS, IMAGES, BASIS = (
    0,
    1,
    7,
    13,
)  # rows of `stages`: guess; six residuals; six images; an orthonormal basis


@inlined
def begin(table, h):
    s = moving_of(table)
    kinetic, potential = energies(table)
    s.numbers[mv.KINETIC_START] = kinetic
    s.numbers[mv.POTENTIAL_START] = potential
    s.counts[mv.BALANCED] = 1
    return begin_to_solve(table)


@inlined
def begin_to_solve(table):
    s = moving_of(table)
    s.numbers[mv.MU] = 0.0
    s.numbers[mv.BEST] = math.inf
    s.counts[mv.ITERATIONS] = 0
    s.counts[mv.IDLE] = 0
    s.counts[mv.REMEMBERED] = 0
    return EVALUATE


@routine
def give_up(table):
    """Once more without the balance of energy; then for good.

    Where stiff dampers make velocities change sign in every step, the mean velocity is too small for any change of speed
    along it to make up for what is missing. The rule alone is stable there.
    """
    s = moving_of(table)
    if s.counts[mv.BALANCED] == 0:
        return mv.NOT_CONVERGED
    s.counts[mv.BALANCED] = 0
    s.counts[mv.UNBALANCED] += 1
    for k in range(s.q.shape[0]):
        s.q[k] = s.start_q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    return begin_to_solve(table)


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if bad != mv.OK:
        return bad if s.counts[mv.ITERATIONS] == 0 else give_up(table)
    n = s.v.shape[0]
    s.counts[mv.ITERATIONS] += 1
    if s.counts[mv.ITERATIONS] == 1:  # at the start of the step: the first guess
        largest = 0.0
        for k in range(n):
            s.stages[GUESS, k] = s.v[k] + 0.5 * h * s.qdd[k]
            largest = max(largest, abs(s.stages[GUESS, k]))
        s.stages[GUESS, n] = 0.0
        s.numbers[mv.WEIGHT] = largest if largest > 0.0 else 1.0  # μ stands behind the velocities as a velocity
        return go_to_guess(table, h)
    form_image(table, h)
    size, scale = measure(table)
    if not math.isfinite(size):
        return give_up(table)
    s.counts[mv.IDLE] = 0 if size < 0.5 * s.numbers[mv.BEST] else s.counts[mv.IDLE] + 1
    s.numbers[mv.BEST] = min(s.numbers[mv.BEST], size)
    s.numbers[mv.RESIDUAL] = size
    s.numbers[mv.ALLOWED] = SOLVE_TOLERANCE * scale
    unseen = EPS * (1.0 + largest_of(s.start_q)) / h  # velocities that no coordinate would show
    is_rounding = s.counts[mv.IDLE] >= PATIENCE and size <= ROUNDING_FLOOR * scale + unseen
    if size <= s.numbers[mv.ALLOWED] or is_rounding:
        newest = IMAGES + s.counts[mv.REMEMBERED] - 1
        left = (
            s.stages[newest, n] / s.numbers[mv.WEIGHT] - s.numbers[mv.MU]
        )  # of μ: below what is allowed, but steps add up
        for k in range(n):
            s.u[k] = s.stages[newest, k] + left * s.stages[newest, k]
            s.v[k] = 2.0 * s.u[k] - s.start_v[k]
        integrate(s.tree, s.start_q, s.u, h, s.q)
        s.numbers[mv.MU] = 0.0
        return DONE
    if s.counts[mv.ITERATIONS] >= MAX_ITERATIONS:
        return give_up(table)
    next_guess(table)
    return go_to_guess(table, h)


@routine
def largest_of(a):
    largest = 0.0
    for k in range(a.shape[0]):
        largest = max(largest, abs(a[k]))
    return largest


@routine
def go_to_guess(table, h):
    s = moving_of(table)
    n = s.v.shape[0]
    for k in range(n):
        s.v[k] = s.stages[GUESS, k]
    s.numbers[mv.MU] = s.stages[GUESS, n] / s.numbers[mv.WEIGHT]
    integrate(s.tree, s.start_q, s.v, 0.5 * h, s.q)
    return EVALUATE


@routine
def form_image(table, h):
    """The image of the guess, and the residual, behind those that are remembered.

    The image is the response of stiff joints to μ as guessed. What is missing of the energy is taken there: at the guess,
    springs that are not in balance yet would hold energies that dwarf the motion.
    """
    s = moving_of(table)
    n = s.v.shape[0]
    if s.counts[mv.REMEMBERED] == HISTORY + 1:  # the oldest goes
        for r in range(HISTORY):
            for k in range(n + 1):
                s.stages[RESIDUALS + r, k] = s.stages[RESIDUALS + r + 1, k]
                s.stages[IMAGES + r, k] = s.stages[IMAGES + r + 1, k]
        s.counts[mv.REMEMBERED] = HISTORY
    row = s.counts[mv.REMEMBERED]
    s.counts[mv.REMEMBERED] = row + 1
    work = h * power_of_loads(table)
    for k in range(n):
        s.u[k] = s.start_v[k] + 0.5 * h * s.qdd[k] + s.numbers[mv.MU] * s.stages[GUESS, k]
        s.v[k] = 2.0 * s.u[k] - s.start_v[k]
        s.stages[IMAGES + row, k] = s.u[k]
    work += h * power_of_joints(table, h)
    integrate(s.tree, s.start_q, s.u, h, s.q)
    s.stages[IMAGES + row, n] = s.numbers[mv.WEIGHT] * (s.numbers[mv.MU] + missing(table, work))
    for k in range(n + 1):
        s.stages[RESIDUALS + row, k] = s.stages[IMAGES + row, k] - s.stages[GUESS, k]


@routine
def power_of_joints(table, h):
    """Power of efforts, motors and dampers at the midpoint of a step with the mean velocity u [W]."""
    s = moving_of(table)
    total = 0.0
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            given = s.effort[j] - s.dof[j, DAMPING] * s.u[j]
            if s.counts[mv.MOTORS] > 0 and (kind == HELICAL or kind == COMPOUND):
                q = s.start_q[s.tree[i, Q] + d] + 0.5 * h * s.u[j]
                given += motor_law(s.motor, s.effort_limit, s.velocity_limit, j, q, s.u[j], 0.0, s.u[j])[0]
            total += given * s.u[j]
    return total


@routine
def power_of_loads(table):
    """Power of loads on bodies at the evaluation that was just made [W]."""
    s = moving_of(table)
    total = 0.0
    for i in range(s.wrench.shape[0]):
        total += dot6(load6(s.wrench, i, 0), load6(s.work, i, TWIST))
    for k in range(s.counts[mv.LOADS]):
        total += dot6(load_wrench(s, k), load6(s.work, s.load_body[k], TWIST))
    return total


@inlined
def missing(table, work):
    """The change of μ that would bring the energy at the end of the step, where (q, v) stand, to where it belongs."""
    s = moving_of(table)
    if s.counts[mv.BALANCED] == 0:
        return 0.0
    kinetic, potential = energies(table)
    gap = s.numbers[mv.KINETIC_START] + s.numbers[mv.POTENTIAL_START] + work - kinetic - potential
    moving = s.numbers[mv.KINETIC_START] + kinetic
    involved = moving + abs(s.numbers[mv.POTENTIAL_START]) + abs(potential)
    steady = ENERGY_ROUNDING * involved <= STEADY * 2.0 * moving
    if abs(gap) <= (ENERGY_ROUNDING if steady else SLOW_ROUNDING) * involved:
        return 0.0
    return gap / (2.0 * moving)  # ∂E/∂μ = 2 v̄ᵀ M v⁺


@inlined
def measure(table):
    """Largest entry of the newest residual, and the velocities it compares with."""
    s = moving_of(table)
    n = s.v.shape[0]
    row = s.counts[mv.REMEMBERED] - 1
    size = 0.0
    speed = 0.0
    change = 0.0
    for k in range(n + 1):
        x = abs(s.stages[RESIDUALS + row, k])
        if size == size and not x <= size:  # NaN stays NaN
            size = x
        if k < n:
            speed = max(speed, abs(s.stages[IMAGES + row, k]))
            change = max(change, abs(s.stages[IMAGES + row, k] - s.start_v[k]))
    return size, speed + change


@routine
def next_guess(table):
    """Anderson (1965): the image of the combination of former guesses whose residual is smallest.

    With the differences F of successive residuals and G of images, w = argmin |r - F w| and the guess is g - G w; F is
    made orthonormal column by column (modified Gram-Schmidt), the newest first: what older ones say of the same directions
    was true further away.
    """
    s = moving_of(table)
    n = s.v.shape[0] + 1
    newest = s.counts[mv.REMEMBERED] - 1
    upper = mv.SMALL_MATRIX  # R, row-major, then Qᵀr
    right = mv.SMALL_MATRIX + HISTORY * HISTORY
    for c in range(newest):
        before = 0.0
        for k in range(n):
            x = s.stages[RESIDUALS + newest - c, k] - s.stages[RESIDUALS + newest - c - 1, k]
            s.stages[BASIS + c, k] = x
            before += x * x
        for b in range(c):
            x = 0.0
            for k in range(n):
                x += s.stages[BASIS + b, k] * s.stages[BASIS + c, k]
            s.numbers[upper + HISTORY * b + c] = x
            for k in range(n):
                s.stages[BASIS + c, k] -= x * s.stages[BASIS + b, k]
        left = 0.0
        for k in range(n):
            left += s.stages[BASIS + c, k] * s.stages[BASIS + c, k]
        keeps = left > SMALLEST_PART * SMALLEST_PART * before
        scale = 1.0 / math.sqrt(left) if keeps else 0.0
        s.numbers[upper + HISTORY * c + c] = math.sqrt(left) if keeps else 0.0
        x = 0.0
        for k in range(n):
            s.stages[BASIS + c, k] *= scale
            x += s.stages[BASIS + c, k] * s.stages[RESIDUALS + newest, k]
        s.numbers[right + c] = x
    for k in range(n):
        s.stages[GUESS, k] = s.stages[IMAGES + newest, k]
    for c in range(newest - 1, -1, -1):
        x = s.numbers[right + c]
        for b in range(c + 1, newest):
            x -= s.numbers[upper + HISTORY * c + b] * s.numbers[right + b]
        pivot = s.numbers[upper + HISTORY * c + c]
        x = x / pivot if pivot > 0.0 else 0.0
        s.numbers[right + c] = x
        for k in range(n):
            s.stages[GUESS, k] -= x * (s.stages[IMAGES + newest - c, k] - s.stages[IMAGES + newest - c - 1, k])


@inlined
def at_midpoint(table):
    return AT_MIDPOINT


@routine
def record_efforts(table, h):
    """What acted on the joints in the step of h [s] that was just made: as they are at its middle."""
    s = moving_of(table)
    integrate(s.tree, s.start_q, s.u, 0.5 * h, s.stages[BASIS])
    record_joints(table, s.stages[BASIS], s.u, 0.0, s.u)


IMPLICIT_MIDPOINT = Integrator(begin, resume, at_midpoint, record_efforts)
