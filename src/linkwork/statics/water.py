"""Equilibria in a stream: Newton's method on forces that have no potential, along pseudo time.

Drag turns with the bodies it acts on, so that ∂r/∂q is not symmetric and there is no energy to go down. The motion
M dq/ds = r leads to rest; its steps, linearly implicit, solve (s M − ∂r/∂q) x = r by one elimination (`stream_sweeps`). s
shrinks with r, and the last steps are Newton's. Loops are closed on the way, their forces found with each step.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.environment.added_mass import added_inertias
from linkwork.environment.fluid import wrenches_at_rest
from linkwork.environment.water import Water
from linkwork.environment.wet_columns import WET_MIDDLE
from linkwork.environment.wetted import wetted
from linkwork.errors import StateError
from linkwork.loops.system import loop_plan
from linkwork.model.joints import Spherical
from linkwork.model.model import Model
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_TORQUE
from linkwork.statics.balance import LEAST, Balance
from linkwork.statics.constrained import CLOSED, LEAST_SOFTEN, ClosedBalance, Saddle, settle_closed
from linkwork.statics.elimination.stream_sweeps import Around, eliminate_in_stream, make_stream_work
from linkwork.statics.elimination.workspace import ADDED_COLUMNS, P_, R_, W_, Acting
from linkwork.statics.hanging import hang_slack
from linkwork.statics.newton import RUNAWAY, Outcome, Progress, not_settled, runs_away, settle_tree

FIRST, LAST = 0.01, 1e-12  # s, as a part of loads over inertia of the whole, at first; below the last it is left out
LESS, MORE = 0.1, 8.0  # s changes as r does, within these
TURN = 0.7  # [rad] of any body in one step
SHORTER = (1.0, 0.3, 0.1, 0.03)  # parts of a step that are tried with the same factors; the shorter ones must lower r
MOST_OPEN = 1e-3  # gap that a step may leave, as a part of the length
AGAIN = 0.05  # s, as FIRST, where a step failed without it
WORSE = 4.0  # r may grow by this in a step; beyond it s grows instead
SMALL_TURN, MUCH_WORSE = 0.2, 1e3  # [rad] stiff joints answer steps that turn no body further with efforts that soon go
NEAR = 0.02  # [rad] way of a joint in a round under fixed forces, below which Newton's method begins
HOLD = 1e-5  # rotations of balls that are resisted by less than this part of their largest: rods that roll
MOST_HANGING, HUNG, HALF_WAY = 60, 1e-3, 0.5  # rounds; [rad or m] way of a joint in the last; of the way where it grows
MOST_S = 1e6  # of the first s: where not even steps that short get on, there is no rest


class Stream:
    """What water does to the bodies of a balance, and the elimination with it."""

    def __init__(self, model: Model, water: Water, balance: Balance):
        self.balance, self.water = balance, water
        self.wet = wetted(model, water)
        self.row = np.full(model.n_bodies, -1)
        self.row[self.wet.body] = np.arange(self.wet.body.size)
        self.numbers = water.numbers
        self.given = balance.acting.wrenches.copy()
        self.wrenches = np.zeros((model.n_bodies, 6))
        self.work = make_stream_work(model)
        self.hold = HOLD if all(isinstance(loop.joint, Spherical) for loop in model.loops) else 0.0

    def act(self) -> None:
        """Puts wrenches at `place` into what acts, and weighs it."""
        b = self.balance
        if self.water.asks:
            pose = b.place.world[self.wet.body]
            R = pose[:, R_ : R_ + 9].reshape(-1, 3, 3)
            middles = np.einsum("kij,kj->ki", R, self.wet.rows[:, WET_MIDDLE : WET_MIDDLE + 3])
            self.wet.follow(self.water, middles + pose[:, P_ : P_ + 3], 0.0)
        wrenches_at_rest(
            *self.wet, self.numbers, self.water.profile, b.arrays.gravity, b.place.world, R_, P_, self.wrenches
        )
        np.add(self.given, self.wrenches, out=b.acting.wrenches)
        b.weigh()

    def eliminate(self, shift: float) -> int:
        """Factors s M − ∂r/∂q at `place`; returns a body without a pivot, or -1.

        With loops s is no less than the inertia that all eliminations of statics have: what the loops alone resist, as a
        vessel on its line, would answer their forces without end, and hide all else from them.
        """
        b = self.balance
        shift = max(shift, LEAST * b.scales.rate2) if b.model.loops else shift
        b.sweeps += 1
        around = Around(self.wet.rows, self.numbers, self.water.profile, self.row)
        return int(eliminate_in_stream(b.arrays, b.acting, b.place, b.work, self.work, around, shift, self.hold))

    def solve(self, r: FloatArray, x: FloatArray) -> float:
        """x for efforts; returns the largest rotation of a body [rad]."""
        return float(self.balance.solve_sides(r[None], x[None], back=W_)[0])


def settle_in_water(
    balance: Balance, closed: ClosedBalance | None, water: Water, tolerance: float, max_sweeps: int, is_near: bool
) -> Outcome:
    """Moves `balance` to an equilibrium under everything and the water; raises StateError where none is found.

    is_near: `approach` has led near one, so that Newton's method may begin at once.
    """
    stream = Stream(balance.model, water, balance)
    done = Progress()
    if closed is not None:
        closed.write_forces()
    stream.act()
    balance.scales = balance._scales()
    if closed is not None:
        _first_forces(closed)
        stream.act()
    scale = max(balance.scales.effort, 1e-300)
    first = FIRST * balance.scales.rate2
    shift = 0.0 if is_near else first
    enough = 1e3 * CLOSED * max(balance.scales.length, 1e-300)
    while True:
        done.history.append(float(np.abs(balance.r).max(initial=0.0)) / scale)
        gap = 0.0 if closed is None else float(np.abs(closed.system.gap).max(initial=0.0))
        if done.history[-1] <= tolerance and gap <= enough:
            break
        if balance.sweeps >= max_sweeps or shift > MOST_S * max(first, 1e-300):
            raise _why_not(balance, closed, stream, not_settled(done, balance.sweeps, tolerance, gap * (gap > enough)))
        shift = _step(balance, closed, stream, shift)
    return _outcome(balance, closed, stream, done)


def _why_not(balance: Balance, closed: ClosedBalance | None, stream: Stream, failure: StateError) -> StateError:
    """Where a step to rest would go on and on, nothing holds the linkage against the stream."""
    if closed is None and stream.eliminate(LEAST * balance.scales.rate2) < 0:
        stream.solve(balance.r, balance.x)
        if not balance.extent(balance.x)[1] <= RUNAWAY * max(balance.scales.length, 1e-300):
            return runs_away(balance.model, balance.x)
    return failure


def _outcome(balance: Balance, closed: ClosedBalance | None, stream: Stream, done: Progress) -> Outcome:
    """How far the equilibrium is, and in how many directions it is unstable under the fluid's forces as they are, fixed in
    the world: they have a potential then."""
    present = balance.acting
    loads = present._replace(wrenches=stream.given)
    balance.acting = _fixed_in_world(loads, stream)
    balance.weigh()
    pivots = balance.eliminate(0.0, 0.0, LEAST_SOFTEN)
    negative = pivots.negative
    if closed is not None and pivots.singular < 0:
        saddle = closed.saddle()
        negative += int((saddle.values > 0.0).sum()) - saddle.values.size
        balance.x = saddle.x + saddle.solve(-saddle.moving) @ saddle.Y
        turn = way = float(np.abs(balance.x).max(initial=0.0))
    else:
        turn, way = balance.solve(balance.r, balance.x)
    balance.acting = present
    balance.weigh()
    done.sweeps = balance.sweeps
    return Outcome(turn, way, negative, negative == 0 and pivots.singular < 0, done)


def _step(balance: Balance, closed: ClosedBalance | None, stream: Stream, shift: float) -> float:
    """One step at the given s [1/s²]; returns the next."""
    bad = stream.eliminate(shift)
    if bad >= 0:
        if shift > 0.0:
            return MORE * shift
        raise StateError(
            f"joint '{balance.model.joint_names[bad]}' of model '{balance.model.name}' resists with neither stiffness nor "
            "drag where it comes to rest; give it a spring."
        )
    force, saddle = np.zeros(0), None
    if closed is None:
        turn = stream.solve(balance.r, balance.x)
    else:
        saddle = closed.saddle(in_water=True)
        force, balance.x = saddle.step(closed.system.gap)
        turn = balance.extent(balance.x)[0]
    before = float(np.linalg.norm(balance.r))
    part = min(1.0, TURN / max(turn, 1e-300))
    most = WORSE if turn > SMALL_TURN else MUCH_WORSE
    for shorter in SHORTER:
        ratio = _went(balance, closed, stream, saddle, force, shorter * part) / max(before, 1e-300)
        if ratio < (most if shorter == 1.0 else 1.0):
            break
        if np.isfinite(ratio):
            _go_back(balance, closed, stream)
    else:
        return max(MORE * shift, AGAIN * balance.scales.rate2)
    shift *= min(max(ratio, LESS), 1.0 if turn < TURN and shorter == 1.0 else MORE)
    return shift if shift > LAST * balance.scales.rate2 else 0.0


def _went(
    balance: Balance,
    closed: ClosedBalance | None,
    stream: Stream,
    saddle: Saddle | None,
    force: FloatArray,
    part: float,
) -> float:
    """Goes on by a part of the step `balance.x`, loops closed; returns the unbalanced efforts there, or infinity, without
    having moved, where loops stay open."""
    balance.place_trial(balance.x, part)
    if closed is None or saddle is None:
        balance.accept()
    else:
        system = closed.close(saddle)
        if system is None:  # soft motions do not close loops: the next step will
            balance.place_trial(balance.x, part)
            system = closed.system_at_trial()
            if not float(np.abs(system.gap).max(initial=0.0)) <= MOST_OPEN * balance.scales.length:
                return np.inf
        closed.before_step = closed.system, closed.force
        closed.force = closed.force + part * force
        held = _in_world(closed)
        balance.accept()
        closed.system = system
        _fix_in_world(closed, held)
    stream.act()
    return float(np.linalg.norm(balance.r))


def _go_back(balance: Balance, closed: ClosedBalance | None, stream: Stream) -> None:
    """To where the last part of a step began."""
    balance.accept()
    if closed is not None:
        closed.system, closed.force = closed.before_step
        closed.write_forces()
    stream.act()


def hang_in_stream(model: Model, acting: Acting, q: FloatArray, water: Water) -> FloatArray | None:
    """Coordinates at which a linkage between two pins hangs as a chain without stiffness in a fluid: again and again under
    its forces as they were, without an elimination. None where there is no such place, or where that does not end."""
    before = np.inf
    for _ in range(MOST_HANGING):
        balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
        stream = Stream(model, water, balance)
        stream.act()
        slack = hang_slack(model, _fixed_in_world(acting, stream), q)
        if slack is None:
            return None
        way = np.asarray(model.difference(q, slack.balance.place.q))
        moved = float(np.abs(way).max(initial=0.0))
        if moved < HUNG:
            return slack.balance.place.q.copy()
        q = model.integrate(q, way, 1.0 if moved < before else HALF_WAY)
        before = moved
    return None


def approach(
    model: Model, acting: Acting, q: FloatArray, water: Water, max_sweeps: int, rounds: int, roughly: float
) -> tuple[FloatArray, int]:
    """Coordinates near rest in water, loops closed, and the sweeps it took: again and again an equilibrium under the
    fluid's forces as they were, fixed in the world, which have a potential."""
    sweeps, plan = 0, loop_plan(model) if model.loops else None
    for _ in range(rounds):
        balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
        stream = Stream(model, water, balance)
        stream.act()
        balance.acting = _fixed_in_world(acting, stream)
        closed = None if plan is None else ClosedBalance(balance, plan)
        balance.scales = balance._scales()
        try:
            if closed is None:
                settle_tree(balance, roughly, max_sweeps, False)
            else:
                settle_closed(closed, roughly, max_sweeps, False)
        except StateError:  # where it stands is a start all the same
            pass
        sweeps += balance.sweeps
        moved = float(np.abs(model.difference(q, balance.place.q)).max(initial=0.0))
        q = balance.place.q.copy()
        if moved < NEAR or sweeps >= max_sweeps:
            break
    return q, sweeps


