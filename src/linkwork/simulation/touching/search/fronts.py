"""The rigid parts of a moving linkage against the world: which have come near since they were last looked at.

Theory: `contact.near_world` and docs/theory/contact.md (18).
"""

from linkwork.assembly.node_table import BODY, INDEX, LEFT, NODE_KIND, RIGHT
from linkwork.contact.geometry.boxes import HALF
from linkwork.contact.near_world import go_to, look, note_farthest
from linkwork.contact.tables import FASTEST, MARGIN
from linkwork.contact.volumes import TRAVEL, carried_twist, twist_reach
from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import touch_of
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.vectors import compose_pose

FRONTS = 3  # at most so many below one open node: shapes of its own, left part, right part


@inlined
def front_below(volumes, k, part):
    """Front number `part` (0: own shapes, 1: left, 2: right) of open node k: its volume, the node it stands with; or -1.

    A rigid node of one body is the shapes of that body.
    """
    nodes = volumes.nodes
    node = k if part == 0 else nodes[k, LEFT if part == 1 else RIGHT]
    row = -1
    if node >= 0 and (part == 0 or volumes.rigid[node] != 0):
        row = node
        if nodes[node, NODE_KIND] == BODY and (part == 0 or nodes[node, LEFT] < 0):
            row = nodes.shape[0] + nodes[node, INDEX]
        elif part == 0:
            row = -1
    if row >= 0 and volumes.volume[row, HALF] < 0.0:
        row = -1
    return row, node


@inlined
def front_pose(s, t, node):
    """World pose of the frame of a node that stands in a piece."""
    R, p = load9(t.pose, node, 0), load3(t.pose, node, 9)
    piece = t.piece[node]
    if piece >= 0:
        R, p = compose_pose(load9(s.world, piece, 0), load3(s.world, piece, 9), R, p)
    return R, p


@routine
def measure_travel(table, volumes):
    """Adds the ways of all fronts since the last time to what they have gone; world poses are up to date.   (18)"""
    s = moving_of(table)
    t = touch_of(table)
    farthest = volumes.travel[TRAVEL]
    for o in range(t.open_nodes.shape[0]):
        for part in range(FRONTS):
            row, node = front_below(volumes, t.open_nodes[o], part)
            if row >= 0:
                R, p = front_pose(s, t, node)
                farthest = max(farthest, go_to(volumes, row, R, p))
    note_farthest(volumes, farthest)


@routine
def look_at_fronts(table, finder, h):
    """Lists the contacts of all fronts with the world; False where the stack was too short."""
    t = touch_of(table)
    s = moving_of(table)
    volumes = finder.volumes
    margin = finder.query[MARGIN]
    for o in range(t.open_nodes.shape[0]):
        for part in range(FRONTS):
            row, node = front_below(volumes, t.open_nodes[o], part)
            if row < 0:
                continue
            piece = t.piece[node]
            if piece < 0:  # welded to the world: its contacts with obstacles move nothing
                continue
            R, p = load9(volumes.stood, row, 0), load3(volumes.stood, row, 9)
            V = carried_twist(load6(t.twists, piece, 0), load3(s.world, piece, 9), p)
            reach = twist_reach(V, volumes.volume, row, h) if h > 0.0 else 0.0
            finder.query[FASTEST] = max(finder.query[FASTEST], reach)
            if volumes.known[row] - volumes.gone[row] > margin + reach:
                continue
            if not look(finder, row, R, p, V, reach):
                return False
    return True
