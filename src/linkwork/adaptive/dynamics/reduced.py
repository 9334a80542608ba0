"""The linkage that moves between two updates of the region: active joints, and the rigid bodies between them.

Cut a linkage at its active joints: what remains are rigid pieces. Each piece but those welded to the world hangs from one
active joint, so the pieces are the bodies of a small linkage: the joint of a piece is that active joint, its frame that of
the first body behind the joint, its inertia that of all bodies in it. `gather` writes that linkage into compact arrays
(`simulation.moving`), and it is stepped like any other. Theory: docs/theory/adaptive_dynamics.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.frontier import heap_sort
from linkwork.adaptive.nodes import carries_joint, is_active
from linkwork.adaptive.workspace import (
    ACTIVE_COUNT,
    LOAD_COUNT,
    P_FORCE,
    P_INERTIA,
    P_P,
    P_R,
    P_SPRING,
    Coefficients,
    Mechanism,
    Plan,
    Run,
)
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.bundles import Float1, Float2, Int1, Int2, place_of, reader, set_rows
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_P, H_R
from linkwork.model.joint_kernels import joint_spring_energy
from linkwork.model.layout import (
    BODY_COLUMNS,
    DOF,
    DOF_COLUMNS,
    FREE,
    INERTIA,
    KIND,
    PARENT,
    POSITION,
    ROTATION,
    SCREW,
    SPHERICAL,
    Q,
    V,
)
from linkwork.simulation.constraints import Constraints, constraints_of
from linkwork.simulation.loads import LOAD_AT, LOAD_COLUMNS
from linkwork.simulation.moving import COMPOSITES_READY, LOADS, POTENTIAL_OFFSET, Moving, moving_of
from linkwork.spatial.inertia import rigid_to_parent
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, add3, dot3, matvec3
from linkwork.spatial.vectors import compose_pose, wrench_to_child, wrench_to_parent

IntArray = NDArray[np.int64]

WORLD = -1  # in the place of a piece

BODY_ROWS = tuple(place_of(Moving, x) for x in ("tree", "body", "work", "world", "tree_of", "composite"))
VELOCITY_ROWS = tuple(
    place_of(Moving, x)
    for x in (
        "dof",
        "effort",
        "motor",
        "strength",
        "top_speed",
        "v",
        "qdd",
        "judged",
        "drive",
        "acted",
        "resistance",
        "dof_work",
        "start_v",
        "u",
    )
)
COORDINATE_ROWS = tuple(place_of(Moving, x) for x in ("rest", "q", "start_q"))
ROWS_OF_WRENCH = place_of(Moving, "wrench")
ROWS_OF_TOUCHED = place_of(Constraints, "touched", Moving)
SCRATCH_BODY_ROWS = tuple(place_of(Constraints, x, Moving) for x in ("mark", "members", "bias_up", "answer"))
SCRATCH_VELOCITY_ROWS = tuple(place_of(Constraints, x, Moving) for x in ("change", "effort"))


class Reduced(NamedTuple):
    """How the moving linkage is made of the whole one."""

    joint: Int1  # (n,) joint of each piece, by the body it carries; the first `counts[PIECES]` are in use, ascending
    number: Int1  # (n,) piece that hangs from a joint; read for active joints only
    piece: Int1  # (N,) piece a node's frame stands in: of active nodes and the rigid ones right below
    pose: Float2  # (N, 12) and where in the piece's frame
    last: (
        Int1  # (N,) joint of the piece that the last body of an active cluster stands in; WORLD: that of its first body
    )
    last_pose: Float2  # (N, 12) and where: in the piece's frame, or in that of the first body
    base: Int1  # (t,) bodies on the free joints of floating trees
    loop_ends: Int2  # (k, 2) bodies at the ends of loops
    loop_frames: Float2  # (k, 24) and the loops' frames in them
    stops: Int1  # (n,) of `simulation.stopping`
    at_rest: Float1  # (3,) zeros
    counts: Int1


reduced_of = reader(Reduced, Plan, Mechanism, Coefficients, Run)

PIECES, COORDINATES, VELOCITIES, HAS_WRENCHES = range(4)
COUNTS = 8


def allocate_reduced(bodies: int, nodes: int, base: IntArray, constraints: Constraints) -> Reduced:
    def integers(size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    return Reduced(
        joint=integers(bodies),
        number=integers(bodies),
        piece=integers(nodes),
        pose=np.zeros((nodes, 12)),
        last=integers(nodes),
        last_pose=np.zeros((nodes, 12)),
        base=base,
        loop_ends=constraints.ends.copy(),
        loop_frames=constraints.frames.copy(),
        stops=integers(bodies),
        at_rest=np.zeros(3),
        counts=integers(COUNTS),
    )


@inlined
def moves(mechanism, i):
    """Whether an active joint is a joint of the moving linkage: one that can move and is not frozen."""
    return mechanism.tree[i, DOF] > 0


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
    """Lists the active joints, ascending: bodies are numbered parents first, and so are the pieces."""
    count = 0
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if carries_joint(plan, node) and moves(mechanism, plan.nodes[node, INDEX]):
            reduced.joint[count] = plan.nodes[node, INDEX]
            count += 1
    heap_sort(reduced.joint, 0, count)
    reduced.counts[PIECES] = count


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
    """Joints, efforts, motors, coordinates and velocities of all pieces; their inertias and wrenches begin at zero."""
    tree = mechanism.tree
    pieces = reduced.counts[PIECES]
    nq = 0
    nv = 0
    for r in range(pieces):
        i = reduced.joint[r]
        reduced.number[i] = r
        nv += tree[i, DOF]
        nq += coordinate_count(tree, i)
    reduced.counts[VELOCITIES] = nv
    reduced.counts[COORDINATES] = nq
    size_arrays(table, pieces, nv, nq, reduced.counts[HAS_WRENCHES] != 0)
    s = moving_of(table)
    k = 0
    j = 0
    for r in range(pieces):
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
            s.strength[j + d] = mechanism.strength[source]
            s.top_speed[j + d] = mechanism.top_speed[source]
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
    for r in range(reduced.counts[PIECES]):
        i = reduced.joint[r]
        for e in range(coordinate_count(tree, i)):
            run.q[tree[i, Q] + e] = s.q[s.tree[r, Q] + e]
        for d in range(tree[i, DOF]):
            run.v[tree[i, V] + d] = s.v[s.tree[r, V] + d]
            run.qdd[tree[i, V] + d] = s.qdd[s.tree[r, V] + d]


# ------------------------------------------------------------------------------------------------------------------ pieces


@inlined
def last_of(plan, c, run, reduced, node):
    """Where the last body of a cluster stands: joint of its piece (WORLD: that of the first body), and its pose there."""
    if is_active(run, node) and plan.nodes[node, NODE_KIND] == JOIN:
        R, p = load_pose(reduced.last_pose, node)
        return reduced.last[node], R, p
    return WORLD, load9(c.composite, node, P_R), load3(c.composite, node, P_P)


@routine
def find_last_bodies(plan, mechanism, c, run, reduced):
    """Leaf to root: the piece in which the last body of each active cluster stands, as seen from its first body."""
    nodes = plan.nodes
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if nodes[node, NODE_KIND] != JOIN:
            continue
        i = nodes[node, INDEX]
        joint, R, p = last_of(plan, c, run, reduced, nodes[node, RIGHT])
        if joint == WORLD:  # in the piece of the first body behind the joint
            if moves(mechanism, i):
                joint = i
            else:
                upper, Ru, pu = last_of(plan, c, run, reduced, nodes[node, LEFT])
                Ri, pi = joint_pose(c, i)
                Ri, pi = compose_pose(Ru, pu, Ri, pi)
                R, p = compose_pose(Ri, pi, R, p)
                joint = upper
        reduced.last[node] = joint
        store_pose(reduced.last_pose, node, R, p)


@inlined
def stand(reduced, node, piece, R, p):
    """A node's frame stands in a piece."""
    reduced.piece[node] = piece
    store_pose(reduced.pose, node, R, p)


