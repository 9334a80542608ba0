"""Linearly implicit Euler with the stiffness of tension: for cables and chains under forces far above their weight.

    (M/h² + ∂²U + d/h) x = τ(q) + M v / h - c(q, v),   v⁺ = x / h,   q⁺ = q ⊕ x                    (11)  docs/integrators.md

One step of Newton's method for the implicit rule: the second derivative of the energy of gravity, springs and world-fixed
loads stands beside the inertia, so that waves which cross a link in less than a step are damped instead of amplified. The
same sweeps find equilibria (`statics`). Order 1; it takes energy out of everything faster than a step.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import body_motion
from linkwork.model.layout import ARMATURE, DAMPING, INERTIA, PARENT
from linkwork.model.model import Model
from linkwork.simulation.integrators import euler
from linkwork.simulation.moving import OK, OVERFLOW
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import load6, load10, store6
from linkwork.spatial.vectors import ZERO6, add6, cross_motion, scale6, sub6, twist_to_child
from linkwork.statics.elimination.forces import move_coordinates, place_bodies, unbalanced_efforts
from linkwork.statics.elimination.solve import Pushes, make_sides, solve_sides
from linkwork.statics.elimination.sweeps import eliminate_leaf_to_root
from linkwork.statics.elimination.workspace import U_, Acting, make_place, make_work


@kernel
def momentum_pushes(arrays, q, v, h, S, motion, out):
    """I V / h - (V x* I V + I a) of each body, (n, 6), with a what velocities alone accelerate it by; motion (n, 12)."""
    tree, body = arrays.tree, arrays.body
    for i in range(tree.shape[0]):
        R, p, VJ, cJ = body_motion(tree, body, arrays.screws, i, q, v, S)
        above, a = ZERO6, ZERO6
        if tree[i, PARENT] >= 0:
            above = twist_to_child(R, p, load6(motion, tree[i, PARENT], 0))
            a = twist_to_child(R, p, load6(motion, tree[i, PARENT], 6))
        twist = add6(above, VJ)
        a = add6(a, add6(cJ, cross_motion(twist, VJ)))
        store6(motion, i, 0, twist)
        store6(motion, i, 6, a)
        inertia = load10(body, i, INERTIA)
        resists = add6(gyroscopic_wrench(inertia, twist), rigid_times_twist(inertia, a))
        store6(out, i, 0, sub6(scale6(1.0 / h, rigid_times_twist(inertia, twist)), resists))


@kernel
def note_euler_step(table, h):
    """What acted on the joints in the step of h [s] that was just made, where it ended."""
    euler.record_efforts(table, h)


class ImplicitEuler:
    """Steps of a tree by equation (11). Cost: O(n) per step, some two evaluations of `aba`."""

    def __init__(self, model: Model):
        self.model = model
        self._place, self._work = make_place(model), make_work(model)
        self._r, self._x = np.zeros(model.nv), np.zeros(model.nv)
        self._motion, self._pushes = np.zeros((model.n_bodies, 12)), np.zeros((model.n_bodies, 6))
        self._bodies, self._S = np.arange(model.n_bodies), np.zeros((model.nv, 6))
        self._sides = make_sides(model.n_bodies, model.nv)

    def step(self, q: FloatArray, v: FloatArray, h: float, acting: Acting, laws: FloatArray) -> int:
        """Moves q and v on by h [s], or leaves them; OK, OVERFLOW, or a body whose joint has a zero pivot.

        acting: loads on bodies and efforts on joints.
        laws (nv, 3): effort of each motor at (q, v), its stiffness and its damping, within its limits.
        """
        arrays = self.model.arrays
        effort, diagonal = self._joint_forces(v, h, acting.effort, laws)
        loads = Acting(effort, acting.wrenches, acting.rows, acting.row_body)
        place_bodies(arrays, q, self._work.still, self._place)
        unbalanced_efforts(arrays, loads, self._place, self._work, self._r)
        _, _, singular = eliminate_leaf_to_root(
            arrays, loads, self._place, self._work, 0.0, 1.0 / (h * h), 0.0, diagonal
        )
        if singular >= 0:
            return int(singular)
        momentum_pushes(arrays, q, v, h, self._S, self._motion, self._pushes)
        right = self._r + arrays.dof[:, ARMATURE] * v / h
        self._solve(right, Pushes(self._pushes, self._bodies, 0), self._x)
        if not np.isfinite(self._x).all():
            return OVERFLOW
        move_coordinates(arrays.tree, q.copy(), self._x, 1.0, q)
        v[:] = self._x / h
        return OK

    def solve(self, right: FloatArray) -> FloatArray:
        """x of (matrix of the last step) x = right, (nv,)."""
        x = np.zeros(self.model.nv)
        self._solve(right, Pushes(np.zeros((0, 6)), np.zeros(0, dtype=np.int64), 0), x)
        return x

    def _solve(self, right: FloatArray, pushes: Pushes, x: FloatArray) -> None:
        tree, factors, none = self.model.arrays.tree, self._work.factors, np.zeros((0, 0))
        solve_sides(tree, self._place, factors, U_, self._sides, right[None], pushes, x[None], none)

    def _joint_forces(
        self, v: FloatArray, h: float, given: FloatArray, laws: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Efforts at q, and what dampers and motors add to the diagonal: they are taken where the step ends."""
        pull, stiffness, damping = laws.T
        return given + pull + damping * v, (self.model.arrays.dof[:, DAMPING] + damping) / h + stiffness
