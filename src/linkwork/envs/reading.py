"""What looks of several tasks read."""

from linkwork.core.jit import routine
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.model.layout import PARENT
from linkwork.spatial.rotations import add3, matvec3


@routine
def point_in_world(t, q, i, p):
    """Where the point p of body i is in the world [m]. t: `acting.TaskArrays`."""
    while i >= 0:
        R, at = body_pose(t.tree, t.body, t.screws, i, q)
        p, i = add3(at, matvec3(R, p)), t.tree[i, PARENT]
    return p
