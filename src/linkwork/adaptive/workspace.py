"""The memory of an adaptive simulation: allocated once, in bundles of arrays that kernels read from one table.

`QuasiStatics` uses a part of it: at rest there are no velocities and no velocity columns, and the arrays that only motion
needs are empty. Coefficients are those of the *fully articulated* linkage, every joint free; they are kept for all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.metric.factor import AT_REST, IN_MOTION, factor_capacities
from linkwork.adaptive.metric.velocity_columns import COLUMN_SCRATCH
from linkwork.assembly.node_table import JOIN, NODE_KIND, ROLE, TOP
from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2, reader
from linkwork.dynamics.dca.nodes import INPUT_COLUMNS, SCRATCH, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.loops.system import constrained_bodies
from linkwork.model.model import Model
from linkwork.simulation.load_columns import LOAD_COLUMNS
from linkwork.simulation.moving import untouched

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

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
RENEW = 16  # something changed in it that the next step must know of (dynamics)
DIRTY = (
    32  # something in it changed: its coefficients are to be assembled anew (in dynamics: an effort, since the update)
)
CLOSING = 64  # to be closed when its coefficients are next assembled (quasi-statics)
REBUILD = 128  # its matrices are others although nothing moved: a joint in it was pinned or let go (dynamics)

# Entries of `counts`.
OPEN_COUNT, SORTED_COUNT, HEAP_COUNT, LOAD_COUNT, JOINT_COUNT, UPDATED_COUNT = range(6)
# KEPT: whether the last update left the region as it was. JOINED: joints that became active then.
ACTIVE_COUNT, CHANGE_COUNT, TOUCHED, KEPT, JOINED = range(6, 11)
# Of turns (`dynamics.turns`): the body whose joint is looked at next, how often all were, joints that have a turn, and
# those that settled at the last update.
CURSOR, ROUND, IN_TURN, SETTLED = range(11, 15)
# Of regions of all joints (`dynamics.everything`): steps until the motion is asked how many joints would do, 0 where the
# region is chosen; how long it is waited for that; steps since a region was last chosen after one of all joints.
UNTIL_ASKED, WAIT, SINCE = range(15, 18)
COUNTS = 18

# Entries of `metric_sums`: largest and sum of q̈ᵀAq̈ over frontier nodes and over computed joints, all times UNIT²; UNIT is
# a power of two, other than one only where squares would underflow.
# LARGEST: of the velocity metric of any one joint, at any update so far (dynamics).
MAX_QUEUE, SUM_QUEUE, MAX_JOINT, SUM_JOINT, UNIT, LARGEST = range(6)
METRIC_SUMS = 6

# Columns of `turns`, one row per body: what `dynamics.turns` calls the turn of its joint; what the joint did lately, and at
# its fastest since it became active; what it would have done, were all joints free, when it settled.
TURN, ACTIVITY, PEAK, SETTLED_AT = range(4)
TURN_COLUMNS = 4

OVERFLOW = -2  # in the place of a body that failed


class Plan(NamedTuple):
    """Where things are: depends on the model only."""

    nodes: Int2  # (N, 8)
    block: Int1  # (N,)  coefficients of a node in `kept`
    slot: Int1  # (N,)  and in `handed_up`
    factor_at: Int1  # (N,)  its factor in `factor`
    columns_at: Int1  # (N,)  its velocity columns in `columns`
    leaf: Int1  # (n,)  BODY node of each body
    joint: Int1  # (n,)  JOIN or HANG node of each body's joint


class Mechanism(NamedTuple):
    """The compiled model's tables, and the metrics."""

    tree: Int2  # in dynamics a copy, in which joints frozen by the user are fixed
    whole_tree: Int2  # as compiled
    body: Float2
    screws: Float2
    dof: Float2
    rest: Float1
    gravity: Float1
    weight: Float1  # (nv,)  of each squared acceleration in the metric
    velocity_weight: Float1  # (nv,)  of each squared velocity (dynamics)
    strength: Float1  # (nv,)  largest effort of motors
    top_speed: Float1  # (nv,)  above which motors do not push


class Coefficients(NamedTuple):
    """Of the fully articulated linkage: kept for every node, and changed only where something moved."""

    joint_data: Float2  # (n, 24)  pose and bias of each joint, wrench on each body
    S: Float2  # (nv or 0, 6)
    effort_sum: Float1  # (nv,)  efforts with those of springs, dampers and motors
    kept: Float1  # what the way back needs
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
    motor: Float2  # (nv, 4)  columns of `simulation.motors`
    inputs: Float1  # wrenches on each node's handles
    world: Float2  # (N, 12)  pose of a node's first body (a branch: of its carrier), along the open or active tree
    value: Float1  # (N,)  A(C) of frontier nodes; own part of open ones
    flag: Byte1  # (N,)
    held_open: Int1  # (N,)  loads that hold a node open
    opened: Int1  # (N,)  the open nodes; the first SORTED_COUNT ascending
    heap: Int1  # (N,)  frontier nodes by value
    counts: Int1
    metric_sums: Float1
    wrench: Float2  # (n, 6)  fixed in each body's frame
    load: Float2  # (k, 16)
    load_body: Int1  # (k,)  body of each load
    loop_body: Int1  # (2 loops,)  bodies at the ends of loops; -1 is the world
    loop_wrench: Float2  # (2 loops, 6)  wrench of the loop on each, in the body's frame
    # Quasi-statics.
    kept_q: Float1  # (nq,)  coordinates to go back to
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


