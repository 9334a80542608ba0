"""Inverse kinematics: the public function, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag, integer, not_negative, numbers, positive, shown
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_state, check_orientations
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching.constrained import ConstrainedSearch, asks_more
from linkwork.reaching.search import AT_LIMIT, TURN_LENGTH, Search, Settings, found_search, misses, model_length
from linkwork.reaching.targets import Target, as_rows
from linkwork.spatial.pose import Pose

FEW = 30  # degrees of freedom up to which further descents, which leave dead ends, cost next to nothing

Targets = Mapping[str, Target | Pose | ArrayLike | Sequence[Target | Pose]]


@tabled
class Miss(NamedTuple):
    """How far one target is missed."""

    turn: float  # [rad]
    way: float  # [m]


@tabled
class Reached(NamedTuple):
    """Where a search for targets ended, and how near it came."""

    state: State  # the coordinates found, at rest
    reached: bool  # every target within the tolerance, loops closed
    error: float  # largest miss [rad or m]
    misses: dict[str, Miss]  # of every target by name; the largest where a body has several
    reason: str  # "reached", "nearest" (no small motion gets nearer), "stalled" or "iterations"
    iterations: int  # of the descent that found it
    sweeps: int  # eliminations over the joints, all descents together
    descents: int  # at most four per start, the given one and random ones
    at_limits: tuple[str, ...]  # joints that stand at a limit
    gradient: float  # largest derivative of the cost by a joint that is free to move; the cost is dimensionless
    clearance: float  # [m] least distance to what was to be avoided; infinite where nothing was
    gap: float  # largest gap of a loop [rad or m]

    def __str__(self) -> str:
        return (
            f"{'reached' if self.reached else 'not reached (' + self.reason + ')'}: error {self.error:.1e}, "
            f"{self.iterations} iterations, {len(self.at_limits)} joints at limits"
        )


def reach(
    model: Model,
    state: State,
    targets: Targets | None = None,
    *,
    center_of_mass: ArrayLike | None = None,
    prefer: State | ArrayLike | None = None,
    limits: bool = True,
    avoid: bool | Sequence[str] = False,
    margin: float = 0.0,
    tolerance: float = 1e-8,
    max_iterations: int = 200,
    restarts: int = 3,
    seed: int = 0,
) -> Reached:
    """Coordinates at which bodies are where targets ask, found from a state by Levenberg and Marquardt's method.

    targets: by name of a body or frame: a `lw.Pose`, the coordinates of a point [m], a `lw.Target`, or several of these.
    center_of_mass: where the centre of mass of the linkage shall be [m], shape (3,).
    prefer: coordinates (nq,) or a state to be as near to as the targets allow.
    limits: keep joints within their limits. Joints that start beyond them are moved to them first.
    avoid: True, or names of obstacles, that bodies with shapes shall keep `margin` [m] away from.
    tolerance: largest miss that counts as reached [rad and m].
    max_iterations: of one descent.
    restarts: further random starts, within limits, where the given one does not lead there. From each start, arms of up
    to 30 degrees of freedom make up to four descents: one from the start and, where it ends in a dead end, one from each of
    three places that follow from it (joints mirrored in their ranges, moved on by half of them, those at limits mirrored).
    With restarts=0 no random number is drawn.
    seed: of the random starts.
    Joints that move no target stay where they are. Loops start closed and stay closed. A target out of reach is not an
    error: the result says how near the search came and why it ended. Velocities of the result are zero.
    Cost: O(n) per iteration for n joints between the world and the targets; some 8 iterations, whatever n; O(p n) with
    p couplings of joints that move a target, which are kept. Centre of mass, loops and obstacles: O(p n), and a loop of
    Python per iteration.
    Theory: docs/theory/reaching.md.
    """
    q, _ = as_state(model, state)
    settings = Settings(
        flag(limits, "limits"), positive(tolerance, "tolerance"), integer(max_iterations, 1, "max_iterations"),
        integer(restarts, 0, "restarts"), integer(seed, 0, "seed"),
    )  # fmt: skip
    not_negative(margin, "margin", finite=True)
    rows = as_rows(model, {} if targets is None else targets, TURN_LENGTH * model_length(model))
    if not rows and center_of_mass is None:
        raise StateError('there is nothing to reach: give targets such as {"gripper": lw.Pose(...)}.')
    posture = None if prefer is None else as_posture(model, prefer)
    if asks_more(model, center_of_mass, avoid):
        search: Any = ConstrainedSearch(model, rows, settings, center_of_mass, avoid, margin)
    else:
        search = found_search(model, rows, settings)
    return _result(model, search, search.run(q, posture, search.freedoms.size <= FEW), settings)


def as_posture(model: Model, prefer: State | ArrayLike) -> FloatArray:
    """Coordinates of a state or of an array, shape (nq,), finite, orientations unit."""
    value = prefer.q if isinstance(prefer, State) else prefer
    posture = numbers(value, (model.nq,), "prefer", f"model '{model.name}'")
    if not np.isfinite(posture).all():
        raise StateError(f"prefer is {shown(posture.tolist())}; give finite numbers.")
    check_orientations(model, posture)
    return posture


def _result(model: Model, search: Search, ended: Any, settings: Settings) -> Reached:
    found = misses(search)
    largest: dict[str, Miss] = {}
    for name, turn, way in found:
        before = largest.get(name, Miss(0.0, 0.0))
        largest[name] = Miss(max(turn, before.turn), max(way, before.way))
    error = max((max(miss) for miss in largest.values()), default=0.0)
    return Reached(
        state=State(ended.q.copy(), np.zeros(model.nv)),
        reached=ended.reason == "reached",
        error=float(error),
        misses=largest,
        reason=ended.reason,
        iterations=ended.iterations,
        sweeps=ended.sweeps,
        descents=ended.descents,
        at_limits=_at_limits(search, ended.q) if settings.limits else (),
        gradient=ended.gradient,
        clearance=ended.clearance,
        gap=ended.gap,
    )


def _at_limits(search: Search, q: FloatArray) -> tuple[str, ...]:
    rows, coordinates = search.limited
    value = q[coordinates]
    at = (value - search.arrays.lower[rows] <= AT_LIMIT) | (search.arrays.upper[rows] - value <= AT_LIMIT)
    model = search.model
    return tuple(dict.fromkeys(model.joint_names[model.joint_of(j)] for j in rows[at].tolist()))
