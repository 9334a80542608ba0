"""A field on the linkage that moves: poses of all bodies from those of the rigid groups, wrenches of bodies on groups.

Between two updates of the region a body stands still in its group, so its pose there is found once per update. A field that
can (`ClusterField`) gets the groups: it leaves out what cannot change inside groups, and acts on groups directly. The
metric of the fully articulated linkage needs the wrenches of everything on every body: at each update they are found by a
second copy of the field, in which every body is by itself. In between they are known too: what bodies of one group do to
each other does not change in their frames, and the rest is what the field does to the groups. Theory: docs/proteins.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.adaptive.dynamics.reduced.gather import body_in_group
from linkwork.adaptive.dynamics.reduced.reduced import WORLD, reduced_of
from linkwork.adaptive.workspace import coefficients_of, plan_of, run_of
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import kernel
from linkwork.model.model import Model
from linkwork.simulation.loading.accelerate import place_bodies
from linkwork.simulation.loading.fields import ClusterField
from linkwork.simulation.moving import Moving, moving_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, wrench_to_parent

IN_THE_WORLD = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)  # pose of what is welded to it


@kernel
def find_groups(table, group, pose):
    """Group of each body (n,), and the body's pose in it (n, 12), as the linkage that moves was gathered last."""
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    for i in range(group.shape[0]):
        where, R, p = body_in_group(plan, c, run, reduced, i)
        group[i] = where
        store9(pose, i, 0, R)
        store3(pose, i, 9, p)


@kernel
def place_by_groups(moving, group, pose, out):
    """World poses of all bodies (n, 12), from `world` of the groups."""
    s = moving_of(moving)
    for i in range(group.shape[0]):
        R = load9(pose, i, 0)
        p = load3(pose, i, 9)
        if group[i] != WORLD:
            R, p = compose_pose(load9(s.world, group[i], 0), load3(s.world, group[i], 9), R, p)
        store9(out, i, 0, R)
        store3(out, i, 9, p)


@kernel
def load_groups(moving, group, pose, loads, field):
    """Wrenches on bodies, (n, 6) in their frames, of loads and of the field → `wrench` of the groups."""
    s = moving_of(moving)
    for r in range(s.wrench.shape[0]):
        store6(s.wrench, r, 0, ZERO6)
    for i in range(group.shape[0]):
        if group[i] != WORLD:
            own = add6(load6(loads, i, 0), load6(field, i, 0))
            add_to6(s.wrench, group[i], 0, wrench_to_parent(load9(pose, i, 0), load3(pose, i, 9), own))


class GroupField:
    """The field of an adaptive simulation. energy: at the last evaluation, of the whole linkage."""

    def __init__(self, field: Any, model: Model):
        n = model.n_bodies
        self.field = field
        self._attaches = isinstance(field, ClusterField)
        self.on_bodies = field.copy() if self._attaches else field  # every body by itself
        self.energy = 0.0
        self.metric_wrenches = np.zeros((n, 6))  # on all bodies, at the last update
        self._offset = 0.0  # energy of what is left out inside groups
        self._energy_on_bodies = np.nan  # at the present coordinates, NaN where it is not known
        self._group, self._pose = np.full(n, -2, dtype=np.int64), np.zeros((n, 12))
        self._new_group, self._new_pose = self._group.copy(), self._pose.copy()
        self._groups, self._rows, self._has_new_groups = 0, 0, True  # rows: of all clusters, the world's included
        self._poses, self._wrenches, self._none = np.zeros((n, 12)), np.zeros((n, 6)), np.zeros((n, 6))
        self._group_poses, self._group_wrenches = np.zeros((n + 1, 12)), np.zeros((n + 1, 6))
        self._loads = np.zeros((0, 6))  # fixed in bodies, summed on groups
        self._inside = np.zeros((n, 6))  # wrenches on bodies by others of their group, which stay as they are

    def find_metric_wrenches(self, moving: IntArray) -> None:
        """Wrenches on all bodies at the present coordinates, for the metric of the fully articulated linkage."""
        self._place(moving)
        self._energy_on_bodies = self.on_bodies.wrenches(self._poses, self.metric_wrenches)

    def find_present_wrenches(self, moving: IntArray) -> None:
        """The same after `evaluate` at the present coordinates, without another evaluation."""
        if not self._attaches:
            self.metric_wrenches[:] = self._wrenches
            return
        self._place(moving)
        self.field.wrenches_on_bodies(self._poses, self.metric_wrenches)
        self.metric_wrenches += self._inside

    def follow(self, table: IntArray, moving: IntArray, arrays: Moving, groups: int, loads: FloatArray) -> None:
        """The linkage that moves was gathered anew, at the same coordinates. loads (n, 6): fixed in bodies."""
        find_groups(table, self._new_group, self._new_pose)
        if not (np.array_equal(self._new_group, self._group) and np.array_equal(self._new_pose, self._pose)):
            self._group, self._new_group = self._new_group, self._group
            self._pose, self._new_pose = self._new_pose, self._pose
            self._groups = groups
            self._rows = groups + 1 if (self._group == WORLD).any() else groups
            self._has_new_groups = True
        if self._attaches:
            load_groups(moving, self._group, self._pose, loads, self._none)
            self._loads = arrays.wrench[:groups].copy()

    def evaluate(self, moving: IntArray, arrays: Moving, loads: FloatArray) -> None:
        """Wrenches of the field at the present coordinates, and loads (n, 6) fixed in bodies, on the groups."""
        if not self._attaches:
            self._place(moving)
            self.energy = self.field.wrenches(self._poses, self._wrenches)
            load_groups(moving, self._group, self._pose, loads, self._wrenches)
            return
        if self._has_new_groups:
            self._place(moving)
            everything = self.metric_wrenches
            if np.isnan(self._energy_on_bodies):
                everything = self._wrenches
                self._energy_on_bodies = self.on_bodies.wrenches(self._poses, everything)
            self.field.attach_to_pieces(np.where(self._group == WORLD, self._groups, self._group), self._pose)
            self._offset = self._energy_on_bodies - self._evaluate_on_groups(arrays)
            self.field.wrenches_on_bodies(self._poses, self._inside)
            np.subtract(everything, self._inside, out=self._inside)
            self._has_new_groups = False
            self.energy = self._energy_on_bodies
        else:
            place_bodies(moving)
            self.energy = self._evaluate_on_groups(arrays) + self._offset
        self._energy_on_bodies = np.nan
        np.add(self._loads, self._group_wrenches[: self._groups], out=arrays.wrench[: self._groups])

    def _evaluate_on_groups(self, arrays: Moving) -> float:
        """Energy by a field that is attached to the groups, which stand where `world` says."""
        poses = arrays.world[: self._groups]
        if self._rows > self._groups:
            self._group_poses[: self._groups] = poses
            self._group_poses[self._groups] = IN_THE_WORLD
            poses = self._group_poses[: self._rows]
        return float(self.field.wrenches(poses, self._group_wrenches[: self._rows]))

    def _place(self, moving: IntArray) -> None:
        place_bodies(moving)
        place_by_groups(moving, self._group, self._pose, self._poses)
