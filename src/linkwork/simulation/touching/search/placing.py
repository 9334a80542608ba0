"""Where the nodes of the search stand, and which moving body carries each side of a contact.

The bodies of a moving linkage may be rigid pieces of a larger one (`AdaptiveDynamics`). The search works on the bodies of
the model; contacts act on the moving bodies that carry them.
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
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import SLACK, touch_of
from linkwork.simulation.touching.search.fronts import FRONTS, front_below
from linkwork.simulation.touching.search.spanning import STAYS, choose_spanning
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3, sub3
from linkwork.spatial.vectors import ZERO6

SAME_NORMAL = 0.999  # cosine of the angle between normals of contacts at one place
DOUBLES_BACK = 8  # contacts before one among which its double is sought; they are sorted by bodies


@routine
def place_open_nodes(table, volumes):
    """Places and twists of the fronts, which stand where `measure_travel` left them. Cost: O(open nodes)."""
    s = moving_of(table)
    t = touch_of(table)
    for o in range(t.open_nodes.shape[0]):
        for part in range(FRONTS):
            row, node = front_below(volumes, t.open_nodes[o], part)
            if row < 0:
                continue
            p, V, piece = load3(volumes.stood, row, 9), ZERO6, t.piece[node]
            if piece >= 0:
                V = carried_twist(load6(t.twists, piece, 0), load3(s.world, piece, 9), p)
            store9(volumes.place, row, 0, load9(volumes.stood, row, 0))
            store3(volumes.place, row, 9, p)
            store6(volumes.twist, row, 0, V)


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


@inlined
def copy_row(contacts, t, c, to, a, b):
    """Contact c, on carriers a and b, becomes number `to`."""
    t.carrier[to, 0], t.carrier[to, 1] = a, b
    if to < c:
        for e in range(IDS):
            contacts.ids[to, e] = contacts.ids[c, e]
        for e in range(DATA):
            contacts.data[to, e] = contacts.data[c, e]
        for e in range(3):
            contacts.impulse[to, e] = contacts.impulse[c, e]


@inlined
def is_double(t, contacts, c, a, b, other):
    """Whether contact c on carriers a, b says the same as `other`: two parts of one rigid body at one place of one shape.

    Where links that do not move against each other meet on an obstacle, both touch it. Points of one pair of shapes
    span a face, and are never the same.
    """
    ids, data = contacts.ids, contacts.data
    if t.carrier[other, 0] != a or t.carrier[other, 1] != b:
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
def find_carriers(s, t, volumes, contacts):
    """Fills `carrier`; contacts of sides that cannot move against each other are dropped. Returns how many stay.

    Of contacts that say the same the nearest stays; one that pressed in the last step stays for as long as no other comes
    nearer by more than the slack, so that they do not take turns. Of the contacts of a rigid part with one obstacle those
    that can carry it stay, see `spanning`.
    """
    kept = 0
    slack = t.settings[SLACK]
    for c in range(contacts.number[COUNT]):
        a = carrier_of(t, volumes, contacts.ids[c, 0])
        b = carrier_of(t, volumes, contacts.ids[c, 1])
        if a == b:
            continue
        double = -1
        for other in range(max(0, kept - DOUBLES_BACK), kept):
            if double < 0 and is_double(t, contacts, c, a, b, other):
                double = other
        if double < 0:
            copy_row(contacts, t, c, kept, a, b)
            kept += 1
            continue
        here, there = load3(contacts.impulse, c, 0), load3(contacts.impulse, double, 0)
        presses, pressed = dot3(here, here) > 0.0, dot3(there, there) > 0.0
        gap = contacts.data[c, GAP] - (slack if presses else 0.0)
        if gap < contacts.data[double, GAP] - (slack if pressed else 0.0):
            copy_row(contacts, t, c, double, a, b)
        store3(contacts.impulse, double, 0, here if presses else there)
    if kept > 1 and choose_spanning(s, t.carrier, contacts, kept, slack) < kept:
        kept = keep_spanning(contacts, t, kept)
    contacts.number[COUNT] = kept
    return kept


@inlined
def keep_spanning(contacts, t, count):
    """Leaves out the contacts that do not stay; how many do."""
    kept = 0
    for c in range(count):
        if t.carrier[c, STAYS] != 0:
            copy_row(contacts, t, c, kept, t.carrier[c, 0], t.carrier[c, 1])
            kept += 1
    return kept
