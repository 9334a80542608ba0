"""Loops: the forces that keep them closed answer the hands too.

With C the constraints of the loops on the bodies they join (C a = b), K the answers of the open tree, h the bodies held and
t the joined ones, the closed linkage has

    λ  = -A⁺ (C a_t - b),   A = C K_tt Cᵀ                     what the loops do now            (5)  docs/haptics.md
    a' = a_h + K_ht Cᵀ λ,   K' = K_hh - K_ht Cᵀ A⁺ C K_th     and what they do to the answers  (6)

A⁺ is the inverse on the constraints that count; those that repeat others carry nothing. Loop forces that the coefficients
contain already are part of a_t, so λ is what is missing. Cost: O(n) for the frames of the loops, O((k + m)² log n + p³).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.path_queries import actual_acceleration, response_matrix
from linkwork.haptics.ports import Ports
from linkwork.loops.minimal_norm import factor
from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ClosedAnswers:
    """Turns answers of the open tree into those of the closed linkage."""

    def __init__(self, model: Model, leaf_of: Callable[[IntArray], IntArray]):
        self._plan = loop_plan(model)
        bodies = self._plan.bodies
        self._leaves = np.where(bodies >= 0, leaf_of(np.maximum(bodies, 0)), -1).astype(np.int64)

    def close(self, paths_table: IntArray, state: State, ports: Ports) -> None:
        """Changes `acceleration` and `answers` of the bodies held. state: of the coefficients."""
        system = LoopSystem(self._plan, state.q, state.v)
        k, m = 6 * ports.leaf.size, 6 * self._leaves.size
        K = np.zeros((k + m, k + m))
        response_matrix(paths_table, np.concatenate([ports.leaf, self._leaves]), K)
        moved = np.zeros((self._leaves.size, 6))
        for row, leaf in zip(moved, self._leaves.tolist(), strict=True):
            row[:] = (0, 0, 0, *-self._plan.model.gravity) if leaf < 0 else actual_acceleration(paths_table, leaf)
        C = system.C
        A = C @ K[k:, k:] @ C.T
        factors = factor(0.5 * (A + A.T), system.free_answers())
        force = -factors.solve(C @ moved.ravel() - system.bias)  # (5)
        reach = K[:k, k:] @ C.T
        ports.acceleration[:] += (reach @ force).reshape(-1, 6)  # (6)
        given_back = np.array([factors.solve(column) for column in reach]).reshape(k, -1)
        change = reach @ given_back.T
        ports.answers[:] -= 0.5 * (change + change.T)
