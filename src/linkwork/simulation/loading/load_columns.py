"""Columns of the table of loads that the world holds, and what one of them does.

Point in the body, force and torque in the axes of the world, and the world point and stiffness of a spring.
"""

from linkwork.core.jit import inlined
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import add3, cross3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import join

LOAD_AT, LOAD_FORCE, LOAD_TORQUE, LOAD_TARGET, LOAD_STIFFNESS = 0, 3, 6, 9, 12
LOAD_COLUMNS = 16


@inlined
def force_of_load(rows, k, R, p):
    """Force of load k on a body whose world pose is R, p, in the axes of the world: as given, and what its spring pulls."""
    force = load3(rows, k, LOAD_FORCE)
    stiffness = rows[k, LOAD_STIFFNESS]
    if stiffness != 0.0:
        point = add3(matvec3(R, load3(rows, k, LOAD_AT)), p)
        force = add3(force, scale3(stiffness, sub3(load3(rows, k, LOAD_TARGET), point)))
    return force


@inlined
def wrench_of_load(rows, k, R, p):
    """Load k as a wrench on that body, in its frame."""
    f = tmatvec3(R, force_of_load(rows, k, R, p))
    return join(add3(tmatvec3(R, load3(rows, k, LOAD_TORQUE)), cross3(load3(rows, k, LOAD_AT), f)), f)
