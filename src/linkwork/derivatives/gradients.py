"""Gradients: what a product from the left gives back."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled


@tabled
@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of a number with respect to what a function was given; None where it does not depend on it, or where it was
    not asked for.

    q: along the tangent of `Model.integrate`: the change for q ⊕ δ is `gradients.q @ δ`, shape (nv,).
    v, effort, acceleration: shape (nv,). wrenches: shape (n, 6), in the bodies' frames.
    inertias: with respect to mass, m c and the inertia about the origin (xx xy xz yy yz zz), shape (n, 10); an off-diagonal
    number stands for both its places. gravity: shape (3,). stiffness, damping, armature: shape (nv,).
    """

    q: FloatArray | None = None
    v: FloatArray | None = None
    effort: FloatArray | None = None
    acceleration: FloatArray | None = None
    wrenches: FloatArray | None = None
    inertias: FloatArray | None = None
    gravity: FloatArray | None = None
    stiffness: FloatArray | None = None
    damping: FloatArray | None = None
    armature: FloatArray | None = None
