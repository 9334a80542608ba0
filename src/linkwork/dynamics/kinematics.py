"""Where bodies are and how they move: poses, twists, Jacobians, energy, momentum. All O(n)."""

import numpy as np

from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import body_pose, joint_motion, joint_spring_energy
from linkwork.model.layout import ARMATURE, DOF, INERTIA, PARENT, V
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import add3, matvec3, scale3
from linkwork.spatial.vectors import add6, compose_pose, dot6, twist_to_child, twist_to_parent, wrench_to_parent


@kernel(allocates=True)
def world_poses(tree, body, screws, q):
    """Rotation (nine numbers) and position of each body in the world, shape (n, 12)."""
    n = tree.shape[0]
    poses = np.empty((n, 12))
    for i in range(n):
        R, p = body_pose(tree, body, screws, i, q)
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = compose_pose(load9(poses, parent, 0), load3(poses, parent, 9), R, p)
        store9(poses, i, 0, R)
        store3(poses, i, 9, p)
    return poses


@kernel(allocates=True)
def local_twists(tree, body, screws, q, v):
    """Twist of each body in its own frame, shape (n, 6)."""
    n = tree.shape[0]
    twists = np.empty((n, 6))
    S = np.empty((v.shape[0], 6))
    for i in range(n):
        twist, _ = joint_motion(tree, body, screws, i, q, v, S)
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = body_pose(tree, body, screws, i, q)
            twist = add6(twist_to_child(R, p, load6(twists, parent, 0)), twist)
        store6(twists, i, 0, twist)
    return twists


@kernel(allocates=True)
def local_jacobian(tree, body, screws, q, v, index):
    """The matrix J with twist = J v for one body, in its own frame, shape (6, nv): non-zero on its path only."""
    nv = v.shape[0]
    J = np.zeros((6, nv))
    S = np.empty((nv, 6))
    R, p = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)  # pose of `index` in body i
    i = index
    while i >= 0:
        joint_motion(tree, body, screws, i, q, v, S)
        j = tree[i, V]
        for d in range(tree[i, DOF]):
            column = twist_to_child(R, p, load6(S, j + d, 0))
            for r in range(6):
                J[r, j + d] = column[r]
        Ri, pi = body_pose(tree, body, screws, i, q)
        R, p = compose_pose(Ri, pi, R, p)
        i = tree[i, PARENT]
    return J


@kernel(allocates=True)
def energies(tree, body, screws, dof, rest, gravity, q, v):
    """Kinetic and potential energy [J]; the potential is gravity (zero at the world's origin) and joint springs."""
    poses = world_poses(tree, body, screws, q)
    twists = local_twists(tree, body, screws, q, v)
    kinetic = 0.0
    potential = 0.0
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(tree.shape[0]):
        inertia = load10(body, i, INERTIA)
        twist = load6(twists, i, 0)
        kinetic += 0.5 * dot6(twist, rigid_times_twist(inertia, twist))
        moment = matvec3(load9(poses, i, 0), (inertia[1], inertia[2], inertia[3]))
        moment = add3(moment, scale3(inertia[0], load3(poses, i, 9)))
        potential -= g[0] * moment[0] + g[1] * moment[1] + g[2] * moment[2]
        potential += joint_spring_energy(tree, dof, rest, i, q)
    for j in range(v.shape[0]):
        kinetic += 0.5 * dof[j, ARMATURE] * v[j] * v[j]
    return kinetic, potential


@kernel(allocates=True)
def world_momentum(tree, body, screws, q, v):
    """Spatial momentum [n; f] of the whole linkage in the world frame, about the world's origin, shape (6,)."""
    poses = world_poses(tree, body, screws, q)
    twists = local_twists(tree, body, screws, q, v)
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(tree.shape[0]):
        h = rigid_times_twist(load10(body, i, INERTIA), load6(twists, i, 0))
        total = add6(total, wrench_to_parent(load9(poses, i, 0), load3(poses, i, 9), h))
    return np.array(total)


@kernel(allocates=True)
def mass_moment(tree, body, screws, q):
    """Total mass and its first moment in the world: (m, m x, m y, m z)."""
    poses = world_poses(tree, body, screws, q)
    mass = 0.0
    moment = (0.0, 0.0, 0.0)
    for i in range(tree.shape[0]):
        inertia = load10(body, i, INERTIA)
        mass += inertia[0]
        moment = add3(moment, matvec3(load9(poses, i, 0), (inertia[1], inertia[2], inertia[3])))
        moment = add3(moment, scale3(inertia[0], load3(poses, i, 9)))
    return np.array((mass, moment[0], moment[1], moment[2]))


@kernel(allocates=True)
def twists_to_world(poses, twists):
    """Twists of bodies in the world frame, at the body origins: angular and linear parts only turned."""
    out = np.empty_like(twists)
    for i in range(twists.shape[0]):
        store6(out, i, 0, twist_to_parent(load9(poses, i, 0), (0.0, 0.0, 0.0), load6(twists, i, 0)))
    return out
