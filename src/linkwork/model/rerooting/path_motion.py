"""How one body stands and moves, from the joints between it and the world: O(depth), not O(n)."""

import numpy as np

from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import joint_motion, joint_pose
from linkwork.model.layout import DOF, POSITION, ROTATION, V
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, cross_motion, scale6, twist_to_child


@kernel(allocates=True)
def path_motion(tree, body, screws, q, v, a, path):
    """Pose, neutral pose, twist and spatial acceleration of the last body of `path`, shapes (12,), (12,), (6,), (6,).

    path: bodies from the one on the world to the one asked for. Twist and acceleration are in the body's frame.
    """
    R, p = IDENTITY3, ZERO3
    R0, p0 = IDENTITY3, ZERO3
    twist, acceleration = ZERO6, ZERO6
    S = np.zeros((v.shape[0], 6))
    for k in range(path.shape[0]):
        i = path[k]
        Rz, pz = load9(body, i, ROTATION), load3(body, i, POSITION)
        R0, p0 = compose_pose(R0, p0, Rz, pz)
        Rj, pj = joint_pose(tree, body, screws, i, q)
        Ri, pi = compose_pose(Rz, pz, Rj, pj)
        R, p = compose_pose(R, p, Ri, pi)
        VJ, cJ = joint_motion(tree, body, screws, i, q, v, S)
        twist = add6(twist_to_child(Ri, pi, twist), VJ)
        acceleration = add6(add6(twist_to_child(Ri, pi, acceleration), cJ), cross_motion(twist, VJ))
        j = tree[i, V]
        for d in range(tree[i, DOF]):
            acceleration = add6(acceleration, scale6(a[j + d], load6(S, j + d, 0)))
    pose, neutral = np.empty(12), np.empty(12)
    for r in range(9):
        pose[r], neutral[r] = R[r], R0[r]
    for r in range(3):
        pose[9 + r], neutral[9 + r] = p[r], p0[r]
    return pose, neutral, np.array(twist), np.array(acceleration)
