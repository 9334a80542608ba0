"""Newton's method on the potential energy of an open tree, safe from any start.

Each step solves (stiffness) x = r by one elimination. Far from equilibrium the stiffness of loads is the sum of |B| over
bodies, which is never negative, so that x goes downhill; near it the exact second derivative; between them a mixture. A step
that turns no body too far and brings the decrease of energy it should (Armijo) is taken, else it is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.statics.balance import Balance, Pivots

FloatArray = NDArray[np.float64]

LARGEST_TURN = 1.5  # [rad] of any body in one step
NEAR = 0.5  # [rad] the exact second derivative is tried after a full step that turned no body further
ARMIJO = 1e-4  # part of the expected decrease of energy that a step must bring
SHORTEN = 0.4
SHORTEST = 1e-10  # of a step: below it no decrease can be found
BLENDS = (0.0, 0.25, 0.5, 1.0)  # from the exact second derivative to |B|
RUNAWAY = 1e3  # lengths of the linkage in one step ...
LINEAR = 0.9  # ... and this part of the slope gained: nothing holds it, the energy falls without end
KICK = 0.05  # [rad] turn of the body that turns most, when a saddle is left
LONGEST_KICKS = 8  # doublings of it while the energy falls
MOST_SADDLES = 20


@dataclass
class Progress:
    """What a search has done so far."""

    sweeps: int = 0
    saddles_left: int = 0
    history: list[float] = field(default_factory=list)  # largest unbalanced effort before every step, as part of the scale


@dataclass
class Outcome:
    """Where a search ended."""

    turn: float  # [rad] largest rotation of a body in the Newton step from here: the estimated distance
    way: float  # [m] largest displacement in it
    stable: bool
    progress: Progress


def residual(balance: Balance) -> float:
    """Largest unbalanced effort, as a part of what loads and springs amount to."""
    return float(np.abs(balance.r).max(initial=0.0)) / effort_scale(balance)


def effort_scale(balance: Balance) -> float:
    """What unbalanced efforts are measured by [N·m or N]: the largest moment (or force, for slides) loads could amount to."""
    scales = balance.scales
    scale = max(scales.moment, scales.force if scales.length == 0.0 else scales.moment)
    return scale if scale > 0.0 else max(float(np.abs(balance.r).max(initial=0.0)), 1e-300)


def settle_tree(balance: Balance, tolerance: float, max_sweeps: int, leave_saddles: bool) -> Outcome:
    """Moves `balance` to an equilibrium; raises StateError where none is found."""
    done = Progress()
    scale = effort_scale(balance)
    blend = 1.0
    while True:
        done.history.append(float(np.abs(balance.r).max(initial=0.0)) / scale)
        if done.history[-1] <= tolerance:
            pivots = balance.eliminate(0.0)
            turn, way = balance.solve(balance.r, balance.x)
            if pivots.negative == 0 or not leave_saddles or done.saddles_left >= MOST_SADDLES:
                done.sweeps = balance.sweeps
                return Outcome(turn, way, pivots.negative == 0 and pivots.singular < 0, done)
            if not _leave_saddle(balance, pivots):
                done.sweeps = balance.sweeps
                return Outcome(turn, way, False, done)
            done.saddles_left += 1
            blend = 1.0
            continue
        if balance.sweeps >= max_sweeps:
            raise not_settled(balance, done, max_sweeps, tolerance)
        blend = _eliminate_positive(balance, blend)
        blend = _step(balance, blend, done)


def _eliminate_positive(balance: Balance, blend: float) -> float:
    """Factors the first of the blends from `blend` on that has no negative pivot; returns it."""
    extra = 0.0
    while True:
        pivots = balance.eliminate(blend, extra)
        if pivots.singular < 0 and pivots.negative == 0:
            return blend
        if blend < 1.0:
            blend = next(b for b in BLENDS if b > blend)
        else:
            extra = max(10.0 * extra, 1e-6 * balance.scales.rate2)
            if extra > 1e12 * balance.scales.rate2:
                model = balance.model
                joint = model.joint_names[max(pivots.singular, 0)]
                raise StateError(
                    f"joint '{joint}' of model '{model.name}' resists with neither stiffness nor inertia; "
                    f"give body '{model.body_names[max(pivots.singular, 0)]}' mass and moments, or the joint a spring."
                )


def _step(balance: Balance, blend: float, done: Progress) -> float:
    """Takes a step along the solution for r; returns the blend to try next."""
    r, x = balance.r, balance.x
    turn, way = balance.solve(r, x)
    slope = float(r @ x)
    if way > RUNAWAY * max(balance.scales.length, 1e-300):
        balance.look(x, 1.0)
        if balance.change(x, 1.0)[0] < -LINEAR * slope:
            raise runs_away(balance.model, x)
    scale = min(1.0, LARGEST_TURN / max(turn, 1e-300))
    while True:
        balance.look(x, scale)
        change, noise = balance.change(x, scale)
        if change <= -ARMIJO * scale * slope or scale * slope <= noise:
            break
        scale *= SHORTEN
        if scale < SHORTEST:
            raise not_settled(balance, done, balance.sweeps, 0.0)
    balance.accept()
    balance.weigh()
    return next_blend(blend, scale, turn)


def next_blend(blend: float, scale: float, turn: float) -> float:
    """The exact second derivative after a full short step, half of it after a full one, |B| after a shortened one."""
    if scale < 1.0:
        return 1.0
    if turn < NEAR:
        return 0.0
    return min(blend, 0.5)


def _leave_saddle(balance: Balance, pivots: Pivots) -> bool:
    """Goes downhill along a direction of negative curvature; False where the energy does not fall."""
    x = balance.x
    turn = balance.negative_direction(pivots.deepest, x)
    x *= KICK / turn if turn > 0.0 else 1.0
    best, scale = 0.0, 1.0
    for sign in (1.0, -1.0):
        scale, fell = sign, 0.0
        for _ in range(LONGEST_KICKS):
            balance.look(x, scale)
            change, noise = balance.change(x, scale)
            if not change < min(fell, -noise):
                break
            best, fell = scale, change
            scale *= 2.0
        if fell < 0.0:
            break
    if best == 0.0:
        return False
    balance.look(x, best)
    balance.accept()
    balance.weigh()
    return True


# ------------------------------------------------------------------------------------------------------------------ messages


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
        f"model '{model.name}' has no equilibrium under these loads: joint '{model.joint_names[worst]}' slides on and on, and "
        "nothing holds it. Weld it, give it a spring or hold a body by loads.attach(...), close a loop, or set gravity to zero."
    )


def not_settled(balance: Balance, done: Progress, sweeps: int, tolerance: float) -> StateError:
    reached = done.history[-1] if done.history else float("nan")
    if tolerance == 0.0:
        why = f"no step lowers the energy after {sweeps} sweeps"
    else:
        why = f"not settled after {sweeps} sweeps"
    return StateError(
        f"{why}: unbalanced efforts are {reached:.2e} of the loads. Allow more max_sweeps or ask for less (tolerance). Under "
        "loads that have no potential (wrenches that turn with their body, torques about several axes, efforts on ball joints) "
        "a linkage may have no equilibrium: run its dynamics."
    )
