"""Efforts on joints by what makes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import html_table


class Efforts(NamedTuple):
    """Efforts on joints by source, each of shape (nv,) [N·m or N].

    given: by `set_effort` and `set_efforts`. motors: within their limits. springs, dampers: of the joints.
    limits: that stop joints, means over the step. contact: efforts of contact forces along the joints, Jᵀf,
    means over the step at the pose of its end; not part of `total`, which is what acts in the joints themselves.
    """

    given: FloatArray
    motors: FloatArray
    springs: FloatArray
    dampers: FloatArray
    limits: FloatArray
    contact: FloatArray

    def _repr_html_(self) -> str:
        parts = self._asdict().items()
        return html_table("Efforts", [(name, f"largest {np.abs(part).max(initial=0.0):.4g}") for name, part in parts])

    @property
    def total(self) -> FloatArray:
        """The sum of all but `contact`, shape (nv,) [N·m or N]."""
        return self.given + self.motors + self.springs + self.dampers + self.limits


IN_JOINTS = Efforts._fields[:5]  # those that act in the joints themselves


def as_efforts(parts: FloatArray, contact: FloatArray) -> Efforts:
    """The columns of parts (nv, 5), each in memory of its own, and contact (nv,)."""
    given, motors, springs, dampers, limits = (np.ascontiguousarray(parts[:, k]) for k in range(len(IN_JOINTS)))
    return Efforts(given, motors, springs, dampers, limits, contact)
