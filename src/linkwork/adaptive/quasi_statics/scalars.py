"""Scalars of a quasi-static simulation worth plotting over time, at the cost of what moved.

Gravity's part of the energy follows from the place of the root node; the springs' part is kept for each joint and formed
again only where coordinates changed, so that it stays a function of the coordinates alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.quasi_statics.update import refresh_place
from linkwork.adaptive.quasi_statics.workspace import OPEN_COUNT, P_MOMENT
from linkwork.core.jit import kernel
from linkwork.model.joint_kernels import joint_spring_energy
from linkwork.model.layout import STIFFNESS
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


@kernel
def gravity_energy(plan, mechanism, coefficients, opened):
    """Energy of gravity at the present coordinates [J].

    opened: the open nodes, ascending. Their places are brought up to date, as the next solve would do.
    """
    root = plan.nodes.shape[0] - 1
    if root < 0:
        return 0.0
    for k in range(opened.shape[0]):
        refresh_place(plan.nodes, opened[k], mechanism.body, coefficients.hinge, coefficients.place)
    energy = 0.0
    for c in range(3):
        energy -= mechanism.gravity[c] * coefficients.place[root, P_MOMENT + c]
    return energy


@kernel
def spring_energies(mechanism, q, joints, energies):
    """Energy of the springs of the given joints [J], each into its entry of `energies` (n,)."""
    for k in range(joints.shape[0]):
        i = joints[k]
        energies[i] = joint_spring_energy(mechanism.tree, mechanism.dof, mechanism.rest, i, q)


class SpringEnergy:
    """The energy of all joint springs, formed anew only where coordinates changed since it was last asked for."""

    def __init__(self, model: Model):
        self._has_springs = bool(model.arrays.dof[:, STIFFNESS].any())
        self._joint_of = np.repeat(np.arange(model.n_bodies), [joint.nq for joint in model.joints])
        self._energies = np.zeros(model.n_bodies)
        self._q = np.full(model.nq, np.nan)

    def total(self, mechanism: object, q: NDArray[np.float64]) -> float:
        if not self._has_springs:
            return 0.0
        joints = np.unique(self._joint_of[np.flatnonzero(q != self._q)])
        spring_energies(mechanism, q, joints, self._energies)
        self._q[...] = q
        return float(self._energies.sum())


def scalars(sim: QuasiStatics, springs: SpringEnergy) -> dict[str, float]:
    """See `QuasiStatics.scalars`."""
    live = sim._live
    opened = np.sort(live.opened[: live.tally[OPEN_COUNT]])
    plan, mechanism, coefficients, _ = sim._bundles
    potential = float(gravity_energy(plan, mechanism, coefficients, opened))
    potential += springs.total(mechanism, live.q)
    return {
        "kinetic_energy": 0.0,
        "potential_energy": potential,
        "energy": potential,
        "active_joints": float(sim._computed_bodies().size),
    }
