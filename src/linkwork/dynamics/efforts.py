"""Efforts on joints by what makes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.describe import html_table

FloatArray = NDArray[np.float64]


class Efforts(NamedTuple):
    """Efforts on joints by what makes them, each of shape (nv,) [N·m or N].

    given: by `set_effort` and `set_efforts`. motors: within their limits. springs, dampers: of the joints.
    limits: that stop joints, means over the step.
    """

    given: FloatArray
    motors: FloatArray
    springs: FloatArray
    dampers: FloatArray
    limits: FloatArray

    def _repr_html_(self) -> str:
        parts = self._asdict().items()
        return html_table("Efforts", [(name, f"largest {np.abs(part).max(initial=0.0):.4g}") for name, part in parts])

    @property
    def total(self) -> FloatArray:
        """Their sum, shape (nv,) [N·m or N]."""
        return self.given + self.motors + self.springs + self.dampers + self.limits


def as_efforts(parts: FloatArray) -> Efforts:
    """The columns of parts (nv, 5), each in memory of its own."""
    return Efforts(*(np.ascontiguousarray(parts[:, k]) for k in range(len(Efforts._fields))))
