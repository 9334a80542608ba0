"""Assembling loops from rough starts: damped Gauss-Newton on the gaps, in the metric of the joint coordinates.

The metric of masses, which closes small gaps, moves the light end of a long chain alone. Here every joint takes its part:
the step δq = −W⁻¹Jᵀ(J W⁻¹Jᵀ + μ)⁻¹ g is the shortest one in the coordinates (rad; metres over the size of the linkage). A
stretched-out chain cannot be shortened by any small motion; there, and where a step leads nowhere, the joints are bent a
little at random (always by the same numbers) and the search goes on. Attempts begin at the start itself, then bend it more
and more; every second one first swings the chain as a whole, by the joints where the loop begins, and only then bends the
rest. A chain that must be stretched, but is crooked, starts from the neutral state in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics import kinematics
from linkwork.loops.system import LoopPlan, LoopSystem
from linkwork.model import layout
from linkwork.model.model import Model, coordinate_metric

LARGEST_TURN = 1.0  # [rad] of any body in one step: beyond it the linear picture says little
STEPS = 100  # of one attempt; from a straight chain of any length ten to thirty do
SHORTEST_SCALE = 2.0**-8  # of a step that is halved because the gap did not shrink
DAMPING = tuple(10.0**k for k in range(-8, 3))  # parts of the largest eigenvalue of J W⁻¹Jᵀ, tried from the least on
SINGULAR = 1e-12  # part of it that is rounding: no motion behind such an eigenvalue
ENOUGH = 1e-4  # part of the expected decrease of the gap that a step must bring
REACHABLE = 1e-7  # part of the gap that small motions must be able to change
KICKS = tuple(0.1 * 1.2**k for k in range(24))  # [rad] turn of bodies by random bends, attempt by attempt: up to 2π
SWINGING = 6  # degrees of freedom at the beginning of a loop that swing it as a whole
STIFF = 1e6  # weight of all others meanwhile
STALL_STEPS, STALL = 12, 0.97  # an attempt ends when that many steps leave more than this part of the gap
SMALL = 200  # degrees of freedom up to which attempts cost next to nothing; longer chains get a third of them
SEED = 20_100_501


class Assembly(NamedTuple):
    """The best coordinates found, and what they leave open."""

    q: FloatArray  # (nq,)
    system: LoopSystem
    gap: float  # norm over all loops [rad and m]
    attempts: int


def assemble_loops(plan: LoopPlan, q: FloatArray, tolerance: float, max_steps: int = STEPS) -> Assembly:
    """Coordinates near q at which all gaps are within the tolerance, or the best that all attempts found.

    Cost: O(p n) per step for p constraints.
    """
    model = plan.model
    rng = np.random.default_rng(SEED)
    weight = _weights(model)
    size = max(model.depth, 1)
    best: Assembly | None = None
    straight = model.neutral().q
    kicks = KICKS if model.nv <= SMALL else KICKS[::3]
    starts = [(q, 0.0), (q, 0.0), *((q, kick) for kick in kicks[:4]), (straight, 0.0), (straight, 0.0)]
    starts += [(q, kick) for kick in kicks[4:]]
    for attempt, (where, kick) in enumerate(starts):
        start = where if kick == 0.0 else _bent(model, where, kick, weight, size, rng)
        if attempt % 2 == 1:
            start = _descend(plan, start, _swing_weights(plan, start, weight), (tolerance, max_steps), rng, SWINGING).q
        found = _descend(plan, start, weight, (tolerance, max_steps), rng, size)
        if best is None or found.gap < best.gap:
            best = found
        best = best._replace(attempts=attempt + 1)
        if best.gap <= tolerance:
            break
    assert best is not None
    return best


def _descend(
    plan: LoopPlan,
    q: FloatArray,
    weight: FloatArray,
    until: tuple[float, int],
    rng: np.random.Generator,
    size: int,
) -> Assembly:
    """One attempt from q, until the gap is within a tolerance or a number of steps is done; size: joints that bend."""
    model, still = plan.model, np.zeros(plan.model.nv)
    tolerance, max_steps = until
    system = LoopSystem(plan, q, still)
    bends = 0
    history: list[float] = []
    for _ in range(max_steps):
        gap = float(np.linalg.norm(system.gap))
        history.append(gap)
        if len(history) > STALL_STEPS and gap > STALL * history[-1 - STALL_STEPS]:
            break
        if np.abs(system.gap).max(initial=0.0) <= tolerance:
            break
        x, expected = _damped_step(plan, system, q, weight)
        trial = _shorter_gap(plan, q, x, gap, expected) if expected > REACHABLE * gap else None
        if trial is None:
            if bends == 3:
                break
            bends += 1  # no small motion helps from here: bend, and look again
            q = _bent(model, q, KICKS[0] * 3.0**bends, weight, size, rng)
            system = LoopSystem(plan, q, still)
            history.clear()
            continue
        q, system = trial
    return Assembly(q, system, float(np.linalg.norm(system.gap)), 1)


def _damped_step(plan: LoopPlan, system: LoopSystem, q: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """The step −W⁻¹Jᵀ(J W⁻¹Jᵀ + μ)⁻¹ g with the least damping μ that turns no body too far, and what it would close."""
    J = _rows(plan, system, q)
    N = (J / weight) @ J.T
    values, vectors = np.linalg.eigh(N)
    largest = max(float(values[-1]), 1e-300)
    along = vectors.T @ system.gap
    gap = float(np.linalg.norm(along))
    for damping in (0.0, *DAMPING):
        damped = values + damping * largest
        share = np.where(damped > SINGULAR * largest, 1.0 / np.maximum(damped, 1e-300), 0.0)
        x = -(J.T @ (vectors @ (share * along))) / weight
        if _largest_turn(plan.model, q, x) <= LARGEST_TURN:
            break
    return x, gap - float(np.linalg.norm((1.0 - values * share) * along))


def _largest_turn(model: Model, q: FloatArray, x: FloatArray) -> float:
    """Rotation of the body that turns most in the step x [rad]."""
    tree, body, screws, *_ = model.arrays
    return float(np.linalg.norm(kinematics.local_twists(tree, body, screws, q, x)[:, :3], axis=1).max(initial=0.0))


def _shorter_gap(
    plan: LoopPlan, q: FloatArray, x: FloatArray, gap: float, expected: float
) -> tuple[FloatArray, LoopSystem] | None:
    """The first of ever shorter steps along x that closes enough; None where none does."""
    model, still = plan.model, np.zeros(plan.model.nv)
    scale = longest = min(1.0, LARGEST_TURN / max(_largest_turn(model, q, x), 1e-300))
    while scale > SHORTEST_SCALE * longest:
        tried = model.integrate(q, x, scale)
        system = LoopSystem(plan, tried, still)
        if np.linalg.norm(system.gap) <= gap - ENOUGH * scale * expected:
            return tried, system
        scale *= 0.5
    return None


def _rows(plan: LoopPlan, system: LoopSystem, q: FloatArray) -> FloatArray:
    """J: how joint velocities open the loops, shape (p, nv)."""
    model = plan.model
    tree, body, screws, *_ = model.arrays
    J = np.zeros((plan.count, model.nv))
    for k, index in enumerate(plan.bodies.tolist()):
        if index >= 0:
            twist = kinematics.local_jacobian(tree, body, screws, q, np.zeros(model.nv), index)
            J += system.C[:, 6 * k : 6 * k + 6] @ twist
    return J


def _weights(model: Model) -> FloatArray:
    """1 for angles, 1/size² for lengths, shape (nv,)."""
    arms = np.linalg.norm(model.arrays.body[:, layout.POSITION : layout.POSITION + 3], axis=1)
    return coordinate_metric(model, float(arms.sum()) if arms.any() else 1.0)


def _swing_weights(plan: LoopPlan, q: FloatArray, weight: FloatArray) -> FloatArray:
    """Weights that leave all joints where they are but those at the beginning of the loops, shape (nv,)."""
    J = _rows(plan, LoopSystem(plan, q, np.zeros(plan.model.nv)), q)
    stiff = STIFF * weight
    for rows in plan.rows:
        moving = np.flatnonzero(np.abs(J[rows]).max(axis=0) > 0.0)[:SWINGING]
        stiff[moving] = weight[moving]
    return stiff


def _bent(
    model: Model, q: FloatArray, turn: float, weight: FloatArray, size: int, rng: np.random.Generator
) -> FloatArray:
    """q with every joint moved at random, so that bodies at the far end turn by about `turn` [rad]."""
    x = rng.normal(size=model.nv) * (turn / np.sqrt(size)) / np.sqrt(weight)
    return model.integrate(q, x)
