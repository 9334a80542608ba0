"""The memory of an adaptive simulation: allocated once, handed to kernels in four bundles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.metric.factor import ONE_INPUT, ROOT_SCRATCH, ROW_1, ROW_2, TWO_INPUTS, root_capacities
from linkwork.assembly.plan import JOIN, NODE_KIND, ROLE, TOP
from linkwork.dynamics.dca.nodes import SCRATCH, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.dynamics.dca.sweeps import INPUT_COLUMNS
from linkwork.model.model import Model
from linkwork.simulation.loads import LOAD_COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Columns of `place`, one row a node: pose of the last body of a cluster in its first one, mass, first moment of mass. The
# moment refers to the first body of a cluster, to the carrier of a branch.
P_R, P_P, P_MASS, P_MOMENT = 0, 9, 12, 13
PLACE_COLUMNS = 16

# Flags of a node.
OPEN = 1  # its joint is computed, and moves
DIRTY = 2  # something below it changed: coefficients are to be assembled anew
CLOSING = 4  # to be closed when its coefficients are next assembled
STALE = 8  # its root does not fit its coefficients

# Entries of `tally`.
OPEN_COUNT, SORTED_COUNT, HEAP_COUNT, LOAD_COUNT, JOINT_COUNT, UPDATED_COUNT = range(6)
TALLIES = 8

# Entries of `figure`.
MAX_QUEUE, SUM_QUEUE, MAX_JOINT, SUM_JOINT = range(4)
FIGURES = 4


class Plan(NamedTuple):
    """Where things are: depends on the model only."""

    nodes: IntArray  # (N, 7)
    block: IntArray  # (N,)  coefficients of a node in `coef`
    slot: IntArray  # (N,)  and in `phi`
    root_at: IntArray  # (N,)  its root in `root`


class Mechanism(NamedTuple):
    """The compiled model's tables, and the metric."""

    tree: IntArray
    body: FloatArray
    screws: FloatArray
    dof: FloatArray
    rest: FloatArray
    gravity: FloatArray
    weight: FloatArray  # (nv,)  of each squared acceleration in the metric


class Coefficients(NamedTuple):
    """What is kept from step to step for every node, and changed only where something moved."""

    hinge: FloatArray  # (n, 24)
    S: FloatArray  # (nv or 0, 6)
    total: FloatArray  # (nv,)  efforts with springs
    coef: FloatArray
    phi: FloatArray
    freedom: FloatArray
    root: FloatArray
    rows: IntArray  # (N,)  rows of each root
    place: FloatArray  # (N, 16)
    scratch: FloatArray
    root_scratch: FloatArray


class Live(NamedTuple):
    """What a step reads and writes."""

    q: FloatArray  # (nq,)
    kept_q: FloatArray  # (nq,)  coordinates to go back to
    still: FloatArray  # (nv,)  zero velocities
    qdd: FloatArray  # (nv,)  zero where not computed
    glide: FloatArray  # (nv,)  last displacement of each joint while settling
    effort: FloatArray  # (nv,)  as given
    inputs: FloatArray  # wrenches on each node's handles
    world: FloatArray  # (N, 12)  pose of a node's first body (a branch: of its carrier), along the open tree
    value: FloatArray  # (N,)  A(C) of frontier nodes; own part of open ones
    flag: NDArray[np.uint8]  # (N,)
    pin: IntArray  # (N,)  loads that keep a node open
    opened: IntArray  # (N,)  the open nodes; the first SORTED_COUNT ascending
    heap: IntArray  # (N,)  frontier nodes by value
    tally: IntArray
    figure: FloatArray
    wrench: FloatArray  # (n, 6)  fixed in each body's frame
    load: FloatArray  # (k, 16)
    load_body: IntArray  # (k,)  body of each load
    leaf: IntArray  # (n,)  BODY node of each body


def allocate(model: Model, q: FloatArray, weight: FloatArray) -> tuple[Plan, Mechanism, Coefficients, Live]:
    solver = DcaSolver(model, threads=1)
    nodes = solver.assembly.nodes
    count = nodes.shape[0]
    tree = model.arrays.tree
    two_blocks = nodes[:, NODE_KIND] == JOIN
    sizes = np.where(two_blocks, SLOT_SIZE, SLOT_SIZE // 2)
    slot = np.cumsum(sizes) - sizes
    rows = root_capacities(nodes, tree, ONE_INPUT, TWO_INPUTS)
    root_sizes = rows * np.where(two_blocks & (nodes[:, ROLE] != TOP), ROW_2, ROW_1)
    plan = Plan(nodes, solver.block, slot, np.cumsum(root_sizes) - root_sizes)
    mechanism = Mechanism(*model.arrays, weight)
    coefficients = Coefficients(
        solver.hinge,
        solver.S,
        solver.total,
        solver.coef,
        aligned_zeros(int(sizes.sum())),
        solver.freedom,
        aligned_zeros(int(root_sizes.sum())),
        rows,
        np.zeros((count, PLACE_COLUMNS)),
        aligned_zeros(SCRATCH),
        aligned_zeros(ROOT_SCRATCH),
    )
    live = Live(
        q=q,
        kept_q=q.copy(),
        still=np.zeros(model.nv),
        qdd=np.zeros(model.nv),
        glide=np.zeros(model.nv),
        effort=np.zeros(model.nv),
        inputs=aligned_zeros(count * INPUT_COLUMNS),
        world=np.zeros((count, 12)),
        value=np.zeros(count),
        flag=np.zeros(count, dtype=np.uint8),
        pin=np.zeros(count, dtype=np.int64),
        opened=np.zeros(count, dtype=np.int64),
        heap=np.zeros(count, dtype=np.int64),
        tally=np.zeros(TALLIES, dtype=np.int64),
        figure=np.zeros(FIGURES),
        wrench=np.zeros((model.n_bodies, 6)),
        load=np.zeros((4, LOAD_COLUMNS)),
        load_body=np.zeros(4, dtype=np.int64),
        leaf=solver.assembly.leaf,
    )
    return plan, mechanism, coefficients, live
