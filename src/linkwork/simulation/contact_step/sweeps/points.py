"""A contact as directions at a point of one or two bodies, and any row as wrenches on the bodies that it is between."""

from linkwork.contact.contact_list import FRICTION, POINT
from linkwork.contact.solver.laws import size_of
from linkwork.contact.solver.rows import NO_RESPONSE, TOGETHER, contact_axes
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.sweeps.memory import LOOP_ROWS
from linkwork.spatial.memory import load3, load6, store3
from linkwork.spatial.rotations import ZERO3, add3, cross3, scale3, sub3
from linkwork.spatial.vectors import ZERO6, join

UNLIKE = 30.0  # times its response: what a direction may be softer by than others of its contact


@routine
def place_contacts(contacts, problem, w, count):
    """Axes and arms of contacts."""
    data = contacts.data
    for c in range(count):
        n, a, b = contact_axes(data, c)
        store3(w.axes, c, 0, n)
        store3(w.axes, c, 3, a)
        store3(w.axes, c, 6, b)
        w.friction[c] = data[c, FRICTION]
        for side in range(2):
            body_number = problem.body_number[c, side]
            arm = sub3(load3(data, c, POINT), load3(problem.origin, body_number, 0)) if body_number >= 0 else ZERO3
            store3(w.arm, c, 3 * side, arm)


@inlined
def set_softness(w, c, K, alone):
    """Softness of a contact from its response K; tangents are turned so that one without response is the second.

    alone: the normal response of both sides, were each by itself; 0 against the world. Returns how tangents were turned.
    """
    nn, _, _, k11, k12, k22 = K
    w.response[c] = nn + k11 + k22
    w.soft[c] = min(w.response[c] / 3.0, UNLIKE * nn)
    w.soft_along[c] = min(w.response[c] / 3.0, UNLIKE * 0.5 * (k11 + k22))
    w.tangents[c] = 2
    if not nn > TOGETHER * (max(alone, nn) + k11 + k22):
        w.tangents[c], w.soft[c], w.soft_along[c], w.response[c] = -1, 1.0, 1.0, 1.0
        return 1.0, 0.0
    middle, radius = 0.5 * (k11 + k22), size_of(0.5 * (k11 - k22), k12)
    least = NO_RESPONSE * w.response[c]
    if middle - radius > least:
        return 1.0, 0.0
    if middle + radius <= least:
        w.tangents[c], w.soft_along[c] = 0, w.soft[c]
        return 1.0, 0.0
    w.tangents[c] = 1
    p, q = (k11 - k22 + 2.0 * radius, 2.0 * k12) if k11 >= k22 else (2.0 * k12, k22 - k11 + 2.0 * radius)
    size = size_of(p, q)
    a, b = load3(w.axes, c, 3), load3(w.axes, c, 6)
    along = add3(scale3(p / size, a), scale3(q / size, b))
    store3(w.axes, c, 3, along)
    store3(w.axes, c, 6, sub3(scale3(p / size, b), scale3(q / size, a)))
    return p / size, q / size


@inlined
def push_of_row(w, c, e, side):
    """A unit impulse along one axis of a contact as a wrench on the body of one side, at its origin; for side a."""
    d = load3(w.axes, c, 3 * e)
    return join(cross3(load3(w.arm, c, 3 * side), d), d)


@inlined
def is_acting(w, c):
    return w.stiff[c, 0] != 0.0 or w.stiff[c, 4] != 0.0 or w.stiff[c, 8] != 0.0


@inlined
def all_rows(w, count, limits):
    """Rows of contacts, of limits and of loops."""
    return 3 * count + limits + w.counts[LOOP_ROWS]


@inlined
def loop_wrench(problem, w, k, side):
    """Body of one side of row k of loops, -1: the world, and the wrench of a unit impulse on it."""
    i = w.loop_body[k, side]
    return i, load6(problem.loop_row, k, 6 * side) if i >= 0 else ZERO6
