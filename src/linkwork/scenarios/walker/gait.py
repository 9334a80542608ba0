"""Walking of the compass biped down a slope: swing, heel strike found inside the step, plastic impact, re-rooting.

Between strikes the walker is a double pendulum on its stance foot. At a strike the swing foot becomes the new root; the
impact is the plastic one of `lw.reroot(..., project=True)`. Stępień et al. 2012, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.api import forward_dynamics
from linkwork.dynamics.quantities.motion import body_poses, energy
from linkwork.dynamics.quantities.reroot import ImpactLoss, reroot
from linkwork.errors import StateError
from linkwork.model.library.compass_biped import HINGE, compass_biped
from linkwork.model.model import Model
from linkwork.model.state import State

STEPS_PER_SECOND = 400  # of the integrator, for legs of 1 m: the energy then keeps eleven digits over a stride
LONGEST = 5.0  # [s] for legs of 1 m; a swing that takes longer does not come down
FALLEN = math.radians(75.0)  # the stance leg has left the range of walking
SLOPE = 0.0524  # [rad] as in the paper
BEFORE_STRIKE = ((-0.3236, 0.5424), (-1.4939, -0.3117))  # table 1: angles [rad], rates [rad/s], as the foot comes down


@dataclass(frozen=True)
class Walker:
    """What walks, and on what.

    slope: of the ground, downwards along +x [rad]. The other numbers are those of `library.compass_biped`.
    """

    slope: float = SLOPE
    leg_length: float = 1.0
    hip_mass: float = 2.0
    leg_mass: float = 1.0
    mass_from_hip: float = 0.5
    model: Model = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.slope, int | float) and abs(self.slope) < 0.5 * math.pi):
            raise StateError(f"slope is {self.slope!r}; it must be an angle below a right angle [rad].")
        made = compass_biped(self.leg_length, self.hip_mass, self.leg_mass, self.mass_from_hip).compile()
        object.__setattr__(self, "model", made)

    @property
    def time_unit(self) -> float:
        """√(length/g) relative to a leg of 1 m [1]: how much slower longer legs swing."""
        return math.sqrt(self.leg_length)

    def step_size(self) -> float:
        return self.time_unit / STEPS_PER_SECOND

    def double_support(self, stance: float) -> float:
        """Hip angle at which both feet are on the ground, the stance leg at the angle `stance` [rad]."""
        return -2.0 * (stance + self.slope)


class Stance(NamedTuple):
    """The walker on one foot: a model rooted there, where the foot stands, and the state."""

    model: Model
    state: State
    foot: str  # frame of the stance foot
    place: FloatArray  # of it in the world [m], shape (3,)


class Sample(NamedTuple):
    """One instant of a step."""

    time: float  # [s] since the step began
    stance: float  # angle of the stance leg from the vertical [rad]
    swing: float  # of the swing leg
    stance_rate: float  # [rad/s]
    swing_rate: float
    kinetic: float  # [J]
    potential: float  # [J], zero at the stance foot of the first step


class Step(NamedTuple):
    """From just after one heel strike to just after the next."""

    start: Stance
    end: Stance
    before_strike: State
    duration: float  # [s]
    length: float  # [m] along the slope
    loss: ImpactLoss  # at the strike
    samples: list[Sample]
    energy_drift: float  # [J] largest change of the total energy during the swing

    @property
    def speed(self) -> float:
        return self.length / self.duration


OTHER = {"left_foot": "right_foot", "right_foot": "left_foot"}


def standing(walker: Walker, q: FloatArray, v: FloatArray) -> Stance:
    """On the left foot at the world's origin, with leg and hip angles q [rad] and their rates v [rad/s]."""
    return Stance(walker.model, walker.model.state(q, v), "left_foot", np.zeros(3))


def first_step(walker: Walker) -> Stance:
    """The state of table 1 for this walker's slope: it is given as the foot comes down, so the strike comes first."""
    (stance, _), rates = BEFORE_STRIKE
    q = np.array([stance + SLOPE - walker.slope, walker.double_support(stance + SLOPE - walker.slope)])
    before = standing(walker, q, np.array(rates) / walker.time_unit)
    after, _ = strike(before)
    return after


def foot_place(stance: Stance, foot: str) -> FloatArray:
    """Where a foot is in the world [m], shape (3,)."""
    frame = stance.model.frame(foot)
    T = body_poses(stance.model, stance.state)[frame.body]
    return T[:3, :3] @ frame.pose.xyz + T[:3, 3]


def clearance(walker: Walker, stance: Stance) -> float:
    """Height of the swing foot over the ground, across the slope [m]; below zero while the legs pass each other."""
    ahead, _, up = foot_place(stance, OTHER[stance.foot]) - stance.place
    return float(ahead * math.sin(walker.slope) + up * math.cos(walker.slope))


def reach(walker: Walker, stance: Stance) -> float:
    """How far the swing foot is ahead of the stance foot, along the slope [m]."""
    ahead, _, up = foot_place(stance, OTHER[stance.foot]) - stance.place
    return float(ahead * math.cos(walker.slope) - up * math.sin(walker.slope))


