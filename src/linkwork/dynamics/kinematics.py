"""Where bodies are and how they move: poses, twists, Jacobians, energy, momentum. All O(n)."""

import numpy as np

from linkwork.algebra.rows import Rows
from linkwork.algebra.spatial import IDENTITY, ZERO3, ZERO_WRENCH, Pose, Twist, Vec3
from linkwork.core.jit import kernel, routine
from linkwork.model.kernels.joint_kernels import joint_at, joint_moves, joint_spring_energy
from linkwork.model.layout import ARMATURE
from linkwork.model.rows import BODY, TREE


class Body(Rows, tree=TREE, body=BODY):
    """A body and its joint."""


class Placed(Rows, poses={"X": Pose}):
    """A body's pose in the world."""


class Moving(Rows, twists={"V": Twist}):
    """A body's twist, or a column of a joint's motion subspace."""


@kernel(allocates=True)
def world_poses(tree, body, screws, q):
    """Rotation (nine numbers) and position of each body in the world, shape (n, 12)."""
    poses = np.empty((tree.shape[0], 12))
    place_root_to_leaf(tree, body, screws, q, poses)
    return poses


@routine
def place_root_to_leaf(tree, body, screws, q, poses):
    bodies, placed = Body(tree, body), Placed(poses)
    for i in range(tree.shape[0]):
        J = joint_at(tree, body, screws, i, q)
        b = bodies[i]
        X = b.rest @ J
        placed[i].X = placed[b.parent].X @ X if b.parent >= 0 else X


@kernel(allocates=True)
def local_twists(tree, body, screws, q, v):
    """Twist of each body in its own frame, shape (n, 6)."""
    twists, S = np.empty((tree.shape[0], 6)), np.empty((v.shape[0], 6))
    move_root_to_leaf(tree, body, screws, q, v, S, twists)
    return twists


@routine
def move_root_to_leaf(tree, body, screws, q, v, S, twists):
    bodies, moving = Body(tree, body), Moving(twists)
    for i in range(tree.shape[0]):
        J, V, _ = joint_moves(tree, body, screws, i, q, v, S)
        b = bodies[i]
        moving[i].V = b.rest @ J @ moving[b.parent].V + V if b.parent >= 0 else V


@kernel(allocates=True)
def local_jacobian(tree, body, screws, q, v, index):
    """The matrix J with twist = J v for one body, in its own frame, shape (6, nv): non-zero on its path only."""
    J, S = np.zeros((6, v.shape[0])), np.empty((v.shape[0], 6))
    columns_of_path(tree, body, screws, q, v, index, S, J)
    return J


@routine
def columns_of_path(tree, body, screws, q, v, index, S, J):
    bodies, columns, X = Body(tree, body), Moving(S), IDENTITY  # pose of `index` in body i
    i = index
    while i >= 0:
        joint, _, _ = joint_moves(tree, body, screws, i, q, v, S)
        b = bodies[i]
        for d in range(b.v, b.v + b.freedoms):
            column = (X @ columns[d].V).x
            for r in range(6):
                J[r, d] = column[r]
        X = b.rest @ joint @ X
        i = b.parent


@kernel(allocates=True)
def energies(tree, body, screws, dof, rest, gravity, q, v):
    """Kinetic and potential energy [J]; the potential is gravity (zero at the world's origin) and joint springs."""
    poses, twists = world_poses(tree, body, screws, q), local_twists(tree, body, screws, q, v)
    return energies_of_bodies(tree, body, dof, rest, gravity, q, v, poses, twists)


@routine
def energies_of_bodies(tree, body, dof, rest, gravity, q, v, poses, twists):
    bodies, placed, moving = Body(tree, body), Placed(poses), Moving(twists)
    g = Vec3(gravity[0], gravity[1], gravity[2])
    kinetic = 0.0
    potential = 0.0
    for i in range(tree.shape[0]):
        I, V, X = bodies[i].inertia, moving[i].V, placed[i].X
        kinetic += 0.5 * (V @ (I @ V))
        potential -= g @ (X.R @ I.h + I.m * X.p)
        potential += joint_spring_energy(tree, dof, rest, i, q)
    for j in range(v.shape[0]):
        kinetic += 0.5 * dof[j, ARMATURE] * v[j] * v[j]
    return kinetic, potential


@kernel(allocates=True)
def world_momentum(tree, body, screws, q, v):
    """Spatial momentum [n; f] of the whole linkage in the world frame, about the world's origin, shape (6,)."""
    poses, twists = world_poses(tree, body, screws, q), local_twists(tree, body, screws, q, v)
    return np.array(sum_of_momenta(tree, body, poses, twists))


@routine
def sum_of_momenta(tree, body, poses, twists):
    bodies, placed, moving, total = Body(tree, body), Placed(poses), Moving(twists), ZERO_WRENCH
    for i in range(tree.shape[0]):
        total += placed[i].X.T @ (bodies[i].inertia @ moving[i].V)
    return total.x


@kernel(allocates=True)
def mass_moment(tree, body, screws, q):
    """Total mass and its first moment in the world: (m, m x, m y, m z)."""
    poses = world_poses(tree, body, screws, q)
    return np.array(sum_of_masses(tree, body, poses))


@routine
def sum_of_masses(tree, body, poses):
    placed, bodies, mass, moment = Placed(poses), Body(tree, body), 0.0, ZERO3
    for i in range(tree.shape[0]):
        I, X = bodies[i].inertia, placed[i].X
        mass += I.m
        moment += X.R @ I.h + I.m * X.p
    return mass, moment[0], moment[1], moment[2]


@kernel(allocates=True)
def twists_to_world(poses, twists):
    """Twists of bodies in the world frame, at the body origins: angular and linear parts only turned."""
    out = np.empty_like(twists)
    turn_to_world(poses, twists, out)
    return out


@routine
def turn_to_world(poses, twists, out):
    placed, moving, turned = Placed(poses), Moving(twists), Moving(out)
    for i in range(twists.shape[0]):
        R, V = placed[i].X.R, moving[i].V
        turned[i].V = Twist(R @ V.w, R @ V.v)
