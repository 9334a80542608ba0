"""Where the nodes of the search stand, and which moving body each side of a contact belongs to.

The bodies of a moving linkage may be rigid groups of a larger one (`AdaptiveDynamics`). The search works on the bodies of
the model; contacts act on moving bodies.
"""

from linkwork.assembly.node_table import UP
from linkwork.contact.contact_list import (
    COUNT,
    DATA,
    DIRECTED,
    FRICTION,
    GAP,
    IDS,
    NORMAL,
    POINT,
    RESTITUTION,
    SAME_POINT,
    SHAPE_A,
    SHAPE_B,
    SIZE,
)
from linkwork.contact.volumes import carried_twist
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import SLACK, contact_arrays_of
from linkwork.simulation.contact_step.search.contact_reduction import KEEP, reduce_contacts
from linkwork.simulation.contact_step.search.rigid_groups import GROUPS_BELOW, rigid_group_below
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3, sub3
from linkwork.spatial.vectors import ZERO6

SAME_NORMAL = 0.999  # cosine of the angle between normals of contacts at one place
DOUBLES_BACK = 8  # contacts before one among which its double is sought; they are sorted by bodies


@routine
def place_open_nodes(table, volumes):
    """Places and twists of the rigid groups, which are where `measure_travel` left them. Cost: O(open nodes)."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    for o in range(t.open_nodes.shape[0]):
        for part in range(GROUPS_BELOW):
            row, node = rigid_group_below(volumes, t.open_nodes[o], part)
            if row < 0:
                continue
            p, V, body = load3(volumes.last_pose, row, 9), ZERO6, t.node_body[node]
            if body >= 0:
                V = carried_twist(load6(t.twists, body, 0), load3(s.world, body, 9), p)
            store9(volumes.place, row, 0, load9(volumes.last_pose, row, 0))
            store3(volumes.place, row, 9, p)
            store6(volumes.twist, row, 0, V)


@inlined
def moving_body_of(t, volumes, body):
    """Moving body that a body of the model belongs to: up to the rigid node right below the open ones."""
    if body < 0:
        return -1
    node = t.leaf[body]
    up = volumes.nodes[node, UP]
    while volumes.rigid[node] != 0 and up >= 0 and volumes.rigid[up] != 0:
        node = up
        up = volumes.nodes[node, UP]
    return t.node_body[node]


@inlined
def copy_row(contacts, t, c, to, a, b):
    """Contact c, on moving bodies a and b, becomes number `to`."""
    t.moving_body[to, 0], t.moving_body[to, 1] = a, b
    if to < c:
        for e in range(IDS):
            contacts.ids[to, e] = contacts.ids[c, e]
        for e in range(DATA):
            contacts.data[to, e] = contacts.data[c, e]
        for e in range(3):
            contacts.impulse[to, e] = contacts.impulse[c, e]


@inlined
def is_double(t, contacts, c, a, b, other):
    """Whether contact c on moving bodies a, b doubles `other`: two bodies of one rigid group at one place of one shape.

    Where links that do not move against each other meet on an obstacle, both touch it. Points of one pair of shapes
    span a face, and are never the same.
    """
    ids, data = contacts.ids, contacts.data
    if t.moving_body[other, 0] != a or t.moving_body[other, 1] != b:
        return False
    if ids[c, SHAPE_B] != ids[other, SHAPE_B] or ids[c, SHAPE_A] == ids[other, SHAPE_A]:
        return False
    if data[c, FRICTION] != data[other, FRICTION] or data[c, RESTITUTION] != data[other, RESTITUTION]:
        return False
    if data[c, DIRECTED] != data[other, DIRECTED]:
        return False
    near = SAME_POINT * min(data[c, SIZE], data[other, SIZE])
    d = sub3(load3(data, c, POINT), load3(data, other, POINT))
    return dot3(d, d) <= near * near and dot3(load3(data, c, NORMAL), load3(data, other, NORMAL)) >= SAME_NORMAL


@routine
def find_moving_bodies(s, t, volumes, contacts):
    """Fills `moving_body`; contacts of sides that cannot move against each other are dropped. Returns how many stay.

    Of doubles the nearest stays; one that pressed in the last step stays for as long as no other comes
    nearer by more than the slack, so that they do not take turns. Of the contacts of a rigid group with one obstacle those
    that can carry it stay, see `contact_reduction`.
    """
    listed = 0
    slack = t.settings[SLACK]
    for c in range(contacts.number[COUNT]):
        a = moving_body_of(t, volumes, contacts.ids[c, 0])
        b = moving_body_of(t, volumes, contacts.ids[c, 1])
        if a == b:
            continue
        double = -1
        for other in range(max(0, listed - DOUBLES_BACK), listed):
            if double < 0 and is_double(t, contacts, c, a, b, other):
                double = other
        if double < 0:
            copy_row(contacts, t, c, listed, a, b)
            listed += 1
            continue
        here, there = load3(contacts.impulse, c, 0), load3(contacts.impulse, double, 0)
        presses, pressed = dot3(here, here) > 0.0, dot3(there, there) > 0.0
        gap = contacts.data[c, GAP] - (slack if presses else 0.0)
        if gap < contacts.data[double, GAP] - (slack if pressed else 0.0):
            copy_row(contacts, t, c, double, a, b)
        store3(contacts.impulse, double, 0, here if presses else there)
    if listed > 1 and reduce_contacts(s, t.moving_body, contacts, listed, slack) < listed:
        listed = keep_reduced(contacts, t, listed)
    contacts.number[COUNT] = listed
    return listed


@inlined
def keep_reduced(contacts, t, count):
    """Leaves out the contacts that do not stay; how many do."""
    listed = 0
    for c in range(count):
        if t.moving_body[c, KEEP] != 0:
            copy_row(contacts, t, c, listed, t.moving_body[c, 0], t.moving_body[c, 1])
            listed += 1
    return listed
