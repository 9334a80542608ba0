"""The arrays of contact and joint limits of a moving linkage.

They stand behind those of `Moving` and `Constraints` in the same table; those of the search for contacts come last
(`search.finding`), and are missing where only limits act. How many bodies are in contact changes from step to step: the
arrays of the solver have a capacity, and the table says how much of it is in use.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from linkwork.contact.contact_list import BODY_A, BODY_B, COUNT, SHAPE_B, Contacts
from linkwork.contact.solver.problem import Problem, System
from linkwork.contact.tables import DISTANCES, NEXT_IMPACT, SEARCHES
from linkwork.core.bundles import Float1, Float2, Int1, Int2, place_of, reader
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_factor import TreeFactor
from linkwork.simulation.constrained.constraints import Constraints
from linkwork.simulation.contact_step.sweeps.memory import Sweeps
from linkwork.simulation.moving import SAVED_NUMBERS, Moving
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

# Entries of `settings`: the first five as the solvers read them.
TOLERANCE, MAX_SWEEPS, REST_SPEED, CORRECTION, SLACK, MARGIN, LIMIT_BOUNCE, SETTINGS = range(8)
# Entries of `counts`: what is asked for, what is in use, and how much a step would have needed.
LAW, SELF_CONTACT, CONTINUOUS, CONTACT_BODIES, LIMITS, NEEDED_BODIES, NEEDED_LIMITS = range(7)
CHANGED, RECENT, ANY_LIMITS, BODY_CAPACITY, STOPS_AT_CHANGES, BREAK_TIMEOUT, UPDATE_TIMEOUT = range(7, 14)
BY_SWEEPS, MIN_BY_SWEEPS = 15, 16  # whether this solve is made by sweeps over the tree; contacts from which on
TURNED = 14  # 1 + the moving body that turned most in the last step, where that was more than once around; otherwise 0
COUNTS = 17
COUPLED, IMPACTS = 0, 1
BY_MATRIX, BY_TREE, BY_BOTH = range(
    3
)  # values of BY_SWEEPS: linear steps over the matrix, over the tree, with both at hand
FIRST_MARK = 2  # mark of the bodies below contact body 0, and of itself; of those below body k it is k more
# Entries of `totals` since they were last cleared; the last two stay: the step, and what was lost since the beginning.
WORST_RESIDUAL, ALL_SWEEPS, DEEPEST, ENERGY_LOST, NOT_CONVERGED, SHORTENED, TAKEN_BACK = range(7)
STEP, ALL_ENERGY_LOST, TOTALS = range(7, 10)
# Entries of `balance`: energies [J] and power of loads [W] where the step began, work of pushing apart in it; the length of
# parts that the next step may begin with [s], 0: as long as it is; which bodies pressed hardest in a part that failed;
# what the last part gained, and the kinetic energy at its end.
KINETIC_START, BY_FORCES, ENERGY_START, POWER_START, PUSH_WORK, PROPOSED_LENGTH = range(6)
WORST_A, WORST_B, WORST_SHAPE, GAIN, KINETIC_END = range(6, 11)
# CORRECTION of steps in one part; whether there was contact in the last part; energy of springs where the step began [J];
# length of the last part of the last step [s].
CORRECTED, HAD_CONTACT, SPRINGS_START, LAST_PART = range(11, 15)
# Numbers of `stepping.saving` where the last part and where the step began. Checkpoints hold those before.
PART_NUMBERS = 15
STEP_NUMBERS = PART_NUMBERS + SAVED_NUMBERS
BALANCE = STEP_NUMBERS + SAVED_NUMBERS
SOLVED, SOLVED_AND_PLACED = 1.0, 2.0  # values of HAD_CONTACT: poses in `work` and `world` are those of the end
STEP_TOTALS, PART_TOTALS, PATH_TOTALS = range(3)  # rows of `saved_totals`
# Columns of `recent`: pair of shapes, of a limit its negative number twice; steps since it pressed.
RECENT_A, RECENT_B, AGE, RECENT_COLUMNS = range(4)
MOST_RECENT = 512  # pairs
# Entries of `calls`: the step with contact by the integrator in use, in one part; its own step without contact; the search
# for contacts, the check of the path of a part, the solver.
TRY, OWN_STEP, FIND, CHECK_PATH, SOLVE, CALLS = range(6)
IMPULSES, PUSH = range(2)  # what the solver is called for
MOST_SWITCHED = 4  # motors that change their law after an evaluation, before another one is made
JOINT_EFFORT, EFFECTIVE_ARMATURE, FREE_QDD, EVALUATED = range(4)  # rows of `evaluated`
# Entries of `turns`: the method that ended the last step, and steps of this call that are left; whether a step in which
# contacts begin is taken back for an update of the region, how often the present one was, and whether one began in it.
# Where steps and updates of an active region are made in turns: steps between two updates, 0: none is made here; steps
# since the last one, or that many where one is due; steps since it in truth; how often it was made; whether that failed;
# addresses of the kernels that make it (`adaptive.dynamics.updating`).
ENDED_BY, LEFT, ASKS, ASKED, BEGUN, EVERY, SINCE, MADE, UPDATES, UPDATE_FAILED, UPDATE, PERFORM, TURNS = range(13)
MOST_ASKED = 8  # times that a step is taken back for an update: contacts that begin set others in motion


class ContactArrays(NamedTuple):
    """Contact and limits of a moving linkage of n bodies: up to c contacts on m bodies, l limits that are near."""

    open_nodes: Int1  # (o,) nodes of the assembly tree with joints that move, children before parents
    node_body: Int1  # (N,) moving body of the frame of each open node, or rigid one right below; -1: the world
    pose: Float2  # (N, 12) and where in it
    leaf: Int1  # (bodies of the model,) node of each
    model_dof: Int1  # (nv,) place in the model of each velocity of the moving linkage
    twists: Float2  # (n, 6) with the velocities that forces alone would give; world axes, at the bodies' origins
    before: Float2  # (n, 6) before the step, in each body's frame
    end_pose: Float2  # (n, 12) world poses at the end of the path that is checked, of `path_check`
    moving_body: Int2  # (c, 4) of each side of a contact; -1: the world; then scratch of `contact_reduction`
    contact_body_number: Int1  # (n,) numbers of contact bodies; else -1
    contact_bodies: Int1  # (m + l,) contact bodies, then the bodies on the joints of near limits
    lower: Float1  # (nv of the model,) limits of coordinates [rad or m]
    upper: Float1  # (nv of the model,)
    bound: Int2  # (l, 3) near limits: body on the joint, place of its velocity, side (0 lower, 1 upper)
    limit_impulse: Float2  # (nv of the model, 2) of each limit in the last step, for a warm start [N·s or N·m·s]
    limit_sums: Float2  # (nv of the model, 4) of all parts of this step: of those that stand, and since then
    joint_impulse: Float1  # (nv,) impulses of limits
    recent: Int2  # (512, 3) pairs that pressed not long ago, of `contact_events`
    recent_at: Float2  # (512, 4) where each last pressed, in the world, and how far from there it is the same [m]
    # Scratch of `responses`, rows of eight: velocity of a contact body per velocity of the next one above, in world
    # axes and transposed (6, 8); per impulse on it, were the one above held (6, 8); six wrenches on their way up, side
    # by side, and what they leave on a joint (12, 8).
    carry: Float1
    own: Float1
    columns: Float1
    joint: Float2  # (12, 6) per impulse on coordinates of its joint at their limits
    # Of `switching`: efforts, armatures and accelerations of the last evaluation (3, nv); how many motors changed their
    # law since then, and scratch (2,); of each the responses of joints and bodies to an effort on it (4, nv) and (4 n,
    # 6), and the weight of that (4,)
    evaluated: Float2
    switches: Int1
    switched: Float2
    switched_response: Float2
    switch_weight: Float1
    part_start_q: Float1  # (nq of the model,) where a step that is cut into parts began
    part_start_v: Float1  # (nv of the model,)
    part_start_momentum: Float2  # (n, 6) momentum that floating trees were to have then
    step_start_q: Float1  # (nq of the model,) where a step that is shortened began, all its parts together
    step_start_v: Float1  # (nv of the model,)
    step_start_momentum: Float2  # (n, 6)
    saved_totals: Float2  # (3, TOTALS) `totals` there, where its last part began, and where the last way of that began
    settings: Float1  # (SETTINGS,)
    counts: Int1  # (COUNTS,)
    totals: Float1  # (TOTALS,)
    balance: Float1  # (BALANCE,) of `balance`
    calls: (
        Int1  # (CALLS,) addresses of kernels that steps call (`calling`), found before the first step; 0: there is none
    )
    turns: Int1  # (TURNS,) steps, and updates between them
    region: Int1  # table of the region that is updated; of no rows where there is none
    choice: Float1  # by which it is chosen: of `adaptive.dynamics.region.choice`


contact_arrays_of = reader(ContactArrays, Moving, Constraints)
contacts_of = reader(Contacts, Moving, Constraints, ContactArrays)
problem_of = reader(Problem, Moving, Constraints, ContactArrays, Contacts)
system_of = reader(System, Moving, Constraints, ContactArrays, Contacts, Problem)
factor_of = reader(TreeFactor, Moving, Constraints, ContactArrays, Contacts, Problem, System)
sweeps_of = reader(Sweeps, Moving, Constraints, ContactArrays, Contacts, Problem, System, TreeFactor)


class SearchNumbers(NamedTuple):
    """What a search for contacts works with beside its tables: part of a `Finder`."""

    pairs: Int2
    numbers: Float2
    query: Float1


BEFORE_SEARCH = (Moving, Constraints, ContactArrays, Contacts, Problem, System, TreeFactor, Sweeps)
search_numbers_of = reader(SearchNumbers, *BEFORE_SEARCH)


@inlined
def searches(table):
    """Whether contacts are searched for; else only limits of joints act."""
    return contact_arrays_of(table).calls[FIND] != 0


@inlined
def next_impact(table):
    """When two fast bodies meet far from where they are now, as the last search found it [s]; infinite where none do."""
    return search_numbers_of(table).query[NEXT_IMPACT] if searches(table) else math.inf


@inlined
def begin_count(table):
    """Before a step: nothing was searched in it."""
    if searches(table):
        query = search_numbers_of(table).query
        query[SEARCHES], query[DISTANCES] = 0.0, 0.0


@routine
def note_worst(b, contacts):
    """Which bodies press hardest in a solve that failed: for the message."""
    b[WORST_A] = -1.0
    most = -1.0
    for c in range(contacts.number[COUNT]):
        size = dot3(load3(contacts.impulse, c, 0), load3(contacts.impulse, c, 0))
        if not size <= most:
            most = size if size < math.inf else math.inf
            b[WORST_A], b[WORST_B] = contacts.ids[c, BODY_A], contacts.ids[c, BODY_B]
            b[WORST_SHAPE] = contacts.ids[c, SHAPE_B]


# ---------------------------------------------------------------------------------------------------- sizes in the table


def _places(bundle: Any, before: tuple[Any, ...], names: str) -> tuple[int, ...]:
    return tuple(place_of(bundle, name, *before) for name in names.split())


_PROBLEM = (Moving, Constraints, ContactArrays, Contacts)
_SYSTEM = (*_PROBLEM, Problem)
ROWS_BY_NUMBERS = _places(Problem, _PROBLEM, "Lambda v_free v_before impulse push v_after")
ROWS_BY_CONTACTS = _places(Problem, _PROBLEM, "body_number")
ROWS_BY_BODIES = _places(Problem, _PROBLEM, "origin")
ROWS_BY_LIMITS = _places(Problem, _PROBLEM, "limit_at limit limit_impulse")
COLUMNS_OF_LAMBDA = ROWS_BY_NUMBERS[0] + 1
ROWS_OF_SYSTEM = _places(System, _SYSTEM, "W G")
COLUMNS_OF_W, COLUMNS_OF_G = (place + 1 for place in ROWS_OF_SYSTEM)
ROWS_OF_OPEN_NODES = place_of(ContactArrays, "open_nodes", Moving, Constraints)


@inlined
def size_problem(table, bodies, contacts, limits, loop_rows):
    """Gives the arrays of the solver the sizes of this step, within their capacities; matrices become compact."""
    numbers = 6 * bodies + limits
    for k in range(len(ROWS_BY_NUMBERS)):
        table[ROWS_BY_NUMBERS[k]] = numbers
    table[COLUMNS_OF_LAMBDA] = numbers
    table[ROWS_BY_CONTACTS[0]] = contacts
    table[ROWS_BY_BODIES[0]] = bodies
    for k in range(len(ROWS_BY_LIMITS)):
        table[ROWS_BY_LIMITS[k]] = limits
    rows = 3 * contacts + limits + loop_rows
    for k in range(len(ROWS_OF_SYSTEM)):
        table[ROWS_OF_SYSTEM[k]] = rows
    table[COLUMNS_OF_W] = numbers
    table[COLUMNS_OF_G] = rows
