"""The memory of an adaptive dynamics simulation: allocated once, handed to kernels in five bundles.

Two sets of coefficients live side by side. Those of the *fully articulated* linkage, every joint free, belong to the metric
and are kept for all nodes. Those of the *hybrid* linkage, rigid where it is inactive, belong to the step and are touched
only in and right below the active region; their memory is asked for whole and taken up by the system as it is touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.metric.factor import root_capacities
from linkwork.adaptive.metric.moving_factor import ONE_INPUT, ROOT_SCRATCH, ROW_1, ROW_2, TWO_INPUTS
from linkwork.adaptive.metric.velocity_columns import COLUMN_SCRATCH
from linkwork.adaptive.quasi_statics.workspace import FIGURES
from linkwork.assembly.plan import JOIN, NODE_KIND, ROLE, TOP
from linkwork.dynamics.dca.nodes import SCRATCH, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.dynamics.dca.sweeps import INPUT_COLUMNS
from linkwork.model.layout import ARMATURE, FREE, KIND, PARENT, V
from linkwork.model.model import Model
from linkwork.simulation.loads import LOAD_COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Columns of `place`, one row a node: pose of the last body of a cluster in its first one; and, while it is rigid, its
# inertia (10), the sum of the wrenches fixed in its bodies and the energy of its springs. They refer to the first body of a
# cluster, to the carrier of a branch.
P_R, P_P, P_INERTIA, P_FORCE, P_SPRING = 0, 9, 12, 22, 28
PLACE_COLUMNS = 32

# Columns of `rate`, one row a body: velocity S q̇ of its joint and the joint's own bias, in the body's frame.
RATE, RATE_BIAS = 0, 6
RATE_COLUMNS = 12

# Flags of a node. OPEN has the meaning of `workspace.OPEN`: on the list of nodes the metric is solved over.
OPEN = 1
ACTIVE = 2  # part of the active region: its joint moves
STALE = 4  # its velocity columns and root do not fit its coefficients
READY = 8  # rigid, and its hybrid coefficients are those of one rigid body
CHOSEN = 16  # will be part of the active region
RENEW = 32  # something changed in it that the next step must know of

# Entries of `tally`; the first six as in `workspace`.
ACTIVE_COUNT, FRONT_COUNT, CHANGE_COUNT, WRENCHED, TOUCHED = 8, 9, 10, 11, 12
TALLIES = 16

# Columns of `figures`, one row a floating figure: momentum about the origin of the world [n; f].
FIGURE_COLUMNS = 6


class Plan(NamedTuple):
    """Where things are: depends on the model only."""

    nodes: IntArray  # (N, 7)
    block: IntArray  # (N,)  coefficients of a node in `coef`
    slot: IntArray  # (N,)  and in `phi`
    root_at: IntArray  # (N,)  its root in `root`
    columns_at: IntArray  # (N,)  its velocity columns in `columns`
    leaf: IntArray  # (n,)  BODY node of each body
    joint: IntArray  # (n,)  JOIN or HANG node of each body's joint
    floating: IntArray  # (k,)  HANG nodes of free joints on the world (without armature)


class Mechanism(NamedTuple):
    """The compiled model's tables, and the metrics."""

    tree: IntArray  # a copy, in which joints held inactive by the user are fixed
    whole_tree: IntArray  # as compiled
    body: FloatArray
    screws: FloatArray
    dof: FloatArray
    rest: FloatArray
    gravity: FloatArray
    weight: FloatArray  # (nv,)  of each squared acceleration
    velocity_weight: FloatArray  # (nv,)  of each squared velocity


class Coefficients(NamedTuple):
    """Of the fully articulated linkage: kept for every node, and changed only where something moved."""

    hinge: FloatArray  # (n, 24)
    S: FloatArray  # (nv or 0, 6)
    total: FloatArray  # (nv,)  efforts with springs, dampers and motors
    coef: FloatArray
    phi: FloatArray
    freedom: FloatArray
    columns: FloatArray
    root: FloatArray
    rows: IntArray  # (N,)  rows of each root
    place: FloatArray  # (N, 32)
    scratch: FloatArray
    root_scratch: FloatArray


class Stages(NamedTuple):
    """Where a step began, and what a Runge-Kutta step keeps of its active joints between stages."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)
    figures: FloatArray  # (k, 6)
    u: FloatArray  # (nv,)  the stage is at q ⊕ u
    rate: FloatArray  # (nv,)  of u
    sum_u: FloatArray  # (nv,)  weighted sums of the rates of u and v
    sum_v: FloatArray  # (nv,)


class Hybrid(NamedTuple):
    """Of the hybrid linkage: the active nodes, and the rigid ones right below them."""

    coef: FloatArray
    phi: FloatArray
    freedom: FloatArray
    stages: Stages


class Live(NamedTuple):
    """What a step reads and writes."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)  zero where inactive
    qdd: FloatArray  # (nv,)  of active joints, of the last step
    metric_qdd: FloatArray  # (nv,)  of computed joints of the fully articulated linkage, at the last update
    no_effort: FloatArray  # (nv,)  zeros
    effort: FloatArray  # (nv,)  as given
    motor: FloatArray  # (nv, 4)  columns of `motor_verbs`
    rate: FloatArray  # (n, 12)
    inputs: FloatArray  # wrenches on each node's handles
    world: FloatArray  # (N, 12)  pose of a node's first body (a branch: of its carrier), along the active tree
    twist: FloatArray  # (N, 6)  its velocity, in its own frame
    relative: FloatArray  # (N, 6)  velocity of a cluster's last body less that of its first, in the last one's frame
    momentum: FloatArray  # (N, 6)  of an active node
    force: FloatArray  # (N, 6)  sum of the world loads on a rigid node or on an active body
    value: FloatArray  # (N,)  A(C) of frontier nodes; own part of open ones
    speed: FloatArray  # (N,)  the velocity metric of open nodes
    flag: NDArray[np.uint8]  # (N,)
    pin: IntArray  # (N,)  loads that keep a node open
    keep: IntArray  # (N,)  wishes that keep it active
    held: NDArray[np.uint8]  # (n,)  joints the user holds inactive
    opened: IntArray  # (N,)  nodes the metric is solved over; the first SORTED_COUNT ascending
    heap: IntArray  # (N,)
    active: IntArray  # (N,)  the active region, ascending
    front: IntArray  # (N,)  rigid nodes right below it
    tally: IntArray
    figure: FloatArray
    figures: FloatArray  # (k, 6)
    wrench: FloatArray  # (n, 6)  fixed in each body's frame
    load: FloatArray  # (k, 16)
    load_body: IntArray  # (k,)  body of each load
    load_front: IntArray  # (k,)  rigid node (or active body) it acts on, and ...
    load_pose: FloatArray  # (k, 12)  ... pose of its body there
    leaf: IntArray  # (n,)


