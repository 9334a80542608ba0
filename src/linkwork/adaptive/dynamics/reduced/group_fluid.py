"""A fluid on the linkage that moves: rows of bodies in the frames of their rigid groups, and its wrenches for the metric.

Between two updates a body stands still in its group, so its row is turned into the group's frame once per update; a step
then takes every row as it does with all joints active. The metric gets the wrenches on all bodies at each update: drag
and buoyancy as they are, at the velocities of the groups. Added mass is not in the metric.
"""

from __future__ import annotations

import numpy as np

from linkwork.adaptive.dynamics.reduced.group_field import find_groups
from linkwork.adaptive.dynamics.reduced.reduced import WORLD
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import kernel
from linkwork.dynamics.aba import TWIST
from linkwork.environment.fluid import fluid_in_step
from linkwork.environment.wet_columns import WET_ADDED, WET_AXIS, WET_MIDDLE, WET_STREAM
from linkwork.model.model import Model
from linkwork.simulation.loading.accelerate import place_bodies
from linkwork.simulation.moving import moving_of
from linkwork.simulation.parts.in_fluid import InFluid
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.rotations import tmatvec3
from linkwork.spatial.vectors import ZERO6, compose_pose, twist_to_child


@kernel
def fluid_on_bodies(moving, wet, wet_body, group, pose, out):
    """Wrenches of the fluid on all bodies (n, 6), in their frames, from poses and twists of the groups."""
    s = moving_of(moving)
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    for i in range(out.shape[0]):
        store6(out, i, 0, ZERO6)
    for k in range(wet.shape[0]):
        i = wet_body[k]
        R, p = load9(pose, i, 0), load3(pose, i, 9)
        twist = ZERO6
        if group[i] != WORLD:
            twist = twist_to_child(R, p, load6(s.work, group[i], TWIST))
            R, p = compose_pose(load9(s.world, group[i], 0), load3(s.world, group[i], 9), R, p)
        F, _, _, _ = fluid_in_step(wet, k, s.water, s.current, tmatvec3(R, g), R, p, twist, 0.0)
        store6(out, i, 0, F)


class GroupFluid:
    """What a fluid does to rigid groups, and to all bodies where the metric is asked for."""

    def __init__(self, model: Model, fluid: InFluid):
        self.fluid = fluid
        self.metric_wrenches: FloatArray = np.zeros((model.n_bodies, 6))
        self._group = np.full(model.n_bodies, WORLD)
        self._pose = np.zeros((model.n_bodies, 12))
        self._bare = fluid.wet.rows.copy()  # without added mass
        self._bare[:, WET_ADDED] = 0.0

    def follow(self, tree: IntArray) -> None:
        """The linkage that moves was gathered anew."""
        find_groups(tree, self._group, self._pose)
        of_bodies, bodies = self.fluid.wet
        rows, groups = self.fluid.moving_wet
        R = self._pose[bodies, :9].reshape(-1, 3, 3)
        for at in (WET_MIDDLE, WET_AXIS):
            rows[:, at : at + 3] = np.einsum("kij,kj->ki", R, of_bodies[:, at : at + 3])
        rows[:, WET_MIDDLE : WET_MIDDLE + 3] += self._pose[bodies, 9:]
        groups[:] = self._group[bodies]

    def find_metric_wrenches(self, moving: IntArray) -> None:
        place_bodies(moving)
        self._bare[:, WET_STREAM : WET_STREAM + 3] = self.fluid.moving_wet.rows[:, WET_STREAM : WET_STREAM + 3]
        fluid_on_bodies(moving, self._bare, self.fluid.wet.body, self._group, self._pose, self.metric_wrenches)
