"""Bounding volumes on the assembly tree, refitted only where something moved.

Every node has a box in the frame of its top body (a branch: of the body that carries it). Volume k < N is node k, volume
N + i is the shapes of body i alone. A node is *rigid* while all its joints stand still: its box, and the places of
everything inside it, then need no refit. The nodes that are not rigid (*open*) form the top of the tree.

    JOIN, SUM   box(left) ∪ X box(right)      HANG   X box(cluster)      BODY   own shapes ∪ branches          (1)
    reach       h (|v| + |ω| (|c| + |half|)): how far a point of a rigid node can move in a step               (2)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import Assembly
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH, VOLUME, box_to_parent, union
from linkwork.contact.shape_table import ShapeTable
from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import add3, cross3, dot3, matmul3, matvec3, sub3, tmatvec3, transpose3

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NOWHERE = -1.0  # half edge of an empty volume
TRAVEL, REGION = 0, 1  # entries of `travel`


class Volumes(NamedTuple):
    """What the search for contacts keeps between steps."""

    nodes: Int2  # (N, 8)    the assembly plan
    frame: Int1  # (N,)      body whose frame the node's volume stands in; -1: the world
    rigid: Byte1  # (N,)      1 while no joint inside the node moves
    place: Float2  # (N, 12)   pose of the node's frame in its parent node's frame, constant inside rigid nodes
    twist: Float2  # (N, 6)    of the node's frame, world axes, at its origin; of nodes whose parent is open
    volume: Float2  # (N+n, 8)  centre, half edges [m], reach [m]; rows from N on: own shapes of the bodies
    known: Float1  # (N+n,)    distance from all obstacles when last looked at, plus `gone` then [m]; see near_world
    stood: Float2  # (N+n, 12) world pose of a rigid part right below moving joints at the last look
    gone: Float1  # (N+n,)    way of such a part: the largest of any of its points, summed over steps [m]
    part_in: Int1  # (N+n,)    number of the region in which it last was such a part
    travel: Float1  # (2,)      largest `gone` of all [m]; number of the present region
    nearest: Int2  # (n, 2)    obstacles nearest to the shapes of a body when all were last compared; -1: there is none
    beyond: Float1  # (n,)      distance from all others then, plus `gone` then [m]


def make_volumes(assembly: Assembly, table: ShapeTable) -> Volumes:
    """Volumes with all joints open; the boxes of bodies are set, those above them by `refit`."""
    nodes, n = assembly.nodes, assembly.leaf.shape[0]
    N = nodes.shape[0]
    volume = np.zeros((N + n, VOLUME))
    volume[:, HALF : HALF + 3] = NOWHERE
    for i in range(n):
        boxes = table.box[table.first[i + 1] : table.first[i + 2]]
        if len(boxes):
            low, high = (boxes[:, :3] - boxes[:, 3:]).min(axis=0), (boxes[:, :3] + boxes[:, 3:]).max(axis=0)
            volume[N + i, :3], volume[N + i, 3:6] = 0.5 * (low + high), 0.5 * (high - low)
    place = np.zeros((N, 12))
    place[:, [0, 4, 8]] = 1.0
    volumes = Volumes(
        nodes=nodes,
        frame=node_frames(nodes, table.parent),
        rigid=np.zeros(N, dtype=np.uint8),
        place=place,
        twist=np.zeros((N, 6)),
        volume=volume,
        known=np.full(N + n, -np.inf),
        stood=np.zeros((N + n, 12)),
        gone=np.zeros(N + n),
        part_in=np.zeros(N + n, dtype=np.int64),
        travel=np.array([0.0, 2.0]),
        nearest=np.full((n, 2), -1, dtype=np.int64),
        beyond=np.full(n, -np.inf),
    )
    bodies = (nodes[:, NODE_KIND] == BODY) & (nodes[:, LEFT] < 0)
    volumes.rigid[bodies] = 1
    volume[:N][bodies] = volume[N + nodes[bodies, INDEX]]
    return volumes


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


@routine
def place_nodes(volumes, poses, twists):
    """Sets place and twist of every node from world poses (n, 12) and twists (n, 6; world axes, at body origins)."""
    nodes, frame = volumes.nodes, volumes.frame
    for k in range(nodes.shape[0]):
        kind = nodes[k, NODE_KIND]
        if kind == JOIN:
            relate(volumes.place, nodes[k, RIGHT], poses, frame[k], frame[nodes[k, RIGHT]])
        elif kind == HANG:
            relate(volumes.place, nodes[k, LEFT], poses, frame[k], frame[nodes[k, LEFT]])
        if frame[k] >= 0:
            store6(volumes.twist, k, 0, load6(twists, frame[k], 0))


@inlined
def relate(place, k, poses, a, b):
    """Pose of body b in body a (or the world) as the place of node k."""
    R, p = load9(poses, b, 0), load3(poses, b, 9)
    if a >= 0:
        Ra, pa = load9(poses, a, 0), load3(poses, a, 9)
        R, p = matmul3(transpose3(Ra), R), tmatvec3(Ra, sub3(p, pa))
    store9(place, k, 0, R)
    store3(place, k, 9, p)


@routine
def refit(volumes, open_nodes, h):
    """Refits the volumes of open nodes, children before parents; `place` and `twist` are up to date.   (1), (2)

    Cost: O(open nodes).
    """
    nodes, volume, rigid = volumes.nodes, volumes.volume, volumes.rigid
    N = nodes.shape[0]
    for o in range(open_nodes.shape[0]):
        k = open_nodes[o]
        kind, left, right = nodes[k, NODE_KIND], nodes[k, LEFT], nodes[k, RIGHT]
        if left >= 0 and rigid[left]:
            volume[left, REACH] = reach_of(volumes.twist, left, volume, left, h)
        if right >= 0 and rigid[right]:
            volume[right, REACH] = reach_of(volumes.twist, right, volume, right, h)
        if kind == BODY:
            own = N + nodes[k, INDEX]
            volume[own, REACH] = reach_of(volumes.twist, k, volume, own, h)
            first, second, moved = own, left, -1
        elif kind == HANG:
            first, second, moved = -1, left, left
        else:
            first, second, moved = left, right, right if kind == JOIN else -1
        centre, half, reach = (0.0, 0.0, 0.0), (NOWHERE, NOWHERE, NOWHERE), 0.0
        if first >= 0:
            centre, half, reach = load3(volume, first, CENTRE), load3(volume, first, HALF), volume[first, REACH]
        if second >= 0:
            c, e = load3(volume, second, CENTRE), load3(volume, second, HALF)
            if moved >= 0 and e[0] >= 0.0:
                c, e = box_to_parent(load9(volumes.place, moved, 0), load3(volumes.place, moved, 9), c, e)
            centre, half = union(centre, half, c, e)
            reach = max(reach, volume[second, REACH])
        store3(volume, k, CENTRE, centre)
        store3(volume, k, HALF, half)
        volume[k, REACH] = reach


@inlined
def reach_of(twists, k, volume, row, h):
    """How far a point of a rigid volume can move in the time h.   (2)"""
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
def is_own(volumes, k):
    """Whether volume k is the shapes of one body."""
    return k >= volumes.nodes.shape[0]