def with_fluid_forces(model: Model, acting: Acting, q: FloatArray, water: Water) -> tuple[Acting, FloatArray]:
    """What acts at rest in a fluid, its forces as they are and fixed in the world, and the inertia that it adds (n, 21).

    Moments that its forces have about the middles of pieces stay with the bodies, so that rest stays rest.
    """
    balance = Balance(model, acting._replace(wrenches=acting.wrenches.copy()), q)
    stream = Stream(model, water, balance)
    stream.act()
    loads, wet = _fixed_in_world(acting, stream), stream.wet
    wrench = stream.wrenches[wet.body]
    loads.wrenches[wet.body, :3] += wrench[:, :3] - np.cross(wet.rows[:, WET_MIDDLE : WET_MIDDLE + 3], wrench[:, 3:])
    added = np.zeros((model.n_bodies, ADDED_COLUMNS))
    added_inertias(*wet, stream.numbers, water.profile, balance.place.world, R_, P_, added)
    return loads, added


def _fixed_in_world(acting: Acting, stream: Stream) -> Acting:
    """The fluid's wrenches as loads held by the world."""
    pose, bodies = stream.balance.place.world[stream.wet.body], stream.wet.body
    R = pose[:, R_ : R_ + 9].reshape(-1, 3, 3)
    middle, wrench = stream.wet.rows[:, WET_MIDDLE : WET_MIDDLE + 3], stream.wrenches[bodies]
    rows = np.zeros((bodies.size, acting.rows.shape[1]))
    rows[:, LOAD_AT : LOAD_AT + 3] = middle
    rows[:, LOAD_FORCE : LOAD_FORCE + 3] = np.einsum("kij,kj->ki", R, wrench[:, 3:])
    return acting._replace(
        wrenches=acting.wrenches.copy(),
        rows=np.concatenate([acting.rows, rows]),
        row_body=np.concatenate([acting.row_body, bodies]),
    )


