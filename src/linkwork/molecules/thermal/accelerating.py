"""Accelerations of a linkage under a field, as integrators ask for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.front import energy, forward_dynamics
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.molecules.forces.field import Field, poses_of

FloatArray = NDArray[np.float64]
Wrenches = Callable[[FloatArray], FloatArray]  # poses (n, 12) → more wrenches (n, 6)


class FieldAcceleration:
    """(q, v) → q̈ under a field, and more loads if given.

    The field is asked once for each q: an integrator that looks at one q with several velocities pays for one evaluation.
    more: further wrenches at given poses, such as a pulling spring.
    """

    def __init__(self, model: Model, field: Field, more: Wrenches | None = None):
        self.model, self.field, self.more = model, field, more
        self.potential = float("nan")  # [kJ/mol] of the field at the last q
        self.evaluations = 0
        self._q = np.full(model.nq, np.nan)
        self._wrenches = np.zeros((model.n_bodies, 6))

    def wrenches(self, q: FloatArray) -> FloatArray:
        """Wrenches of field and further loads at q, shape (n, 6)."""
        if not np.array_equal(q, self._q):
            poses = poses_of(self.model, q)
            self.potential = self.field.wrenches(poses, self._wrenches)
            if self.more is not None:
                self._wrenches += self.more(poses)
            self._q = q.copy()
            self.evaluations += 1
        return self._wrenches

    def forget(self) -> None:
        """The further loads have changed: the wrenches are found anew, even at the same q."""
        self._q = np.full(self.model.nq, np.nan)

    def __call__(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return forward_dynamics(self.model, State(q, v), wrenches=self.wrenches(q))

    def energy(self, state: State) -> float:
        """Kinetic energy and the field's [kJ/mol], at a state."""
        self.wrenches(state.q)
        return energy(self.model, state).kinetic + self.potential