def strike(stance: Stance) -> tuple[Stance, ImpactLoss]:
    """The swing foot meets the ground, stays there, and the other is free: a plastic impact and a new root."""
    foot = OTHER[stance.foot]
    place = foot_place(stance, foot)
    caught = reroot(stance.model, stance.state, foot, place, HINGE, project=True)
    return Stance(caught.model, caught.state, foot, place), caught.loss


def runge_kutta(model: Model, state: State, h: float) -> State:
    """One classical step of order four of a mechanism of hinges, without efforts."""
    q, v = state
    a1 = forward_dynamics(model, state)
    v2 = v + 0.5 * h * a1
    a2 = forward_dynamics(model, State(q + 0.5 * h * v, v2))
    v3 = v + 0.5 * h * a2
    a3 = forward_dynamics(model, State(q + 0.5 * h * v2, v3))
    v4 = v + h * a3
    a4 = forward_dynamics(model, State(q + h * v3, v4))
    return State(q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4))


class Swing(NamedTuple):
    """A piece of a swing."""

    end: Stance
    took: float  # [s]
    clearance: float  # at the end [m]
    is_down: bool  # whether it ended because the swing foot came down


def swing(walker: Walker, now: Stance, h: float, height: float) -> Swing:
    """Moves on by h [s], or to the heel strike before that. height: the clearance now [m].

    The strike is where the clearance changes sign *inside* an integration step: the step's length is the unknown, found so
    that the step ends on the ground. A foot that dips while the legs pass each other is let through, as usual for legs
    without knees: only coming down from above, ahead of the stance foot, is a strike.
    """
    ahead = now._replace(state=runge_kutta(now.model, now.state, h))
    new_height = clearance(walker, ahead)
    if not (height > 0.0 >= new_height and reach(walker, ahead) > 0.0):
        return Swing(ahead, h, new_height, False)

    def height_after(part: float) -> float:
        return clearance(walker, now._replace(state=runge_kutta(now.model, now.state, part)))

    part = find_root(height_after, 0.0, h, height, new_height)
    return Swing(now._replace(state=runge_kutta(now.model, now.state, part)), part, 0.0, True)


def walk_one_step(walker: Walker, start: Stance, record: bool = False) -> Step:
    """Swings until the foot comes down ahead of the other, and strikes.

    record: keep samples of the motion and check the energy along it.
    """
    h, time, now = walker.step_size(), 0.0, start
    height, begin = clearance(walker, start), energy(start.model, start.state).total
    samples, drift = ([_sample(now, time)] if record else []), 0.0
    is_down = False
    while not is_down:
        now, took, height, is_down = swing(walker, now, h, height)
        time += took
        refuse_fall(walker, now, time)
        if record or is_down:
            drift = max(drift, abs(energy(now.model, now.state).total - begin))
        if record:
            samples.append(_sample(now, time))
    end, loss = strike(now)
    length = float(np.linalg.norm(end.place - start.place))
    return Step(start, end, now.state, time, length, loss, samples, drift)


def walk(walker: Walker, start: Stance, steps: int, record: bool = False) -> list[Step]:
    """Many steps, one after the other."""
    done: list[Step] = []
    for _ in range(steps):
        done.append(walk_one_step(walker, done[-1].end if done else start, record))
    return done


def _sample(stance: Stance, time: float) -> Sample:
    (leg, hip), (rate, hip_rate) = stance.state.q.tolist(), stance.state.v.tolist()
    now = energy(stance.model, stance.state)
    return Sample(time, leg, leg + hip, rate, rate + hip_rate, now.kinetic, now.potential)


def refuse_fall(walker: Walker, stance: Stance, time: float) -> None:
    """Raises StateError where the walker has fallen, or swings for too long. time: since the last strike [s]."""
    lean = abs(float(stance.state.q[0]) + walker.slope)
    if not (lean <= FALLEN and abs(stance.state.q[1]) <= math.pi):
        direction = "forward" if stance.state.q[0] < 0.0 else "back"
        raise StateError(
            f"the walker falls {direction} after {time:.2f} s of a step: its stance leg leans {math.degrees(lean):.0f}° "
            "from the slope's normal. Start nearer to its gait, or choose a slope on which it has one."
        )
    if time > LONGEST * walker.time_unit:
        raise StateError(f"the swing foot does not come down within {time:.1f} s; the walker has no step from here.")


MOST = 100  # bisection alone would need 60


def find_root(f: Callable[[float], float], a: float, b: float, fa: float, fb: float) -> float:
    """The argument in [a, b] at which f is zero, f(a) and f(b) of different sign, to the last digits.

    False position with the Illinois rule: it keeps the root bracketed and converges faster than linearly.
    """
    if fa == 0.0:
        return a
    if fb == 0.0:
        return b
    best, smallest = (a, abs(fa)) if abs(fa) < abs(fb) else (b, abs(fb))
    side = 0
    for _ in range(MOST):
        x = (fa * b - fb * a) / (fa - fb)
        if not min(a, b) < x < max(a, b):
            break  # the bracket is as small as doubles allow
        fx = f(x)
        if abs(fx) < smallest:
            best, smallest = x, abs(fx)
        if fx == 0.0:
            break
        if (fx > 0.0) == (fb > 0.0):
            b, fb = x, fx
            if side < 0:
                fa *= 0.5
            side = -1
        else:
            a, fa = x, fx
            if side > 0:
                fb *= 0.5
            side = 1
    return best
