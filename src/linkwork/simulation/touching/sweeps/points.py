"""A contact as directions at a point of one or two bodies, and any row as wrenches on the bodies that it is between."""

from linkwork.core.jit import inlined
from linkwork.simulation.touching.sweeps.memory import LOOP_ROWS
from linkwork.spatial.memory import load3, load6
from linkwork.spatial.rotations import add3, cross3, dot3
from linkwork.spatial.vectors import ZERO6, join, scale6


@inlined
def push_of_row(w, c, e, side):
    """A unit impulse along one axis of a contact as a wrench on the body of one side, at its origin; for side a."""
    d = load3(w.axes, c, 3 * e)
    return join(cross3(load3(w.arm, c, 3 * side), d), d)


@inlined
def speed_of_row(t, w, c, e, twists):
    """Velocity of a against b along one axis of a contact."""
    u = 0.0
    d = load3(w.axes, c, 3 * e)
    for side in range(2):
        i = t.carrier[c, side]
        if i >= 0:
            v = add3(load3(twists, i, 3), cross3(load3(twists, i, 0), load3(w.arm, c, 3 * side)))
            u += dot3(d, v) if side == 0 else -dot3(d, v)
    return u


@inlined
def is_acting(w, c):
    return w.stiff[c, 0] != 0.0 or w.stiff[c, 4] != 0.0 or w.stiff[c, 8] != 0.0


@inlined
def all_rows(w, count, limits):
    """Rows of contacts, of limits and of loops."""
    return 3 * count + limits + w.counts[LOOP_ROWS]


@inlined
def row_between(t, w, problem, loops, r, side):
    """Body of one side of row r, -1: the world, and the wrench of a unit impulse on it. loops: the first row of loops."""
    if r < loops:
        c = r // 3
        f = push_of_row(w, c, r % 3, side)
        return t.carrier[c, side], f if side == 0 else scale6(-1.0, f)
    i = w.loop_body[r - loops, side]
    return i, load6(problem.loop_row, r - loops, 6 * side) if i >= 0 else ZERO6
