"""Modes of vibration about an equilibrium: block Lanczos on the shifted inverse, each solve one sweep, none missed.

(∂²U − σM)⁻¹ M is symmetric in the inner product of M. Blocks find modes that come in pairs, as those of a round rod do; the
count of negative pivots (Sturm) at a shift above the last mode says whether all below it were found, and the search goes on
until they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive
from linkwork.core.messages.describe import described
from linkwork.dynamics.inputs import as_state
from linkwork.environment.water import Water
from linkwork.errors import StateError
from linkwork.model.layout import STIFFNESS
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.loading.loaded import Loaded
from linkwork.statics.in_field import modes_in_field
from linkwork.statics.lanczos import BLOCK, Lanczos
from linkwork.statics.loads import gather
from linkwork.statics.rod_motion import RodPieces
from linkwork.statics.standing import Standing
from linkwork.statics.water import with_fluid_forces

MOST_VECTORS = 400
FEW_VECTORS = 40  # and six per mode, where all joints have springs: with them the shift is zero
BRACKETS = 200  # doublings and halvings until the shift above the modes is found
APART = 1e-6  # part of an eigenvalue above which the next counts as another
BELOW_ZERO = 1e-2  # shift of linkages whose joints have no springs, as a part of the highest mode asked for
ALMOST = 1e-12
ALMOST_FREE = 1e-5  # part of the highest mode below which one in a field counts as free: differences see no less


@described
class Modes(NamedTuple):
    """Small motions q ⊕ ε shape sin(ω t) about an equilibrium, slowest first."""

    frequencies: (
        FloatArray  # (count,)  [Hz]; zero for motions that nothing resists; negative: grows at 2π that rate [1/s]
    )
    rates2: FloatArray  # (count,)  ω² [1/s²]; negative where the equilibrium is unstable
    shapes: FloatArray  # (count, nv)  velocities of joints, xᵀM x = 1
    residuals: FloatArray  # (count,)  of (∂²U − ω²M) x after one more solve, as a part of ω² − shift
    roll: FloatArray  # (count,)  part of the kinetic energy with which pieces of rods roll about their axes
    axial: FloatArray  # (count,)  and part with which they move along them
    below: int  # eigenvalues below the shift above the last mode, by the signs of pivots: all are here, or left out
    left_out: int  # of which rolls of rods that cannot twist, which their pieces alone resist and no rod would
    unstable: int  # of which negative
    sweeps: int  # eliminations


def modes(
    model: Model,
    state: State,
    count: int = 10,
    *,
    below: float | None = None,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    loads: Loaded | None = None,
    field: Field | None = None,
    water: Water | None = None,
) -> Modes:
    """The slowest modes of vibration about an equilibrium, and a count that none was missed.

    state: an equilibrium under the loads, as `lw.settle` finds it; at rest.
    count: how many; below [Hz]: all up to this frequency instead.
    field: such as `mol.field()` of a molecule, whose energy has a minimum there; nothing else acts then. Second derivatives
    are found by differences, two evaluations per degree of freedom, and all modes at once: O(nv³). Frequencies are in 1/ps.
    water: `lw.Water(...)` or `lw.air(...)`, as in `lw.settle`: its added mass moves with the bodies; buoyancy and drag
    act as they are at rest, fixed in the world. Drag that changes with the motion damps, and is left out as dampers are.
    effort, wrenches, loads: as in `lw.settle`. Dampers are left out; loops stay closed; bodies may float.
    Modes of the same frequency may be returned as any of their combinations. A rod that may roll about itself has a mode of
    frequency zero, whose `roll` is one; `found.frequencies[found.roll < 0.5]` leaves it out.
    Cost: O(n) per sweep; some four sweeps (some 12 where joints have no springs) and 2 to 4 solves per mode.
    """
    q, v = as_state(model, state)
    if np.abs(v).max(initial=0.0) > 0.0:
        k = int(np.argmax(np.abs(v)))
        raise StateError(
            f"modes are small motions about rest; the state moves (v[{k}] is {v[k]:g}, joint "
            f"'{model.joint_names[model.joint_of(k)]}'). Settle it, or give lw.State(q, zeros)."
        )
    wanted = integer(count, 1, "count")
    if field is not None:
        if any(given is not None for given in (below, effort, wrenches, loads, water)):
            raise StateError("modes in a field take a count and nothing else that acts.")
        return _in_field(model, field, q, min(wanted, model.nv))
    highest = None if below is None else (2.0 * math.pi * positive(below, "below")) ** 2
    acting, added = gather(model, effort, wrenches, loads), None
    if water is not None and model.nv > 0:
        acting, added = with_fluid_forces(model, acting, q, water)
    standing = Standing(model, acting, q, added=added)
    standing.refuse_unbalanced()
    standing.polish()
    free = model.nv - (0 if standing.closed is None else _rank(standing))
    wanted = min(wanted, free)
    if wanted < 1:
        raise StateError(f"model '{model.name}' has no joint that can move.")
    if highest is not None:
        wanted = standing.factor(highest)
        if wanted == 0:
            return _listed(standing, Found(np.zeros(0), np.zeros((0, model.nv)), np.zeros(0), 0, 0.0))
    asked = wanted
    while True:
        found = _listed(standing, _lowest(standing, asked, free, highest))
        if highest is not None or len(found.rates2) >= wanted or asked == free:
            return found
        asked = min(wanted + found.left_out, free)


class Found(NamedTuple):
    """The lowest eigenvalues."""

    values: FloatArray
    shapes: FloatArray  # rows
    residuals: FloatArray
    counted: int  # by the signs of pivots
    little: float  # below it an eigenvalue is zero but for rounding


def _lowest(standing: Standing, wanted: int, free: int, highest: float | None) -> Found:
    """The lowest `wanted` eigenvalues, from zero where all joints have springs, else from below zero."""
    if standing.factor(0.0) == 0 and bool((standing.model.arrays.dof[:, STIFFNESS] > 0.0).all()):
        found = _search(standing, wanted, 0.0, min(free, 6 * wanted + FEW_VECTORS), None)
        if found is not None:
            return found
    top = _above(standing, wanted, free)[0] if highest is None else highest
    shift = -BELOW_ZERO * top
    while standing.factor(shift) > 0 and shift > -1e6 * top:
        shift *= 4.0
    found = _search(standing, wanted, shift, min(max(MOST_VECTORS, 4 * wanted), free), top)
    assert found is not None
    return found


def _listed(standing: Standing, found: Found) -> Modes:
    """Eigenvalues as modes, zero where efforts that are left or rounding may have made them, without rolls of the mesh."""
    pieces = RodPieces(standing.model)
    place, acting = standing.balance.place, standing.balance.acting
    motions = [pieces.in_mode(place, acting, *mode) for mode in zip(found.shapes, found.values, strict=True)]
    little = np.array([max(found.little, standing.rounding * motion.turn2) for motion in motions])
    values = np.where(np.abs(found.values) <= little, 0.0, found.values)
    falling, unstable = np.flatnonzero(values < 0.0).tolist(), standing.unstable()
    held = sorted(falling, key=lambda k: motions[k].turn2)[min(unstable, len(falling)) :]  # settling resists rotations
    of_mesh = [motion.is_of_mesh and (values[k] > 0.0 or k in held) for k, motion in enumerate(motions)]
    values[held] = 0.0
    kept = [k for k, is_of_mesh in enumerate(of_mesh) if not is_of_mesh]
    roots = np.sign(values) * np.sqrt(np.abs(values)) / (2.0 * math.pi)
    return Modes(
        roots[kept],
        values[kept],
        found.shapes[kept],
        found.residuals[kept],
        np.array([motions[k].roll for k in kept]),
        np.array([motions[k].axial for k in kept]),
        found.counted,
        len(motions) - len(kept),
        unstable,
        standing.balance.sweeps,
    )


def _in_field(model: Model, field: Field, q: FloatArray, count: int) -> Modes:
    rates2, shapes, residuals, evaluations = modes_in_field(model, field, np.array(q, dtype=float), count)
    frequencies = np.sign(rates2) * np.sqrt(np.abs(rates2)) / (2.0 * math.pi)
    unstable = int((rates2 < -ALMOST_FREE * np.abs(rates2).max(initial=0.0)).sum())
    none = np.zeros(len(rates2))
    return Modes(frequencies, rates2, shapes, residuals, none, none, len(rates2), 0, unstable, evaluations)


def _rank(standing: Standing) -> int:
    standing.factor(-standing.scale)
    assert standing._saddle is not None
    return standing._saddle.values.size


def _above(standing: Standing, wanted: int, free: int) -> tuple[float, int]:
    """A shift with at least `wanted` eigenvalues below it and not many more, by doubling and halving."""
    sigma = standing.scale
    found = standing.factor(sigma)
    low, high = 0.0, math.inf
    for _ in range(BRACKETS):
        if wanted <= found <= max(2 * wanted, wanted + BLOCK):
            return sigma, found
        if found < wanted:
            low = sigma
        else:
            high = sigma
        if high <= low * (1.0 + APART) or high < ALMOST**2 * standing.scale:
            return high, standing.factor(high)
        middle = math.sqrt(low * high) if low > 0.0 and high < math.inf else 0.5 * (low + high)
        sigma = (
            (16.0 * sigma if sigma < math.inf else math.inf)
            if high == math.inf
            else (sigma / 16.0 if low == 0.0 else middle)
        )
        found = standing.factor(sigma)
        if found >= free:
            high = min(high, sigma)
            if found == wanted:
                return sigma, found
    return sigma, found


def _search(standing: Standing, wanted: int, shift: float, most: int, top: float | None) -> Found | None:
    """The first `wanted` eigenvalues; more vectors are taken until the signs of pivots say that none below was missed.

    Needs `standing.factor(shift)` to be the last elimination. most: vectors. top: a bound of those wanted; where it is
    None, so is the answer if the search does not succeed, as with an eigenvalue so close to the shift that rounding hides
    others.
    """
    lanczos = Lanczos(standing, shift, most)
    need = wanted
    while True:
        ritz = lanczos.until(need)
        values, known = ritz.values, ritz.converged
        if top is None and known < wanted:
            return None
        first = min(wanted, known) - 1
        reach = abs(float(values[first])) if top is None else top
        check = values[first] + APART * max(abs(values[first]), BELOW_ZERO * reach)
        counted = standing.factor(float(check))
        if known >= wanted and int((values[:known] <= check).sum()) == counted:
            break
        if top is None and (lanczos.exhausted or counted < wanted):
            return None
        if lanczos.exhausted:
            raise StateError(
                f"{known} modes were found with {lanczos.count} vectors, though the signs of pivots count {counted} below "
                f"{math.sqrt(max(float(check), 0.0)) / (2.0 * math.pi):.4g} Hz. Ask for fewer."
            )
        need = max(need, counted) if counted > known else need + 1
        standing.factor(shift)
        lanczos.stir()
    shapes = lanczos.vectors(ritz.coefficients[:, :wanted])
    return Found(values[:wanted], shapes, ritz.residuals[:wanted], counted, ALMOST * max(reach, abs(shift)))
