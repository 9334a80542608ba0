"""The linkages of the GPU benchmark, and what the CPU makes of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

import linkwork as lw
from linkwork.core.jit import kernel
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba

SHAPES: dict[str, Callable[[int], lw.Linkage]] = {
    "chain": lambda joints: lw.library.chain(joints=joints),
    "molecule": lambda joints: lw.library.molecule(joints=joints, seed=1),
    "random tree": lambda joints: lw.library.random_tree(joints=joints, seed=1),
}
SEED = 7
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def figure_of_hinges() -> lw.Linkage:
    """A floating tree of 30 hinges: spine 3, head 3, arms 2 x 6, legs 2 x 6; every hinge carries a box with mass."""
    linkage = lw.Linkage("figure of hinges")
    pelvis = lw.Inertia.box(10.0, (0.2, 0.3, 0.15))
    linkage.add_body("pelvis", "world", lw.Free(), inertia=pelvis)

    def limb(name: str, parent: str, at: tuple[float, float, float], axes: str, mass: float, reach: float) -> None:
        here = at
        for k, axis in enumerate(axes):
            body = f"{name}_{k}"
            size = (0.06, 0.06, max(abs(reach), 0.05))
            inertia = lw.Inertia.box(mass, size).at(lw.Pose((0.0, 0.0, 0.5 * reach)))
            joint = lw.Revolute({"x": X, "y": Y, "z": Z}[axis])
            linkage.add_body(body, parent, joint, lw.Pose(here), inertia)
            parent, here = body, (0.0, 0.0, reach)

    limb("spine", "pelvis", (0.0, 0.0, 0.1), "xyz", 6.0, 0.12)
    limb("head", "spine_2", (0.0, 0.0, 0.3), "xyz", 1.5, 0.08)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        limb(f"{side}_arm", "spine_2", (0.0, 0.2 * sign, 0.25), "xyzyxz", 0.7, -0.1)
        limb(f"{side}_leg", "pelvis", (0.0, 0.1 * sign, -0.05), "xyzyyx", 2.0, -0.15)
    return linkage


def random_states(model: lw.Model, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (batch, nq) and velocities (batch, nv) of so many samples."""
    rng = np.random.default_rng(SEED)
    q = np.tile(model.neutral().q, (batch, 1))
    v = 0.5 * rng.normal(size=(batch, model.nv))
    turns = model.quaternions
    plain = np.ones(model.nq, dtype=bool)
    for k in range(4):
        plain[turns + k] = False
    q[:, plain] += rng.uniform(-1.0, 1.0, size=(batch, int(plain.sum())))
    for k in turns.tolist():
        turn = rng.normal(size=(batch, 4))
        q[:, k : k + 4] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return q, v


@kernel
def aba_of_many(tree, body, screws, dof, rest, gravity, q, v, effort, wrenches, work, dof_work, qdd):
    """Accelerations of many samples, one after the other, without a way back to Python."""
    for k in range(q.shape[0]):
        aba(tree, body, screws, dof, rest, gravity, q[k], v[k], effort[k], wrenches, work, dof_work, qdd[k])


class AllCores:
    """`aba` on every core of this machine: samples shared out evenly, one compiled loop a core."""

    def __init__(self, model: lw.Model, q: np.ndarray, v: np.ndarray, effort: np.ndarray):
        self.threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.qdd = np.empty_like(v)
        self._pool = ThreadPoolExecutor(self.threads)
        cuts = np.linspace(0, len(q), self.threads + 1).astype(int)
        none = np.zeros((0, 6))
        self._parts = [
            (*model.arrays, q[a:b], v[a:b], effort[a:b], none,
             np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, DOF_WORK)), self.qdd[a:b])
            for a, b in pairwise(cuts)
        ]  # fmt: skip

    def __call__(self) -> None:
        for task in [self._pool.submit(aba_of_many, *part) for part in self._parts]:
            task.result()
