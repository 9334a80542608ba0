"""Newton's method on the potential energy of an open tree, safe from any start.

Each step solves (stiffness) x = r by one elimination. Far from equilibrium the stiffness of loads is the sum of |B| over
bodies, which is never negative, so that x goes downhill; near it the exact second derivative; between them a mixture. A
step that turns no body too far and brings the decrease of energy it should (Armijo) is taken, else it is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.statics.balance import Balance, Pivots

LARGEST_TURN = 1.5  # [rad] of any body in one step
NEAR = 0.5  # [rad] the exact second derivative is tried after a full step that turned no body further
ARMIJO = 1e-4  # part of the expected decrease of energy that a step must bring
SHORTEN = 0.4
SHORTEST = 1e-10  # of a step: below it no decrease can be found
BLENDS = (0.0, 0.25, 0.5, 1.0)  # from the exact second derivative to |B|
POOR = 0.2  # of a step: where one must be shortened more and joints slide, damped steps are tried
FIRST_DAMPING, LAST_DAMPING = 1e-2, 1e-8  # as parts of loads over inertia of the whole
MOST_MIXED, SOFT_DAMPING = 3, 1e-7  # so many short mixed steps, and the part of loads over inertia that damps then
DAMPED_TRIALS, MORE, LESS, GOOD = 8, 6.0, 0.15, 0.3
RUNAWAY = 1e3  # lengths of the linkage in one step ...
LINEAR = 0.9  # ... and this part of the slope gained: nothing holds it, the energy falls without end
KICK = 0.05  # [rad] turn of the body that turns most, when a saddle is left
LONGEST_KICKS = 8  # doublings of it while the energy falls
SHORTEST_KICKS = 12  # halvings of it until the energy falls
FINER = (1.5, 0.75)  # times the best of these
MOST_SADDLES = 20


@dataclass
class Progress:
    """What a search has done so far."""

    sweeps: int = 0
    saddles_left: int = 0
    history: list[float] = field(
        default_factory=list
    )  # largest unbalanced effort before every step, as part of the scale


@dataclass
class Method:
    """How the next step is found."""

    blend: float = 1.0  # stiffness of loads between exact (0) and |B| (1)
    damping: float = 0.0  # [1/s²] inertia added to the exact second derivative; 0: none, by blends
    mixed: int = 0  # full short steps in a row for which the exact second derivative was not positive
    worked: float = 1.0  # the blend of the last step ...
    is_raised: bool = False  # ... for which a smaller one was tried in vain: the next step does not try again


@dataclass
class Outcome:
    """Where a search ended."""

    turn: float  # [rad] largest rotation of a body in the Newton step from here: the estimated distance
    way: float  # [m] largest displacement in it
    unstable: int  # directions in which the energy falls
    stable: bool
    progress: Progress


def settle_tree(balance: Balance, tolerance: float, max_sweeps: int, leave_saddles: bool) -> Outcome:
    """Moves `balance` to an equilibrium; raises StateError where none is found."""
    done = Progress()
    scale = max(balance.scales.effort, 1e-300)
    method = Method()
    while True:
        done.history.append(float(np.abs(balance.r).max(initial=0.0)) / scale)
        if done.history[-1] <= tolerance:
            pivots = balance.eliminate(0.0)
            turn, way = balance.solve(balance.r, balance.x)
            if pivots.negative == 0 or not leave_saddles or done.saddles_left >= MOST_SADDLES:
                done.sweeps = balance.sweeps
                return Outcome(turn, way, pivots.negative, pivots.negative == 0 and pivots.singular < 0, done)
            if not _leave_saddle(balance, pivots):
                done.sweeps = balance.sweeps
                return Outcome(turn, way, pivots.negative, False, done)
            done.saddles_left += 1
            method = Method()
            continue
        if balance.sweeps >= max_sweeps:
            raise not_settled(done, max_sweeps, tolerance)
        if method.damping > 0.0 and _damped_step(balance, method):
            continue
        blend = _eliminate_positive(balance, method.blend, method.worked)
        method.is_raised, method.worked = blend > method.blend, blend
        _step(balance, blend, method, done)


def _eliminate_positive(balance: Balance, blend: float, worked: float) -> float:
    """Factors the first of `blend`, that of the step before, and larger ones that has no negative pivot; returns it."""
    extra = 0.0
    while True:
        pivots = balance.eliminate(blend, extra)
        if pivots.singular < 0 and pivots.negative == 0:
            return blend
        if blend < 1.0:
            blend = worked if worked > blend else next(b for b in BLENDS if b > blend)
        else:
            extra = stiffer(balance, extra, pivots)


def stiffer(balance: Balance, extra: float, pivots: Pivots) -> float:
    """More inertia [1/s²] against pivots that are zero or negative; raises StateError where inertia does not help."""
    rate2 = balance.scales.rate2
    more = max(10.0 * extra, 1e-6 * rate2)
    if not 0.0 < more < 1e12 * rate2:
        model, i = balance.model, max(pivots.singular, 0)
        raise StateError(
            f"joint '{model.joint_names[i]}' of model '{model.name}' resists with neither stiffness nor inertia; give body "
            f"'{model.body_names[i]}' mass and moments, or the joint a spring."
        )
    return more


def _step(balance: Balance, blend: float, method: Method, done: Progress) -> None:
    """Takes a step along the solution for r, and chooses the next."""
    x = balance.x
    turn, way = balance.descend()
    slope = float(balance.r @ x)
    if way > RUNAWAY * max(balance.scales.length, 1e-300):
        balance.place_trial(x, 1.0)
        if balance.change(x, 1.0)[0] < -LINEAR * slope:
            raise runs_away(balance.model, x)
    scale = min(1.0, LARGEST_TURN / max(turn, 1e-300))
    while True:
        balance.place_trial(x, scale)
        change, noise = balance.change(x, scale)
        if change <= -ARMIJO * abs(balance.gain(x, scale)) or scale * slope <= noise:
            break
        scale *= SHORTEN
        if scale < SHORTEST:
            raise not_settled(done, balance.sweeps, 0.0)
    balance.accept()
    balance.weigh()
    method.blend = max(next_blend(blend, scale, turn), blend if method.is_raised else 0.0)
    if scale < POOR and balance.slides:
        method.damping = FIRST_DAMPING * balance.scales.rate2
    # Near a soft direction that falls, |B| makes steps far too short: the exact one with little inertia takes over.
    method.mixed = method.mixed + 1 if scale == 1.0 and turn < NEAR and blend > 0.0 else 0
    if method.mixed >= MOST_MIXED:
        method.mixed, method.damping = 0, SOFT_DAMPING * balance.scales.rate2


def _damped_step(balance: Balance, method: Method) -> bool:
    """A step with the exact second derivative and as much inertia as makes it positive and short enough; False where that
    takes too much. Where |B| is a poor picture (slides, screws), this gets on."""
    x = balance.x
    for _ in range(DAMPED_TRIALS):
        pivots = balance.eliminate(0.0, method.damping)
        if pivots.singular < 0 and pivots.negative == 0:
            turn, _ = balance.descend()
            slope = balance.gain(x, 1.0)
            if turn <= LARGEST_TURN:
                balance.place_trial(x, 1.0)
                change, noise = balance.change(x, 1.0)
                if change <= -ARMIJO * abs(slope) or 0.0 <= slope <= noise:
                    balance.accept()
                    balance.weigh()
                    method.damping *= LESS if change <= -GOOD * slope else 1.0
                    if method.damping < LAST_DAMPING * balance.scales.rate2:
                        method.damping, method.blend = 0.0, 0.0
                    return True
        method.damping *= MORE
    method.damping = 0.0
    return False


def next_blend(blend: float, scale: float, turn: float) -> float:
    """The exact second derivative after a full short step, half of it after a full one, |B| after a shortened one."""
    if scale < 1.0:
        return 1.0
    if turn < NEAR:
        return 0.0
    return min(blend, 0.5)


def _leave_saddle(balance: Balance, pivots: Pivots) -> bool:
    """Goes to the lowest place along a direction of negative curvature; False where the energy does not fall."""
    x = balance.x
    turn = lowest_direction(balance, pivots, x)
    x *= KICK / turn if turn > 0.0 else 1.0
    best, fell = 0.0, 0.0

    def lower(scale: float) -> bool:
        nonlocal best, fell
        balance.place_trial(x, scale)
        change, noise = balance.change(x, scale)
        if not change < min(fell, -noise):
            return False
        best, fell = scale, change
        return True

    for sign in (1.0, -1.0):
        scale = sign
        for _ in range(SHORTEST_KICKS):  # a saddle that is hardly one ends soon
            if lower(scale):
                break
            scale *= 0.5
        if best != 0.0:
            break
    if best == 0.0:
        return False
    for _ in range(LONGEST_KICKS):
        if not lower(2.0 * best):
            break
    for part in FINER:
        lower(part * best)
    balance.place_trial(x, best)
    balance.accept()
    balance.weigh()
    return True


# ------------------------------------------------------------------------------------------------------------- messages


def runs_away(model: Model, x: FloatArray) -> StateError:
    """Nothing holds the joint that slides furthest."""
    slides = np.zeros(model.nv)
    for i, joint in enumerate(model.joints):
        first = int(model.arrays.tree[i, layout.V])
        if model.arrays.tree[i, layout.KIND] == layout.FREE:
            slides[first + 3 : first + 6] = 1.0
        for d, screw in enumerate(joint.screws):
            slides[first + d] = float(np.linalg.norm(screw.slide))
    worst = model.joint_of(int(np.argmax(np.abs(x) * slides)))
    return StateError(
        f"model '{model.name}' has no equilibrium under these loads: joint '{model.joint_names[worst]}' slides on and on, "
        "and nothing holds it. Weld it, give it a spring, hold a body by loads.apply_spring(...), close a loop, or set "
        "gravity to zero."
    )


def not_settled(done: Progress, sweeps: int, tolerance: float, gap: float = 0.0) -> StateError:
    """gap: by which loops are open where they do not count as closed [rad or m]."""
    reached = done.history[-1] if done.history else float("nan")
    if tolerance == 0.0:
        why = f"no step lowers the energy after {sweeps} sweeps"
    else:
        why = f"not settled after {sweeps} sweeps"
    if gap > 0.0 and reached <= tolerance:
        return StateError(
            f"{why}: efforts are balanced to {reached:.1e} of the loads, but loops stay open by {gap:.1e} (rad or m). "
            "Begin from a state that lw.close_loops has closed, or one nearer to rest."
        )
    return StateError(
        f"{why}: unbalanced efforts are {reached:.2e} of the loads. Allow more max_sweeps or ask for less (tolerance). "
        "Under loads that have no potential (wrenches that turn with their body, torques about several axes, efforts on "
        "ball joints) a linkage may have no equilibrium: run its dynamics."
    )


# ------------------------------------------------------------------------------------------------ the lowest eigenvalue

# The direction in which an unstable equilibrium falls: the lowest mode of (∂²U, M), by inverse iteration.
#
# A negative pivot at joint j gives a direction x with xᵀ∂²U x = D_j < 0 at once, but one that bends sharply at joint
# j. Its Rayleigh quotient bounds the lowest eigenvalue from above; ∂²U + s M has no negative pivot where s is larger
# than the lowest is deep (Sylvester), and iterating with its inverse leads to the lowest mode, smooth and of steepest
# fall.


DEEPER = 4.0  # times the Rayleigh quotient: first shift, and what the next is larger by
TRIALS, ITERATIONS = 20, 8


def lowest_direction(balance: Balance, pivots: Pivots, x: FloatArray) -> float:
    """x (nv,) of negative curvature at `place`, whose elimination must be the last; returns the largest rotation in it."""
    turn = balance.negative_direction(pivots.deepest, x)
    start = x.copy()
    moved = np.zeros_like(x)
    balance.mass_times(x, moved)
    inertia = float(x @ moved)
    depth = -balance.curvature(x) / inertia if inertia > 0.0 else 0.0
    if not depth > 0.0:
        return turn
    shift = DEEPER * depth
    for _ in range(TRIALS):
        tried = balance.eliminate(0.0, shift)
        if tried.negative == 0 and tried.singular < 0:
            break
        shift *= DEEPER
    else:
        x[:] = start
        return turn
    for _ in range(ITERATIONS):
        balance.mass_times(x, moved)
        turn, _ = balance.solve(moved, x)
        x /= max(turn, 1e-300)
    return 1.0
