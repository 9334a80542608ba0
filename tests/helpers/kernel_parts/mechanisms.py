"""Small mechanisms that every joint kind, option and weld stands in, and what acts on them."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

STEPS = 6  # of every simulation here
H = 1e-3  # and how long they are [s]
SMALL = 1e-2  # proportion of the speeds at the start: states stay far from singular ones


def mixed_joints(floating: bool = False) -> lw.Model:
    joints = [
        lw.Revolute((1, 2, 3), point=(0.1, 0, 0), damping=0.1, stiffness=2.0, rest=0.3, armature=0.1),
        lw.Prismatic((0, 1, 1), stiffness=1.0),
        lw.Fixed(),
        lw.Universal(damping=(0.1, 0.2)),
        lw.Spherical((0.1, 0.2, 0.3), stiffness=1.0),
        lw.Free(stiffness=1.0),
        lw.Screw((1, 0, 1), pitch=0.2),
        lw.Planar(),
        lw.Cylindrical(),
        lw.Compound([lw.Revolute((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Revolute((0, 0, 1))]),
    ]
    linkage = lw.Linkage("mixed")
    part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.1, 0.2, 0.0)))
    for i, joint in enumerate(joints):
        parent = "world" if i in (0, 5) else f"b{i - 1 if i % 3 else i - 2}"
        linkage.add_body(
            f"b{i}", parent, lw.Free() if floating and parent == "world" else joint,
            lw.Pose((0.2, 0.1, 0.3), rpy=(0.1 * i, 0.2, 0.3)), part,
        )  # fmt: skip
    return linkage.compile(merge_fixed=False)


def slow(m: lw.Model, state: lw.State) -> lw.State:
    return m.state(state.q, SMALL * state.v)


def closed_bars() -> tuple[lw.Model, lw.State]:
    """A four-bar linkage, closed, at rest."""
    m = lw.library.four_bar().compile()
    return m, lw.close_loops(m, m.neutral())


def apply_loads(sim: Any) -> lw.Load:
    """Every kind of load, on every simulation; returns one to take away."""
    m = sim.model
    sim.apply_wrench(3, force=(0.3, -0.2, 0.1), torque=(0.1, 0.0, 0.0), frame="body")
    pull = sim.apply_wrench(7, force=(0.1, 0.2, -0.3), at=(0.1, 0.0, 0.2))
    sim.set_wrenches(sim.apply_wrenches([2, 8], np.zeros((2, 6))), np.full((2, 6), 0.1))
    sim.move_target(sim.apply_spring(4, target=(0.5, 0.5, 0.5), stiffness=2.0, at=(0.0, 0.1, 0.0)), (0.4, 0.5, 0.5))
    sim.set_effort(m.joint_names[1], 0.1)
    sim.set_motor(m.joint_names[6], position=0.2, stiffness=1.0, damping=0.1)
    return pull


class Strings:
    """E = Σ |x|² over the origins of all bodies: a field in plain NumPy."""

    def wrenches(self, poses: np.ndarray, out: np.ndarray) -> float:
        R, x = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        out[:, :3], out[:, 3:] = 0.0, -2.0 * np.einsum("bji,bj->bi", R, x)
        return float((x * x).sum())
