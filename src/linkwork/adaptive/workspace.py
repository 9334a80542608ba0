"""The memory of an adaptive simulation: allocated once, handed to kernels in bundles of arrays.

`QuasiStatics` uses a part of it: at rest there are no velocities and no velocity columns, and the arrays that only motion
needs are None. Coefficients are those of the *fully articulated* linkage, every joint free; they are kept for all nodes.
In motion there is a second set for the *hybrid* linkage, rigid where it is inactive, which is touched only in and right
below the active region: its memory is reserved whole, and taken up by the system as it is touched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.metric.factor import AT_REST, IN_MOTION, factor_capacities
from linkwork.adaptive.metric.velocity_columns import COLUMN_SCRATCH
from linkwork.assembly.plan import JOIN, NODE_KIND, ROLE, TOP
from linkwork.dynamics.dca.nodes import SCRATCH, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.dynamics.dca.sweeps import INPUT_COLUMNS
from linkwork.model.layout import ARMATURE, FREE, KIND, PARENT, V
from linkwork.model.model import Model
from linkwork.simulation.loads import LOAD_COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
FlagArray = NDArray[np.uint8]

# Columns of `composite`, one row per node: pose of the last body of a cluster in its first one; and, of the node as one
# rigid body, its inertia (10: mass, first moment, moments), the sum of the wrenches fixed in its bodies and the energy of
# its springs. They refer to the first body of a cluster, to the carrier of a branch.
P_R, P_P, P_INERTIA, P_FORCE, P_SPRING = 0, 9, 12, 22, 28
P_MOMENT = P_INERTIA + 1
COMPOSITE_COLUMNS = 32

# Columns of `rate`, one row per body: velocity S q̇ of its joint and the joint's own bias, in the body's frame.
RATE, RATE_BIAS = 0, 6
RATE_COLUMNS = 12

# Flags of a node.
OPEN = 1  # on the list of nodes that are solved: its joint is computed
ACTIVE = 2  # part of the active region: its joint moves (dynamics)
STALE = 4  # its factor, and in motion its velocity columns, do not fit its coefficients
READY = 8  # rigid, and its hybrid coefficients are those of one rigid body (dynamics)
CHOSEN = 16  # will be part of the active region (dynamics)
RENEW = 32  # something changed in it that the next step must know of (dynamics)
DIRTY = 64  # something in it changed: its coefficients are to be assembled anew (quasi-statics)
CLOSING = 128  # to be closed when its coefficients are next assembled (quasi-statics)

# Entries of `counts`.
OPEN_COUNT, SORTED_COUNT, HEAP_COUNT, LOAD_COUNT, JOINT_COUNT, UPDATED_COUNT = range(6)
ACTIVE_COUNT, FRONT_COUNT, CHANGE_COUNT, WRENCHED, TOUCHED = range(6, 11)
COUNTS = 16

# Entries of `metric_sums`: largest and sum of q̈ᵀAq̈ over frontier nodes and over computed joints, all times UNIT²; UNIT is
# a power of two, other than one only where squares would underflow.
MAX_QUEUE, SUM_QUEUE, MAX_JOINT, SUM_JOINT, UNIT = range(5)
METRIC_SUMS = 5

MOMENTUM_COLUMNS = 6  # of `kept_momentum`, one row per floating tree: about the origin of the world [n; f]

OVERFLOW = -2  # in the place of a body that failed

ABSENT: Any = None  # in the place of an array that a simulation does not need


class Plan(NamedTuple):
    """Where things are: depends on the model only."""

    nodes: IntArray  # (N, 7)
    block: IntArray  # (N,)  coefficients of a node in `kept`
    slot: IntArray  # (N,)  and in `handed_up`
    factor_at: IntArray  # (N,)  its factor in `factor`
    columns_at: IntArray  # (N,)  its velocity columns in `columns`
    leaf: IntArray  # (n,)  BODY node of each body
    joint: IntArray  # (n,)  JOIN or HANG node of each body's joint
    floating: IntArray  # (k,)  HANG nodes of free joints on the world (without armature)


class Mechanism(NamedTuple):
    """The compiled model's tables, and the metrics."""

    tree: IntArray  # in dynamics a copy, in which joints frozen by the user are fixed
    whole_tree: IntArray  # as compiled
    body: FloatArray
    screws: FloatArray
    dof: FloatArray
    rest: FloatArray
    gravity: FloatArray
    weight: FloatArray  # (nv,)  of each squared acceleration in the metric
    velocity_weight: FloatArray  # (nv,)  of each squared velocity (dynamics)


