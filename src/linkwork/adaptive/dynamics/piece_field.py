"""A field on the linkage that moves: poses of all bodies from those of the rigid pieces, wrenches of bodies on pieces.

Between two updates of the region a body stands still in its piece, so its pose there is found once per update. A field that
can (`ClusterField`) leaves out what cannot change inside pieces. The metric of the fully articulated linkage needs the
wrenches of everything on every body: at each update they are found by a second copy of the field, in which every body is by
itself. Theory: docs/proteins.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.reduced import WORLD, body_in_piece, reduced_of
from linkwork.adaptive.workspace import coefficients_of, plan_of, run_of
from linkwork.core.jit import kernel
from linkwork.model.model import Model
from linkwork.simulation import step as steps
from linkwork.simulation.fields import ClusterField
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, wrench_to_parent

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def find_pieces(table, piece, pose):
    """Piece of each body (n,), and the body's pose in it (n, 12), as the linkage that moves was gathered last."""
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    for i in range(piece.shape[0]):
        where, R, p = body_in_piece(plan, c, run, reduced, i)
        piece[i] = where
        store9(pose, i, 0, R)
        store3(pose, i, 9, p)


@kernel
def place_by_pieces(moving, piece, pose, out):
    """World poses of all bodies (n, 12), from `world` of the pieces."""
    s = moving_of(moving)
    for i in range(piece.shape[0]):
        R = load9(pose, i, 0)
        p = load3(pose, i, 9)
        if piece[i] != WORLD:
            R, p = compose_pose(load9(s.world, piece[i], 0), load3(s.world, piece[i], 9), R, p)
        store9(out, i, 0, R)
        store3(out, i, 9, p)


@kernel
def load_pieces(moving, piece, pose, loads, field):
    """Wrenches on bodies, (n, 6) in their frames, of loads and of the field → `wrench` of the pieces."""
    s = moving_of(moving)
    for r in range(s.wrench.shape[0]):
        store6(s.wrench, r, 0, ZERO6)
    for i in range(piece.shape[0]):
        if piece[i] != WORLD:
            own = add6(load6(loads, i, 0), load6(field, i, 0))
            add_to6(s.wrench, piece[i], 0, wrench_to_parent(load9(pose, i, 0), load3(pose, i, 9), own))


class PieceField:
    """The field of an adaptive simulation. energy: at the last evaluation, of the whole linkage."""

    def __init__(self, field: Any, model: Model):
        n = model.n_bodies
        self.field = field
        self._clusters = isinstance(field, ClusterField)
        self.whole = field.copy() if self._clusters else field  # every body by itself
        self.energy = 0.0
        self.metric_wrenches = np.zeros((n, 6))  # on all bodies, at the last update
        self._offset = 0.0  # energy of what is left out inside pieces
        self._whole_energy = np.nan  # at the present coordinates, NaN where it is not known
        self._piece, self._pose = np.full(n, -2, dtype=np.int64), np.zeros((n, 12))
        self._new_piece = self._piece.copy()
        self._world, self._has_new_pieces = 0, True
        self._poses, self._wrenches = np.zeros((n, 12)), np.zeros((n, 6))

    def find_metric_wrenches(self, moving: IntArray) -> None:
        """Wrenches on all bodies at the present coordinates, for the metric of the fully articulated linkage."""
        self._place(moving)
        self._whole_energy = self.whole.wrenches(self._poses, self.metric_wrenches)

    def follow(self, table: IntArray, pieces: int) -> None:
        """The linkage that moves was gathered anew, at the same coordinates."""
        find_pieces(table, self._new_piece, self._pose)
        if not np.array_equal(self._new_piece, self._piece):
            self._piece, self._new_piece = self._new_piece, self._piece
            self._world = min(pieces, self._piece.size - 1)  # number of the cluster that stands still, if there is one
            self._has_new_pieces = True

    def evaluate(self, moving: IntArray, loads: FloatArray) -> None:
        """Wrenches of the field at the present coordinates, and loads (n, 6) fixed in bodies, on the pieces."""
        self._place(moving)
        if self._has_new_pieces and self._clusters:
            if np.isnan(self._whole_energy):
                self._whole_energy = self.whole.wrenches(self._poses, self._wrenches)
            self.field.set_clusters(np.where(self._piece == WORLD, self._world, self._piece))
            self.energy = self._whole_energy
            self._offset = self.energy - self.field.wrenches(self._poses, self._wrenches)
        else:
            self.energy = self.field.wrenches(self._poses, self._wrenches) + self._offset
        self._has_new_pieces = False
        self._whole_energy = np.nan
        load_pieces(moving, self._piece, self._pose, loads, self._wrenches)

    def _place(self, moving: IntArray) -> None:
        steps.place_bodies(moving)
        place_by_pieces(moving, self._piece, self._pose, self._poses)
