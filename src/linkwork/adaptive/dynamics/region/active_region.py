"""The active region of an adaptive simulation: which joints move, the linkage gathered from them, and pins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.dynamics.reduced import gather
from linkwork.adaptive.dynamics.reduced.group_forces import GroupForces
from linkwork.adaptive.dynamics.reduced.reduced import FIRST_FORCE, GROUPS, HAS_WRENCHES, Reduced
from linkwork.adaptive.dynamics.region import choice, region
from linkwork.adaptive.dynamics.region.ahead import Ahead
from linkwork.adaptive.dynamics.region.floor import ENTRIES as FLOOR_ENTRIES
from linkwork.adaptive.dynamics.region.pins import Pins
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.loops.system import constrained_bodies
from linkwork.model.layout import DOF, FREE, KIND, PARENT, Q, V
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.loading.loads import LoadTable
from linkwork.simulation.parts.joint_inputs import JointInputs
from linkwork.simulation.parts.moving_linkage import MovingLinkage

NO_SETTINGS = np.zeros(choice.SETTINGS)
LEAVING_JOINTS = (region.RENEW_REGION, region.REFRESH, region.ASSEMBLE, region.CLOSE)  # tasks
CLOSED_PER_STEP = 4  # nodes: columns and factor of one take about as long as `aba` of forty joints
MARKS = ws.STALE | ws.RENEW | ws.DIRTY  # of nodes in which something changed
JOINT_MARKS = ws.STALE | ws.DIRTY  # in which only efforts changed


class ActiveRegion:
    """The active nodes of an assembly tree and the linkage that moves, gathered from them.

    pins: joints that users keep active or inactive. ahead: what is assembled of the next update. updates: how often it was
    chosen so far.
    fail(status, body): raises the error that says why a region could not be formed. after_update(status): called
    when an update that was left PENDING is finished.
    Whoever has one says when the region is chosen and when steps are made.
    """

    def __init__(
        self,
        tree: AdaptiveTree,
        reduced: Reduced,
        moving: MovingLinkage,
        forces: GroupForces,
        loads: LoadTable,
        joints: JointInputs,
        fail: Callable[[int, int], None],
        after_update: Callable[[int], None],
    ):
        self.model: Model = moving.model
        self.tree, self.reduced, self.moving = tree, reduced, moving
        self.forces, self._loads, self._joints, self._fail = forces, loads, joints, fail
        self._after_update = after_update
        self.pins = Pins(self.model, tree)
        coordinates = np.diff(self.model.arrays.tree[:, Q], append=self.model.nq)
        self._body_of_coordinate = np.repeat(np.arange(coordinates.size), coordinates)
        self.updates = 0
        self.floor = np.zeros(FLOOR_ENTRIES)  # what rounding may have done at the last update: see `floor`
        self._changes_are_few = False  # since the last renewal: efforts, motors and the world's loads, and nothing else
        self._is_renewed = False  # whether the linkage that moves has got these few changes
        self.ahead = Ahead(tree)
        self.are_waiting = False  # whether nodes are open that are to be closed
        self._pending: FloatArray | None = None  # settings of an update whose bound is not measured yet
        self.floor_is_small = (
            False  # whether the last floor was carried on and too small to matter: so will be the next
        )
        self._closing = np.zeros(choice.SETTINGS)
        self.has_contact = moving.contact is not None and moving.contact.contact is not None
        reduced.counts[FIRST_FORCE] = constrained_bodies(self.model).size
        self._kernels_of_updates: tuple[int, ...] = ()  # addresses, see `updating`
        if moving.contact is not None:
            from linkwork.adaptive.dynamics import with_contact

            self._in_contact = with_contact

    # ---------------------------------------------------------------------------------------------- forming and renewing

    def perform(
        self,
        task: int,
        joint: int = -1,
        settings: FloatArray | None = None,
    ) -> None:
        """A task of `region.perform`, and what follows from it for forces from Python and contact."""
        self.complete_update()
        leaves_joints = task in LEAVING_JOINTS
        if not leaves_joints:
            self.moving.has_recorded = False  # other joints may move from now on
        self._changes_are_few = self._is_renewed = False
        self.reduced.counts[HAS_WRENCHES] = self._loads.has_fixed or self.forces.field is not None
        given = NO_SETTINGS if settings is None else settings
        if settings is not None:
            settings[choice.READY] = self.ahead.still_ready()
        self.ahead.forget()
        status = self._call(task, joint, given)
        if task == region.ASSEMBLE:  # where it fails, so does the update, which says why
            self.ahead.note(status == mv.OK)
            return
        if status != mv.OK:
            self._fail(status, status)
        if task in (region.PREPARE, region.CLOSE):
            return
        self.forces.follow_groups()
        if self.moving.contact is None or self.has_contact or leaves_joints:
            return
        if not self.tree.run.counts[ws.UNCHANGED]:
            self._in_contact.follow_limits(self.tree.table, self.moving.table)

    def _call(self, task: int, joint: int, settings: FloatArray) -> int:
        perform = self._in_contact.perform_with_contact if self.has_contact else region.perform
        return int(perform(self.tree.table, self.moving.table, task, joint, settings))

    def update(self, settings: FloatArray, few_at_a_time: bool, later: bool) -> None:
        """Chooses the region by `settings`. few_at_a_time: nodes that become rigid are closed in the steps that follow.

        later: where joints are stopped, the bound is left to `complete_update`.
        """
        settings[choice.CLOSED] = 0.0 if few_at_a_time else choice.ALL_AT_ONCE
        settings[choice.LATER] = later
        self.perform(region.UPDATE, settings=settings)
        self._note_rest(settings)

    def _note_rest(self, settings: FloatArray) -> None:
        """What an update leaves to do."""
        self._pending = settings if settings.item(choice.PENDING) else None
        few_at_a_time = settings.item(choice.CLOSED) == 0.0
        self.are_waiting = few_at_a_time if self.is_pending else settings.item(choice.WAITING) > 0

    @property
    def is_pending(self) -> bool:
        """Whether the bound of the last update is still to be measured."""
        return self._pending is not None

    def complete_update(self) -> None:
        """Finishes an update that was left PENDING, at the state that it was made at; before what it rests on changes."""
        settings, self._pending = self._pending, None
        if settings is not None:
            status = self._call(region.FINISH, -1, settings)
            self.are_waiting = settings.item(choice.WAITING) > 0
            self._after_update(status)

    def begin_turns(self, settings: FloatArray, every: int, since: int, made: int, later: bool) -> None:
        """Steps with contact make the updates between them by `settings` until `end_turns`: `ContactState.begin_turns`.

        later: as for `update`.
        """
        contact = self.moving.contact
        assert contact is not None
        if contact.arrays.region is not self.tree.table or contact.arrays.choice is not settings:
            contact.update_between_steps(self.tree.table, settings)
            self.moving.describe_again()
        self.load_updates()
        settings[choice.CLOSED], settings[choice.LATER], settings[choice.PENDING] = choice.ALL_AT_ONCE, later, 0.0
        settings[choice.READY] = self.ahead.still_ready() if since >= every else choice.NOT_READY
        self.ahead.forget()
        self.reduced.counts[HAS_WRENCHES] = self._loads.has_fixed
        contact.begin_turns(self._kernels_of_updates, every, since, made)

    def load_updates(self) -> None:
        """Loads the kernels of updates between steps."""
        if not self._kernels_of_updates:
            from linkwork.adaptive.dynamics import updating

            self._kernels_of_updates = updating.addresses()

    def end_turns(self, settings: FloatArray) -> tuple[int, int, int, int]:
        """Updates come from Python again. Returns as `ContactState.end_turns`."""
        assert self.moving.contact is not None
        since, made, updates, failed = self.moving.contact.end_turns()
        if updates or failed:
            self._changes_are_few = self._is_renewed = False
            self.updates += updates
            self._note_rest(settings)
        return since, made, updates, failed

    def close_some(self, steps: int) -> None:
        """After so many steps: closes some of the nodes that the last update left open.

        As many as steps were made, so that it makes no difference in how many calls they are.
        """
        self._closing[choice.CLOSED] = CLOSED_PER_STEP * steps
        self.perform(region.CLOSE, settings=self._closing)
        self.are_waiting = self._closing.item(choice.WAITING) > 0

    def begin(self) -> None:
        """The first region: all joints that move, and the bases of floating trees."""
        self.prepare()
        self.tree.hold_loops_open()
        region.open_moving(self.tree.table)
        self.want_what_moves_others()
        self.perform(region.BEGIN)
        self.keep_present_momentum()

    def prepare(self) -> None:
        run = self.tree.run
        if self.model.n_bodies:
            root = self.tree.plan.nodes.shape[0] - 1
            run.required_open[root] = max(1, run.required_open[root])  # the root is always open
        run.metric_sums[ws.UNIT] = 1.0
        self.perform(region.PREPARE)

    def want_what_moves_others(self) -> None:
        """Bodies on free joints to the world carry whole trees: they are always active. So are coupled joints, for one that
        is held holds all others of its coupling."""
        tree = self.model.arrays.tree
        bases = np.flatnonzero((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0))
        for i in np.union1d(bases, self.reduced.coupled_body).tolist():
            region.want_path(self.tree.table, self.tree.plan.joint[i], 1)

    def renew(self, everything: bool = False) -> None:
        """What acts on the linkage that moves, if it is other than at the last step.

        What changed inside rigid groups waits for the next update, unless `everything` is asked for.
        """
        if not self.tree.run.counts.item(ws.CHANGED):
            return
        if self._changes_are_few and not everything and not self.forces.act:
            if not self._is_renewed:
                gather.renew_acting(self.tree.table, self.moving.table)
                self._is_renewed = True
        else:
            self.perform(region.RENEW_REGION)

    def bring_up_to_date(self) -> None:
        """Coefficients of the fully articulated linkage at the present state on all open paths. O(open joints).

        With a field O(n): its wrenches act on all bodies.
        """
        self.renew()
        self.forces.load_present()
        self.perform(region.REFRESH)

    def collect(self) -> None:
        """State and accelerations of the linkage that moves are written to those of the model."""
        self.complete_update()
        region.collect(self.tree.table, self.moving.table)

    def coordinates(self, places: IntArray) -> FloatArray:
        """Coordinates now at these places in q, (k,). An update whose bound waits is left to wait. O(k)."""
        moving, tree, q = self.moving.arrays, self.model.arrays.tree, self.tree.run.q[places]
        body = self._body_of_coordinate[places]
        group = self.reduced.number[body]
        moves = (group < self.reduced.counts.item(GROUPS)) & (self.reduced.joint[group] == body)
        body, group = body[moves], group[moves]
        q[moves] = moving.q[places[moves] + (moving.tree[group, Q] - tree[body, Q])]
        return q

    def keep_present_momentum(self) -> None:
        """Takes the present momentum of floating trees as what is to be kept from now on."""
        self.renew()
        self.moving.read_momentum()

    def efforts(self) -> FloatArray:
        """What acts on all joints, and on those that move what acted in the last step, shape (nv, 5)."""
        self.collect()
        found = self.tree.present_efforts()
        if self.moving.has_recorded:
            moving, groups = self.moving.arrays, int(self.reduced.counts[GROUPS])
            tree, model_tree = moving.tree[:groups], self.tree.mechanism.tree[self.reduced.joint[:groups]]
            rows = np.repeat(model_tree[:, V] - tree[:, V], tree[:, DOF]) + np.arange(int(tree[:, DOF].sum()))
            found[rows] = moving.applied_efforts[: rows.size]
        return found

    # ---------------------------------------------------------------------------------------------------------------- pins

    def pin(self, joint: str, active: bool) -> None:
        """Keeps a joint active from the next update on, or stops it at once."""
        i = self.pins.free_joint(joint)
        self.complete_update()
        self.ahead.forget()
        self.pins.add(i, active)
        if not active:
            self.perform(region.FREEZE, joint=i)
            self._rebuild(i)

    def unpin(self, joint: str) -> None:
        i = self.pins.pinned_joint(joint)
        self.complete_update()
        self.ahead.forget()
        if self.pins.remove(i) < 0:
            self._rebuild(i)

    def _rebuild(self, i: int) -> None:
        self.pins.rebuild(i)
        self._changes_are_few = False
        self.keep_present_momentum()

    # ------------------------------------------------------------------------------------------------------- what changes

    def load_table_grew(self) -> None:
        self.tree.follow_load_table()
        self._is_renewed = False
        rows = self._loads.table.shape
        self.moving.replace(load=np.zeros(rows), load_body=np.zeros(rows[0], dtype=np.int64))
        self.moving.describe_again()

    def loads_changed(self, bodies: IntArray, world: int) -> None:
        """Rigid nodes do not hold the loads of the world: the linkage that moves stays as it is when these change."""
        self.complete_update()
        if self._loads.has_fixed:
            self._changes_are_few = False
            self.ahead.note_other_biases()
        else:
            self._note_few_changes()
        self.forces.load_bodies(bodies)
        self.tree.loads_changed(bodies, world, MARKS if self._loads.has_fixed else JOINT_MARKS)

    def joints_changed(self, joints: IntArray) -> None:
        self.complete_update()
        self.count_motors()
        self._note_few_changes()
        self.tree.joints_changed(joints)

    def _note_few_changes(self) -> None:
        """What changes now needs no new gathering; if that is so of all that changed before, neither does the whole."""
        self._is_renewed = False
        self.ahead.note_other_biases()
        self._changes_are_few = self._changes_are_few or not self.tree.run.counts[ws.CHANGED]

    def count_motors(self) -> None:
        """How many motors there are, and whether any acts within limits."""
        counts = self.moving.arrays.counts
        counts[mv.MOTORS] = len(self._joints.motor_joints)
        counts[mv.LIMITED] = max(counts[mv.LIMITED], self._joints.has_friction)

    def forget_update(self) -> None:
        """Nothing is left to do of the last update, and what rounding may do is not known."""
        self.are_waiting, self._pending, self.floor_is_small = False, None, False

    def show_all_forces(self) -> None:
        """The forces of contacts are those of a checkpoint until they are found anew."""
        if self.has_contact:
            self._in_contact.show_all_forces(self.tree.table, self.tree.run.loop_body.shape[0])

    def open_volumes(self) -> None:
        """The next change of the region forms the volumes of all rigid nodes anew."""
        if self.has_contact:
            self._in_contact.open_all(self.tree.table, self.moving.table)
