"""Making the arrays of an adaptive simulation (`adaptive.workspace`) for a model."""

from __future__ import annotations

import numpy as np

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.metric.factor import AT_REST, IN_MOTION, factor_capacities
from linkwork.adaptive.metric.velocity_columns import COLUMN_SCRATCH
from linkwork.adaptive.workspace import Bundles, Coefficients, Mechanism, Plan, Run
from linkwork.assembly.node_table import JOIN, NODE_KIND, ROLE, TOP
from linkwork.core.arrays import FloatArray, lazy_zeros
from linkwork.dynamics.dca.nodes import INPUT_COLUMNS, SCRATCH, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.loops.system import constrained_bodies
from linkwork.model.layout import ARMATURE
from linkwork.model.model import Model
from linkwork.simulation.contact_choice import has_limits
from linkwork.simulation.loading.load_columns import LOAD_COLUMNS
from linkwork.simulation.loading.motor_law import MOTOR_COLUMNS


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
    model_tree, body, screws, dof, rest, gravity = model.arrays
    tree = model_tree.copy() if in_motion else model_tree
    limited = model.nv if has_limits(model) and not in_motion else 0
    mechanism = Mechanism(
        tree, model_tree, body, screws, dof if in_motion else dof.copy(), rest, gravity, weight, velocity_weight,
        np.array(model.effort_limit), np.array(model.velocity_limit),
        np.array(model.lower[:limited]), np.array(model.upper[:limited]), dof[:limited, ARMATURE].copy(),
    )  # fmt: skip
    count = plan.nodes.shape[0]
    n, nv, nodes = (model.n_bodies, model.nv, count) if in_motion else (0, 0, 0)
    run = Run(
        q=q,
        v=v,
        qdd=np.zeros(model.nv),
        effort=np.zeros(0),
        motor=np.zeros((0, MOTOR_COLUMNS)),
        inputs=lazy_zeros(count * INPUT_COLUMNS),
        input_sizes=lazy_zeros(0 if in_motion else count * INPUT_COLUMNS),
        world=np.zeros((count, 12)),
        value=np.zeros(count),
        flag=np.zeros(count, dtype=np.uint8),
        required_open=np.zeros(count, dtype=np.int64),
        opened=np.zeros(count, dtype=np.int64),
        heap=np.zeros(count, dtype=np.int64),
        counts=np.zeros(ws.COUNTS, dtype=np.int64),
        metric_sums=np.zeros(ws.METRIC_SUMS),
        wrench=np.zeros((0, 6)),
        load=np.zeros((0, LOAD_COLUMNS)),
        load_body=np.zeros(0, dtype=np.int64),
        loop_body=constrained_bodies(model),
        loop_wrench=np.zeros((constrained_bodies(model).size, 6)),
        saved_q=np.zeros(0) if in_motion else q.copy(),
        held=np.zeros(limited, dtype=np.uint8),
        held_qdd=np.zeros(limited),
        limit_effort=np.zeros(limited),
        feasible=np.zeros(limited),
        room=np.zeros(count if limited else 0),
        step_part=np.zeros(1),
        metric_qdd=np.zeros(nv),
        rate=np.zeros((n, ws.RATE_COLUMNS)),
        twist=np.zeros((nodes, 6)),
        relative=np.zeros((nodes, 6)),
        speed=np.zeros(nodes),
        wanted=np.zeros(nodes, dtype=np.int64),
        frozen=np.zeros(n, dtype=np.uint8),
        active=np.zeros(nodes, dtype=np.int64),
        waits=np.zeros(n, dtype=np.uint8),
        turns=np.zeros((n, ws.TURN_COLUMNS)),
        called=np.zeros(nodes, dtype=np.int64),
    )
    return Bundles(plan, mechanism, coefficients, run)


def _allocate_tree(model: Model, in_motion: bool) -> tuple[Plan, Coefficients]:
    """Everything that has room for each node; velocity columns in motion only."""
    # In motion biases come from velocity columns, which have no stretches; accelerations come from `aba` there.
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
        solver.joint_data,
        solver.S,
        solver.effort_sum,
        solver.node_data,
        aligned_zeros(room),
        solver.dof_rows,
        aligned_zeros(room if in_motion else 0),
        aligned_zeros(int(factor_sizes.sum())),
        rows,
        np.zeros((0 if in_motion else nodes.shape[0], ws.LOST_COLUMNS)),
        np.zeros((nodes.shape[0], ws.COMPOSITE_COLUMNS)),
        aligned_zeros(max(SCRATCH, COLUMN_SCRATCH)),
        aligned_zeros(layout.scratch),
    )
