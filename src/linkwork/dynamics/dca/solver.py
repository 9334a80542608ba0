"""All that divide and conquer keeps for one model: the plan, the coefficients, and the sweeps over them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from linkwork.assembly.node_table import HANG, JOIN, LEFT, NODE_KIND, RIGHT, SOLID
from linkwork.assembly.plan import Assembly, assemble_model
from linkwork.assembly.runs import cut_into_runs, stack_slots
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.dca import nodes as at
from linkwork.dynamics.dca.nodes import NodeArrays
from linkwork.dynamics.dca.sweeps import (
    assemble_leaf_to_root,
    invert_inertias,
    substitute_root_to_leaf,
    velocities_root_to_leaf,
)
from linkwork.errors import ModelError
from linkwork.model import layout
from linkwork.model.model import Model

PARALLEL_BODIES = 4_000  # below it, waking a second core costs more than it saves
PIECES_PER_THREAD = 4  # more would even out the work better, but each hand-over to a thread costs


def aligned_zeros(size: int) -> FloatArray:
    """Zeros that begin at a cache line: a vector of eight that straddles two lines costs twice."""
    raw = np.empty(size + 8)
    raw.fill(0.0)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + size]


def available_threads() -> int:
    """Cores that this process may use, at most as many as Numba is set to (NUMBA_NUM_THREADS)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(os.environ.get("NUMBA_NUM_THREADS") or cores))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="linkwork")


class DcaSolver:
    """Divide and conquer for one model. Not for use by two threads at once; it runs threads of its own.

    threads: how many cores to sweep with; by default all that are available when the model is large enough.
    merges_welds: add the inertias of welded stretches; without, welds are joints like any other.
    Memory: some 2.9 kB per joint, model included.
    """

    def __init__(self, model: Model, threads: int | None = None, merges_welds: bool = True):
        self.model = model
        self.assembly: Assembly = assemble_model(model)
        if not merges_welds:
            self.assembly = self.assembly._replace(nodes=self.assembly.nodes.copy())
            self.assembly.nodes[:, SOLID] = 0
        nodes = self.assembly.nodes
        sizes = np.array(at.BLOCK_SIZE, dtype=np.int64)[nodes[:, NODE_KIND]]
        sizes += np.where((nodes[:, SOLID] == 1) & (nodes[:, NODE_KIND] != HANG), at.SOLID_SIZE, 0)
        self.block: IntArray = np.cumsum(sizes) - sizes
        n, nv = model.n_bodies, model.nv
        several = nv if (model.arrays.tree[:, layout.KIND] != layout.HELICAL).any() else 0
        self.node_data = aligned_zeros(int(sizes.sum()))
        self.dof_rows = aligned_zeros(several * at.FREEDOM_COLUMNS)
        self.S = np.zeros((several, 6))
        self.twist = np.zeros((n, 6))
        self.joint_data = np.zeros((n, at.HINGE_COLUMNS))
        self.effort_sum = np.zeros(nv)
        self.inputs = aligned_zeros(nodes.shape[0] * at.INPUT_COLUMNS)
        self.tree = model.arrays.tree
        if threads is None:
            threads = available_threads() if n >= PARALLEL_BODIES else 1
        self.threads = threads
        self._scratch = [aligned_zeros(at.SCRATCH) for _ in range(max(1, threads * PIECES_PER_THREAD * 2))]
        self._everything = np.array([[0, nodes.shape[0]]], dtype=np.int64)
        self._runs = cut_into_runs(self.assembly, threads * PIECES_PER_THREAD) if threads > 1 else None
        slots, slot_count = stack_slots(self.assembly, self._runs)
        self.slot = slots * at.SLOT_SIZE
        self.phi = aligned_zeros(slot_count * at.SLOT_SIZE)
        bad = invert_inertias(nodes, self.block, model.arrays.body, self.node_data, self._scratch[0])
        if bad >= 0:
            raise ModelError(
                f"body '{model.body_names[bad]}' has a singular inertia, which divide and conquer must invert. "
                "Give it moments > 0 about all three axes, or use algorithm='aba'.",
                about=model.body_names[bad],
            )

    def prepare(
        self, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray, tree: IntArray | None = None
    ) -> None:
        """Poses, velocity terms, wrenches and efforts at a state; `tree` may mark joints as prescribed for what follows."""
        arrays = self.model.arrays
        self.tree = arrays.tree if tree is None else tree
        velocities_root_to_leaf(arrays, q, v, effort, wrenches, self.twist, self.joint_data, self.S, self.effort_sum)

    def assemble(self) -> int:
        """Coefficients of all nodes, leaf to root; returns the body whose joint could not be solved, or -1."""
        if self._runs is None:
            return self._assemble(self._everything, 0)
        tasks = [_pool(self.threads).submit(self._assemble, run, 1 + k) for k, run in enumerate(self._runs.subtrees)]
        bad = max([task.result() for task in tasks], default=-1)
        return bad if bad >= 0 else self._assemble(self._runs.above, 0)

    def _assemble(self, runs: IntArray, worker: int) -> int:
        _, body, _, dof, _, _ = self.model.arrays
        arrays = NodeArrays(
            self.assembly.nodes, self.block, self.slot, self.tree, body, dof, self.joint_data, self.S, self.effort_sum,
            self.node_data, self.phi, self.dof_rows, self._scratch_of(worker),
        )  # fmt: skip
        return int(assemble_leaf_to_root(arrays, runs))

    def _scratch_of(self, worker: int) -> FloatArray:
        while worker >= len(self._scratch):
            self._scratch.append(aligned_zeros(at.SCRATCH))
        return self._scratch[worker]

    def substitute(self, qdd: FloatArray) -> None:
        """Joint accelerations from the coefficients, root to leaf, into `qdd`."""
        root = self.assembly.root * at.INPUT_COLUMNS + at.IN_1
        if root >= 0:
            self.inputs[root : root + 6] = (0.0, 0.0, 0.0, *(-self.model.gravity))
        if self._runs is None:
            self._substitute(self._everything, qdd)
            return
        self._substitute(self._runs.above, qdd)
        tasks = [_pool(self.threads).submit(self._substitute, run, qdd) for run in self._runs.subtrees]
        for task in tasks:
            task.result()

    def _substitute(self, runs: IntArray, qdd: FloatArray) -> None:
        substitute_root_to_leaf(
            self.assembly.nodes, self.block, self.tree, self.joint_data, self.effort_sum, self.node_data, self.dof_rows,
            self.inputs, qdd, runs,
        )  # fmt: skip

    def reactions(self) -> FloatArray:
        """The wrench [n; f] each joint passes to the body it carries, in that body's frame at its origin, shape (n, 6)."""
        nodes = self.assembly.nodes[self.assembly.joint]
        below = np.where(nodes[:, NODE_KIND] == JOIN, nodes[:, RIGHT], nodes[:, LEFT])
        return self.inputs.reshape(-1, at.INPUT_COLUMNS)[below, at.IN_1 : at.IN_1 + 6].copy()
