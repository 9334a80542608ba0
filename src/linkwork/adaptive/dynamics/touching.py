"""Contact of the linkage that moves: what the search must know of the region, and what contact tells the metrics.

The search has volumes on the same assembly tree as the region. Active nodes are open; everything below them is rigid, with
volumes and places that stay as they were when it became so.
"""

from linkwork.adaptive.dynamics.gather import body_in_piece
from linkwork.adaptive.dynamics.reduced import PIECES, joint_pose, reduced_of
from linkwork.adaptive.nodes import is_active
from linkwork.adaptive.workspace import (
    ACTIVE_COUNT,
    P_P,
    P_R,
    coefficients_of,
    mechanism_of,
    plan_of,
    run_of,
)
from linkwork.assembly.plan import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.contact.contact_list import COUNT, POINT
from linkwork.contact.volumes import refit
from linkwork.core.bundles import set_rows
from linkwork.core.jit import inlined, kernel
from linkwork.model.layout import DOF, V
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import (
    ROWS_OF_OPEN_NODES,
    STEP,
    contacts_of,
    touch_of,
    volumes_of,
)
from linkwork.spatial.memory import add_to6, load3, load9, store3, store6, store9
from linkwork.spatial.rotations import cross3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, compose_pose, join


@kernel
def follow_limits(table, moving):
    """After a change of the region: where the velocities of the moving linkage stand in the model."""
    tree = mechanism_of(table).tree
    s = moving_of(moving)
    t = touch_of(moving)
    reduced = reduced_of(table)
    for r in range(reduced.counts[PIECES]):
        i = reduced.joint[r]
        for d in range(s.tree[r, DOF]):
            t.whole[s.tree[r, V] + d] = tree[i, V] + d


@kernel
def follow_region(table, moving):
    """After a change of the region: nodes that left it become rigid with their present volumes, those in it are open.

    Cost: O(nodes that were or are active).
    """
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    volumes = volumes_of(moving)
    t = touch_of(moving)
    for o in range(t.open_nodes.shape[0]):
        k = t.open_nodes[o]
        if not is_active(run, k):
            place_inside(plan, c, volumes, k)
            refit(volumes, t.open_nodes[o : o + 1], 0.0)
            volumes.rigid[k] = 1
    count = run.counts[ACTIVE_COUNT]
    set_rows(moving, ROWS_OF_OPEN_NODES, count)
    opened = touch_of(moving).open_nodes
    for k in range(count):
        opened[k] = run.active[k]
        volumes.rigid[run.active[k]] = 0


@kernel
def open_all(table, moving):
    """Every node is open, so that the next `follow_region` forms the volumes of all rigid ones anew."""
    volumes = volumes_of(moving)
    count = plan_of(table).nodes.shape[0]
    set_rows(moving, ROWS_OF_OPEN_NODES, count)
    opened = touch_of(moving).open_nodes
    for k in range(count):
        opened[k] = k
        volumes.rigid[k] = 0


@inlined
def place_inside(plan, c, volumes, node):
    """Place of the lower part of a node that has just become rigid, in the node's frame."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    if kind == JOIN or kind == HANG:
        R, p = joint_pose(c, nodes[node, INDEX])
        child = nodes[node, LEFT]
        if kind == JOIN:
            left, child = child, nodes[node, RIGHT]
            R, p = compose_pose(load9(c.composite, left, P_R), load3(c.composite, left, P_P), R, p)
        store9(volumes.place, child, 0, R)
        store3(volumes.place, child, 9, p)


@kernel
def express_contact_forces(table, moving, bodies, wrenches):
    """Forces of contacts in the last step on bodies of the model: wrenches (2 c, 6) in their frames; body -1 is the world.

    Returns how many there are, two per contact. Needs the region in which that step was made.
    """
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    s = moving_of(moving)
    t = touch_of(moving)
    contacts = contacts_of(moving)
    count = min(contacts.number[COUNT], bodies.shape[0] // 2)
    h = t.totals[STEP]
    for k in range(count):
        for side in range(2):
            row = 2 * k + side
            body = contacts.ids[k, side]
            bodies[row] = body
            store6(wrenches, row, 0, ZERO6)
            if body < 0 or h <= 0.0:
                continue
            piece, R, p = body_in_piece(plan, c, run, reduced, body)
            if piece >= 0:
                R, p = compose_pose(load9(s.world, piece, 0), load3(s.world, piece, 9), R, p)
            f = scale3((1.0 if side == 0 else -1.0) / h, load3(contacts.impulse, k, 0))
            n = cross3(sub3(load3(contacts.data, k, POINT), p), f)
            add_to6(wrenches, row, 0, join(tmatvec3(R, n), tmatvec3(R, f)))
    return 2 * count
