"""Where a linkage comes to rest: the public function, and what it reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag, integer, positive
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_state, refuse_couplings
from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.environment.water import Water
from linkwork.environment.wetted import rod_forces_in_fluid
from linkwork.errors import StateError
from linkwork.loops.system import loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.loading.loaded import Loaded
from linkwork.statics.balance import Balance
from linkwork.statics.constrained import ClosedBalance, settle_closed
from linkwork.statics.elimination.workspace import WRENCH, Acting
from linkwork.statics.gradients import SettleGradients, settle_gradients
from linkwork.statics.hanging import closed_at, hang, hang_slack
from linkwork.statics.in_field import FieldRest, settle_in_field
from linkwork.statics.limits import is_within, refuse_beyond
from linkwork.statics.loads import gather, has_potential
from linkwork.statics.newton import Outcome, settle_tree
from linkwork.statics.standing import FAR, SHORT, Standing
from linkwork.statics.water import approach, hang_in_stream, settle_in_water

AS_PART, IN_FIELD = 1e-10, 1e-3  # usual tolerances: a part of the loads; efforts in the units of a field
SOON = 12  # sweeps along pseudo time, or of Newton's method in a fluid, before a closer start is sought
APPROACHES = (
    (3, 1e-3),
    (6, 1e-3),
    (12, 1e-6),
)  # rounds under fixed forces of the fluid, and how well they are balanced


@tabled
class SettleReport(NamedTuple):
    """How well a linkage is balanced, and how that was reached."""

    unbalanced: float  # largest effort that nothing balances [N·m or N]
    unbalanced_part: float  # the same as a part of what loads and springs amount to
    turn: float  # estimated distance to the equilibrium: largest rotation of a body in the next Newton step [rad]
    way: float  # and largest displacement of a body's origin [m]
    stable: (
        bool  # the energy rises in all directions (on closed states, with loops); loads without a potential: see theory
    )
    unstable_modes: int  # independent directions in which it falls (Sylvester: negative pivots), exact but for rounding
    energy: float  # gravity, springs, world-fixed forces [J]
    sweeps: int  # eliminations over the whole linkage
    saddles_left: int  # unstable equilibria met and left on the way
    gap: float  # largest gap of a loop [rad or m]
    reactions: FloatArray  # (loops, 6) wrench [n; f] on body b, in the loop's frame in b, at its origin [N·m, N]
    limits: FloatArray  # (nv,) efforts of joint limits on what they hold [N·m or N]
    history: FloatArray  # (steps,) unbalanced part before every step

    def __str__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        return (
            f"{kind} equilibrium in {self.sweeps} sweeps: unbalanced {self.unbalanced:.1e} ({self.unbalanced_part:.1e} of "
            f"the loads), {self.turn:.1e} rad and {self.way:.1e} m away, energy {self.energy:.6g} J"
        )


@tabled
@dataclass(frozen=True, repr=False)
class Settled:
    """A linkage at rest. `state, report = lw.settle(...)` takes the first two."""

    state: State
    report: SettleReport
    model: Model
    wrenches: FloatArray  # (n, 6)  that each joint passes to the body it carries, [n; f] in the body's frame [N·m, N]
    acting: Acting = field(repr=False)  # what it was settled under
    water: Water | None = None  # and in

    def __iter__(self) -> Iterator[Any]:
        return iter((self.state, self.report))

    def __repr__(self) -> str:
        return f"Settled('{self.model.name}': {self.report})"

    def backward(self, q: ArrayLike) -> SettleGradients:
        """Gradients of a number with respect to loads, springs, inertias and gravity, from that with respect to the
        coordinates at rest.

        q: along the tangent of `Model.integrate`, shape (nv,). The linkage stays at the same equilibrium: where a small
        change of a load makes it snap to another, there is no gradient. Cost: O(n), some three sweeps; O(p n) for p loop
        constraints.
        """
        if self.model.loops and self.report.limits.any():
            raise StateError(
                "gradients of closed linkages that rest at joint limits are not known; those of open trees are."
            )
        return settle_gradients(self.model, self.acting, self.state.q, self.report.reactions, q)

    @property
    def stable(self) -> bool:
        return self.report.stable

    @property
    def unstable_modes(self) -> int:
        return self.report.unstable_modes

    def along(self, rod: str | None = None) -> RodForces:
        """Internal forces of a rod, by its name; the only one by default."""
        water = None if self.water is None else replace(self.water, waves=None)  # it settled in still water
        return rod_forces_in_fluid(self.model, self.state, self.wrenches, rod, self.report.reactions, water)

    @property
    def tension(self) -> FloatArray:
        """Along the only rod, at its joints [N], shape (n,)."""
        return self.along().tension

    @property
    def shear(self) -> FloatArray:
        """Along y and z of the section of the only rod [N], shape (n, 2)."""
        return self.along().shear

    @property
    def moment(self) -> FloatArray:
        """About y and z of the section of the only rod [N·m], shape (n, 2)."""
        return self.along().moment

    @property
    def torque(self) -> FloatArray:
        """About the axis of the only rod [N·m], shape (n,)."""
        return self.along().torque

    @property
    def curvature(self) -> FloatArray:
        """About y and z of the section of the only rod [1/m], shape (n, 2)."""
        return self.along().curvature

    @property
    def twist(self) -> FloatArray:
        """Of the only rod [rad/m], shape (n,)."""
        return self.along().twist


@overload
def settle(
    model: Model, state: State, *, field: Field, tolerance: float | None = None, max_sweeps: int = 1000
) -> FieldRest: ...


@overload
def settle(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    loads: Loaded | None = None,
    *,
    water: Water | None = None,
    field: None = None,
    tolerance: float | None = None,
    max_sweeps: int = 1000,
    leave_saddles: bool = True,
) -> Settled: ...


def settle(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    loads: Loaded | None = None,
    *,
    water: Water | None = None,
    field: Field | None = None,
    tolerance: float | None = None,
    max_sweeps: int = 1000,
    leave_saddles: bool = True,
) -> Settled | FieldRest:
    """The equilibrium under gravity, joint springs and loads that Newton's method on the energy reaches from a state.

    effort: constant efforts of joints [N·m or N], shape (nv,); wrenches: fixed in the bodies, at their origins [N·m, N],
    shape (n, 6); loads: `lw.Loads(model)`, or a simulation, whose loads on bodies are taken.
    water: `lw.Water(...)` or `lw.air(...)` around the bodies: buoyancy, drag of the current, the seabed without friction.
    `stable` then says whether the rest of the forces, the drag as it is, has a minimum there. Waves are left out.
    field: such as `mol.field()` of a molecule: the minimum of its energy instead, by L-BFGS with the sweep of inertia as
    first guess; neither loads nor gravity, springs and loops then. Returns a `FieldRest`, of `state` and `report` too.
    Where forces step, at a cutoff, so that nothing lowers the energy further, the best state comes with a warning.
    tolerance: largest unbalanced effort, as a part of the largest moment the loads could have about a joint (1e-10); in a
    field, in the units of its efforts (1e-3, molecules: kJ/mol/rad).
    max_sweeps: eliminations over the linkage before giving up; in a field, evaluations of it.
    leave_saddles: go on from unstable equilibria (a straight column under more than its buckling load), where a tree is
    exactly balanced and yet not at a minimum of the energy. Under loads without a potential (torques, wrenches that turn
    with their body, efforts on ball joints) there is no energy to fall, and the equilibrium found is kept.
    Open loops are closed first, from the shape in which the linkage hangs without them. Dampers do not act at rest. Joints
    are held at limits that they are pushed against (`report.limits`); in water or a field a rest beyond a limit is refused.
    Raises StateError where nothing holds the linkage, where loops cannot be closed, or where no equilibrium is found (in a
    field its `best` is the `FieldRest` that was reached).
    Cost: O(n) per sweep, and O(p n) more for p loop constraints; some ten sweeps from a smooth start, whatever n.
    Theory: docs/theory/statics.md.
    """
    q, _ = as_state(model, state)
    refuse_couplings(model, "settle")
    usual = AS_PART if field is None else IN_FIELD
    limit = positive(usual if tolerance is None else tolerance, "tolerance")
    most = integer(max_sweeps, 1, "max_sweeps")
    leave_saddles = flag(leave_saddles, "leave_saddles")
    if field is not None:
        if effort is not None or wrenches is not None or loads is not None or water is not None:
            raise StateError("settle takes a field, or efforts, wrenches, loads and water; not both.")
        at_rest = settle_in_field(model, field, np.array(q, dtype=float), limit, most)
        refuse_beyond(model, at_rest.state.q, "in a field")
        return at_rest
    acting = gather(model, effort, wrenches, loads)
    if water is not None and model.nv > 0:
        wet = replace(_in_water(model, acting, q, water, limit, most), water=water)
        refuse_beyond(model, wet.state.q, "in water")
        return wet
    if model.nv == 0:
        balance = Balance(model, acting, q)
        return _settled(balance, None, settle_tree(balance, limit, most, False), 0)
    if not model.loops:
        balance = Balance(model, acting, q, limits=True)
        leave = leave_saddles and has_potential(model, acting)
        return _settled(balance, None, settle_tree(balance, limit, most, leave), 0)
    leave = leave_saddles and has_potential(model, acting)
    closed = _closed(model, acting, q, limit, most, leave)
    if is_within(model, closed.state.q):
        return closed
    return _downhill(model, acting, closed_at(model, q), limit, most, leave, closed.report.sweeps, limits=True)


def _closed(model: Model, acting: Acting, q: FloatArray, limit: float, most: int, leave: bool) -> Settled:
    """At rest with loops: from where a chain without stiffness hangs, where that leads to rest; else from where the open
    tree hangs."""
    slack, before = hang_slack(model, acting, q), 0
    if slack is not None:
        start = slack.balance.place.q.copy()
        near = Standing(model, acting, q, False, slack=slack)
        outcome = _stable_rest(near, limit, FAR)
        if outcome is not None:
            return _settled(near.balance, near.closed, outcome, 0)
        before = near.balance.sweeps
        try:
            return _downhill(model, acting, closed_at(model, start), limit, most, leave, before)
        except StateError:
            pass
    q, more, is_far = hang(model, acting, q, most)
    near, outcome = _by_newton(model, acting, q, limit, is_far)
    if outcome is not None:
        return _settled(near.balance, near.closed, outcome, before + more)
    before += more + near.balance.sweeps
    return _downhill(model, acting, closed_at(model, q) if is_far else q, limit, most, leave, before)


def _downhill(
    model: Model, acting: Acting, q: FloatArray, limit: float, most: int, leave: bool, before: int, limits: bool = False
) -> Settled:
    """At rest with loops, from a closed state, by steps that lower the energy; before: sweeps until then."""
    balance = Balance(model, acting, q, limits)
    closed = ClosedBalance(balance, loop_plan(model))
    return _settled(balance, closed, settle_closed(closed, limit, most, leave), before)


def _by_newton(
    model: Model, acting: Acting, q: FloatArray, limit: float, is_far: bool
) -> tuple[Standing, Outcome | None]:
    """Newton's method alone, and where it ended if that is a stable equilibrium: close by; farther away only with less
    energy than at a start whose loops are closed, or anywhere where pins were springs until now (is_far)."""
    near = Standing(model, acting, q, is_closed=not is_far)
    outcome = _stable_rest(near, limit, FAR if is_far else SHORT)
    if is_far or outcome is not None or not near.went_far:
        return near, outcome
    far = Standing(model, acting, q)
    far.balance.sweeps += near.balance.sweeps
    energy = far.balance.energy(acting.rows.shape[0])
    outcome = _stable_rest(far, limit, FAR)
    return far, outcome if far.balance.energy(acting.rows.shape[0]) < energy else None


def _stable_rest(standing: Standing, limit: float, longest: float) -> Outcome | None:
    """The stable equilibrium that Newton's method finds within a way of joints, or None."""
    if standing.closed is None:
        return None
    try:
        if not standing.seek(limit, longest):
            return None
        found = settle_closed(standing.closed, limit, standing.balance.sweeps + SOON, False, blend=0.0)
    except StateError:
        return None
    return found if found.unstable == 0 else None


