"""The rigid parts of a moving linkage, *fronts* of the search, and how far they have gone since it last looked at them.

Theory: `contact.near_world` and docs/theory/contact.md (18).
"""

from linkwork.assembly.node_table import BODY, INDEX, LEFT, NODE_KIND, RIGHT
from linkwork.contact.geometry.boxes import HALF
from linkwork.contact.tables import ShapeTable
from linkwork.contact.travel import go_to, note_farthest
from linkwork.contact.volumes import TRAVEL, Volumes
from linkwork.core.bundles import reader
from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import BEFORE_SEARCH, SearchNumbers, touch_of
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.vectors import compose_pose

shapes_of = reader(ShapeTable, *BEFORE_SEARCH, SearchNumbers)
volumes_of = reader(Volumes, *BEFORE_SEARCH, SearchNumbers, ShapeTable)

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