class Bundles(NamedTuple):
    plan: Plan
    mechanism: Mechanism
    coefficients: Coefficients
    hybrid: Hybrid
    live: Live


def untouched(size: int) -> FloatArray:
    """Zeros that begin at a cache line and take no memory before they are written to."""
    raw = np.zeros(size + 8)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + size]


def allocate(model: Model, q: FloatArray, v: FloatArray, weight: FloatArray, velocity_weight: FloatArray) -> Bundles:
    solver = DcaSolver(model, threads=1)
    nodes = solver.assembly.nodes
    count = nodes.shape[0]
    tree = model.arrays.tree
    clusters = nodes[:, NODE_KIND] == JOIN
    sizes = np.where(clusters, SLOT_SIZE, SLOT_SIZE // 2)
    slot = np.cumsum(sizes) - sizes
    rows = root_capacities(nodes, tree, ONE_INPUT, TWO_INPUTS)
    root_sizes = rows * np.where(clusters & (nodes[:, ROLE] != TOP), ROW_2, ROW_1)
    free = (tree[:, KIND] == FREE) & (tree[:, PARENT] < 0)
    for i in np.flatnonzero(free):  # with armature a base has momentum of its own that no body carries
        free[i] = not model.arrays.dof[tree[i, V] : tree[i, V] + 6, ARMATURE].any()
    plan = Plan(
        nodes,
        solver.block,
        slot,
        np.cumsum(root_sizes) - root_sizes,
        slot,  # columns take as much room as coefficients
        solver.assembly.leaf,
        solver.assembly.joint,
        np.ascontiguousarray(solver.assembly.joint[free]),
    )
    _, body, screws, dof, rest, gravity = model.arrays
    coefficients = Coefficients(
        solver.hinge,
        solver.S,
        solver.total,
        solver.coef,
        aligned_zeros(int(sizes.sum())),
        solver.freedom,
        aligned_zeros(int(sizes.sum())),
        aligned_zeros(int(root_sizes.sum())),
        rows,
        np.zeros((count, PLACE_COLUMNS)),
        aligned_zeros(max(SCRATCH, COLUMN_SCRATCH)),
        aligned_zeros(ROOT_SCRATCH),
    )
    n, nv = model.n_bodies, model.nv
    live = Live(
        q=q,
        v=v,
        qdd=np.zeros(nv),
        metric_qdd=np.zeros(nv),
        no_effort=np.zeros(nv),
        effort=np.zeros(nv),
        motor=np.zeros((nv, 4)),
        rate=np.zeros((n, RATE_COLUMNS)),
        inputs=untouched(count * INPUT_COLUMNS),
        world=np.zeros((count, 12)),
        twist=np.zeros((count, 6)),
        relative=np.zeros((count, 6)),
        momentum=np.zeros((count, 6)),
        force=np.zeros((count, 6)),
        value=np.zeros(count),
        speed=np.zeros(count),
        flag=np.zeros(count, dtype=np.uint8),
        pin=np.zeros(count, dtype=np.int64),
        keep=np.zeros(count, dtype=np.int64),
        held=np.zeros(n, dtype=np.uint8),
        opened=np.zeros(count, dtype=np.int64),
        heap=np.zeros(count, dtype=np.int64),
        active=np.zeros(count, dtype=np.int64),
        front=np.zeros(count, dtype=np.int64),
        tally=np.zeros(TALLIES, dtype=np.int64),
        figure=np.zeros(FIGURES),
        figures=np.zeros((plan.floating.shape[0], FIGURE_COLUMNS)),
        wrench=np.zeros((n, 6)),
        load=np.zeros((4, LOAD_COLUMNS)),
        load_body=np.zeros(4, dtype=np.int64),
        load_front=np.zeros(4, dtype=np.int64),
        load_pose=np.zeros((4, 12)),
        leaf=plan.leaf,
    )
    return Bundles(
        plan,
        Mechanism(tree.copy(), tree, body, screws, dof, rest, gravity, weight, velocity_weight),
        coefficients,
        Hybrid(
            untouched(solver.coef.size),
            untouched(int(sizes.sum())),
            untouched(solver.freedom.size),
            Stages(np.zeros(model.nq), np.zeros(nv), np.zeros_like(live.figures), *(np.zeros(nv) for _ in range(4))),
        ),
        live,
    )
