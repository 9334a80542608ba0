"""Rest and small motions in a field: minima of an energy that only its values and wrenches are known of.

Newton's method of `newton.py` needs second derivatives, which fields do not give. L-BFGS learns them from the changes of
efforts (J. Nocedal, "Updating quasi-Newton matrices with limited storage", 1980). Its first guess is the mobility M⁻¹, one
sweep of `aba` at rest: a joint that carries much is stiff, as many pairs resist it. (Inverses of second derivatives in its
place, where a field gives them, halve the evaluations that bacteriorhodopsin takes and triple the time.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.warning import warn_user
from linkwork.core.units import UNITS, unit
from linkwork.dynamics.api import forward_dynamics, inverse_dynamics, mass_matrix
from linkwork.dynamics.kinematics import world_poses
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.fields import own_field

MEMORY = 100  # steps that are remembered; with 30 of them crambin takes half as many evaluations again
FIRST_TURN, MOST_TURN = 0.01, 0.3  # [rad] of the joint that moves most in the first step, and in any
ENOUGH = 1e-4  # part of the expected fall of the energy that a step must bring (Armijo)
SHORTER, LESS = 0.5, 0.1  # how far a step that does not is shortened
TRIES = 25
SAME_ENERGY = 1e-11  # part of the energy below which a fall cannot be distinguished from rounding: efforts decide then
DIFFERENCE = 2e-5  # [rad, nm] half the way over which efforts are compared for second derivatives
FREE = 1e-9  # of the largest stiffness: less is none
AT_REST = 1e-2  # [rad, nm] largest step to the minimum that modes allow, judged joint by joint


@tabled
class FieldReport(NamedTuple):
    """How well a linkage rests in a field, and how that was reached."""

    unbalanced: float  # largest effort that is left, in the units of the field (molecules: kJ/mol/rad, kJ/mol/nm)
    energy: float  # of the field there
    evaluations: int  # of the field
    steps: int
    history: FloatArray  # (steps + 1,) largest effort before every step and at the end
    units: Mapping[str, str]  # what stands for each SI unit; empty where SI units hold
    at_rest: bool = True  # whether no effort is above the tolerance

    def __str__(self) -> str:
        what = "at rest" if self.at_rest else "not at rest"
        return (
            f"{what} in the field after {self.evaluations} evaluations: largest effort {self.unbalanced:.1e} "
            f"{unit('N·m or N', self.units)}, energy {self.energy:.6g} {unit('J', self.units)}"
        )


@tabled
@dataclass(frozen=True)
class FieldRest:
    """A linkage at rest in a field. `state, report = lw.settle(..., field=field)` takes it apart."""

    state: State
    report: FieldReport

    def __iter__(self) -> Iterator[Any]:
        return iter((self.state, self.report))


class Landscape:
    """Energy and its slope along every degree of freedom."""

    def __init__(self, model: Model, field: Any):
        self.model, self.field = model, own_field(field, model)
        if model.loops:
            raise StateError("settling in a field is for trees; this model has loops.")
        if model.arrays.gravity.any() or model.arrays.dof[:, :2].any():
            raise StateError("settling in a field is for linkages without gravity, springs and dampers of their own.")
        self.still = np.zeros(model.nv)
        self.units = UNITS[model.units]
        self.wrenches = np.zeros((model.n_bodies, 6))
        self.evaluations = 0

    def at(self, q: FloatArray) -> tuple[float, FloatArray]:
        """Energy, and ∂E/∂q, shape (nv,)."""
        tree, body, screws, *_ = self.model.arrays
        self.evaluations += 1
        energy = float(self.field.wrenches(np.asarray(world_poses(tree, body, screws, q)), self.wrenches))
        return energy, inverse_dynamics(self.model, State(q, self.still), self.still, self.wrenches)

    def mobility(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """M⁻¹ x."""
        return forward_dynamics(self.model, State(q, self.still), x)

    def curvature(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """∂²E/∂q² x by a difference of efforts, whose error is of order two in a way of 2e-5 rad."""
        size = float(np.abs(x).max(initial=0.0))
        if size == 0.0:
            return np.zeros_like(x)
        h = DIFFERENCE / size
        _, back = self.at(self.model.integrate(q, x, -h))
        _, on = self.at(self.model.integrate(q, x, h))
        return (on - back) / (2.0 * h)

    def stiffness(self, q: FloatArray) -> FloatArray:
        """∂²E/∂q² as the field gives it, or by differences, shape (nv, nv)."""
        state = State(q, self.still)
        if hasattr(self.field, "second_derivatives"):
            return np.asarray(self.field.second_derivatives(state))
        self.evaluations += 2 * self.model.nv
        return hessian(self.model, self.field, state)


class _Memory:
    """Steps s and the changes y of the slope over them: the two loops of L-BFGS."""

    def __init__(self) -> None:
        self.pairs: list[tuple[FloatArray, FloatArray, float]] = []

    def add(self, s: FloatArray, y: FloatArray) -> None:
        curvature = float(s @ y)
        if curvature > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            self.pairs = [*self.pairs[-MEMORY + 1 :], (s, y, 1.0 / curvature)]

    def direction(self, land: Landscape, q: FloatArray, slope: FloatArray) -> FloatArray:
        r, taken = slope.copy(), []
        for s, y, rho in reversed(self.pairs):
            taken.append(rho * float(s @ r))
            r -= taken[-1] * y
        r = land.mobility(q, r)
        if self.pairs:
            s, y, _ = self.pairs[-1]
            r *= float(s @ y) / float(y @ land.mobility(q, y))
        else:
            r *= FIRST_TURN / max(float(np.abs(r).max()), 1e-300)
        for (s, y, rho), a in zip(self.pairs, reversed(taken), strict=True):
            r += s * (a - rho * float(y @ r))
        return -r


def settle_in_field(model: Model, field: Any, q: FloatArray, tolerance: float, max_evaluations: int) -> FieldRest:
    """The minimum of the field's energy that a descent from q reaches."""
    land = Landscape(model, field)
    energy, slope = land.at(q)
    memory, history = _Memory(), [float(np.abs(slope).max(initial=0.0))]
    best = history[-1], energy, q

    def rest() -> FieldRest:
        left, at, there = best
        steps = len(history) - 1, np.array(history), land.units, left <= tolerance
        return FieldRest(State(there, np.zeros(model.nv)), FieldReport(left, at, land.evaluations, *steps))

    while not history[-1] <= tolerance:
        if land.evaluations >= max_evaluations:
            raise StateError(
                f"not at rest after {land.evaluations} evaluations of the field: the largest effort is {best[0]:.3g} "
                f"{unit('N·m or N', land.units)}, asked for was {tolerance:g}. {_about_cutoff(land.field)}Allow more "
                "(max_sweeps), or begin from a state without clashes (relax=True). The error's `best` is what was reached.",
                best=rest(),
            )
        d = memory.direction(land, q, slope)
        if not float(d @ slope) < 0.0:
            memory = _Memory()
            d = memory.direction(land, q, slope)
        found = _line(land, q, d, energy, slope)
        if found is None:
            if not memory.pairs:
                about = _about_cutoff(land.field) or "Its forces are not the slope of its energy there. "
                warn_user(
                    f"settle: no step lowers the energy of the field further. {about}The state that is returned has a "
                    f"largest effort of {best[0]:.3g} {unit('N·m or N', land.units)}, asked for was {tolerance:g}."
                )
                return rest()
            memory = _Memory()
            continue
        t, q, energy, after = found
        memory.add(t * d, after - slope)
        slope = after
        history.append(float(np.abs(slope).max(initial=0.0)))
        if history[-1] <= best[0]:
            best = history[-1], energy, q
    return rest()