class Coefficients(NamedTuple):
    """Of the fully articulated linkage: kept for every node, and changed only where something moved."""

    joint_data: FloatArray  # (n, 24)  pose and bias of each joint, wrench on each body
    S: FloatArray  # (nv or 0, 6)
    effort_sum: FloatArray  # (nv,)  efforts with those of springs, dampers and motors
    kept: FloatArray  # what the way back needs
    handed_up: FloatArray  # what the parent node needs
    dof_rows: FloatArray  # rows of N⁻¹ and columns of L⁻¹S of joints with several freedoms
    columns: FloatArray  # velocity columns (dynamics)
    factor: FloatArray  # R of each node
    rows: IntArray  # (N,)  rows of each R
    composite: FloatArray  # (N, 32)
    scratch: FloatArray
    factor_scratch: FloatArray


class Stages(NamedTuple):
    """Where a step began, and what a Runge-Kutta step keeps of its active joints between stages."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)
    kept_momentum: FloatArray  # (k, 6)
    u: FloatArray  # (nv,)  the stage is at q ⊕ u
    rate: FloatArray  # (nv,)  of u
    sum_u: FloatArray  # (nv,)  weighted sums of the rates of u and v
    sum_v: FloatArray  # (nv,)


class Hybrid(NamedTuple):
    """Of the hybrid linkage: the active nodes, and the rigid ones right below them."""

    kept: FloatArray
    handed_up: FloatArray
    dof_rows: FloatArray
    stages: Stages


class Run(NamedTuple):
    """What a step reads and writes. Both simulations have the first part, each its own one after it."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)  zero where inactive; all zeros in quasi-statics
    qdd: FloatArray  # (nv,)  of computed (in motion: active) joints, zero elsewhere
    effort: FloatArray  # (nv,)  as given
    inputs: FloatArray  # wrenches on each node's handles
    world: FloatArray  # (N, 12)  pose of a node's first body (a branch: of its carrier), along the open or active tree
    value: FloatArray  # (N,)  A(C) of frontier nodes; own part of open ones
    flag: FlagArray  # (N,)
    held_open: IntArray  # (N,)  loads that hold a node open
    opened: IntArray  # (N,)  the open nodes; the first SORTED_COUNT ascending
    heap: IntArray  # (N,)  frontier nodes by value
    counts: IntArray
    metric_sums: FloatArray
    wrench: FloatArray  # (n, 6)  fixed in each body's frame
    load: FloatArray  # (k, 16)
    load_body: IntArray  # (k,)  body of each load
    # Quasi-statics.
    kept_q: FloatArray = ABSENT  # (nq,)  coordinates to go back to
    glide: FloatArray = ABSENT  # (nv,)  last displacement of each joint while settling
    # Dynamics.
    metric_qdd: FloatArray = ABSENT  # (nv,)  of computed joints of the fully articulated linkage, at the last update
    no_effort: FloatArray = ABSENT  # (nv,)  zeros
    motor: FloatArray = ABSENT  # (nv, 4)  columns of `simulation.motors`
    rate: FloatArray = ABSENT  # (n, 12)
    twist: FloatArray = ABSENT  # (N, 6)  velocity of a node's first body (a branch: of its carrier), in its own frame
    relative: FloatArray = (
        ABSENT  # (N, 6)  velocity of a cluster's last body less that of its first, in the last's frame
    )
    momentum: FloatArray = ABSENT  # (N, 6)  of an active node
    force: FloatArray = ABSENT  # (N, 6)  sum of the world loads on a rigid node or on an active body
    speed: FloatArray = ABSENT  # (N,)  the velocity metric of open nodes
    wanted: IntArray = ABSENT  # (N,)  how many joints below the user wants active
    frozen: FlagArray = ABSENT  # (n,)  joints the user holds inactive
    active: IntArray = ABSENT  # (N,)  the active region, ascending
    front: IntArray = ABSENT  # (N,)  rigid nodes right below it
    kept_momentum: FloatArray = ABSENT  # (k, 6)
    load_front: IntArray = ABSENT  # (k,)  rigid node (or active body) a load acts on, and ...
    load_pose: FloatArray = ABSENT  # (k, 12)  ... pose of its body there


class Bundles(NamedTuple):
    plan: Plan
    mechanism: Mechanism
    coefficients: Coefficients
    hybrid: Hybrid
    run: Run


def untouched(size: int) -> FloatArray:
    """Zeros that begin at a cache line and take no memory before they are written to."""
    raw = np.zeros(size + 8)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + size]


def allocate(model: Model, q: FloatArray, weight: FloatArray) -> tuple[Plan, Mechanism, Coefficients, Run]:
    """Memory of a simulation at rest, at coordinates q."""
    plan, coefficients, _ = _allocate_tree(model, in_motion=False)
    tree, body, screws, dof, rest, gravity = model.arrays
    mechanism = Mechanism(tree, tree, body, screws, dof, rest, gravity, weight, ABSENT)
    run = _common(model, plan, q, np.zeros(model.nv))
    return plan, mechanism, coefficients, run._replace(kept_q=q.copy(), glide=np.zeros(model.nv))


