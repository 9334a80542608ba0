"""Where the nodes of the search stand, and which moving body carries each side of a contact.

The bodies of a moving linkage may be rigid pieces of a larger one (`AdaptiveDynamics`). The search works on the bodies of
the model; contacts act on the moving bodies that carry them.
"""

from linkwork.assembly.plan import HANG, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.contact.contact_list import COUNT, DATA, IDS
from linkwork.contact.volumes import carried_twist
from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import touch_of
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import matmul3, sub3, tmatvec3, transpose3
from linkwork.spatial.vectors import ZERO6, compose_pose


@inlined
def node_motion(s, t, node):
    """World pose of a node's frame, and its twist there."""
    piece = t.piece[node]
    R, p = load9(t.pose, node, 0), load3(t.pose, node, 9)
    V = ZERO6
    if piece >= 0:
        origin = load3(s.world, piece, 9)
        R, p = compose_pose(load9(s.world, piece, 0), origin, R, p)
        V = carried_twist(load6(t.twists, piece, 0), origin, p)
    return R, p, V


@routine
def place_open_nodes(table, volumes):
    """Places and twists of the children of all open nodes. Cost: O(open nodes)."""
    s = moving_of(table)
    t = touch_of(table)
    nodes = volumes.nodes
    for o in range(t.open_nodes.shape[0]):
        k = t.open_nodes[o]
        Rk, pk, Vk = node_motion(s, t, k)
        store6(volumes.twist, k, 0, Vk)
        kind = nodes[k, NODE_KIND]
        for side in (LEFT, RIGHT):
            child = nodes[k, side]
            if child < 0:
                continue
            R, p, V = node_motion(s, t, child)
            store6(volumes.twist, child, 0, V)
            if (kind == JOIN and side == RIGHT) or (kind == HANG and side == LEFT):
                store9(volumes.place, child, 0, matmul3(transpose3(Rk), R))
                store3(volumes.place, child, 9, tmatvec3(Rk, sub3(p, pk)))


@inlined
def carrier_of(t, volumes, body):
    """Moving body that carries a body of the model: up to the rigid node right below the open ones."""
    if body < 0:
        return -1
    node = t.leaf[body]
    up = volumes.nodes[node, UP]
    while volumes.rigid[node] != 0 and up >= 0 and volumes.rigid[up] != 0:
        node = up
        up = volumes.nodes[node, UP]
    return t.piece[node]


@routine
def find_carriers(t, volumes, contacts):
    """Fills `carrier`; contacts of sides that cannot move against each other are dropped. Returns how many stay."""
    kept = 0
    for c in range(contacts.number[COUNT]):
        a = carrier_of(t, volumes, contacts.ids[c, 0])
        b = carrier_of(t, volumes, contacts.ids[c, 1])
        if a == b:
            continue
        t.carrier[kept, 0], t.carrier[kept, 1] = a, b
        if kept < c:
            for e in range(IDS):
                contacts.ids[kept, e] = contacts.ids[c, e]
            for e in range(DATA):
                contacts.data[kept, e] = contacts.data[c, e]
            for e in range(3):
                contacts.impulse[kept, e] = contacts.impulse[c, e]
        kept += 1
    contacts.number[COUNT] = kept
    return kept
