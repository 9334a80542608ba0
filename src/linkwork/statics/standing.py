"""A linkage at an equilibrium, and the pencil (∂²U, M) there: counts of eigenvalues and solves, with loops or without.

The elimination of ∂²U − σM is an LDLᵀ: as many pivots are negative as eigenvalues lie below σ (Sylvester). With loops,
negative pivots and positive eigenvalues of J (∂²U − σM)⁻¹Jᵀ together are as many as eigenvalues below σ on closed states
and constraints together (Haynsworth).
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.inputs import refuse_couplings
from linkwork.errors import StateError
from linkwork.loops.system import loop_plan
from linkwork.model.model import Model
from linkwork.statics.balance import SOFTEN, Balance
from linkwork.statics.constrained import LEAST_SOFTEN, ClosedBalance, Saddle
from linkwork.statics.elimination.workspace import Acting
from linkwork.statics.hanging import Slack

OPEN = 1e-6  # gap of a loop, as a part of the length of the linkage, from which on it counts as open
UNBALANCED = 1e-6  # part of the loads, from which on a state is not an equilibrium
SOUGHT, MOST_SEEKING = 1e-9, 24  # part of the loads; steps
SHORT, FAR = 0.5, 20.0  # largest way of a joint in all steps of `seek` [rad]: to what is close by, and to anything
NEARLY, WORSE, STUCK = 1e-3, 2.0, 0.5  # part of the loads; times what a step left: it went astray, or hardly on
SMALL_GAP = 1e-8  # part of the length: the next Newton step closes it
CLOSER = 0.3  # of a step: as far may another go that closes loops by the same factors
FIRST_DAMPING, MORE, LESS = 0.1, 10.0, 1e-4  # part of loads over inertia, and how it changes
BETTER = 0.5  # of what was unbalanced: less leaves a step on the way to rest
EPS = float(np.finfo(np.float64).eps)
ASIDE, TRIALS = 1e-7, 6  # a shift that meets a zero pivot is moved aside by this part, ten times more each time


class Standing:
    """Coordinates q under loads; `factor` and `solve` speak of ∂²U − σM on closed states."""

    def __init__(
        self,
        model: Model,
        acting: Acting,
        q: FloatArray,
        is_closed: bool = True,
        added: FloatArray | None = None,
        slack: Slack | None = None,
    ):
        """is_closed: loops that are open are refused; else `seek` may close them. added: as in `Work`. slack: where to
        stand, instead of at q."""
        self.model = model
        refuse_couplings(model, "statics")
        self.balance = Balance(model, acting, q) if slack is None else slack.balance
        if added is not None:
            self.balance.work = self.balance.work._replace(added=added)
        self._soften = LEAST_SOFTEN if model.loops or added is not None else SOFTEN
        self.closed: ClosedBalance | None = None
        self._saddle: Saddle | None = None
        self.went_far = False  # whether `seek` ended because an equilibrium close by was not found
        if model.loops:
            self.closed = ClosedBalance(self.balance, loop_plan(model))
            gap = float(np.abs(self.closed.system.gap).max(initial=0.0))
            if is_closed and gap > OPEN * self.balance.scales.length:
                raise StateError(
                    f"a loop is open by {gap:.2e} (rad or m); close loops first, with lw.settle or lw.close_loops."
                )
            if slack is None:
                self.find_forces()
            else:
                self.closed.pull(slack.force)

    def find_forces(self) -> None:
        """Forces of the cut joints that leave the least unbalanced."""
        closed, balance = self.closed, self.balance
        assert closed is not None
        closed.force[:] = 0.0
        closed.write_forces()
        balance.weigh()
        balance.eliminate(1.0, 1e-2 * balance.scales.rate2)
        saddle = closed.saddle()
        closed.force = saddle.solve(-saddle.moving)
        closed.write_forces()
        balance.weigh()

    @property
    def unbalanced(self) -> float:
        """Largest unbalanced effort, as a part of the loads."""
        return float(np.abs(self.balance.r).max(initial=0.0)) / max(self.balance.scales.effort, 1e-300)

    @property
    def is_closed(self) -> bool:
        """Whether loops are closed to what equilibria are found with."""
        return self.closed is None or self.closed.gap <= OPEN * 1e-3

    @property
    def scale(self) -> float:
        """[1/s²] of loads and springs over the inertia of the whole."""
        return max(self.balance.scales.rate2, 1e-300)

    def refuse_unbalanced(self) -> None:
        if not self.unbalanced <= UNBALANCED:
            raise StateError(
                f"modes need an equilibrium; here unbalanced efforts are {self.unbalanced:.1e} of the loads. Call "
                "lw.settle with the same loads and water first, and give them here too."
            )

    def factor(self, sigma: float) -> int:
        """Factors ∂²U − σM; returns how many eigenvalues lie below σ [1/s²]."""
        aside = 0.0
        for trial in range(TRIALS):
            pivots = self.balance.eliminate_exactly(-(sigma + aside))
            if pivots.singular < 0:
                break
            aside = -ASIDE * 10.0**trial * max(abs(sigma), 1e-9 * self.scale)
        else:
            i = max(pivots.singular, 0)
            raise StateError(
                f"joint '{self.model.joint_names[i]}' has neither stiffness nor inertia, so that modes are not defined."
            )
        if self.closed is None:
            return int(pivots.negative)
        self._saddle = self.closed.saddle()
        return int(pivots.negative) + int((self._saddle.values > 0.0).sum()) - self._saddle.values.size

    def solve(self, b: FloatArray, x: FloatArray) -> None:
        """x ← (∂²U − σM)⁻¹ b on closed states, with the last factors; one vector, or rows of several."""
        right, out = np.atleast_2d(b), np.atleast_2d(x)
        if self.closed is None or self._saddle is None:
            self.balance.solve_sides(right, out)
            return
        moving = self.closed.solve(right, out)
        for row, m in zip(out, moving.T, strict=True):
            row += self._saddle.solve(-m) @ self._saddle.Y

    def mass_times(self, x: FloatArray, out: FloatArray) -> None:
        """out ← M x, of one vector or of rows of several."""
        self.balance.mass_times(x, out)

    def polish(self) -> None:
        """Goes on to the equilibrium as far as rounding lets: with efforts that are left rolling rods seem stiff or fall.

        By Newton's method as settling ends: what nothing resists stays where it is.
        """
        balance, closed = self.balance, self.closed
        while self.unbalanced > 0.0:
            before, q = self.unbalanced, balance.place.q.copy()
            force = None if closed is None else closed.force
            if balance.eliminate(0.0, 0.0, LEAST_SOFTEN).singular >= 0:
                return
            if closed is not None:
                self._saddle = closed.saddle()
            balance.place_trial(self.newton_step(), 1.0)
            self._arrive()
            if not self.unbalanced < BETTER * before or not self.is_closed:
                if closed is not None and force is not None:
                    closed.force = force
                self.move(q)
                return

    def unstable(self) -> int:
        """Directions in which the energy falls, as settling counts them: what it resists at least counts as held."""
        pivots = self.balance.eliminate(0.0, 0.0, self._soften)
        if self.closed is None:
            return pivots.negative
        values = self.closed.saddle().values
        return pivots.negative + int((values > 0.0).sum()) - values.size

    @property
    def rounding(self) -> float:
        """Efforts that are left unbalanced, all together, and what of them is rounding at least [N·m or N]."""
        return max(float(np.abs(self.balance.r).sum()), EPS * self.balance.scales.effort)

    def seek(self, enough: float = SOUGHT, longest: float = SHORT) -> bool:
        """Newton's method on the exact second derivative, to an equilibrium of any kind; whether it got there.

        enough: unbalanced part of the loads. longest: way of a joint [rad]; beyond a small one lie other equilibria.
        """
        balance = self.balance
        gone, damping, before = 0.0, 0.0, np.inf
        for _ in range(MOST_SEEKING):
            left = self.unbalanced
            if left <= enough and self.is_closed:
                return True
            if before < NEARLY and left > WORSE * before:  # motions that hardly anything resists are driven by rounding
                damping = max(MORE * damping, FIRST_DAMPING * self.scale)
            elif left > STUCK * before:
                damping *= LESS
            before = left
            self.factor(-damping)
            x = self.newton_step()
            longest_way = float(np.abs(x).max(initial=0.0))
            gone += longest_way
            if not gone < longest:
                self.went_far = True
                return False
            balance.place_trial(x, 1.0)
            self._arrive(CLOSER * longest_way)
        return False

    def newton_step(self) -> FloatArray:
        """The step to where nothing is unbalanced and loops are closed, with the last factors; cut joints have their forces
        there from now on."""
        if self.closed is None or self._saddle is None:
            x = np.zeros(self.model.nv)
            self.balance.solve(self.balance.r, x)
            return x
        step = self._saddle.solve(-self.closed.system.gap - self._saddle.moving)
        self.closed.force = self.closed.force + step
        return np.asarray(self._saddle.x + step @ self._saddle.Y)

    def move(self, q: FloatArray) -> None:
        """Goes to other coordinates."""
        self.balance.set_trial(q)
        self._arrive()

    def _arrive(self, closer: float = 0.0) -> None:
        """Goes to `trial`, and on by a step up to this way [rad or m] that closes loops with the factors of the last."""
        balance, closed = self.balance, self.closed
        if closed is not None:
            closed.system = closed.system_at_trial()
            if closer > 0.0 and self._saddle is not None and closed.gap > SMALL_GAP:
                x = self._saddle.solve(-closed.system.gap) @ self._saddle.Y
                if float(np.abs(x).max(initial=0.0)) < closer:
                    balance.advance_trial(x)
                    closed.system = closed.system_at_trial()
        balance.accept()
        if closed is not None:
            closed.write_forces()
        balance.weigh()
