"""Where one body is and how it moves, from its path of the assembly tree alone: O(log n)."""

from linkwork.assembly.node_table import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, UP, UPPER
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.dca.nodes import H_P, H_R
from linkwork.model.kernels.joint_kernels import joint_motion
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, twist_to_child

# Columns of `place`, one row per JOIN node: pose of its last body in its first one, and the relative twist.
PLACE_R, PLACE_P, PLACE_TWIST = 0, 9, 12
PLACE_COLUMNS = 18


@kernel
def place_leaf_to_root(nodes, tree, body, screws, joint_data, q, v, S, place):
    """Pose and twist of the last body of every cluster relative to its first, so that one path places a body."""
    for node in range(nodes.shape[0]):
        if nodes[node, NODE_KIND] == JOIN:
            i = nodes[node, INDEX]
            twist, _ = joint_motion(tree, body, screws, i, q, v, S)
            R, p, twist = beyond(nodes, place, joint_data, i, nodes[node, LEFT], twist)
            lower = nodes[node, RIGHT]
            if nodes[lower, NODE_KIND] == JOIN:
                Rb = load9(place, lower, PLACE_R)
                pb = load3(place, lower, PLACE_P)
                twist = add6(twist_to_child(Rb, pb, twist), load6(place, lower, PLACE_TWIST))
                R, p = compose_pose(R, p, Rb, pb)
            store9(place, node, PLACE_R, R)
            store3(place, node, PLACE_P, p)
            store6(place, node, PLACE_TWIST, twist)


@inlined
def beyond(nodes, place, joint_data, i, upper, joint_twist):
    """Pose and twist of body i relative to the first body of the cluster `upper` that carries it."""
    R = load9(joint_data, i, H_R)
    p = load3(joint_data, i, H_P)
    twist = joint_twist
    if nodes[upper, NODE_KIND] == JOIN:
        twist = add6(twist_to_child(R, p, load6(place, upper, PLACE_TWIST)), twist)
        R, p = compose_pose(load9(place, upper, PLACE_R), load3(place, upper, PLACE_P), R, p)
    return R, p, twist


@kernel
def place_body(arrays, nodes, joint_data, q, v, S, place, leaf, out):
    """World pose (12 numbers) and twist in its own frame (6) of one body, from its path."""
    R, p, twist = IDENTITY3, ZERO3, ZERO6
    node = leaf
    up = nodes[node, UP]
    while up >= 0:
        kind = nodes[up, NODE_KIND]
        if kind == HANG or (kind == JOIN and nodes[node, ROLE] != UPPER):
            i = nodes[up, INDEX]
            step, _ = joint_motion(arrays.tree, arrays.body, arrays.screws, i, q, v, S)
            if kind == JOIN:
                Ri, pi, step = beyond(nodes, place, joint_data, i, nodes[up, LEFT], step)
            else:
                Ri = load9(joint_data, i, H_R)
                pi = load3(joint_data, i, H_P)
            twist = add6(twist, twist_to_child(R, p, step))
            R, p = compose_pose(Ri, pi, R, p)
        node = up
        up = nodes[node, UP]
    for k in range(9):
        out[k] = R[k]
    for k in range(3):
        out[9 + k] = p[k]
    for k in range(6):
        out[12 + k] = twist[k]