def allocate(
    model: Model,
    q: FloatArray,
    v: FloatArray,
    weight: FloatArray,
    velocity_weight: FloatArray,
    in_motion: bool,
) -> Bundles:
    """Memory of a simulation at coordinates q and velocities v. What acts on it (effort, motor, wrench, load, load_body) is
    for the simulation to put in."""
    plan, coefficients = _allocate_tree(model, in_motion)
    whole_tree, body, screws, dof, rest, gravity = model.arrays
    tree = whole_tree.copy() if in_motion else whole_tree
    limits = np.array(model.effort_limit), np.array(model.velocity_limit)
    mechanism = Mechanism(tree, whole_tree, body, screws, dof, rest, gravity, weight, velocity_weight, *limits)
    count = plan.nodes.shape[0]
    n, nv, nodes = (model.n_bodies, model.nv, count) if in_motion else (0, 0, 0)
    run = Run(
        q=q,
        v=v,
        qdd=np.zeros(model.nv),
        effort=np.zeros(0),
        motor=np.zeros((0, 4)),
        inputs=untouched(count * INPUT_COLUMNS),
        world=np.zeros((count, 12)),
        value=np.zeros(count),
        flag=np.zeros(count, dtype=np.uint8),
        held_open=np.zeros(count, dtype=np.int64),
        opened=np.zeros(count, dtype=np.int64),
        heap=np.zeros(count, dtype=np.int64),
        counts=np.zeros(COUNTS, dtype=np.int64),
        metric_sums=np.zeros(METRIC_SUMS),
        wrench=np.zeros((0, 6)),
        load=np.zeros((0, LOAD_COLUMNS)),
        load_body=np.zeros(0, dtype=np.int64),
        loop_body=constrained_bodies(model),
        loop_wrench=np.zeros((constrained_bodies(model).size, 6)),
        kept_q=np.zeros(0) if in_motion else q.copy(),
        metric_qdd=np.zeros(nv),
        rate=np.zeros((n, RATE_COLUMNS)),
        twist=np.zeros((nodes, 6)),
        relative=np.zeros((nodes, 6)),
        speed=np.zeros(nodes),
        wanted=np.zeros(nodes, dtype=np.int64),
        frozen=np.zeros(n, dtype=np.uint8),
        active=np.zeros(nodes, dtype=np.int64),
        waits=np.zeros(n, dtype=np.uint8),
        turns=np.zeros((n, TURN_COLUMNS)),
        called=np.zeros(nodes, dtype=np.int64),
    )
    return Bundles(plan, mechanism, coefficients, run)


def _allocate_tree(model: Model, in_motion: bool) -> tuple[Plan, Coefficients]:
    """Everything that has room for each node; velocity columns in motion only."""
    # In motion biases come from velocity columns, which know no stretches; accelerations come from `aba` there.
    solver = DcaSolver(model, threads=1, merges_welds=not in_motion)
    nodes, tree = solver.assembly.nodes, model.arrays.tree
    layout = IN_MOTION if in_motion else AT_REST
    clusters = nodes[:, NODE_KIND] == JOIN
    sizes = np.where(clusters, SLOT_SIZE, SLOT_SIZE // 2)
    slot = np.cumsum(sizes) - sizes
    room = int(sizes.sum())
    rows = factor_capacities(nodes, tree, layout.columns_1, layout.columns_2)
    factor_sizes = rows * np.where(clusters & (nodes[:, ROLE] != TOP), layout.row_2, layout.row_1)
    plan = Plan(
        nodes,
        solver.block,
        slot,
        np.cumsum(factor_sizes) - factor_sizes,
        slot if in_motion else slot[:0],  # columns take as much room as coefficients
        solver.assembly.leaf,
        solver.assembly.joint,
    )
    return plan, Coefficients(
        solver.hinge,
        solver.S,
        solver.total,
        solver.coef,
        aligned_zeros(room),
        solver.freedom,
        aligned_zeros(room if in_motion else 0),
        aligned_zeros(int(factor_sizes.sum())),
        rows,
        np.zeros((0 if in_motion else nodes.shape[0], LOST_COLUMNS)),
        np.zeros((nodes.shape[0], COMPOSITE_COLUMNS)),
        aligned_zeros(max(SCRATCH, COLUMN_SCRATCH)),
        aligned_zeros(layout.scratch),
    )