@inlined
def add_rigid(s, piece, R, p, inertia):
    """Inertia of a rigid part at a pose in a piece; returns the potential energy of a part welded to the world."""
    moved = rigid_to_parent(R, p, inertia)
    if piece == WORLD:
        return -dot3((s.gravity[0], s.gravity[1], s.gravity[2]), (moved[1], moved[2], moved[3]))
    for e in range(10):
        s.body[piece, INERTIA + e] += moved[e]
    return 0.0


@inlined
def add_wrench(s, piece, R, p, wrench):
    if piece != WORLD and s.wrench.shape[0] > 0:
        add_to6(s.wrench, piece, 0, wrench_to_parent(R, p, wrench))


@inlined
def hang_piece(s, mechanism, reduced, i, piece, R, p):
    """Joint i is cut: its piece hangs from another (or from the world), at the joint's zero frame."""
    r = reduced.number[i]
    R0, p0 = compose_pose(R, p, load9(mechanism.body, i, ROTATION), load3(mechanism.body, i, POSITION))
    s.tree[r, PARENT] = piece
    store9(s.body, r, ROTATION, R0)
    store3(s.body, r, POSITION, p0)


@routine
def place_nodes(table, plan, mechanism, c, run, reduced):
    """Root to leaf: where each active node and the rigid ones right below stand; inertias and wrenches of all pieces.

    Returns the potential energy of what does not move: weight of parts welded to the world, springs of rigid parts.
    """
    s = moving_of(table)
    nodes = plan.nodes
    potential = 0.0
    count = run.counts[ACTIVE_COUNT]
    if nodes.shape[0] > 0:
        root = nodes.shape[0] - 1
        stand(reduced, root, WORLD, IDENTITY3, ZERO3)
        if count == 0:
            potential += add_front(s, c, reduced, root)
    for k in range(count - 1, -1, -1):
        node = run.active[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT]
        piece = reduced.piece[node]
        R, p = load_pose(reduced.pose, node)
        i = nodes[node, INDEX]
        if kind == JOIN or kind == HANG:
            lower = left
            Ru, pu = R, p
            upper = piece
            if kind == JOIN:
                lower = right
                stand(reduced, left, piece, R, p)
                joint, Rl, pl = last_of(plan, c, run, reduced, left)
                if joint == WORLD:
                    Ru, pu = compose_pose(R, p, Rl, pl)
                else:
                    upper = reduced.number[joint]
                    Ru, pu = Rl, pl
            if moves(mechanism, i):
                hang_piece(s, mechanism, reduced, i, upper, Ru, pu)
                stand(reduced, lower, reduced.number[i], IDENTITY3, ZERO3)
            else:
                Ri, pi = joint_pose(c, i)
                Ri, pi = compose_pose(Ru, pu, Ri, pi)
                stand(reduced, lower, upper, Ri, pi)
                potential += joint_spring_energy(mechanism.whole_tree, mechanism.dof, mechanism.rest, i, run.q)
        else:
            if kind == BODY:
                potential += add_rigid(s, piece, R, p, load10(mechanism.body, i, INERTIA))
                add_wrench(s, piece, R, p, load6(run.wrench, i, 0))
            if left >= 0:
                stand(reduced, left, piece, R, p)
            if right >= 0:
                stand(reduced, right, piece, R, p)
        if left >= 0 and not is_active(run, left):
            potential += add_front(s, c, reduced, left)
        if right >= 0 and not is_active(run, right):
            potential += add_front(s, c, reduced, right)
    return potential


