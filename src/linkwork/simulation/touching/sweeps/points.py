"""A contact as directions at a point of one or two bodies."""

from linkwork.core.jit import inlined
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import add3, cross3, dot3
from linkwork.spatial.vectors import join


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