def _first_forces(closed: ClosedBalance) -> None:
    """Forces of the cut joints that leave the least unbalanced, for a start."""
    balance = closed.balance
    balance.eliminate(1.0, 1e-2 * balance.scales.rate2)
    saddle = closed.saddle()
    closed.force = saddle.solve(-saddle.moving)
    closed.write_forces()


def _in_world(closed: ClosedBalance) -> FloatArray:
    """Forces and torques of the cut joints in the axes of the world, in one row."""
    closed.write_forces()
    rows = closed.balance.acting.rows[closed.loads + 1 :: 2]
    return np.concatenate(
        [rows[:, LOAD_FORCE : LOAD_FORCE + 3], rows[:, LOAD_TORQUE : LOAD_TORQUE + 3]], axis=1
    ).ravel()


def _fix_in_world(closed: ClosedBalance, held: FloatArray) -> None:
    """The cut joints' forces after a step are those before it, in the axes of the world; λ is in those of a body."""
    columns = np.zeros((held.size, closed.plan.count))
    for k in range(closed.plan.count):
        closed.force = np.zeros(closed.plan.count)
        closed.force[k] = 1.0
        columns[:, k] = _in_world(closed)
    closed.force = np.asarray(np.linalg.lstsq(columns, held, rcond=None)[0], dtype=np.float64).ravel()
    closed.write_forces()
