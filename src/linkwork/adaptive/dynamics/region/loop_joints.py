"""The joints of each loop of a model, and how many of their freedoms it takes for any of them to move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.quantities.motion import body_poses, body_twists
from linkwork.loops.system import loop_plan
from linkwork.model.layout import DOF, FREE, KIND, PARENT, V
from linkwork.model.model import Model
from linkwork.model.state import State

INDEPENDENT = 1e-6  # of the largest singular value of unit screws: files give axes with six digits
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class LoopJoints(NamedTuple):
    """Bodies on the joints of k loops, spread over each loop from the first on; and the loops of each of n joints."""

    first_in_loop: IntArray  # (k + 1,)
    joints_of_loop: IntArray
    first_loop: IntArray  # (n + 1,)
    loops_of_joint: IntArray
    needs: IntArray  # (k,) one freedom more than the loop has independent rows, in almost all shapes


def loop_joints(model: Model) -> LoopJoints:
    tree = model.arrays.tree
    joints = [_path(model, loop.body_a, loop.body_b) for loop in model.loops]
    sizes = np.array([len(x) for x in joints], dtype=np.int64)
    together = np.concatenate([*joints, np.zeros(0, dtype=np.int64)])
    counts = np.bincount(together, minlength=len(tree))
    loops = np.repeat(np.arange(len(joints)), sizes)[np.argsort(together, kind="stable")]
    return LoopJoints(_starts(sizes), together, _starts(counts), loops, 1 + _ranks(model, joints))


def _starts(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _path(model: Model, a: int, b: int) -> IntArray:
    """Bodies between two others whose joints may be inactive, spread over the path from the first on."""
    tree = model.arrays.tree
    up: list[int] = []
    down: list[int] = []
    while a != b:
        i = max(a, b)  # parents have smaller numbers
        if tree[i, DOF] > 0 and not (tree[i, KIND] == FREE and tree[i, PARENT] < 0):
            (up if a > b else down).append(i)
        a, b = (int(tree[i, PARENT]), b) if a > b else (a, int(tree[i, PARENT]))
    path = np.array(up + down[::-1], dtype=np.int64)
    return path[np.argsort(GOLDEN * np.arange(path.size) % 1.0, kind="stable")]


def _ranks(model: Model, joints: list[IntArray]) -> IntArray:
    """Independent rows of each loop on the freedoms of its joints, in almost all shapes."""
    if not joints:
        return np.zeros(0, dtype=np.int64)
    tree, cut = model.arrays.tree, loop_plan(model).joints
    (screws, poses), (allowed, _) = _screws(model), _screws(cut)
    ranks = []
    for k, (path, loop) in enumerate(zip(joints, model.loops, strict=True)):
        frame = loop.placement_a.matrix if loop.body_a < 0 else poses[loop.body_a] @ loop.placement_a.matrix
        R, p = frame[:3, :3], frame[:3, 3]
        of_cut = allowed[cut.arrays.tree[k, V] :][: loop.joint.nv]
        turning = of_cut[:, :3] @ R.T
        of_cut = np.hstack([turning, of_cut[:, 3:] @ R.T + np.cross(p, turning)])
        freedoms = [d for i in path for d in range(tree[i, V], tree[i, V] + tree[i, DOF])]
        points = np.vstack([p[None], poses[path, :3, 3]])
        ranks.append(_rank(np.vstack([screws[freedoms], of_cut]), points) - loop.joint.nv)
    return np.array(ranks, dtype=np.int64)


def _rank(screws: FloatArray, points: FloatArray) -> int:
    """Of screws about the world's origin, shape (m, 6), whose axes pass near some points."""
    if not len(screws):
        return 0
    centre = points.mean(axis=0)
    size = np.abs(points - centre).max() or 1.0
    about = np.hstack([screws[:, :3], (screws[:, 3:] + np.cross(screws[:, :3], centre)) / size])
    values = np.linalg.svd(about / np.linalg.norm(about, axis=1)[:, None], compute_uv=False)
    return int((values > INDEPENDENT * values[0]).sum())


def _screws(model: Model) -> tuple[FloatArray, FloatArray]:
    """Screws of all freedoms about the world's origin, shape (nv, 6), and poses of bodies, where all joints are turned."""
    q = model.neutral().q
    turns = np.linalg.norm(_screws_at(model, q)[:, :3], axis=1) > 0.0
    q = model.integrate(q, turns * np.random.default_rng(0).uniform(-1.0, 1.0, model.nv), 1.0)
    return _screws_at(model, q), body_poses(model, State(q, np.zeros(model.nv)))


def _screws_at(model: Model, q: FloatArray) -> FloatArray:
    tree = model.arrays.tree
    parent, screws = tree[:, PARENT], np.zeros((model.nv, 6))
    p = body_poses(model, State(q, np.zeros(model.nv)))[:, :3, 3]
    for d in range(tree[:, DOF].max(initial=0)):
        rows = np.flatnonzero(tree[:, DOF] > d)
        v = np.zeros(model.nv)
        v[tree[rows, V] + d] = 1.0
        twists = body_twists(model, State(q, v), frame="world")
        twists[:, 3:] -= np.cross(twists[:, :3], p)
        screws[tree[rows, V] + d] = twists[rows] - np.where(parent[rows, None] >= 0, twists[parent[rows]], 0.0)
    return screws
