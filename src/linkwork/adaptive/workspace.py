"""The memory of an adaptive simulation, made once by `allocation`: bundles of arrays that kernels read from one table.

`QuasiStatics` uses a part of it: at rest there are no velocities and no velocity columns, and the arrays that only motion
needs are empty. Coefficients are those of the *fully articulated* linkage, every joint free; they are kept for all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2, reader

# Columns of `composite`, one row per node: pose of the last body of a cluster in its first one; and, of the node as one
# rigid body, its inertia (10: mass, first moment, moments), the sum of the wrenches fixed in its bodies and the energy of
# its springs. They refer to the first body of a cluster, to the carrier of a branch.
P_R, P_P, P_INERTIA, P_FORCE, P_SPRING = 0, 9, 12, 22, 28
P_MOMENT = P_INERTIA + 1
COMPOSITE_COLUMNS = 32
LOST_COLUMNS = 12  # of `lost`: of Φ11 or K, and of Φ22

# Columns of `rate`, one row per body: velocity S q̇ of its joint and the joint's own bias, in the body's frame.
RATE, RATE_BIAS = 0, 6
RATE_COLUMNS = 12

# Flags of a node.
OPEN = 1  # on the list of nodes that are solved: its joint is computed
ACTIVE = 2  # part of the active region: its joint moves (dynamics)
STALE = 4  # its factor, and in motion its velocity columns, do not fit its coefficients
CHOSEN = 8  # will be part of the active region (dynamics)
RENEW = 16  # something changed in it that the next step needs (dynamics)
DIRTY = (
    32  # something in it changed: its coefficients are to be assembled anew (in dynamics: an effort, since the update)
)
CLOSING = 64  # to be closed: when its coefficients are next assembled (quasi-statics), or in one of the next steps
REBUILD = 128  # its matrices are others although nothing moved: a joint in it was pinned or let go (dynamics)

# Entries of `counts`.
OPEN_COUNT, SORTED_COUNT, HEAP_COUNT, LOAD_COUNT, JOINT_COUNT, UPDATED_COUNT = range(6)
# UNCHANGED: whether the last update left the region as it was. ACTIVATED: joints that became active then.
ACTIVE_COUNT, CHANGE_COUNT, CHANGED, UNCHANGED, ACTIVATED = range(6, 11)
# Of turns (`region.turns`): the body whose joint is looked at next, how often all were, joints that have a turn, and
# those that settled at the last update.
CURSOR, ROUND, IN_TURN, RESTING = range(11, 15)
# Of regions of all joints (`region.everything`): steps until the motion is asked how many joints would do, 0 where the
# region is chosen; how long it is waited for that; steps since a region was last chosen after one of all joints.
UNTIL_ASKED, WAIT, SINCE = range(15, 18)
# Freedoms that limits hold, and how often one was held or let go (quasi-statics).
HELD_COUNT, HELD_CHANGES = 18, 19
COUNTS = 20

# Entries of `metric_sums`: largest and sum of q̈ᵀAq̈ over frontier nodes and over computed joints, all times UNIT²; UNIT is
# a power of two, other than one only where squares would underflow.
# LARGEST: of the velocity metric of any one joint, at any update so far (dynamics).
MAX_QUEUE, SUM_QUEUE, MAX_JOINT, SUM_JOINT, UNIT, LARGEST = range(6)
METRIC_SUMS = 6

# Columns of `turns`, one row per body: what `region.turns` calls the turn of its joint; what the joint did lately, and at
# its fastest since it became active; what it would have done, were all joints free, when it settled.
TURN, ACTIVITY, PEAK, RESTING_AT = range(4)
TURN_COLUMNS = 4

# Rotor that a held freedom is eliminated with [kg·m² or kg]: beside it nothing moves, and by a power of two digits stay.
HELD = 2.0**300

OVERFLOW, NOT_HELD = -2, -3  # in the place of a body that failed; which limits hold was not found


class Plan(NamedTuple):
    """Where things are: depends on the model only."""

    nodes: Int2  # (N, 8)
    block: Int1  # (N,)  coefficients of a node in `node_data`
    slot: Int1  # (N,)  and in `handed_up`
    factor_at: Int1  # (N,)  its factor in `factor`
    columns_at: Int1  # (N,)  its velocity columns in `columns`
    leaf: Int1  # (n,)  BODY node of each body
    joint: Int1  # (n,)  JOIN or HANG node of each body's joint


class Mechanism(NamedTuple):
    """The compiled model's tables, and the metrics."""

    tree: Int2  # in dynamics a copy, in which joints frozen by the user are fixed
    model_tree: Int2  # as compiled
    body: Float2
    screws: Float2
    dof: Float2
    rest: Float1
    gravity: Float1
    weight: Float1  # (nv,)  of each squared acceleration in the metric
    velocity_weight: Float1  # (nv,)  of each squared velocity (dynamics)
    effort_limit: Float1  # (nv,)  largest effort of motors
    velocity_limit: Float1  # (nv,)  above which motors do not push
    lower: Float1  # (nv,)  limits of coordinates; empty where no joint has any, and in dynamics
    upper: Float1
    armature: Float1  # (nv,)  as compiled; in `dof` that of a held freedom is another (quasi-statics)


