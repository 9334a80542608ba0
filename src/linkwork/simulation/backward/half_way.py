"""Bodies that turn fast in a step with contact, backwards: (12) of docs/theory/contact.md (`contact_step.turning`).

    q̈₀ at v,   u₁ = v + ½ h q̈₀,   q̈₁ at u₁,   u₂ = v + ½ h q̈₁,   q̈ at u₂ with the impulses of contacts and limits

all at q and under the efforts that the joints have at v: springs, dampers and motors are not asked again. So the way back
is that of three solves. Which steps are fast is held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.stepping.accelerations import solve
from linkwork.derivatives.stepping.euler import springs_of
from linkwork.derivatives.sweeps.kinematic_sweeps import spring_pulls
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State


def turns_fast(twists: FloatArray, h: float) -> bool:
    """Whether a step of h [s] takes forces of inertia half way, by the twists of the bodies before it."""
    from linkwork.simulation.contact_step.turning import FAST, FASTEST  # not before there is contact

    most = h * float(np.sqrt(np.sum(twists[:, :3] ** 2, axis=1).max(initial=0.0)))
    return FAST < most <= FASTEST


class HalfWay:
    """A step of the linkage `stepped` (`joint_laws`). u: velocities half way. qdd: of the step. pull: of its last solve.

    total, wrenches: what acts without contact; pushes, efforts: of contacts and limits.
    """

    def __init__(self, stepped: Model, before: State, h: float, acting: tuple[Any, Any], of_contact: tuple[Any, Any]):
        from linkwork.simulation.contact_step.turning import ROUNDS

        self.stepped, self.before, self.h = stepped, before, h
        (total, wrenches), (efforts, pushes) = acting, of_contact
        arrays = stepped.arrays
        dof = arrays.dof.copy()
        dof[:, [layout.STIFFNESS, layout.DAMPING]] = 0.0
        bare = replace(stepped, arrays=arrays._replace(dof=dof))
        pulls = np.empty(stepped.nv)
        spring_pulls(arrays.tree, arrays.dof, arrays.rest, before.q, before.v, pulls)
        bare_effort = total - pulls
        self._rounds: list[Any] = []
        self.u = before.v
        for _ in range(ROUNDS):
            qdd, pull = solve(bare, State(before.q, self.u), bare_effort, wrenches)
            self._rounds.append(pull)
            self.u = before.v + 0.5 * h * qdd
        all_wrenches = pushes if wrenches is None else wrenches + pushes
        self.qdd, self.pull = solve(bare, State(before.q, self.u), bare_effort + efforts, all_wrenches)

    def rest(self, found: Any, by_u: FloatArray) -> Gradients:
        """All gradients of the step from those of its last solve and weights on u.

        Those by wrenches are of what acts in every solve, without contact.
        """
        names = ("q", "effort", "wrenches", "inertias", "gravity", "armature")
        sums = {name: getattr(found, name).copy() for name in names}
        by_u, by_v = by_u + found.v, np.zeros(self.stepped.nv)
        for pull in reversed(self._rounds):
            more = pull(0.5 * self.h * by_u)
            by_v += by_u
            by_u = more.v
            for name, total in sums.items():
                total += getattr(more, name)
        arrays, v, by_bare_effort = self.stepped.arrays, self.before.v, sums["effort"]
        by_dof, bodies = np.zeros((v.size, layout.DOF_COLUMNS)), np.arange(self.stepped.n_bodies)
        springs_of(arrays.tree, arrays.dof, arrays.rest, bodies, self.before.q, -by_bare_effort, sums["q"], by_dof)
        return Gradients(
            **sums,
            v=by_v + by_u - arrays.dof[:, layout.DAMPING] * by_bare_effort,
            stiffness=by_dof[:, layout.STIFFNESS],
            damping=-v * by_bare_effort,
        )
