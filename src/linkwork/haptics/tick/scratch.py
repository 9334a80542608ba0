"""Memory of one tick of the coupling loop, and vectors in it."""

import math

from linkwork.core.jit import inlined
from linkwork.dynamics.paths.path_segments import JUNCTION_STATE
from linkwork.haptics.sharing import layout
from linkwork.spatial.rotations import dot3, quaternion_conjugate, quaternion_log, quaternion_multiply, scale3

# `scratch` of a tick: the snapshot, then a reading, an output, wrenches and rates of all hands, responses of bodies.
AT_READING = layout.SNAPSHOT_WORDS
AT_OUTPUT = AT_READING + layout.READING_WORDS
AT_WRENCH = AT_OUTPUT + layout.OUTPUT_WORDS  # 6 per hand
AT_HAND = (
    AT_WRENCH + 6 * layout.GRASPS
)  # per hand: where it is (3); position (3), quaternion (4), rates (6) of the device
HAND_WORDS = 16
AT_GAIN = AT_HAND + HAND_WORDS * layout.GRASPS  # per hand
AT_TURNED = AT_GAIN + layout.GRASPS  # 6 per hand: the wrenches in the frames of the bodies
AT_STATE = AT_TURNED + 6 * layout.GRASPS  # of the junctions of the tree of segments
AT_ROWS = AT_STATE + JUNCTION_STATE * layout.JUNCTIONS  # what each row of constraints meets
SCRATCH = AT_ROWS + layout.MOST_ROWS


@inlined
def limited(x, most):
    """A vector no longer than `most`."""
    size = math.sqrt(dot3(x, x))
    if size > most:
        return scale3(most / size, x)
    return x


@inlined
def turn_from_to(a, b):
    """Rotation vector that takes the rotation with quaternion a to the one with b, in the axes of the world."""
    q = quaternion_multiply(b, quaternion_conjugate(a))
    if q[0] < 0.0:
        q = (-q[0], -q[1], -q[2], -q[3])
    return quaternion_log(q)


@inlined
def nine(a, o):
    return (a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5], a[o + 6], a[o + 7], a[o + 8])