def _in_water(model: Model, acting: Acting, q: FloatArray, water: Water, limit: float, most: int) -> Settled:
    """At rest in a fluid: trees along pseudo time, which is soon there or not at all; else by way of fixed forces, from
    ever closer starts."""
    before, hung = 0, None
    if not model.loops:
        balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
        try:
            return _settled(balance, None, settle_in_water(balance, None, water, limit, min(most, SOON), False), 0)
        except StateError:
            before = balance.sweeps
    else:
        start = hang_in_stream(model, acting, q, water)
        if start is None:
            q, before, is_far = hang(model, acting, q, most)
            q = closed_at(model, q) if is_far else q
        else:
            hung, before = _from_hanging(model, acting, start, water, limit, most)
            if hung is not None and hung.stable:
                return hung
            q = closed_at(model, start)
    for rounds, roughly in APPROACHES:
        q, more = approach(model, acting, q, water, most, rounds, roughly)
        before += more
        balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
        tied = ClosedBalance(balance, loop_plan(model)) if model.loops else None
        is_last = (rounds, roughly) == APPROACHES[-1]
        try:
            outcome = settle_in_water(balance, tied, water, limit, most if is_last else min(most, SOON), True)
            return _settled(balance, tied, outcome, before)
        except StateError:
            before += balance.sweeps
            if is_last and hung is None:
                raise
    if hung is not None:
        return hung
    raise AssertionError("the last approach returns or raises")


