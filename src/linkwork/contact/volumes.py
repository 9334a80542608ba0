"""Bounding volumes on the assembly tree, refitted only where something moved.

Volume k < N is node k, volume N + i is the shapes of body i alone. A node is *rigid* while all its joints stand still: its
box stands in the frame of its top body (a branch: of the body that carries it), and it and the places of everything inside
need no refit. The nodes that are not rigid (*open*) form the top of the tree; their boxes have the directions of the world,
so that two of them are compared by six numbers, and none of them has a pose. What is right below an open node and is not
open itself, a rigid node or the shapes of one body, has its pose in the world and a box around it there.

    JOIN, SUM   box(left) ∪ X box(right)      HANG   X box(cluster)      BODY   own shapes ∪ branches          (2)
    reach       h (|v| + |ω| (|c| + |half|)): how far a point of a rigid node can move in a step               (3)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH, VOLUME, box_to_parent, union
from linkwork.contact.tables import ShapeTable
from linkwork.core.arrays import IntArray
from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    cross3,
    dot3,
    matmul3,
    matvec3,
    sub3,
    tmatvec3,
    transpose3,
)
from linkwork.spatial.vectors import ZERO6

NOWHERE = -1.0  # half edge of an empty volume
FARTHEST, REGION = 0, 1  # entries of `region_state`
LISTED_PER_BODY = 32  # pairs of rigid groups that a list has room for: where more are near, none is made


class Volumes(NamedTuple):
    """What the search for contacts keeps between steps."""

    nodes: Int2  # (N, 8)    the assembly plan
    frame: Int1  # (N,)      body whose frame the node's volume stands in; -1: the world
    rigid: Byte1  # (N,)      1 while no joint inside the node moves
    place: Float2  # (N+n, 12) pose of its frame: inside rigid nodes in the parent node's, below open ones in the world
    twist: Float2  # (N+n, 6)  of its frame, world axes, at its origin; of what is right below open nodes
    volume: Float2  # (N+n, 8)  centre, half edges [m], reach [m]; rows from N on: own shapes of the bodies
    around: Float2  # (N+n, 8)  box of the world's directions around what is right below an open node
    clearance_bound: Float1  # (N+n,)    distance from all obstacles at the last comparison, plus `travelled` then [m]
    by_parts: Byte1  # (N,)     1 where a box was near an obstacle when last compared: now its parts are compared
    last_pose: Float2  # (N+n, 12) world pose of a rigid group right below moving joints at the last look
    travelled: Float1  # (N+n,)    way of such a group: the largest of any of its points, summed over steps [m]
    last_region: Int1  # (N+n,)    number of the region in which it last was such a group
    region_state: Float1  # (2,)      largest `travelled` of all [m]; number of the present region
    nearest: Int2  # (n, 2)    obstacles nearest to the shapes of a body when all were last compared; -1: there is none
    other_bound: Float1  # (n,)      distance from all others then, plus `travelled` then [m]
    planes: (
        Float2  # (n, 8)    planes with the nearest two behind them: normal, height along it [m]; infinite: not known
    )
    times_rigid: Int1  # (N+n,)    how often a node has become rigid
    pair_bounds: Float2  # (P, 17)   what is known of pairs of rigid groups; see near_itself
    listed: Int2  # (L, 2)    pairs of rigid groups that may come near soon; see listed_pairs
    listed_left: Float1  # (L,)      what is left of their distances, plus the ways of both groups until then [m]
    listed_until: Float1  # (N+n,)    `travelled` and reach of a rigid group up to which the list holds [m]
    listing: Int1  # (2,)      pairs in the list, -1: there is none; the region that it is of


def make_volumes(assembly: Any, table: ShapeTable) -> Volumes:
    """Volumes with all joints open; the boxes of bodies are set, those above them by `refit`.

    assembly: `assembly.plan.Assembly`, which is not imported: kernels draw on this file.
    """
    nodes, n = assembly.nodes, assembly.leaf.shape[0]
    N = nodes.shape[0]
    volume = np.zeros((N + n, VOLUME))
    volume[:, HALF : HALF + 3] = NOWHERE
    for i in range(n):
        boxes = table.box[table.first[i + 1] : table.first[i + 2]]
        if len(boxes):
            low, high = (boxes[:, :3] - boxes[:, 3:]).min(axis=0), (boxes[:, :3] + boxes[:, 3:]).max(axis=0)
            volume[N + i, :3], volume[N + i, 3:6] = 0.5 * (low + high), 0.5 * (high - low)
    place = np.zeros((N + n, 12))
    place[:, [0, 4, 8]] = 1.0
    volumes = Volumes(
        nodes=nodes,
        frame=node_frames(nodes, table.parent),
        rigid=np.zeros(N, dtype=np.uint8),
        place=place,
        twist=np.zeros((N + n, 6)),
        volume=volume,
        around=volume.copy(),
        clearance_bound=np.full(N + n, -np.inf),
        by_parts=np.zeros(N, dtype=np.uint8),
        last_pose=np.zeros((N + n, 12)),
        travelled=np.zeros(N + n),
        last_region=np.zeros(N + n, dtype=np.int64),
        region_state=np.array([0.0, 2.0]),
        nearest=np.full((n, 2), -1, dtype=np.int64),
        other_bound=np.full(n, -np.inf),
        planes=np.full((n, 8), np.inf),
        times_rigid=np.zeros(N + n, dtype=np.int64),
        pair_bounds=np.full((pair_capacity(n), 17), -1.0),
        listed=np.zeros((LISTED_PER_BODY * n, 2), dtype=np.int64),
        listed_left=np.zeros(LISTED_PER_BODY * n),
        listed_until=np.full(N + n, -np.inf),
        listing=np.full(2, -1, dtype=np.int64),
    )
    bodies = (nodes[:, NODE_KIND] == BODY) & (nodes[:, LEFT] < 0)
    volumes.rigid[bodies] = 1
    volume[:N][bodies] = volume[N + nodes[bodies, INDEX]]
    return volumes


def pair_capacity(bodies: int) -> int:
    """How many pairs of rigid groups are known at most, a power of two: a body has few that are near."""
    return 1 << max(6, min(16, (16 * bodies - 1).bit_length()))


def all_open(volumes: Volumes) -> IntArray:
    """The nodes that are open when every joint moves, children before parents."""
    return np.flatnonzero(volumes.rigid == 0).astype(np.int64)


@kernel(allocates=True)
def node_frames(nodes, parent):
    """Body in whose frame each node's volume stands."""
    frame = np.empty(nodes.shape[0], dtype=np.int64)
    for k in range(nodes.shape[0]):
        kind = nodes[k, NODE_KIND]
        if kind == BODY:
            frame[k] = nodes[k, INDEX]
        elif kind == HANG:
            frame[k] = parent[nodes[k, INDEX]]
        else:
            frame[k] = frame[nodes[k, LEFT]]
    return frame