@inlined
def add_front(s, c, reduced, node):
    """A rigid node becomes part of the piece it stands in."""
    piece = reduced.piece[node]
    R, p = load_pose(reduced.pose, node)
    add_wrench(s, piece, R, p, load6(c.composite, node, P_FORCE))
    return c.composite[node, P_SPRING] + add_rigid(s, piece, R, p, load10(c.composite, node, P_INERTIA))


# ------------------------------------------------------------------------------------------------------ loads, trees, loops


@routine
def body_in_piece(plan, c, run, reduced, body):
    """Piece in which a body stands, and its pose there: up to the rigid node right below the active region."""
    nodes = plan.nodes
    node = plan.leaf[body]
    R, p = IDENTITY3, ZERO3
    while not is_active(run, node) and nodes[node, UP] >= 0 and not is_active(run, nodes[node, UP]):
        up = nodes[node, UP]
        kind = nodes[up, NODE_KIND]
        if kind == HANG or (kind == JOIN and nodes[up, RIGHT] == node):
            Ri, pi = joint_pose(c, nodes[up, INDEX])
            if kind == JOIN:
                left = nodes[up, LEFT]
                Ri, pi = compose_pose(load9(c.composite, left, P_R), load3(c.composite, left, P_P), Ri, pi)
            R, p = compose_pose(Ri, pi, R, p)
        node = up
    Rn, pn = load_pose(reduced.pose, node)
    R, p = compose_pose(Rn, pn, R, p)
    return reduced.piece[node], R, p


