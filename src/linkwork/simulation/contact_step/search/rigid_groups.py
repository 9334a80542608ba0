"""The rigid groups of a moving linkage, and the distances that they travel.

Theory: `contact.near_world` and docs/theory/contact.md (4).
"""

from linkwork.assembly.node_table import BODY, INDEX, LEFT, NODE_KIND, RIGHT
from linkwork.contact.geometry.boxes import HALF
from linkwork.contact.tables import ShapeTable
from linkwork.contact.travel import add_travel, note_farthest
from linkwork.contact.volumes import FARTHEST, Volumes
from linkwork.core.bundles import reader
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import BEFORE_SEARCH, SearchNumbers, contact_arrays_of
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.vectors import compose_pose

shapes_of = reader(ShapeTable, *BEFORE_SEARCH, SearchNumbers)
volumes_of = reader(Volumes, *BEFORE_SEARCH, SearchNumbers, ShapeTable)

GROUPS_BELOW = 3  # at most so many below one open node: its own shapes, left part, right part


@inlined
def rigid_group_below(volumes, k, part):
    """Rigid group `part` (0: own shapes, 1: left, 2: right) of open node k: its volume, the node it stands with; or -1.

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
def rigid_group_pose(s, t, node):
    """World pose of the frame of a node, open or right below an open one."""
    R, p = load9(t.pose, node, 0), load3(t.pose, node, 9)
    body = t.node_body[node]
    if body >= 0:
        R, p = compose_pose(load9(s.world, body, 0), load3(s.world, body, 9), R, p)
    return R, p


@routine
def measure_travel(table, volumes):
    """Adds the ways of all rigid groups since the last time to `travelled`; world poses are up to date.   (4)"""
    s = moving_of(table)
    t = contact_arrays_of(table)
    farthest = volumes.region_state[FARTHEST]
    for o in range(t.open_nodes.shape[0]):
        for part in range(GROUPS_BELOW):
            row, node = rigid_group_below(volumes, t.open_nodes[o], part)
            if row >= 0:
                R, p = rigid_group_pose(s, t, node)
                farthest = max(farthest, add_travel(volumes, row, R, p))
    note_farthest(volumes, farthest)