def _about_cutoff(field: Any) -> str:
    """What of a field of a molecule stands against rest; nothing where it has no cutoff."""
    cutoff, switch = getattr(field, "cutoff", None), getattr(field, "switch", None)
    if cutoff is None:
        return ""
    if switch is not None:
        return f"Forces of charges step where pairs cross the cutoff of {cutoff:g} nm: settle in a field without one. "
    return (
        f"Forces step where pairs cross the cutoff of {cutoff:g} nm: settle in a field without one, or with "
        f"switch={0.8 * cutoff:.2g}, which lets Lennard-Jones terms fade and leaves the smaller step of charges. "
    )


def _line(
    land: Landscape, q: FloatArray, d: FloatArray, energy: float, slope: FloatArray
) -> tuple[float, FloatArray, float, FloatArray] | None:
    """A step along d that lowers the energy enough: its part t of d, coordinates, energy and slope there; or None."""
    fall = float(d @ slope)
    t = min(1.0, MOST_TURN / float(np.abs(d).max()))
    for _ in range(TRIES):
        there = land.model.integrate(q, d, t)
        e, g = land.at(there)
        if math.isfinite(e) and np.isfinite(g).all():
            flat = abs(e - energy) <= SAME_ENERGY * abs(energy) and abs(float(g @ d)) <= 0.9 * abs(fall)
            if e <= energy + ENOUGH * t * fall or flat:
                return t, there, e, g
            bend = e - energy - t * fall
            t *= min(SHORTER, max(LESS, -0.5 * fall * t / bend)) if bend > 0.0 else SHORTER
        else:
            t *= LESS
    return None


def modes_in_field(
    model: Model, field: Any, q: FloatArray, count: int
) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """The lowest ω² (count,), their shapes (count, nv) with xᵀM x = 1, residuals, and the number of evaluations.

    Second derivatives as the field gives them, or by differences, two evaluations per column; then all modes: O(nv³).
    """
    land = Landscape(model, field)
    _, slope = land.at(q)
    K = land.stiffness(q)
    diagonal = np.abs(np.diag(K))
    stiffness = np.maximum(diagonal, FREE * diagonal.max(initial=0.0)) + 1e-300  # nothing resists the whole molecule
    internal = np.abs(slope) / stiffness
    if model.nv and float(internal.max()) > AT_REST:
        k = int(np.argmax(internal))
        raise StateError(
            f"modes are small motions about rest; joint '{model.joint_names[model.joint_of(k)]}' is pushed by "
            f"{abs(slope[k]):.3g}. Begin from lw.settle(model, state, field=field).state."
        )
    M = mass_matrix(model, State(q, land.still))
    W = np.linalg.inv(np.linalg.cholesky(M))  # W M Wᵀ = 1
    A = W @ K @ W.T
    rates2, vectors = np.linalg.eigh(0.5 * (A + A.T))
    rates2, vectors = rates2[:count], vectors[:, :count]
    shapes = vectors.T @ W
    left = np.linalg.norm(W @ ((K @ shapes.T) - (M @ shapes.T) * rates2), axis=0)
    return rates2, shapes, left / max(float(np.abs(rates2).max(initial=0.0)), 1e-300), land.evaluations


def hessian(model: Model, field: Any, state: State) -> FloatArray:
    """∂²E/∂q², symmetric, shape (nv, nv), by differences of efforts; two evaluations of the field per column."""
    land = Landscape(model, field)
    K = np.array([land.curvature(np.array(state.q), row) for row in np.eye(model.nv)])
    return np.asarray(0.5 * (K + K.T))


def hessian_product(model: Model, field: Any, state: State, direction: FloatArray) -> FloatArray:
    """∂²E/∂q² times a direction (nv,), by a difference of efforts; two evaluations of the field."""
    return Landscape(model, field).curvature(state.q, direction)
