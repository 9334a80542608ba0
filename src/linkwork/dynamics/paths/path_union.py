"""Wrenches on several bodies at once: one climb over the union of their paths, and one descent.

The paths of k bodies share what is near the root of the assembly tree: together they have O(k log(n/k)) nodes, not k times
log n. Children have smaller numbers than parents, so the nodes in ascending order are a climb, in descending order a
descent. What is carried along is that of `path_queries`: changes of bias up, accelerations and handle forces down.
"""

from typing import NamedTuple

import numpy as np

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.arrays import IntArray
from linkwork.core.bundles import Float2, Int1, Int2, reader
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import H_P, H_R, JOIN_SOLID, SOLID_B
from linkwork.dynamics.dca.solid import into_lower, is_solid, response_of_stretch
from linkwork.dynamics.paths.path_data import PathData, path_data_of
from linkwork.dynamics.paths.path_queries import (
    back_on_upper,
    body_acceleration,
    hang_force,
    join_force,
    own_bias,
    push_through,
    times_block,
)
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.simd import flat6, negate6
from linkwork.spatial.vectors import ZERO6, add6, sub6, twist_to_child

# Columns of `state`: changes of bias of both handles, and wrench of a branch on the way up; acceleration and handle forces
# on the way down.
B1, B2, P = 0, 6, 12
A, F1, F2 = 0, 6, 12


class PathUnion(NamedTuple):
    """The nodes on the paths of k bodies."""

    node: Int1  # (u,)  ascending: children before parents
    child: Int2  # (u, 2)  places of the left and right child in `node`; -1: not on a path
    place: Int1  # (k,)  of the bodies' own nodes
    bias_change: Float2  # (u, 12)  as in PathData
    state: Float2  # (u, 18)


union_of = reader(PathUnion, PathData)


def path_union(nodes: IntArray, leaves: IntArray) -> PathUnion:
    """The union of the paths of BODY nodes `leaves`, shape (k,). nodes: of the assembly plan. Cost: O(k log n)."""
    seen: set[int] = set()
    for leaf in leaves.tolist():
        node = leaf
        while node >= 0 and node not in seen:
            seen.add(node)
            node = int(nodes[node, UP])
    order = np.array(sorted(seen), dtype=np.int64)
    children = nodes[order][:, [LEFT, RIGHT]]
    places = np.searchsorted(order, children)
    is_there = (children >= 0) & (order[np.minimum(places, order.size - 1)] == children)
    return PathUnion(
        order, np.where(is_there, places, -1), np.searchsorted(order, leaves), np.zeros((order.size, 12)),
        np.zeros((order.size, 18)),
    )  # fmt: skip


@kernel
def respond_together(table, wrenches, out):
    """Accelerations of k bodies for wrenches on all of them, in their frames: wrenches, out (k, 6).

    table: of PathData and PathUnion. Several bodies may be the same. Cost: O(k log(n/k)).
    """
    climb_together(table, wrenches)
    descend_together(table, False)
    read_bodies(table, out)


@kernel
def respond_in_turn(table, wrenches, out):
    """The same for p sets of wrenches, one after the other: wrenches, out (p, k, 6). Cost: O(p k log(n/k))."""
    for r in range(wrenches.shape[0]):
        climb_together(table, wrenches[r])
        descend_together(table, False)
        read_bodies(table, out[r])


@routine
def accelerate_together(table, out):
    """Accelerations of k bodies at the state, in a world that accelerates by -g: out (k, 6). Cost: O(k log(n/k))."""
    descend_together(table, True)
    read_bodies(table, out)


@inlined
def read_bodies(table, out):
    """Accelerations that a descent left behind."""
    u = union_of(table)
    for k in range(u.place.shape[0]):
        a = load6(u.state, u.place[k], A)
        for r in range(6):
            out[k, r] = a[r]


