"""What pieces of rods do in a mode: how much they roll about their axes and move along them, and what is of the mesh alone.

Pieces on hinges cannot roll together without turning this way and that, which costs energy where no rod would resist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model.layout import DOF, HELICAL, INERTIA, KIND, STIFFNESS
from linkwork.model.model import Model
from linkwork.model.rods.ends import RodOn
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_STIFFNESS
from linkwork.statics.elimination.forces import step_extent
from linkwork.statics.elimination.workspace import Acting, Place

NO_BODIES = np.zeros(0, dtype=np.int64)

MOSTLY = 0.5  # of the kinetic energy; pieces turn with 0.45 of it in the shortest wave that they can form


class Motion(NamedTuple):
    """What moves in a mode x with xᵀM x = 1."""

    turn2: float  # square of the largest rotation of a body
    roll: float  # part of the kinetic energy with which pieces of rods roll about their axes
    axial: float  # and with which they move along them
    is_of_mesh: (
        bool  # pieces of rods that cannot twist roll, turn rather than move, and nothing but their joints resists
    )


class RodPieces:
    """The pieces of all rods of a model."""

    def __init__(self, model: Model):
        self.model = model
        of_rods = [_pieces_of(model, rod) for rod in model.rods]
        self.bodies = np.concatenate([NO_BODIES, *(pieces for pieces, _ in of_rods)])
        kinds = [model.arrays.tree[joints, KIND] for _, joints in of_rods]
        self.stiff = np.repeat([(kind == HELICAL).all() for kind in kinds], [pieces.size for pieces, _ in of_rods])
        self.stiff = self.stiff.astype(bool)  # of rods that hinges join, which cannot twist
        self.springs = model.arrays.dof[:, STIFFNESS].copy()  # of joints that are not between pieces
        self.springs[np.isin(_joints_of_velocities(model), np.concatenate([NO_BODIES, *(j for _, j in of_rods)]))] = 0.0
        body = model.arrays.body[self.bodies]
        self.mass = body[:, INERTIA]
        self.middle = body[:, INERTIA + 1 : INERTIA + 4] / self.mass[:, None]
        self.axis = self.middle / np.linalg.norm(self.middle, axis=1)[:, None]
        xx, xy, xz, yy, yz, zz = body[:, INERTIA + 4 : INERTIA + 10].T
        self.moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)  # about the origin
        self.about_axis = np.einsum("ij,ijk,ik->i", self.axis, self.moments, self.axis)

    def in_mode(self, place: Place, acting: Acting, x: FloatArray, rate2: float) -> Motion:
        """In the mode x with the eigenvalue rate2 [1/s²]."""
        twist = np.empty((self.model.n_bodies, 6))
        turn, _ = step_extent(self.model.arrays, place, x, twist)
        rate, way = twist[self.bodies, :3], twist[self.bodies, 3:]
        about = _dot(rate, self.axis)
        of_mesh = False
        if float((2.0 * about**2 - _dot(rate, rate))[self.stiff].sum()) > 0.0:  # rolls more than it turns across
            swing = np.cross(rate, self.middle)
            turns = np.einsum("ij,ijk,ik->i", rate, self.moments, rate) - self.mass * _dot(swing, swing)
            held = float(self.springs @ x**2) + _by_loads(acting, twist)  # what others than the rods resist with
            of_mesh = float(turns[self.stiff].sum()) > MOSTLY and not held > MOSTLY * abs(rate2)
        return Motion(
            turn * turn,
            float(self.about_axis @ about**2),
            float(self.mass @ _dot(way, self.axis) ** 2),  # turning about the origin moves the middle across
            of_mesh,
        )


def _by_loads(acting: Acting, twist: FloatArray) -> float:
    """The same of springs between bodies and the world."""
    k = np.flatnonzero(acting.rows[:, LOAD_STIFFNESS] > 0.0)
    of_body = twist[acting.row_body[k]]
    way = of_body[:, 3:] + np.cross(of_body[:, :3], acting.rows[k, LOAD_AT : LOAD_AT + 3])
    return float(acting.rows[k, LOAD_STIFFNESS] @ _dot(way, way))


def _joints_of_velocities(model: Model) -> IntArray:
    return np.repeat(np.arange(model.n_bodies), model.arrays.tree[:, DOF])


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _pieces_of(model: Model, rod: RodOn) -> tuple[IntArray, IntArray]:
    """Bodies from the end of a rod to its start, without a clamped one, which is a part of the body that holds it; and
    those that the joints between them carry."""
    start, parent = model.body(rod.start.body), model.parent.tolist()
    above, i = {start}, start
    while i >= 0:
        above.add(i := parent[i])
    down = [model.body(rod.end.body)]
    while down[-1] not in above:
        down.append(parent[down[-1]])
    joining = down.pop()  # the piece, or the body that holds the first one, which is nearest to the root
    up = [] if start == joining else [start]
    while up and parent[up[-1]] != joining:
        up.append(parent[up[-1]])
    bodies = [*down, joining, *reversed(up)]
    return np.array(bodies[:-1] if rod.start.body in model.frames else bodies), np.array(down + up)
