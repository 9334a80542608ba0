"""Loops, contacts and joint limits: what holds the linkage responds to the hands too.

With C the rows of all constraints on the bodies they act on, K the responses of the open tree, h the bodies held and t
those of the constraints, the constrained linkage has

    A = C K_tt Cᵀ = Qᵀ Λ Q,   G = Λ^-½ Q C K_th,   K' = K_hh - Gᵀ G                       (6)  docs/haptics.md
    a' = a_h + K_ht f                                                                      (5)

on the rows that count; those that repeat others carry nothing. f is what constraints do to bodies at the snapshot beyond
what the coefficients contain. Loops: λ = -A⁺ (C a_t - b). Contacts and limits: the impulses of the last step over its
length, as the simulation solved for them; so the hand feels the forces that moved the body, impacts included. One that
sticks responds in three directions, one that slides along its normal, a limit along its coordinate. Until the next snapshot
they respond both ways, as if bodies were bound to each other.

G has at most six rows per hand that are independent; more are folded into as many. Cost: O(p (k + m) log n + p³) for p rows
on m bodies, and O(n) for the frames of loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.dynamics.inputs import refuse_couplings
from linkwork.dynamics.paths.path_union import path_union, respond_in_turn
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.snapshot.contact_rows import Rows, contact_rows, no_rows
from linkwork.haptics.snapshot.grasp_set import GraspSet
from linkwork.haptics.snapshot.sources import Source
from linkwork.loops.factors import Factors, force_loops
from linkwork.loops.system import LoopPlan, LoopSystem, loop_plan
from linkwork.model.layout import INERTIA
from linkwork.simulation.base import LinkageSimulation
from linkwork.spatial.matrices import rigid_matrix


class Reach(NamedTuple):
    """Responses of k hands' bodies and m others to p rows: rows as wrenches (p, k + m, 6), responses of the same shape."""

    wrenches: FloatArray
    responses: FloatArray