class Coefficients(NamedTuple):
    """Of the fully articulated linkage: kept for every node, and changed only where something moved."""

    joint_data: Float2  # (n, 24)  pose and bias of each joint, wrench on each body
    S: Float2  # (nv or 0, 6)
    effort_sum: Float1  # (nv,)  efforts with those of springs, dampers and motors
    node_data: Float1  # what the way back needs
    handed_up: Float1  # what the parent node needs
    dof_rows: Float1  # rows of N⁻¹ and columns of L⁻¹S of joints with several freedoms
    columns: Float1  # velocity columns (dynamics)
    factor: Float1  # R of each node
    rows: Int1  # (N,)  rows of each R
    lost: Float2  # (N, 12)  errors of the diagonals of each node's coefficients, in units of rounding (quasi-statics)
    composite: Float2  # (N, 32)
    scratch: Float1
    factor_scratch: Float1


class Run(NamedTuple):
    """What a step reads and writes. Both simulations have the first part, each its own one after it."""

    q: Float1  # (nq,)
    v: Float1  # (nv,)  zero where inactive; all zeros in quasi-statics
    qdd: Float1  # (nv,)  of computed (in motion: active) joints, zero elsewhere
    effort: Float1  # (nv,)  as given
    motor: Float2  # (nv, 5)  columns of `loading.motor_law`
    inputs: Float1  # wrenches on each node's handles
    input_sizes: Float1  # what inputs are summed of, by absolute values: for the rounding floor (quasi-statics)
    world: Float2  # (N, 12)  pose of a node's first body (a branch: of its carrier), along the open or active tree
    value: Float1  # (N,)  A(C) of frontier nodes; own part of open ones
    flag: Byte1  # (N,)
    required_open: Int1  # (N,)  loads that hold a node open
    opened: Int1  # (N,)  the open nodes; the first SORTED_COUNT ascending
    heap: Int1  # (N,)  frontier nodes by value
    counts: Int1  # (COUNTS,)
    metric_sums: Float1  # (METRIC_SUMS,)
    wrench: Float2  # (n, 6)  fixed in each body's frame
    load: Float2  # (k, 16)
    load_body: Int1  # (k,)  body of each load
    loop_body: Int1  # (2 loops,)  bodies at the ends of loops; -1 is the world
    loop_wrench: Float2  # (2 loops, 6)  wrench of the loop on each, in the body's frame
    # Quasi-statics.
    saved_q: Float1  # (nq,)  coordinates to go back to
    held: Byte1  # (nv,)  FREE, or the limit at which the coordinate is held; empty without limits, as all below
    held_qdd: Float1  # (nv,)  accelerations of held ones, with which the step ends at the limit
    limit_effort: Float1  # (nv,)  of limits on held ones, at the last solve
    feasible: Float1  # (nv,)  accelerations within limits, from which the solution is looked for
    room: Float1  # (N,)  least weight · distance² to a limit inside each closed node
    step_part: Float1  # (1,)  ½ h² of the step for which limits are looked at [s²]; 0: of none; negative: they are not
    # Dynamics.
    metric_qdd: Float1  # (nv,)  of computed joints of the fully articulated linkage, at the last update
    rate: Float2  # (n, 12)
    twist: Float2  # (N, 6)  velocity of a node's first body (a branch: of its carrier), in its own frame
    relative: Float2  # (N, 6)  velocity of a cluster's last body less that of its first, in the last's frame
    speed: Float1  # (N,)  the velocity metric of open nodes
    wanted: Int1  # (N,)  how many joints below the user wants active
    frozen: Byte1  # (n,)  joints the user holds inactive
    active: Int1  # (N,)  the active region, ascending
    waits: Byte1  # (n,)  joints of active nodes that do not move: others below them do
    turns: Float2  # (n, 4)
    called: Int1  # (N,)  joints below that have a turn


class Bundles(NamedTuple):
    plan: Plan
    mechanism: Mechanism
    coefficients: Coefficients
    run: Run


plan_of = reader(Plan)
mechanism_of = reader(Mechanism, Plan)
coefficients_of = reader(Coefficients, Plan, Mechanism)
run_of = reader(Run, Plan, Mechanism, Coefficients)