@inlined
def is_own(volumes, k):
    """Whether volume k is the shapes of one body."""
    return k >= volumes.nodes.shape[0]


@inlined
def is_open(volumes, k):
    return k < volumes.nodes.shape[0] and volumes.rigid[k] == 0


@inlined
def children(volumes, k):
    """The two volumes that make up node k, the second -1 where there is one only."""
    nodes = volumes.nodes
    kind = nodes[k, NODE_KIND]
    if kind == BODY:
        return nodes.shape[0] + nodes[k, INDEX], nodes[k, LEFT]
    if kind == HANG:
        return nodes[k, LEFT], -1
    return nodes[k, LEFT], nodes[k, RIGHT]


@inlined
def parts(volumes, k):
    """The same of an open node: a rigid node of one body is the shapes of that body."""
    first, second = children(volumes, k)
    return as_shapes(volumes, first), as_shapes(volumes, second)


@inlined
def as_shapes(volumes, k):
    nodes = volumes.nodes
    if 0 <= k < nodes.shape[0] and nodes[k, NODE_KIND] == BODY and nodes[k, LEFT] < 0:
        return nodes.shape[0] + nodes[k, INDEX]
    return k


@routine
def place_nodes(volumes, poses, twists):
    """Sets place and twist of every node from world poses (n, 12) and twists (n, 6; world axes, at body origins)."""
    nodes, frame = volumes.nodes, volumes.frame
    for k in range(nodes.shape[0]):
        kind = nodes[k, NODE_KIND]
        if volumes.rigid[k] == 0:
            for part in parts(volumes, k):
                if part >= 0:
                    body = body_of(volumes, part) if is_own(volumes, part) else frame[part]
                    relate(volumes.place, part, poses, -1, body)
                    store6(volumes.twist, part, 0, load6(twists, body, 0) if body >= 0 else ZERO6)
        elif kind == JOIN:
            relate(volumes.place, nodes[k, RIGHT], poses, frame[k], frame[nodes[k, RIGHT]])
        elif kind == HANG:
            relate(volumes.place, nodes[k, LEFT], poses, frame[k], frame[nodes[k, LEFT]])


@inlined
def body_of(volumes, k):
    return k - volumes.nodes.shape[0]


@inlined
def relate(place, k, poses, a, b):
    """Pose of body b in body a as the place of volume k; -1 is the world."""
    R, p = IDENTITY3, ZERO3
    if b >= 0:
        R, p = load9(poses, b, 0), load3(poses, b, 9)
    if a >= 0:
        Ra, pa = load9(poses, a, 0), load3(poses, a, 9)
        R, p = matmul3(transpose3(Ra), R), tmatvec3(Ra, sub3(p, pa))
    store9(place, k, 0, R)
    store3(place, k, 9, p)


