"""What an adaptive simulation keeps of its region: the linkage that moves, the pins, and the contact on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics import choice, gather, region
from linkwork.adaptive.dynamics.piece_forces import PieceForces
from linkwork.adaptive.dynamics.reduced import HAS_WRENCHES, PIECES
from linkwork.adaptive.nodes import touch_joints
from linkwork.adaptive.tree_simulation import IntArray
from linkwork.adaptive.workspace import (
    DIRTY,
    KEPT,
    REBUILD,
    RENEW,
    STALE,
    TOUCHED,
    UNIT,
    Bundles,
)
from linkwork.contact.settings import Contact
from linkwork.core.bundles import describe
from linkwork.core.views import ENTRIES, ROWS
from linkwork.errors import LinkworkError, StateError
from linkwork.model.layout import DOF, FIXED, FREE, KIND, PARENT, V
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.constraints import allocate_constraints
from linkwork.simulation.energy_watch import EnergyWatch
from linkwork.simulation.failures import explain_step
from linkwork.simulation.floating_trees import floating_trees
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.momentum import read_momentum
from linkwork.simulation.stepping.choice import advance_of
from linkwork.simulation.touches import Touched, advance_with_contact, has_limited_motors

FloatArray = NDArray[np.float64]

NO_NODES = np.zeros(0, dtype=np.int64)
NO_FLAGS = np.zeros(0, dtype=np.uint8)


class RegionSimulation(Touched, PieceForces):
    """The active region of an assembly tree and the linkage that moves, gathered from it.

    Whoever derives from it says when the region is chosen and when steps are made.
    """

    _marks = STALE | RENEW | DIRTY
    _joint_marks = STALE | DIRTY
    time: float
    steps_done: int
    _acted_at: int
    integrator: str
    implicit_joints: bool
    keep_momentum: bool
    rtol: float
    atol: float
    _energy_watch: EnergyWatch
    _pins: dict[int, int]  # joints pinned active (1) or inactive (-1)
    _changes_are_few = False  # since the last renewal: efforts, motors and the world's loads, and nothing else

    def _allocate_moving(self, model: Model, contact: Contact | None, limits: bool) -> None:
        """Arrays for the linkage that moves, which may become the whole one; memory is taken up as it is touched."""
        method = INTEGRATORS[self.integrator]
        self._bases, tree_of = floating_trees(model)
        if not (self.keep_momentum and method == mv.SEMI_IMPLICIT_EULER):
            self._bases = self._bases[:0]
        tables = [_like(array) for array in model.arrays[:-1]]
        tables[2], gravity = model.arrays.screws, model.arrays.gravity
        self._moving = mv.allocate([*tables, gravity], self._bases.copy(), tree_of.copy(), method)
        self._begin_touching(model, contact, limits)
        touching = self._touching is not None
        self._constraints = allocate_constraints(model, model.n_bodies, model.nv, answers=touching)
        self._moving_table = describe(self._moving, self._constraints, *self._touching_bundles())
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT] = method, self.implicit_joints
        counts[mv.KEEPS_MOMENTUM] = self._bases.size > 0
        counts[mv.LIMITED] = has_limited_motors(model)
        numbers[[mv.RTOL, mv.ATOL, mv.SUBSTEP_WISH]] = self.rtol, self.atol, math.inf
        if self._touching is None:
            self._advance = advance_of(method, bool(model.loops))
        else:
            from linkwork.adaptive.dynamics import touching as pieces

            self._advance = advance_with_contact(contact, self.integrator)
            self._pieces_in_contact = pieces

    def _with_contact_forces(self, bundles: Bundles) -> Bundles:
        """Room for the forces of contacts behind those of loops, which act on the metrics."""
        if self.contact is None:
            return bundles
        loops = bundles.run.loop_body
        from linkwork.adaptive.dynamics.touching import MOST_CONTACT_FORCES

        body = np.concatenate([loops, np.full(2 * MOST_CONTACT_FORCES, -1, dtype=np.int64)])
        return bundles._replace(run=bundles.run._replace(loop_body=body, loop_wrench=np.zeros((body.size, 6))))

    def _touching_bundles(self) -> tuple[Any, ...]:
        return self._touching.bundles if self._touching is not None else ()

    def _share_places(self) -> None:
        """The search reads where nodes stand from what the linkage that moves was gathered with."""
        if self._touching is not None and self.contact is not None:
            self._touching.touch = self._touching.touch._replace(piece=self._reduced.piece, pose=self._reduced.pose)
            self._touching.stop_at_changes()
            self._moving_table = describe(self._moving, self._constraints, *self._touching_bundles())

    def _always_active(self) -> list[int]:
        """Bodies on free joints to the world: they carry whole trees."""
        tree = self.model.arrays.tree
        return np.flatnonzero((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0)).tolist()

    # ------------------------------------------------------------------------------------------ the region and its linkage

    def _perform(
        self,
        task: int,
        joint: int = -1,
        opened: IntArray = NO_NODES,
        flags: NDArray[np.uint8] = NO_FLAGS,
        settings: FloatArray | None = None,
    ) -> None:
        if task != region.RENEW_REGION and task != region.REFRESH:
            self._acted_at = -1  # other joints may move from now on
        self._changes_are_few = False
        self._reduced.counts[HAS_WRENCHES] = self._loads.has_fixed or self._field is not None
        given = np.zeros(choice.SETTINGS) if settings is None else settings
        if self.contact is None:
            status = region.perform(self._table, self._moving_table, task, joint, opened, flags, given)
        else:
            first = 2 * len(self.model.loops)  # row of contact forces, behind those of loops
            status = self._pieces_in_contact.perform_touching(
                self._table, self._moving_table, task, joint, opened, flags, given, first
            )
        if status != mv.OK:
            self._fail(status, status, "")
        if task == region.PREPARE:
            return
        self._follow_pieces()
        if self._touching is None or self.contact is not None or task in (region.RENEW_REGION, region.REFRESH):
            return
        if not self._run.counts[KEPT]:
            self._pieces_in_contact.follow_limits(self._table, self._moving_table)

    def _prepare(self) -> None:
        run = self._run
        if self.model.n_bodies:
            root = self._plan.nodes.shape[0] - 1
            run.held_open[root] = max(1, run.held_open[root])  # the root is always open
        run.metric_sums[UNIT] = 1.0
        self._perform(region.PREPARE)

    def _renew(self, whole: bool = False) -> None:
        """What acts on the linkage that moves, if it is other than at the last step.

        What changed inside rigid parts waits for the next update, unless the `whole` is asked for.
        """
        if not self._run.counts.item(TOUCHED):
            return
        if self._changes_are_few and not whole and not self._has_outside_forces:
            gather.renew_acting(self._table, self._moving_table)
        else:
            self._perform(region.RENEW_REGION)

    def _bring_up_to_date(self) -> None:
        """Coefficients of the fully articulated linkage at the present state on all open paths. O(open joints).

        With a field O(n): its wrenches act on all bodies.
        """
        self._renew()
        self._load_present()
        self._perform(region.REFRESH)

    def _collect(self) -> None:
        region.collect(self._table, self._moving_table)

    def _keep_present_momentum(self) -> None:
        """Takes the present momentum of floating trees as what is to be kept from now on."""
        self._renew()
        if self._bases.size or self._touching is not None:  # contact asks for the poses that this leaves behind
            read_momentum(self._moving_table)

    def _fail(self, status: int, body: int, advice: str, fault: LinkworkError | None = None) -> None:
        self._collect()
        cause = fault or self._explain_contact(status)
        if cause is None:
            vectors = {"state.q": self._run.q, "state.v": self._run.v, "effort": self._run.effort}
            moving, wrench = self._moving, self._loads.wrench
            cause = explain_step(self.model, "adaptive dynamics", status, moving, wrench, body, vectors)
        raise StateError(f"at {self.time:.6g} s, step {self.steps_done}: {cause}{advice}")

    def _make_room(self) -> None:
        """More contacts than there is memory for: the step that found them was taken back, and is made again."""
        assert self._touching is not None
        self._touching.grow()
        self._moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] -= 1
        self._describe_moving()

    def _describe_moving(self) -> None:
        """The table of other arrays; the linkage that moves has its size until it is gathered again."""
        before, self._moving_table = (
            self._moving_table,
            describe(self._moving, self._constraints, *self._touching_bundles()),
        )
        sized = ENTRIES * (len(self._moving) + len(self._constraints))
        keep = np.flatnonzero(np.arange(sized) % ENTRIES == ROWS)
        keep = np.setdiff1d(keep, mv.ROWS_OF_LOADS)
        self._moving_table[keep] = before[keep]
        if self.contact is not None:
            from linkwork.simulation.touching.arrays import ROWS_OF_OPEN_NODES

            self._moving_table[ROWS_OF_OPEN_NODES] = before[ROWS_OF_OPEN_NODES]

    # --------------------------------------------------------------------------------------------------- what users want

    def pin_active(self, joint: str) -> None:
        """Keeps a joint active, from the next update on; the joints above it in the assembly tree with it. O(log n)."""
        i = self._unpinned(joint)
        self._pins[i] = 1
        region.want_path(self._table, self._plan.joint[i], 1)

    def pin_inactive(self, joint: str) -> None:
        """Stops a joint by an impulse, at once, and keeps it where it is. O(active joints)."""
        i = self._unpinned(joint)
        self._pins[i] = -1
        self._perform(region.FREEZE, joint=i)
        self._rebuild(i)

    def unpin(self, joint: str) -> None:
        """Leaves a joint to the metrics again."""
        i = self.model.joint(joint)
        pin = self._pins.pop(i, 0)
        if pin == 0:
            raise StateError(f"joint '{joint}' is not pinned.")
        if pin > 0:
            region.want_path(self._table, self._plan.joint[i], -1)
            return
        self._freeze(i, False)
        self._rebuild(i)

    def _rebuild(self, i: int) -> None:
        """A joint moves otherwise than before: the matrices of all nodes that it is part of are others."""
        touch_joints(self._table, np.array([i], dtype=np.int64), STALE | RENEW | REBUILD)
        self._changes_are_few = False
        self._keep_present_momentum()

    def _unpinned(self, joint: str) -> int:
        i = self.model.joint(joint)
        if i in self._pins:
            raise StateError(f"joint '{joint}' is pinned already; unpin it first.")
        return i

    def _freeze(self, joint: int, frozen: bool) -> None:
        """Marks a joint as held inactive, or not."""
        self._run.frozen[joint] = frozen
        whole_tree, tree = self._mechanism.whole_tree[joint], self._mechanism.tree
        tree[joint, KIND], tree[joint, DOF] = (FIXED, 0) if frozen else (whole_tree[KIND], whole_tree[DOF])

    # ------------------------------------------------------------------------------------------------------ what changes

    def _load_table_grew(self) -> None:
        super()._load_table_grew()
        rows = self._loads.table.shape
        self._moving = self._moving._replace(load=np.zeros(rows), load_body=np.zeros(rows[0], dtype=np.int64))
        self._describe_moving()

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        if self._loads.has_fixed:
            self._changes_are_few = False
        else:
            self._note_few_changes()
        if self._pieces is not None:
            self._run.wrench[bodies] = self._loads.wrench[bodies] + self._pieces.metric_wrenches[bodies]
        super()._loads_changed(bodies, world)

    @property
    def _load_marks(self) -> int:
        """Rigid nodes do not hold the loads of the world: the linkage that moves stays as it is when these change."""
        return self._marks if self._loads.has_fixed else self._joint_marks

    def _joints_changed(self, joints: IntArray) -> None:
        self._moving.counts[mv.MOTORS] = len(self._driven)
        self._note_few_changes()
        super()._joints_changed(joints)

    def _note_few_changes(self) -> None:
        """What changes now needs no new gathering; if that is so of all that changed before, neither does the whole."""
        self._changes_are_few = self._changes_are_few or not self._run.counts[TOUCHED]

    def _coordinates_of_joints(self) -> FloatArray:
        self._collect()
        return self._run.q

    def _parts_of_efforts(self) -> FloatArray:
        self._collect()
        found = self._present_efforts()
        if self._acted_at == self.steps_done:  # what moves has noted what acted in the step
            moving, pieces = self._moving, int(self._reduced.counts[PIECES])
            tree, whole = moving.tree[:pieces], self._mechanism.tree[self._reduced.joint[:pieces]]
            rows = np.repeat(whole[:, V] - tree[:, V], tree[:, DOF]) + np.arange(int(tree[:, DOF].sum()))
            found[rows] = moving.acted[: rows.size]
        return found


def _like(array: NDArray[Any]) -> NDArray[Any]:
    """Memory of the same shape and type, not touched yet."""
    return mv.untouched(array.shape[0], array.shape[1] if array.ndim == 2 else None, array.dtype.type)
