"""What steps give back: gradients of a number, and their matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled
from linkwork.model.model import Model
from linkwork.model.state import State

Seen = tuple[Any, Any]  # what was remembered of a simulation before and after a step

UNSEEN: Seen = (None, None)


class StepGradients(NamedTuple):
    """Gradients of a number with respect to the state before a step, what acted in it, and the model."""

    q: FloatArray  # (nv,)
    v: FloatArray  # (nv,)
    effort: FloatArray  # (nv,)
    inertias: FloatArray  # (n, 10)
    gravity: FloatArray  # (3,)
    stiffness: FloatArray  # (nv,)
    damping: FloatArray  # (nv,)
    armature: FloatArray  # (nv,)


@tabled
class Linearized(NamedTuple):
    """One step as matrices: with x = (q, v), dq along the tangent of `Model.integrate`, dx⁺ = A dx + B dτ.

    A: shape (2 nv, 2 nv). B: shape (2 nv, nv), with respect to efforts that act during the step. Arrays, sparse arrays or
    linear operators of SciPy, as asked for.
    """

    A: Any
    B: Any


class StepMap:
    """The map of one step of h [s] of a simulation, under its present motors and loads."""

    model: Model
    h: float

    def remember(self, sim: Any) -> Any:
        """What the way back needs of the simulation, beside its state, where it stands before or after a step."""
        return None

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        """Gradients before the step from those after it, by_q (along the tangent there) and by_v, each (nv,)."""
        raise NotImplementedError

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        """Where the step of a closed linkage ended before its loops were closed: what `back` is to take for `after`."""
        raise NotImplementedError
