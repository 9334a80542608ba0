"""Linkages whose bodies have almost no moments beside their masses and lengths: there elimination keeps few digits.

Inverse inertias at a lever arm ℓ are differences of numbers as large as ℓ²/J, with moments J. What is left of them may be
right under one load and wrong under the next. So what was measured of rounding there says nothing about another solve.
"""

from __future__ import annotations

import numpy as np

from linkwork.model.layout import INERTIA, PARENT, POSITION
from linkwork.model.model import Model

LEAST_MOMENTS = (
    1e-6  # of mass times the square of a body's longest lever arm: a radius of a thousandth of a link's length
)


def is_delicate(model: Model) -> bool:
    """Whether any body with mass has almost no moments. Cost: O(n)."""
    parent, body = model.arrays.tree[:, PARENT], model.arrays.body
    mass, first = body[:, INERTIA], body[:, INERTIA + 1 : INERTIA + 4]
    about_origin = body[:, [INERTIA + 4, INERTIA + 7, INERTIA + 9]].sum(axis=1)
    arm = np.linalg.norm(body[:, POSITION : POSITION + 3], axis=1)
    arm[parent < 0] = 0.0  # of the world, which has no inertia: nothing is moved along it
    longest = arm.copy()
    np.maximum.at(longest, parent[parent >= 0], arm[parent >= 0])
    has_mass = mass > 0.0
    m, c = mass[has_mass], first[has_mass] / mass[has_mass, None]
    square = (c * c).sum(axis=1)
    moments = about_origin[has_mass] - 2.0 * m * square  # about the centre of mass, all three
    return bool((moments < LEAST_MOMENTS * m * np.maximum(longest[has_mass] ** 2, square)).any())
