"""One linkage on its way to equilibrium: arrays, and the sweeps over them by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.dynamics.remembered import remembered
from linkwork.model.layout import ARMATURE, AXIS, FREE, HELICAL, INERTIA, KIND, PARENT, SCREW_AXIS, STIFFNESS
from linkwork.model.model import Model
from linkwork.simulation.contact_choice import has_limits
from linkwork.simulation.loading.load_columns import LOAD_STIFFNESS
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import norm3
from linkwork.statics.elimination.energy import energy_change, potential_energy
from linkwork.statics.elimination.forces import move_coordinates, place_bodies, step_extent, unbalanced_efforts
from linkwork.statics.elimination.products import mass_times
from linkwork.statics.elimination.solve import Pushes, follow_negative_pivot, make_sides, solve_sides
from linkwork.statics.elimination.sweeps import eliminate_leaf_to_root
from linkwork.statics.elimination.workspace import P_, U_, Acting, make_place, make_work
from linkwork.statics.limits import Stops

NO_DIAGONAL = np.zeros(0)
NO_PUSHES, NO_RESPONSES = Pushes(np.zeros((0, 6)), np.zeros(0, dtype=np.int64), 0), np.zeros((0, 0))

# Motions that nothing resists (a link that spins about its own axis, a body afloat) must not run away on rounding. Each is
# resisted with this part of what loads could resist with. Newton's error shrinks by about this factor per step, so it stays
# far below what is asked for, and rounding (1e-16) over it stays a small motion.
SOFTEN = 1e-9
LEAST = 1e-10
SHORT_WAY = (
    1e-5  # [rad or m] over which a change of efforts is taken for a derivative: rounding 1e-11, and as much curved
)
SLIGHT = 1e-3  # [rad or m] a spring's effort at this deflection counts as a load, where there are no others


class Pivots(NamedTuple):
    """Signs met in an elimination."""

    negative: int
    deepest: int  # body whose joint has the most negative pivot, or -1
    singular: int  # body whose joint has a zero pivot, or -1


class Scales(NamedTuple):
    """Sizes of the problem, which tolerances and steps are measured by."""

    effort: float  # [N·m, or N]  what loads could amount to at most about any joint, along the paths from it to them
    length: float  # [m]  longest path from the world to a body
    rate2: float  # [1/s²]  loads and springs over inertia, of the whole


@kernel
def sizes(arrays, pose, path):
    """Longest path [m], total mass [kg], and Σ (m path² + moments of inertia) [kg·m²]; path (n,) is scratch."""
    tree, body = arrays.tree, arrays.body
    longest, mass, inertia = 0.0, 0.0, 0.0
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        p = load3(pose, i, P_)
        path[i] = norm3(p) + path[parent] if parent >= 0 else 0.0
        m = body[i, INERTIA]
        h = load3(body, i, INERTIA + 1)
        arm = path[i]
        if m > 0.0:
            arm += norm3(h) / m
        longest = max(longest, arm)
        mass += m
        inertia += m * path[i] * path[i] + body[i, INERTIA + 4] + body[i, INERTIA + 7] + body[i, INERTIA + 9]
    for j in range(arrays.dof.shape[0]):
        inertia += arrays.dof[j, ARMATURE]
    return longest, mass, inertia


class Balance:
    """The state of a search: `place` is where it is, `trial` where it looks.

    limits: whether joint limits act. Then `r` leaves out what they take.
    """

    def __init__(self, model: Model, acting: Acting, q: FloatArray, limits: bool = False):
        self.model = model
        self.arrays = model.arrays
        self.acting = acting
        self.place, self.trial = make_place(model), make_place(model)
        self.work = make_work(model)
        self.sides = make_sides(model.n_bodies, model.nv)
        self.r = np.zeros(model.nv)  # unbalanced efforts at `place`
        self.x = np.zeros(model.nv)  # the last step that was solved for
        self.stops = Stops(model) if limits and has_limits(model) else None
        if self.stops is not None:
            q = self.stops.within(q)
        self._moved = np.array(q)
        self._eliminated = 0.0, 0.0
        self.sweeps = 0
        place_bodies(self.arrays, q, self.work.still, self.place)
        self.scales = self._scales()

    def _scales(self) -> Scales:
        force, moment = self.weigh()
        length, mass, inertia = sizes(self.arrays, self.place.pose, np.zeros(self.model.n_bodies))
        length = max(length, float(np.sqrt(inertia / mass)) if mass > 0.0 else 0.0)
        stiffness = float(self.arrays.dof[:, STIFFNESS].max(initial=0.0))
        springs = float(self.acting.rows[:, LOAD_STIFFNESS].max(initial=0.0)) * length * length
        rate2 = (moment + force * length + stiffness + springs) / inertia if inertia > 0.0 else 0.0
        efforts = float(np.abs(self.acting.effort).max(initial=0.0)), float(np.abs(self.r).max(initial=0.0))
        self.slides = remembered(self.model, "slides", lambda _: self._slides())
        effort = max(moment, *efforts, SLIGHT * stiffness, force if self.slides else 0.0)
        return Scales(effort, length, rate2)

    def _slides(self) -> bool:
        """Whether any joint's efforts are forces."""
        tree = self.arrays.tree
        if (tree[:, KIND] == FREE).any():
            return True
        turns = self.arrays.body[:, AXIS : AXIS + 3].any(axis=1) | (tree[:, KIND] != HELICAL)
        return not (turns.all() and self.arrays.screws[:, SCREW_AXIS : SCREW_AXIS + 3].any(axis=1).all())

    def weigh(self) -> tuple[float, float]:
        """Unbalanced efforts at `place`; returns the largest sums of forces [N] and moments [N·m]."""
        force, moment = unbalanced_efforts(self.arrays, self.acting, self.place, self.work, self.r)
        if self.stops is not None:
            self.stops.hold(self.place.q, self.r)
        return float(force), float(moment)

    def eliminate(self, blend: float, extra_rate2: float = 0.0, soften: float = SOFTEN) -> Pivots:
        """Factors the stiffness at `place`, with inertia times a small or the given rate [1/s²] added.

        soften: part of each body's |B| that its rotations are resisted with at least.
        """
        self.sweeps += 1
        self._eliminated = blend, extra_rate2
        rate2 = LEAST * self.scales.rate2 + extra_rate2
        held = NO_DIAGONAL if self.stops is None else self.stops.diagonal
        return Pivots(
            *eliminate_leaf_to_root(self.arrays, self.acting, self.place, self.work, blend, rate2, soften, held)
        )

    def eliminate_exactly(self, rate2: float) -> Pivots:
        """Factors ∂²U + rate2 M at `place` as it is, rate2 [1/s²] of any sign."""
        self.sweeps += 1
        return Pivots(
            *eliminate_leaf_to_root(self.arrays, self.acting, self.place, self.work, 0.0, rate2, 0.0, NO_DIAGONAL)
        )

    def solve(self, r: FloatArray, x: FloatArray) -> tuple[float, float]:
        """x for the efforts r; returns the largest rotation [rad] and displacement [m] of a body."""
        turn, way = self.solve_sides(r[None], x[None])
        return float(turn), float(way)

    def descend(self) -> tuple[float, float]:
        """The Newton step x for r, none of it beyond a limit from where it stands; returns as `solve` does."""
        while True:
            turn, way = self.solve(self.r, self.x)
            if self.stops is None or not self.stops.block(self.place.q, self.x):
                return turn, way
            self.eliminate(*self._eliminated)

    def gain(self, x: FloatArray, scale: float) -> float:
        """What r does along the step scale x, as far as limits let it [J]."""
        return float(self.r @ (scale * x if self.stops is None else self.stops.taken(self.place.q, x, scale)))

    def solve_sides(
        self,
        right: FloatArray,
        x: FloatArray,
        pushes: Pushes = NO_PUSHES,
        responses: FloatArray = NO_RESPONSES,
        back: int = U_,
    ) -> tuple[float, float]:
        """x (m, nv) for several right sides, as `elimination.solve.solve_sides` says."""
        tree = self.arrays.tree
        return solve_sides(tree, self.place, self.work.factors, back, self.sides, right, pushes, x, responses)

    def negative_direction(self, body: int, x: FloatArray) -> float:
        """x along which the factored energy falls away; returns the largest rotation of a body."""
        scratch = np.zeros((self.model.n_bodies, 6))
        return float(follow_negative_pivot(self.arrays.tree, self.place, self.work.factors, body, x, scratch))

    def mass_times(self, x: FloatArray, out: FloatArray) -> None:
        """out ← M x at `place`, rotors included, for one vector or for rows of several."""
        mass_times(self.arrays, self.place, self.work.added, np.atleast_2d(x), self.sides, np.atleast_2d(out))

    def curvature(self, x: FloatArray) -> float:
        """xᵀ∂²U x at `place`, from the change of unbalanced efforts over a short way."""
        largest = float(np.abs(x).max(initial=0.0))
        if largest == 0.0:
            return 0.0
        scale = SHORT_WAY / largest
        present, efforts = self.place, []
        r = np.zeros_like(x)
        for sign in (1.0, -1.0):
            self.place_trial(x, sign * scale)
            unbalanced_efforts(self.arrays, self.acting, self.trial, self.work, r)
            efforts.append(float(r @ x))
        unbalanced_efforts(self.arrays, self.acting, present, self.work, r)  # wrenches of `place` again
        return (efforts[1] - efforts[0]) / (2.0 * scale)

    def place_trial(self, x: FloatArray, scale: float) -> FloatArray:
        """Puts `trial` at place ⊕ scale x; returns its coordinates."""
        move_coordinates(self.arrays.tree, self.place.q, x, scale, self._moved)
        if self.stops is not None:
            self._moved[:] = self.stops.within(self._moved)
        self.set_trial(self._moved)
        return self._moved

    def advance_trial(self, x: FloatArray) -> None:
        """Moves `trial` on by x."""
        move_coordinates(self.arrays.tree, self.trial.q, x, 1.0, self._moved)
        if self.stops is not None:
            self._moved[:] = self.stops.within(self._moved)
        self.set_trial(self._moved)

    def extent(self, x: FloatArray) -> tuple[float, float]:
        """Largest rotation [rad] and displacement [m] of a body in the step x from `place`."""
        turn, way = step_extent(self.arrays, self.place, x, np.empty((self.model.n_bodies, 6)))
        return float(turn), float(way)

    def set_trial(self, q: FloatArray) -> None:
        place_bodies(self.arrays, q, self.work.still, self.trial)

    def change(self, x: FloatArray, scale: float, rows: int | None = None) -> tuple[float, float]:
        """Energy at `trial` less that at `place` [J], and its rounding; rows: how many world loads to count."""
        acting = self.acting
        if rows is not None:
            acting = acting._replace(rows=acting.rows[:rows], row_body=acting.row_body[:rows])
        if self.stops is not None:
            x, scale = self.stops.taken(self.place.q, x, scale), 1.0
        change, noise = energy_change(self.arrays, acting, self.place, self.trial, x, scale)
        return float(change), float(noise)

    def accept(self) -> None:
        """`trial` becomes `place`."""
        self.place, self.trial = self.trial, self.place

    def energy(self, rows: int | None = None) -> float:
        acting = self.acting
        if rows is not None:
            acting = acting._replace(rows=acting.rows[:rows], row_body=acting.row_body[:rows])
        return float(potential_energy(self.arrays, acting, self.place))