@routine
def climb_together(table, wrenches):
    """Records the changes at all nodes of the union, leaves first."""
    d = path_data_of(table)
    u = union_of(table)
    for k in range(u.node.shape[0]):
        store6(u.bias_change, k, 0, ZERO6)
    for k in range(u.place.shape[0]):
        w = load6(wrenches, k, 0)
        o = u.place[k]
        b = times_block(d.node_data, d.block[u.node[o]], w)
        store6(u.bias_change, o, 0, add6(load6(u.bias_change, o, 0), b))
    for k in range(u.node.shape[0]):
        node = u.node[k]
        kind = d.nodes[node, NODE_KIND]
        left = u.child[k, 0]
        right = u.child[k, 1]
        b1, b2, p = ZERO6, ZERO6, ZERO6
        if kind == BODY:
            b1 = load6(u.bias_change, k, 0)
            if left >= 0:
                b1 = sub6(b1, times_block(d.node_data, d.block[node], load6(u.state, left, P)))
            b2 = b1
            store6(u.bias_change, k, 0, b1)
        elif kind == JOIN:
            i = d.nodes[node, INDEX]
            gap = ZERO6
            if left >= 0:
                gap = twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), load6(u.state, left, B2))
                b1 = load6(u.state, left, B1)
            if right >= 0:
                gap = sub6(gap, load6(u.state, right, B1))
                b2 = load6(u.state, right, B2)
            store6(u.bias_change, k, 0, gap)
            b1, b2, p = push_through(table, node, gap, b1, b2)
            store6(u.bias_change, k, 6, b1)
        elif kind == HANG:
            gap = negate6(load6(u.state, left, B1))
            store6(u.bias_change, k, 0, gap)
            b1, b2, p = push_through(table, node, gap, ZERO6, ZERO6)
        else:
            if left >= 0:
                p = load6(u.state, left, P)
            if right >= 0:
                p = add6(p, load6(u.state, right, P))
        store6(u.state, k, B1, b1)
        store6(u.state, k, B2, b2)
        store6(u.state, k, P, p)


@routine
def descend_together(table, actual):
    """Solves the joints of the union, root first; leaves the acceleration of every body in `state`.

    actual: with the state's own β, b and efforts; else with the changes that a climb recorded.
    """
    d = path_data_of(table)
    u = union_of(table)
    effort = d.effort_sum if actual else d.no_effort
    last = u.node.shape[0] - 1
    g = d.gravity
    base = (0.0, 0.0, 0.0, -g[0], -g[1], -g[2]) if actual else ZERO6
    hand_down(u.state, last, base, ZERO6, ZERO6)
    for k in range(last, -1, -1):
        node = u.node[k]
        kind = d.nodes[node, NODE_KIND]
        left = u.child[k, 0]
        right = u.child[k, 1]
        known = own_bias(d, node) if actual else load6(u.bias_change, k, 0)
        a = load6(u.state, k, A)
        f1 = load6(u.state, k, F1)
        f2 = load6(u.state, k, F2)
        if kind == JOIN:
            f = join_force(d, node, f1, f2, known, effort)
            below = a
            if is_solid(d.nodes, node):
                if not is_solid(d.nodes, d.nodes[node, UP]):
                    at = d.block[node] + JOIN_SOLID
                    a = response_of_stretch(d.node_data, at, f1, f2)
                    a = add6(a, flat6(d.node_data, at + SOLID_B) if actual else load6(u.bias_change, k, 6))
                below = into_lower(d.nodes, d.block, node, d.joint_data, d.node_data, a)
            if left >= 0:
                hand_down(u.state, left, a, f1, back_on_upper(d, node, f))
            if right >= 0:
                hand_down(u.state, right, below, f, f2)
        elif kind == HANG:
            f = hang_force(d, node, a, known, effort)
            if is_solid(d.nodes, node):
                i = d.nodes[node, INDEX]
                a = twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), a)
            hand_down(u.state, left, a, f, ZERO6)
        elif kind == BODY:
            if not is_solid(d.nodes, node):
                a = body_acceleration(d, node, f1, f2, known)
            store6(u.state, k, A, a)
            if left >= 0:
                hand_down(u.state, left, a, ZERO6, ZERO6)
        else:
            if left >= 0:
                hand_down(u.state, left, a, ZERO6, ZERO6)
            if right >= 0:
                hand_down(u.state, right, a, ZERO6, ZERO6)


@routine
def hand_down(state, k, a, f1, f2):
    store6(state, k, A, a)
    store6(state, k, F1, f1)
    store6(state, k, F2, f2)
