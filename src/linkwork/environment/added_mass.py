"""The inertia that a fluid adds to bodies at rest: ρ V Cₘ across the axis of each piece, at its two points of Gauss."""

from linkwork.core.jit import kernel
from linkwork.environment.fluid import gauss_point, part_below
from linkwork.environment.stream import flow_at
from linkwork.environment.wet_columns import WET_ADDED, WET_AXIS, WET_RADIUS
from linkwork.spatial.inertia import point_as_articulated
from linkwork.spatial.memory import add_to6, add_to9, load3, load9
from linkwork.spatial.rotations import add3, matvec3, symmetric_plus_outer


@kernel
def added_inertias(wet, wet_body, water, profile, pose, rotation_at, place_at, out):
    """out (n, 21): blocks of 6, 9 and 6 of an inertia that is not that of a rigid body; zeros where nothing is wet.

    pose (n, k) has world rotation and place from the given columns on.
    """
    for i in range(out.shape[0]):
        for c in range(21):
            out[i, c] = 0.0
    for k in range(wet.shape[0]):
        i = wet_body[k]
        R, p, a = load9(pose, i, rotation_at), load3(pose, i, place_at), load3(wet, k, WET_AXIS)
        for side in range(2):
            r = gauss_point(wet, k, -1.0 + 2.0 * side)
            place = add3(matvec3(R, r), p)
            _, _, surface = flow_at(water, profile, place)
            added = 0.5 * part_below(place[2], surface, wet[k, WET_RADIUS]) * wet[k, WET_ADDED]
            A, B, C = point_as_articulated(r, symmetric_plus_outer((added, 0.0, 0.0, added, 0.0, added), -added, a))
            add_to6(out, i, 0, A)
            add_to9(out, i, 6, B)
            add_to6(out, i, 15, C)