@routine
def refit(volumes, open_nodes, h):
    """Refits the volumes of open nodes, children before parents; `place` and `twist` are up to date.   (2), (3)

    Cost: O(open nodes).
    """
    for o in range(open_nodes.shape[0]):
        k = open_nodes[o]
        first, second = parts(volumes, k)
        centre, half, reach = fit_part(volumes, first, h)
        if second >= 0:
            c, e, far = fit_part(volumes, second, h)
            centre, half = union(centre, half, c, e)
            reach = max(reach, far)
        store3(volumes.volume, k, CENTRE, centre)
        store3(volumes.volume, k, HALF, half)
        volumes.volume[k, REACH] = reach


@inlined
def fit_part(volumes, k, h):
    """Box in the world and reach of what is right below an open node."""
    volume, around = volumes.volume, volumes.around
    if is_open(volumes, k):
        return load3(volume, k, CENTRE), load3(volume, k, HALF), volume[k, REACH]
    volume[k, REACH] = reach_of(volumes.twist, k, volume, k, h)
    centre, half = load3(volume, k, CENTRE), load3(volume, k, HALF)
    if half[0] >= 0.0:
        centre, half = box_to_parent(load9(volumes.place, k, 0), load3(volumes.place, k, 9), centre, half)
    store3(around, k, CENTRE, centre)
    store3(around, k, HALF, half)
    return centre, half, volume[k, REACH]


@routine
def make_rigid(volumes, k):
    """Node k, of rigid nodes in their places, becomes rigid itself, with a box in its own frame.   (2)"""
    kind, volume = volumes.nodes[k, NODE_KIND], volumes.volume
    first, second = children(volumes, k)
    moved = first if kind == HANG else (second if kind == JOIN else -1)
    centre, half = box_inside(volumes, first, first == moved)
    if second >= 0:
        c, e = box_inside(volumes, second, second == moved)
        centre, half = union(centre, half, c, e)
    store3(volume, k, CENTRE, centre)
    store3(volume, k, HALF, half)
    volumes.rigid[k] = 1
    volumes.times_rigid[k] += 1
    first, second = parts(volumes, k)
    travelled = volumes.travelled[first] if second < 0 else max(volumes.travelled[first], volumes.travelled[second])
    volumes.travelled[as_shapes(volumes, k)] = travelled


@routine
def make_open(volumes, k):
    """Node k is open from now on; parents before children. Its parts have travelled as far as it has."""
    if volumes.rigid[k] != 0:
        volumes.rigid[k] = 0
        travelled = volumes.travelled[as_shapes(volumes, k)]
        for part in parts(volumes, k):
            if part >= 0:
                volumes.travelled[part] = travelled


@inlined
def box_inside(volumes, k, is_moved):
    """The box of a rigid node in the frame of its parent node."""
    centre, half = load3(volumes.volume, k, CENTRE), load3(volumes.volume, k, HALF)
    if is_moved and half[0] >= 0.0:
        centre, half = box_to_parent(load9(volumes.place, k, 0), load3(volumes.place, k, 9), centre, half)
    return centre, half


@inlined
def reach_of(twists, k, volume, row, h):
    """How far a point of a rigid volume can move in the time h.   (3)"""
    if h == 0.0 or volume[row, HALF] < 0.0:
        return 0.0
    return twist_reach(load6(twists, k, 0), volume, row, h)


@inlined
def twist_reach(V, volume, row, h):
    """The same from the twist itself."""
    w, v = (V[0], V[1], V[2]), (V[3], V[4], V[5])
    c, e = load3(volume, row, CENTRE), load3(volume, row, HALF)
    return h * (length(v) + length(w) * (length(c) + length(e)))


@inlined
def length(x):
    return np.sqrt(dot3(x, x))


@inlined
def child_pose(volumes, child, R, p):
    """World pose of a child node's frame from that of its parent."""
    Rc, pc = load9(volumes.place, child, 0), load3(volumes.place, child, 9)
    return matmul3(R, Rc), add3(matvec3(R, pc), p)


@inlined
def carried_twist(V, p, q):
    """The twist V (world axes, at p) of a rigid motion, at the point q."""
    w = (V[0], V[1], V[2])
    v = add3((V[3], V[4], V[5]), cross3(w, sub3(q, p)))
    return (V[0], V[1], V[2], v[0], v[1], v[2])


@inlined
def place_child(volumes, k, child, R, p, V, reach):
    """Pose, twist and reach of a child of node k; what is inside a rigid node moves with it, and no farther."""
    if not volumes.rigid[k]:
        reach = volumes.volume[child, REACH]
        if is_open(volumes, child):
            return IDENTITY3, ZERO3, ZERO6, reach
        return load9(volumes.place, child, 0), load3(volumes.place, child, 9), load6(volumes.twist, child, 0), reach
    if is_own(volumes, child):
        return R, p, V, reach
    Rc, pc = child_pose(volumes, child, R, p)
    return Rc, pc, carried_twist(V, p, pc), reach


@inlined
def below(volumes, k):
    """What node k is made of, as `place_child` takes it."""
    return children(volumes, k) if volumes.rigid[k] else parts(volumes, k)
