"""What steps give back: gradients of a number, and their matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.describe import table_of_attributes

FloatArray = NDArray[np.float64]


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


class Linearized(NamedTuple):
    """One step as matrices: with x = (q, v), dq along the tangent of `Model.integrate`, dx⁺ = A dx + B dτ.

    A: shape (2 nv, 2 nv). B: shape (2 nv, nv), with respect to efforts that act during the step.
    """

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    A: FloatArray
    B: FloatArray