def allocate_in_motion(
    model: Model, q: FloatArray, v: FloatArray, weight: FloatArray, velocity_weight: FloatArray
) -> Bundles:
    """Memory of a simulation in motion, at coordinates q and velocities v."""
    plan, coefficients, hybrid = _allocate_tree(model, in_motion=True)
    tree, body, screws, dof, rest, gravity = model.arrays
    mechanism = Mechanism(tree.copy(), tree, body, screws, dof, rest, gravity, weight, velocity_weight)
    n, nv, count = model.n_bodies, model.nv, plan.nodes.shape[0]
    run = _common(model, plan, q, v)._replace(
        metric_qdd=np.zeros(nv),
        no_effort=np.zeros(nv),
        motor=np.zeros((nv, 4)),
        rate=np.zeros((n, RATE_COLUMNS)),
        twist=np.zeros((count, 6)),
        relative=np.zeros((count, 6)),
        momentum=np.zeros((count, 6)),
        force=np.zeros((count, 6)),
        speed=np.zeros(count),
        wanted=np.zeros(count, dtype=np.int64),
        frozen=np.zeros(n, dtype=np.uint8),
        active=np.zeros(count, dtype=np.int64),
        front=np.zeros(count, dtype=np.int64),
        kept_momentum=np.zeros((plan.floating.shape[0], MOMENTUM_COLUMNS)),
        load_front=np.zeros(4, dtype=np.int64),
        load_pose=np.zeros((4, 12)),
    )
    return Bundles(plan, mechanism, coefficients, hybrid, run)


def _allocate_tree(model: Model, in_motion: bool) -> tuple[Plan, Coefficients, Hybrid]:
    """Everything that has room for each node; velocity columns and the hybrid linkage in motion only."""
    solver = DcaSolver(model, threads=1)
    nodes, tree = solver.assembly.nodes, model.arrays.tree
    layout = IN_MOTION if in_motion else AT_REST
    clusters = nodes[:, NODE_KIND] == JOIN
    sizes = np.where(clusters, SLOT_SIZE, SLOT_SIZE // 2)
    slot = np.cumsum(sizes) - sizes
    room = int(sizes.sum())
    rows = factor_capacities(nodes, tree, layout.columns_1, layout.columns_2)
    factor_sizes = rows * np.where(clusters & (nodes[:, ROLE] != TOP), layout.row_2, layout.row_1)
    free = (tree[:, KIND] == FREE) & (tree[:, PARENT] < 0)
    for i in np.flatnonzero(free):  # with armature a base has momentum of its own that no body carries
        free[i] = not model.arrays.dof[tree[i, V] : tree[i, V] + 6, ARMATURE].any()
    plan = Plan(
        nodes,
        solver.block,
        slot,
        np.cumsum(factor_sizes) - factor_sizes,
        slot if in_motion else ABSENT,  # columns take as much room as coefficients
        solver.assembly.leaf,
        solver.assembly.joint,
        np.ascontiguousarray(solver.assembly.joint[free]) if in_motion else ABSENT,
    )
    coefficients = Coefficients(
        solver.hinge,
        solver.S,
        solver.total,
        solver.coef,
        aligned_zeros(room),
        solver.freedom,
        aligned_zeros(room) if in_motion else ABSENT,
        aligned_zeros(int(factor_sizes.sum())),
        rows,
        np.zeros((nodes.shape[0], COMPOSITE_COLUMNS)),
        aligned_zeros(max(SCRATCH, COLUMN_SCRATCH)),
        aligned_zeros(layout.scratch),
    )
    if not in_motion:
        return plan, coefficients, ABSENT
    vectors = (np.zeros(model.nv) for _ in range(4))
    momentum = np.zeros((plan.floating.shape[0], MOMENTUM_COLUMNS))
    stages = Stages(np.zeros(model.nq), np.zeros(model.nv), momentum, *vectors)
    hybrid = Hybrid(untouched(solver.coef.size), untouched(room), untouched(solver.freedom.size), stages)
    return plan, coefficients, hybrid


def _common(model: Model, plan: Plan, q: FloatArray, v: FloatArray) -> Run:
    count = plan.nodes.shape[0]
    return Run(
        q=q,
        v=v,
        qdd=np.zeros(model.nv),
        effort=np.zeros(model.nv),
        inputs=untouched(count * INPUT_COLUMNS),
        world=np.zeros((count, 12)),
        value=np.zeros(count),
        flag=np.zeros(count, dtype=np.uint8),
        held_open=np.zeros(count, dtype=np.int64),
        opened=np.zeros(count, dtype=np.int64),
        heap=np.zeros(count, dtype=np.int64),
        counts=np.zeros(COUNTS, dtype=np.int64),
        metric_sums=np.eye(METRIC_SUMS)[UNIT],
        wrench=np.zeros((model.n_bodies, 6)),
        load=np.zeros((4, LOAD_COLUMNS)),
        load_body=np.zeros(4, dtype=np.int64),
    )
