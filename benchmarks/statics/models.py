"""Cables and rods of the benchmark, and what is known about their equilibria in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import linkwork as lw

FloatArray = NDArray[np.float64]

LENGTH, MASS, GRAVITY = 10.0, 1.0, 9.81  # of every cable [m, kg, m/s²]
TIP_FORCE = (3.0, 1.0, 0.0)  # [N]


def cable(links: int, anchor: tuple[float, float, float] | None = None) -> lw.Model:
    """A level cable of hinges about y and z by turns; its far end is held at an anchor, or free."""
    size, mass = LENGTH / links, MASS / links
    linkage = lw.Linkage("cable", gravity=(0, 0, -GRAVITY))
    inertia = lw.Inertia.box(mass, (size, 1e-3, 1e-3)).at(lw.Pose((size / 2, 0, 0)))
    y, z, first, place = lw.Revolute((0, 1, 0)), lw.Revolute((0, 0, 1)), lw.Pose(), lw.Pose((size, 0, 0))
    for i in range(links):
        parent = "world" if i == 0 else f"b{i - 1}"
        linkage.add_body(f"b{i}", parent, z if i % 2 else y, place if i else first, inertia)
    if anchor is not None:
        ends = lw.Pose(anchor), lw.Pose((size, 0, 0))
        linkage.add_loop(lw.Spherical(), "world", f"b{links - 1}", ends, name="far")
    return linkage.compile()


def pulled(model: lw.Model, force: tuple[float, float, float] = TIP_FORCE) -> lw.Loads:
    loads = lw.Loads(model)
    loads.apply_wrench(model.n_bodies - 1, force=force, frame="world", at=(LENGTH / model.n_bodies, 0, 0))
    return loads


def slope_error(model: lw.Model, state: lw.State) -> float:
    """Median relative difference of the links' slopes from the catenary under TIP_FORCE: O(1/n) for hinges."""
    d = lw.body_poses(model, state)[:, :3, 0]
    n = model.n_bodies
    expected = -MASS * GRAVITY * (n - np.arange(n) - 0.5) / n / np.hypot(*TIP_FORCE[:2])
    return float(np.median(np.abs(d[:, 2] / np.hypot(d[:, 0], d[:, 1]) / expected - 1.0)))


def horizontal_tension(span: float) -> float:
    """Of a catenary of the cable's length between level anchors [N], by bisection."""
    low, high = span / 60.0, 1e4 * span
    for _ in range(200):
        a = 0.5 * (low + high)
        if 2.0 * a * np.sinh(span / (2.0 * a)) > LENGTH:
            low = a
        else:
            high = a
    return a * MASS * GRAVITY / LENGTH


def rod(links: int, joint: str = "hinge") -> lw.Model:
    """A rod of unit length and bending stiffness without weight, clamped upright; half a cell before the first joint."""
    size = 1.0 / links
    linkage = lw.Linkage("rod", gravity=(0, 0, 0))
    inertia = lw.Inertia.box(size, (0.01, 0.01, size)).at(lw.Pose((0, 0, size / 2)))
    for i in range(links):
        k = 2.0 / size if i == 0 else 1.0 / size
        kind = lw.Revolute((0, 1, 0), stiffness=k) if joint == "hinge" else lw.Spherical(stiffness=k)
        linkage.add_body(f"b{i}", "world" if i == 0 else f"b{i - 1}", kind, lw.Pose((0, 0, size if i else 0)), inertia)
    return linkage.compile()


def rod_tip(model: lw.Model, state: lw.State) -> FloatArray:
    T = lw.body_poses(model, state)[-1]
    return np.asarray(T[:3, 3] + T[:3, 2] / model.n_bodies)


# Tip of a cantilever column under 1.5 times its buckling load π²/4: L √P = K(p), x = 2p/√P, z = 2E(p)/√P − 1, by SciPy's
# elliptic integrals (tests/closed_form/test_statics.py evaluates them).
ELASTICA_LOAD = 1.5 * np.pi**2 / 4