def _from_hanging(
    model: Model, acting: Acting, q: FloatArray, water: Water, limit: float, most: int
) -> tuple[Settled | None, int]:
    """At rest in a fluid, of any kind, from where a chain without stiffness hangs in it, if that is soon there; and the
    sweeps."""
    balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
    tied = ClosedBalance(balance, loop_plan(model))
    try:
        outcome = settle_in_water(balance, tied, water, limit, min(most, 2 * SOON), True)
    except StateError:
        return None, balance.sweeps
    return _settled(balance, tied, outcome, 0), balance.sweeps


def _settled(balance: Balance, closed: ClosedBalance | None, outcome: Outcome, sweeps_before: int) -> Settled:
    rows = None if closed is None else closed.loads
    unbalanced = float(np.abs(balance.r).max(initial=0.0))
    report = SettleReport(
        unbalanced=unbalanced,
        unbalanced_part=unbalanced / max(balance.scales.effort, 1e-300),
        turn=outcome.turn,
        way=outcome.way,
        stable=outcome.stable,
        unstable_modes=outcome.unstable,
        energy=balance.energy(rows),
        sweeps=outcome.progress.sweeps + sweeps_before,
        saddles_left=outcome.progress.saddles_left,
        gap=0.0 if closed is None else float(np.abs(closed.system.gap).max(initial=0.0)),
        reactions=np.zeros((0, 6)) if closed is None else closed.system.reactions(closed.force),
        limits=np.zeros(balance.model.nv) if balance.stops is None else balance.stops.effort.copy(),
        history=np.array(outcome.progress.history),
    )
    acting = balance.acting
    if rows is not None:
        acting = acting._replace(rows=acting.rows[:rows], row_body=acting.row_body[:rows])
    wrenches = -balance.work.body[:, WRENCH : WRENCH + 6]
    return Settled(State(balance.place.q.copy(), np.zeros(balance.model.nv)), report, balance.model, wrenches, acting)
