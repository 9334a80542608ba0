"""The linkage that moves between two updates of the region: active joints, and the rigid bodies between them.

Cut a linkage at its active joints: what remains are rigid groups. Each group but those welded to the world hangs from one
active joint, so the groups are the bodies of a small linkage: the joint of a group is that active joint, its frame that of
the first body behind the joint, its inertia that of all bodies in it. `gather` writes that linkage into compact arrays
(`simulation.moving`), and it is stepped like any other. Theory: docs/theory/adaptive_dynamics.md.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.adaptive.frontier import heap_sort, merge
from linkwork.adaptive.nodes import carries_joint, is_active
from linkwork.adaptive.workspace import ACTIVE_COUNT, Coefficients, Mechanism, Plan, Run
from linkwork.assembly.node_table import INDEX
from linkwork.core.bundles import Float1, Float2, Int1, Int2, place_of, reader, set_rows
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_P, H_R
from linkwork.model.layout import BODY_COLUMNS, DOF, DOF_COLUMNS, FREE, INERTIA, KIND, SCREW, SPHERICAL, Q, V
from linkwork.simulation.constrained.constraints import Constraints
from linkwork.simulation.moving import Moving, moving_of
from linkwork.spatial.memory import load3, load9, store3, store9

WORLD = -1  # in the place of a group

BODY_ROWS = tuple(place_of(Moving, x) for x in ("tree", "body", "work", "world", "tree_of", "composite"))
VELOCITY_ROWS = tuple(
    place_of(Moving, x)
    for x in (
        "dof",
        "effort",
        "motor",
        "effort_limit",
        "velocity_limit",
        "v",
        "qdd",
        "saturation_velocity",
        "joint_effort",
        "applied_efforts",
        "effective_armature",
        "dof_work",
        "start_v",
        "u",
    )
)
COORDINATE_ROWS = tuple(place_of(Moving, x) for x in ("rest", "q", "start_q"))
ROWS_OF_WRENCH = place_of(Moving, "wrench")
ROWS_OF_CONSTRAINED_BODIES = place_of(Constraints, "constrained_bodies", Moving)
SCRATCH_BODY_ROWS = tuple(place_of(Constraints, x, Moving) for x in ("mark", "members", "bias_up", "response"))
SCRATCH_VELOCITY_ROWS = tuple(place_of(Constraints, x, Moving) for x in ("change", "effort"))


class Reduced(NamedTuple):
    """How the moving linkage is made of the whole one."""

    joint: Int1  # (n,) joint of each group, by the body it carries; the first `counts[GROUPS]` are in use, ascending
    joint_before: Int1  # (n,) the same before the linkage was gathered last
    number: Int1  # (n,) group that hangs from a joint; read for active joints only
    group: Int1  # (N,) group a node's frame stands in: of active nodes and the rigid ones right below
    pose: Float2  # (N, 12) and where in the group's frame
    last: (
        Int1  # (N,) joint of the group that the last body of an active cluster stands in; WORLD: that of its first body
    )
    last_pose: Float2  # (N, 12) and where: in the group's frame, or in that of the first body
    base: Int1  # (t,) bodies on the free joints of floating trees
    loop_ends: Int2  # (k, 2) bodies at the ends of loops
    loop_frames: Float2  # (k, 24) and the loops' frames in them
    first_in_loop: Int1  # (k + 1,) places in `joints_of_loop`
    joints_of_loop: Int1  # bodies on the joints of each loop
    first_loop: Int1  # (n + 1,) places in `loops_of_joint`
    loops_of_joint: Int1
    loop_needs: Int1  # (k,) freedoms that it takes for any joint of a loop to move
    loop_has: Int1  # (k,) scratch of `region.locked_loops`
    coupled_body: Int1  # (e,) bodies on the joints of couplings
    coupled_freedom: Int1  # (e,) places of these joints in v
    coupled_place: Int1  # (e,) and in q
    coupled_dual: Float2  # (e, 6) wrench on the body, in its frame, that is a unit effort on the joint
    offset: Float1  # (c,) what the sums of coordinates are to be
    stops: Int1  # (n,) of `constrained.stopping`; at other times scratch
    pressed: Float2  # (n, 6) what contacts of moving bodies do to the groups, of `region.squeezing`
    at_rest: Float1  # (3,) zeros
    counts: Int1  # (COUNTS,)


reduced_of = reader(Reduced, Plan, Mechanism, Coefficients, Run)

# Entries of `counts`. FIRST_FORCE: row of `Run.loop_body`, behind loops and couplings, where forces of contacts begin.
# PRESSED: whether anything stands in `pressed`.
GROUPS, COORDINATES, VELOCITIES, HAS_WRENCHES, FIRST_FORCE, PRESSED = range(6)
COUNTS = 8


@inlined
def moves(mechanism, run, i):
    """Whether an active joint is a joint of the moving linkage: one that can move, is not frozen and does not wait."""
    return mechanism.tree[i, DOF] > 0 and run.waits[i] == 0


@inlined
def has_group(reduced, i):
    """Whether joint i was one of the linkage that moves when that was gathered."""
    r = reduced.number[i]
    return r < reduced.counts[GROUPS] and reduced.joint[r] == i


@inlined
def load_pose(a, k):
    return load9(a, k, 0), load3(a, k, 9)


@inlined
def store_pose(a, k, R, p):
    store9(a, k, 0, R)
    store3(a, k, 9, p)


@inlined
def joint_pose(c, i):
    """Pose of body i in its parent."""
    return load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P)


# --------------------------------------------------------------------------------------------------------- joints and state


@routine
def list_joints(plan, mechanism, run, reduced):
    """Lists the active joints, ascending: bodies are numbered parents first, and so are the groups.

    Returns whether they are others than before.
    """
    before = reduced.counts[GROUPS]
    count = 0
    for k in range(before):  # those that go on moving are in order
        i = reduced.joint[k]
        reduced.joint_before[k] = i
        if is_active(run, plan.joint[i]) and moves(mechanism, run, i):
            reduced.joint[count] = i
            count += 1
    differs = count != before
    stayed = count
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if not carries_joint(plan, node):
            continue
        i = plan.nodes[node, INDEX]
        r = reduced.number[i]
        was_there = r < before and reduced.joint_before[r] == i
        if not was_there and moves(mechanism, run, i):
            reduced.joint[count] = i
            count += 1
    if count > stayed:
        differs = True
        heap_sort(reduced.joint, stayed, count - stayed)
        merge(reduced.joint, stayed, count, reduced.stops)
    reduced.counts[GROUPS] = count
    if differs:
        reduced.counts[PRESSED] = 0
    return differs


@routine
def size_arrays(table, bodies, velocities, coordinates, has_wrenches):
    """Gives the arrays of the moving linkage as many rows as it has bodies, velocities and coordinates."""
    for k in range(len(BODY_ROWS)):
        set_rows(table, BODY_ROWS[k], bodies)
    for k in range(len(VELOCITY_ROWS)):
        set_rows(table, VELOCITY_ROWS[k], velocities)
    for k in range(len(COORDINATE_ROWS)):
        set_rows(table, COORDINATE_ROWS[k], coordinates)
    for k in range(len(SCRATCH_BODY_ROWS)):
        set_rows(table, SCRATCH_BODY_ROWS[k], bodies)
    for k in range(len(SCRATCH_VELOCITY_ROWS)):
        set_rows(table, SCRATCH_VELOCITY_ROWS[k], velocities)
    set_rows(table, ROWS_OF_WRENCH, bodies if has_wrenches else 0)


@inlined
def coordinate_count(tree, i):
    quaternion = tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE
    return tree[i, DOF] + (1 if quaternion else 0)


@routine
def copy_joints(table, mechanism, run, reduced):
    """Joints, efforts, motors, coordinates and velocities of all groups; their inertias and wrenches begin at zero."""
    tree = mechanism.tree
    groups = reduced.counts[GROUPS]
    nq = 0
    nv = 0
    for r in range(groups):
        i = reduced.joint[r]
        reduced.number[i] = r
        nv += tree[i, DOF]
        nq += coordinate_count(tree, i)
    reduced.counts[VELOCITIES] = nv
    reduced.counts[COORDINATES] = nq
    size_arrays(table, groups, nv, nq, reduced.counts[HAS_WRENCHES] != 0)
    s = moving_of(table)
    k = 0
    j = 0
    for r in range(groups):
        i = reduced.joint[r]
        s.tree[r, KIND] = tree[i, KIND]
        s.tree[r, DOF] = tree[i, DOF]
        s.tree[r, SCREW] = tree[i, SCREW]
        s.tree[r, Q] = k
        s.tree[r, V] = j
        for e in range(BODY_COLUMNS):
            s.body[r, e] = mechanism.body[i, e]
        for e in range(INERTIA, INERTIA + 10):
            s.body[r, e] = 0.0
        if reduced.counts[HAS_WRENCHES] != 0:
            for e in range(6):
                s.wrench[r, e] = 0.0
        for e in range(coordinate_count(tree, i)):
            s.q[k + e] = run.q[tree[i, Q] + e]
            s.rest[k + e] = mechanism.rest[tree[i, Q] + e]
        for d in range(tree[i, DOF]):
            source = tree[i, V] + d
            s.v[j + d] = run.v[source]
            s.qdd[j + d] = run.qdd[source]
            s.effort[j + d] = run.effort[source]
            s.effort_limit[j + d] = mechanism.effort_limit[source]
            s.velocity_limit[j + d] = mechanism.velocity_limit[source]
            for e in range(DOF_COLUMNS):
                s.dof[j + d, e] = mechanism.dof[source, e]
                s.motor[j + d, e] = run.motor[source, e]
        k += coordinate_count(tree, i)
        j += tree[i, DOF]


@routine
def write_back(table, mechanism, run, reduced):
    """Coordinates, velocities and accelerations of the moving linkage → those of the whole one."""
    s = moving_of(table)
    tree = mechanism.tree
    for r in range(reduced.counts[GROUPS]):
        i = reduced.joint[r]
        for e in range(coordinate_count(tree, i)):
            run.q[tree[i, Q] + e] = s.q[s.tree[r, Q] + e]
        for d in range(tree[i, DOF]):
            run.v[tree[i, V] + d] = s.v[s.tree[r, V] + d]
            run.qdd[tree[i, V] + d] = s.qdd[s.tree[r, V] + d]
