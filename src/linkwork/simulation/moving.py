"""The arrays of a linkage that moves: what it is, what acts on it, where it is, and what a step needs.

The linkage is a whole model (`FullDynamics`) or the few joints of one that are active with the rigid bodies between them
(`AdaptiveDynamics`): the same step moves both. Kernels read the arrays from a table (`core.bundles`).
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int1, Int2, place_of, reader

# Integrators, by number, and the rows of `stages` that each needs.
SEMI_IMPLICIT_EULER, RUNGE_KUTTA, DORMAND_PRINCE, IMPLICIT_MIDPOINT, KICK_DRIFT_KICK, VARIATIONAL = range(6)
LIKE_VARIATIONAL = (SEMI_IMPLICIT_EULER, VARIATIONAL)  # Euler makes fast steps so
STAGE_ROWS = (5, 3, 16, 19, 1, 16)
VARIATIONAL_COLUMNS, VARIATIONAL_DOF_COLUMNS = 120, 32  # of `integrators.variational.discrete_newton`
MOMENTUM = 78  # column of `variational_work`: a body's momentum at the end of a variational step
IMPULSE = 1  # row of `stages`: what joints give to the same
HISTORY, HISTORY_ROWS = 4, 7  # rows of `stages`: what a variational step keeps of those before
CARRIED_MOMENTUM = (
    104  # column of `variational_work`: what a body carries of momentum from one variational step to the next
)

# Entries of `counts`.
METHOD, STAGE, EVALUATIONS, SUBSTEPS = 0, 1, 2, 3
LOADS, MOTORS, IMPLICIT, KEEPS_MOMENTUM, COMPOSITES_READY = 4, 5, 6, 7, 8
ITERATIONS, IDLE, REJECTED, REMEMBERED, BALANCED = 9, 10, 11, 12, 13
HALVINGS, UNBALANCED = 14, 15  # of steps that could not be solved; midpoint steps without balance of energy
LIMITED = 16  # whether motors of any joint have limits
BY_INERTIA, POSES_READY = (
    17,
    18,
)  # of variational steps: corrected by M; poses and wrenches at q are those of the last end
RULE = 19  # by which a step of semi-implicit Euler is made: `integrators.euler`
# Whether such steps are made by Euler's rule, however fast joints turn, and steps in which bodies meet are not cut: while
# runs have gradients.
NEVER_WHIPS = 20
COUNTS = 21

# Entries of `numbers`.
POTENTIAL_OFFSET = 0  # [J] energy of what does not move
RTOL, ATOL, PROPOSED_STEP, ERROR, PASSED, SUBSTEP, ERROR_BEFORE = range(1, 8)  # of substeps with error control
MU, WEIGHT, KINETIC_START, POTENTIAL_START, BEST, RESIDUAL, ALLOWED = range(8, 15)  # of implicit equations
LAST_CHANGE = 15  # of coordinates, by the last correction of a variational step
SMALL_MATRIX = 16  # 30 numbers
# Of variational steps. [J] made and not given back yet; largest kinetic energy so far; kinetic energy when that was counted
# last, work since then, steps, and what they seem to have made; energy within the last step with half of its work.
ENERGY_DEBT, TOP_KINETIC, COUNTED_KINETIC, WORK, UNCOUNTED_STEPS, UNCOUNTED_GAP, ENERGY_WITHIN = range(46, 53)
FAILED_LENGTH, WAIT, WAIT_LEFT, SINCE_FAILURE = range(53, 57)  # of `integrators.variational.step_control`
GUESS_TERMS = 57  # of `integrators.variational.history`
KINETIC_NOW = 58  # [J] kinetic energy at the end of the last variational step, where it was found; or negative
CAUTIOUS_STEPS = 59  # of `integrators.variational.step_control`
LINKAGE = 60  # version of the linkage: how often its joints became others
CONTRACTION = (
    61  # [1/rad] ratio by which corrections by M shrink, per largest displacement in the step; zero: not known
)
FIRST_CHANGE = 62  # of coordinates, by the first correction of the last variational step
END_LINKAGE = 63  # one more than the version on which the last variational step ended; zero: there was none
# Of steps of Euler's rule and of contact, in `integrators.whipping`. [J] energy when it was counted last; steps since then,
# zero: it is not counted; [J] what was gained from nothing and not lost again; largest kinetic energy lately.
COUNTED_ENERGY, COUNTED_STEPS, GAINED, LATE_TOP = range(64, 68)
STEP_HISTORY_SIZE = LATE_TOP + 1 - ENERGY_DEBT
STEP_HISTORY = slice(ENERGY_DEBT, ENERGY_DEBT + STEP_HISTORY_SIZE)  # what a run needs of all these to go on
ENERGY_GAP = 68  # [J] made by the last variational step
STEP_HISTORY_BEFORE = 69  # STEP_HISTORY when the step began
START_NUMBERS = STEP_HISTORY_BEFORE + STEP_HISTORY_SIZE  # `stepping.saving` of when the step began
SAVED_NUMBERS = 6  # of them: PROPOSED_STEP, ENERGY_DEBT, and from COUNTED_ENERGY on to LATE_TOP
NUMBERS = START_NUMBERS + SAVED_NUMBERS

# What a step or an evaluation says: OK, a body whose joint resists with no inertia (≥ 0), or one of these.
OK, OVERFLOW, NOT_CONVERGED, SUBSTEPS_VANISH, LOOPS_CONTRADICT, LOOPS_OPEN = -1, -2, -3, -4, -5, -6
CONTACTS_GROW, SEARCH_TOO_DEEP, CONTACTS_CHANGED, CONTACT_GAINS, CONTACT_UNSOLVED = -7, -8, -9, -10, -11  # with contact
CONTACT_ENDLESS = -12  # the same: a step that takes too many parts
CONTACTS_BEGIN = -13  # no step was made: contacts begin in it, and the active region is to be chosen anew first

EFFORT_PARTS = 5  # columns of `applied_efforts`
COMPOSITE_COLUMNS = 16  # inertia (10) and momentum (6) of a body with all that hangs below it, as one rigid body


class Moving(NamedTuple):
    """The arrays of a moving linkage of n bodies."""

    # the linkage: the tables of `model.layout`
    tree: Int2  # (n, 6)
    body: Float2  # (n, 32)
    screws: Float2  # (m, 9)
    dof: Float2  # (nv, 4)
    rest: Float1  # (nq,)
    gravity: Float1  # (3,)
    # what acts on it
    effort: Float1  # (nv,) as given
    motor: Float2  # (nv, 5) columns of `loading.motor_law`
    effort_limit: Float1  # (nv,) largest effort of motors
    velocity_limit: Float1  # (nv,) above which motors do not push
    wrench: Float2  # (n, 6) fixed in each body's frame; no rows where there are none
    load: Float2  # (k, 16) held by the world; the first counts[LOADS] act
    load_body: Int1  # (k,)
    wet: Float2  # (m, 15) of `environment.wet_columns`; no rows where there is no fluid
    wet_body: Int1  # (m,) body that each row moves with, or -1: welded to the world
    water: Float1  # (15,) numbers of the fluid
    current: Float2  # (m, 4) height and velocity of the stream
    # where it is
    q: Float1  # (nq,)
    v: Float1  # (nv,)
    qdd: Float1  # (nv,) of the last evaluation
    # an evaluation of the accelerations
    saturation_velocity: (
        Float1  # (nv,) velocities whose laws limits of implicit motors follow: within limits, or at one
    )
    joint_effort: Float1  # (nv,) effort on each joint: given, motor, spring, damper
    applied_efforts: (
        Float2  # (nv, 5) what each of them did in the last step, and limits: `simulation.loading.applied_efforts`
    )
    effective_armature: Float2  # (nv, 4) armature, with what implicit springs and dampers add; other columns zero
    work: Float2  # (n, 60) of `dynamics.aba`
    dof_work: Float2  # (nv, 19)
    world: Float2  # (n, 12) poses in the world
    # a step
    start_q: Float1  # (nq,)
    start_v: Float1  # (nv,)
    # Stages of Runge-Kutta and Dormand-Prince, variational steps: displacement since the start; when the latter ends, its
    # velocity. Steps of Euler, midpoint and contact: the velocity by which q advances, or that half way. Scratch of
    # `search_saturation` (efforts), `stopping` and `thermostat` (changes of velocity).
    u: Float1  # (nv,)
    stages: Float2  # (rows of the integrator, nq + 1)
    variational_work: Float2  # (n, 120) of variational steps; no rows for others
    variational_dof_work: Float2  # (nv, 32)
    # momentum of floating trees
    base: Int1  # (t,) body on each free or planar joint to the world
    tree_of: Int1  # (n,) floating tree of each body, or -1
    target_momentum: Float2  # (t, 6) momentum about the world's origin that each is to have
    start_momentum: Float2  # (t, 6)
    centre: Float2  # (t, 3) where the centre of mass of each is to be at the end of the step [m]
    composite: Float2  # (n, 16)
    counts: Int1  # (COUNTS,)
    numbers: Float1  # (NUMBERS,)


moving_of = reader(Moving)
ROWS_OF_WRENCH = place_of(Moving, "wrench")
ROWS_OF_LOADS = [place_of(Moving, "load"), place_of(Moving, "load_body")]