@routine
def gather_loads(table, plan, c, run, reduced):
    """Loads held by the world, on the pieces of their bodies."""
    s = moving_of(table)
    count = 0
    for k in range(run.counts[LOAD_COUNT]):
        piece, R, p = body_in_piece(plan, c, run, reduced, run.load_body[k])
        if piece == WORLD:
            continue
        for e in range(LOAD_COLUMNS):
            s.load[count, e] = run.load[k, e]
        store3(s.load, count, LOAD_AT, add3(matvec3(R, load3(run.load, k, LOAD_AT)), p))
        s.load_body[count] = piece
        count += 1
    s.counts[LOADS] = count


@routine
def gather_trees(table, mechanism, reduced):
    """Bases of floating trees, and the tree of each piece."""
    s = moving_of(table)
    for r in range(s.tree.shape[0]):
        s.tree_of[r] = -1
    for t in range(s.base.shape[0]):
        i = reduced.base[t]
        s.base[t] = reduced.number[i] if moves(mechanism, i) else -1
        if s.base[t] >= 0:
            s.tree_of[s.base[t]] = t
    for r in range(s.tree.shape[0]):
        if s.tree[r, PARENT] >= 0:
            s.tree_of[r] = s.tree_of[s.tree[r, PARENT]]


@routine
def gather_loops(table, plan, c, run, reduced):
    """Ends of loops on the pieces of their bodies. A loop inside one piece stays: its rows answer nothing, and count as
    redundant."""
    x = constraints_of(table)
    touched = 0
    for k in range(x.ends.shape[0]):
        for side in range(2):
            body = reduced.loop_ends[k, side]
            piece = WORLD
            R, p = IDENTITY3, ZERO3
            if body >= 0:
                piece, R, p = body_in_piece(plan, c, run, reduced, body)
            Rf = load9(reduced.loop_frames, k, 12 * side)
            pf = load3(reduced.loop_frames, k, 12 * side + 9)
            R, p = compose_pose(R, p, Rf, pf)
            store9(x.frames, k, 12 * side, R)
            store3(x.frames, k, 12 * side + 9, p)
            x.ends[k, side] = piece
            where = WORLD
            if piece != WORLD:
                where = touched
                for m in range(touched):
                    if x.touched[m] == piece:
                        where = m
                if where == touched:
                    touched += 1
                    set_rows(table, ROWS_OF_TOUCHED, touched)
                    constraints_of(table).touched[where] = piece
            x.where[k, side] = where
    set_rows(table, ROWS_OF_TOUCHED, touched)


@routine
def express_loop_forces(table, plan, c, run, reduced):
    """Wrenches of loops at the last step, on pieces → on the bodies at their ends: loads of the next update."""
    x = constraints_of(table)
    for k in range(x.ends.shape[0]):
        for side in range(2):
            if reduced.loop_ends[k, side] >= 0:
                _, R, p = body_in_piece(plan, c, run, reduced, reduced.loop_ends[k, side])
                store6(run.loop_wrench, 2 * k + side, 0, wrench_to_child(R, p, load6(x.acting, k, 6 * side)))


@routine
def gather(table, plan, mechanism, c, run, reduced):
    """Writes the moving linkage of the present region and state into the arrays of `table`."""
    list_joints(plan, mechanism, run, reduced)
    copy_joints(table, mechanism, run, reduced)
    find_last_bodies(plan, mechanism, c, run, reduced)
    potential = place_nodes(table, plan, mechanism, c, run, reduced)
    gather_loads(table, plan, c, run, reduced)
    gather_trees(table, mechanism, reduced)
    gather_loops(table, plan, c, run, reduced)
    s = moving_of(table)
    s.numbers[POTENTIAL_OFFSET] = potential
    s.counts[COMPOSITES_READY] = 0