class Constraints:
    """What holds the bodies of a simulation besides its joints."""

    def __init__(self, sim: LinkageSimulation, source: Source):
        self._source = source
        self._contact = sim.view.contact
        self._model = sim.model
        refuse_couplings(sim.model, "force feedback")
        self._loops: LoopPlan | None = loop_plan(sim.model) if sim.model.loops else None

    @property
    def are_possible(self) -> bool:
        return self._loops is not None or self._contact is not None

    def close(self, grasps: GraspSet) -> None:
        """Changes `acceleration` and adds rows to the snapshot; `find_responses` came before."""
        contact = contact_rows(self._model, self._contact, self._source) if self._contact else no_rows()
        system = LoopSystem(self._loops, *self._state()) if self._loops is not None else None
        loops = no_rows() if system is None else _rows_of_loops(system)
        rows = loops.joined(contact)
        contained = self._source.contained_forces()
        if rows.force.size == 0 and not contact.has_loads and not contained[0].size:
            return
        bodies = np.unique(np.concatenate([rows.bodies.ravel(), contact.load_bodies, contained[0]]))
        bodies = bodies[bodies >= 0]
        reach, table = self._ask(grasps, bodies, rows)
        k = grasps.ports.bodies.size
        # what contacts and limits did in the last step, less what the coefficients have of it
        loads = np.zeros((k + bodies.size, 6))
        for body, wrench in zip(contact.load_bodies.tolist(), contact.loads, strict=True):
            loads[k + np.searchsorted(bodies, body)] += wrench
        for body, wrench in zip(*contained, strict=True):
            loads[k + np.searchsorted(bodies, body)] -= wrench
        moved = np.zeros((1, k + bodies.size, 6))
        if loads.any():
            respond_in_turn(table, loads[None], moved)
        grasps.ports.acceleration[:] += moved[0, :k]  # (5)
        if system is not None:
            self._add_loop_forces(grasps, system, bodies, reach, moved[0, k:])
        if rows.force.size:
            self._write_rows(grasps, rows, reach)

    def _state(self) -> tuple[FloatArray, FloatArray]:
        state = self._source.state()
        return state.q, state.v

    def _ask(self, grasps: GraspSet, bodies: IntArray, rows: Rows) -> tuple[Reach, IntArray]:
        """Responses of the open tree to every row, one climb and one descent over the union of all paths each."""
        paths = self._source.paths
        leaves = np.concatenate([grasps.ports.leaf, self._source.leaf_of(bodies).astype(np.int64)])
        self._union = path_union(paths.nodes, leaves)  # the table does not keep it
        table = describe(paths, self._union)
        k = grasps.ports.bodies.size
        wrenches = np.zeros((rows.force.size, leaves.size, 6))
        place = k + np.searchsorted(bodies, rows.bodies)
        for side in range(2):
            real = np.flatnonzero(rows.bodies[:, side] >= 0)
            np.add.at(wrenches, (real, place[real, side]), rows.on[real, side])
        responses = np.zeros(wrenches.shape)
        respond_in_turn(table, wrenches, responses)
        return Reach(wrenches, responses), table

    def _add_loop_forces(
        self, grasps: GraspSet, system: LoopSystem, bodies: IntArray, reach: Reach, moved: FloatArray
    ) -> None:
        """What loops do now: λ = -A⁺ (C a_t - b) of the first rows."""
        p = system.bias.size
        k = grasps.ports.bodies.size
        A = np.einsum("pij,qij->pq", reach.wrenches[:p], reach.responses[:p])
        plan = system.plan
        actual = np.zeros((plan.bodies.size, 6))
        for row, body in zip(actual, plan.bodies.tolist(), strict=True):
            if body < 0:
                row[3:] = -plan.model.gravity
            else:
                row[:] = self._source.acceleration(body) + moved[np.searchsorted(bodies, body)]
        force = force_loops(system, 0.5 * (A + A.T), actual.ravel())
        grasps.ports.acceleration[:] += np.einsum("p,pij->ij", force, reach.responses[:p, :k])

    def _write_rows(self, grasps: GraspSet, rows: Rows, reach: Reach) -> None:
        """G of equation (6), into the snapshot."""
        k = grasps.ports.bodies.size
        A = np.einsum("pij,qij->pq", reach.wrenches, reach.responses)
        factors = Factors(0.5 * (A + A.T), self._free(rows))
        onto_hands = reach.responses[:, :k].reshape(rows.force.size, 6 * k)
        G = factors.half(onto_hands)
        if G.shape[0] > 6 * k:
            G = np.asarray(np.linalg.qr(G, mode="r"))
        message = grasps.ports.message
        words = message.view(np.int64)
        first = int(words[at.S_AT_ROWS])
        message[first : first + G.size] = G.ravel()
        words[at.S_ROWS], words[at.S_WORDS] = G.shape[0], first + G.size

    def _free(self, rows: Rows) -> FloatArray:
        """The diagonal of A if bodies were free of their joints, shape (p,)."""
        out = np.zeros(rows.force.size)
        table = self._model.arrays.body
        for side in range(2):
            for r in np.flatnonzero(rows.bodies[:, side] >= 0).tolist():
                inertia = rigid_matrix(table[rows.bodies[r, side], INERTIA : INERTIA + 10])
                row = rows.on[r, side]
                out[r] += float(row @ np.linalg.lstsq(inertia, row, rcond=None)[0])
        return out


def _rows_of_loops(system: LoopSystem) -> Rows:
    plan = system.plan
    ends = np.repeat(plan.ends, [r.stop - r.start for r in plan.rows], axis=0)
    where = np.repeat(plan.end_body, [r.stop - r.start for r in plan.rows], axis=0)
    blocks = system.C.reshape(plan.count, plan.bodies.size, 6)
    every = np.arange(plan.count)
    on = np.stack([blocks[every, where[:, side]] for side in range(2)], axis=1)
    same = ends[:, 0] == ends[:, 1]
    on[same, 1] = 0.0  # one block has both ends
    return Rows(ends, on, np.zeros(plan.count), np.zeros(0, dtype=np.int64), np.zeros((0, 6)))
