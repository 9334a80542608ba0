"""Modes of vibration about an equilibrium: block Lanczos on the shifted inverse, each solve one sweep, none missed.

(∂²U − σM)⁻¹ M is symmetric in the inner product of M. Blocks find modes that come in pairs, as those of a round rod do; the
count of negative pivots (Sturm) at a shift above the last mode says whether all below it were found, and the search goes on
until they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.checks import positive, whole
from linkwork.core.deprecation import once_positional
from linkwork.core.describe import table_of_attributes
from linkwork.dynamics.inputs import as_state
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.fields import Field
from linkwork.simulation.loaded import Loaded
from linkwork.statics.in_field import modes_in_field
from linkwork.statics.loads import gather
from linkwork.statics.standing import Standing

FloatArray = NDArray[np.float64]

BLOCK = 2  # vectors at a time; modes of the same frequency that one block finds at once
SEED = 20_240_607
CONVERGED = (
    1e-8  # residual of a mode, as a part of its eigenvalue's distance from the shift; of the eigenvalue, its square
)
MOST_VECTORS, FIRST_VECTORS = 400, 64
BRACKETS = 200  # doublings and halvings until the shift above the modes is found
APART = 1e-6  # part of an eigenvalue above which the next counts as another
BELOW_ZERO = 1e-3  # shift of floating and unstable linkages, as a part of the highest mode asked for
ALMOST = 1e-12
ALMOST_FREE = 1e-5  # part of the highest mode below which one in a field counts as free: differences see no less


class Modes(NamedTuple):
    """Small motions q ⊕ ε shape sin(ω t) about an equilibrium, slowest first."""

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    frequencies: (
        FloatArray  # (count,)  [Hz]; zero for motions that nothing resists; negative: grows at 2π that rate [1/s]
    )
    rates2: FloatArray  # (count,)  ω² [1/s²]; negative where the equilibrium is unstable
    shapes: FloatArray  # (count, nv)  velocities of joints, xᵀM x = 1
    residuals: FloatArray  # (count,)  of (∂²U − ω²M) x after one more solve, as a part of ω² − shift
    below: int  # eigenvalues that lie below the shift above the last mode, by the signs of pivots: all are here
    unstable: int  # of which negative
    sweeps: int  # eliminations


@once_positional("below", "effort", "wrenches", "loads")
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
) -> Modes:
    """The slowest modes of vibration about an equilibrium, and a count that none was missed.

    state: an equilibrium under the loads, as `lw.settle` finds it; at rest.
    count: how many; below [Hz]: all up to this frequency instead.
    field: such as `mol.field()` of a molecule, whose energy has a minimum there; nothing else acts then. Second derivatives
    are found by differences, two evaluations per degree of freedom, and all modes at once: O(nv³). Frequencies are in 1/ps.
    effort, wrenches, loads: as in `lw.settle`. Dampers are left out; loops stay closed; bodies may float.
    Modes of the same frequency may be returned as any of their combinations.
    Cost: O(n) per sweep, some 10 sweeps and 2 to 4 solves per mode.
    """
    q, v = as_state(model, state)
    if np.abs(v).max(initial=0.0) > 0.0:
        k = int(np.argmax(np.abs(v)))
        raise StateError(
            f"modes are small motions about rest; the state moves (v[{k}] is {v[k]:g}, joint "
            f"'{model.joint_names[model.joint_of(k)]}'). Settle it, or give lw.State(q, zeros)."
        )
    wanted = whole(count, 1, "count")
    if field is not None:
        if below is not None or effort is not None or wrenches is not None or loads is not None:
            raise StateError("modes in a field take a count and nothing else that acts.")
        return _in_field(model, field, q, min(wanted, model.nv))
    highest = None if below is None else (2.0 * math.pi * positive(below, "below")) ** 2
    standing = Standing(model, gather(model, effort, wrenches, loads), q)
    standing.refuse_unbalanced("modes")
    free = model.nv - (0 if standing.closed is None else _rank(standing))
    wanted = min(wanted, free)
    if wanted < 1:
        raise StateError(f"model '{model.name}' has no joint that can move.")
    if highest is not None:
        inside = standing.factor(highest)
        top, wanted = highest, inside
        if inside == 0:
            return Modes(*(np.zeros(0),) * 2, np.zeros((0, model.nv)), np.zeros(0), 0, 0, standing.balance.sweeps)
    else:
        top, _ = _above(standing, wanted, free)
    return _search(standing, wanted, top, free)


def _in_field(model: Model, field: Field, q: FloatArray, count: int) -> Modes:
    rates2, shapes, residuals, evaluations = modes_in_field(model, field, np.array(q, dtype=float), count)
    frequencies = np.sign(rates2) * np.sqrt(np.abs(rates2)) / (2.0 * math.pi)
    unstable = int((rates2 < -ALMOST_FREE * np.abs(rates2).max(initial=0.0)).sum())
    return Modes(frequencies, rates2, shapes, residuals, len(rates2), unstable, evaluations)


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


def _search(standing: Standing, wanted: int, top: float, free: int) -> Modes:
    """The first `wanted` eigenvalues; more vectors are taken until the signs of pivots say that none below was missed."""
    unstable = standing.factor(0.0)
    shift = 0.0
    if unstable > 0 or _nearly_singular(standing, top):
        shift = -BELOW_ZERO * top
        while standing.factor(shift) > 0 and shift > -1e6 * top:
            shift *= 4.0
    lanczos = _Lanczos(standing, shift, min(max(MOST_VECTORS, 4 * wanted), free))
    need = wanted
    while True:
        standing.factor(shift)
        values, converged, coefficients, residuals = lanczos.until(need)
        known = int(converged.sum())
        first = min(wanted, known) - 1
        check = values[first] + APART * max(abs(values[first]), BELOW_ZERO * top)
        counted = standing.factor(float(check))
        if known >= wanted and int((values[converged] <= check).sum()) == counted:
            break
        if lanczos.exhausted:
            raise StateError(
                f"{known} modes were found with {lanczos.count} vectors, though the signs of pivots count {counted} below "
                f"{math.sqrt(max(float(check), 0.0)) / (2.0 * math.pi):.4g} Hz. Ask for fewer."
            )
        need = max(need, counted) if counted > known else need + 1
        lanczos.stir()
    shapes = coefficients[:, :wanted].T @ lanczos.V[: coefficients.shape[0]]
    values = values[:wanted]
    values = np.where(
        np.abs(values) < ALMOST * max(top, abs(shift)), 0.0, values
    )  # what nothing resists, but for rounding
    roots = np.sign(values) * np.sqrt(np.abs(values)) / (2.0 * math.pi)
    return Modes(roots, values, shapes, residuals[:wanted], counted, unstable, standing.balance.sweeps)


def _nearly_singular(standing: Standing, top: float) -> bool:
    """Whether motions that nothing resists lie at zero: counts differ just above and below it."""
    little = BELOW_ZERO**2 * top
    return standing.factor(little) != standing.factor(-little)


class _Lanczos:
    """Blocks of vectors, orthonormal in the inner product of M, and the projection T of (∂²U − σM)⁻¹M on them."""

    def __init__(self, standing: Standing, shift: float, most: int):
        self.standing, self.shift, self.most = standing, shift, most
        self.nv = standing.model.nv
        size = min(most, FIRST_VECTORS)
        self.V, self.MV = np.zeros((size, self.nv)), np.zeros((size, self.nv))
        self.T = np.zeros((size, size))
        self.count = 0  # vectors in the basis
        self.done = 0  # of which (∂²U − σM)⁻¹M v is in T
        self.left = np.zeros((0, 0))  # R: what the last block leaves beside the basis
        self.rng = np.random.default_rng(SEED)

    @property
    def exhausted(self) -> bool:
        return self.done == self.count >= self.most

    def stir(self) -> None:
        """A new random vector, where a kind of motion may not have been in the first block."""
        self._append(self.rng.normal(size=(1, self.nv)))

    def until(self, need: int) -> tuple[FloatArray, NDArray[np.bool_], FloatArray, FloatArray]:
        """Ritz values ascending, which have converged, their coefficients (columns) and residuals, until `need` have."""
        if self.count == 0:
            start = np.zeros((min(BLOCK, self.most), self.nv))
            self.standing.factor(self.shift)
            for row in start:
                self.standing.solve(self.rng.normal(size=self.nv), row)
            self._append(start)
        while True:
            self._advance()
            m = self.done
            if m >= need or self.exhausted:
                theta, Y = np.linalg.eigh(self.T[:m, :m])
                with np.errstate(divide="ignore"):
                    values = self.shift + 1.0 / theta
                order = np.argsort(np.where(theta > 0.0, values, np.inf))
                values, Y, theta = values[order], Y[:, order], theta[order]
                last = Y[m - self.left.shape[1] :] if self.left.size else Y[:0]
                residuals = np.linalg.norm(self.left @ last, axis=0) / np.abs(theta) if self.left.size else np.zeros(m)
                converged = (residuals <= CONVERGED) & (theta > 0.0)
                leading = int(np.argmin(converged)) if not converged.all() else m
                if leading >= need or self.exhausted:
                    keep = np.arange(m) < leading
                    return values, keep, Y, residuals

    def _advance(self) -> None:
        """(∂²U − σM)⁻¹M of the last block: its part in the basis goes into T, the rest becomes the next block."""
        W = np.zeros((self.count - self.done, self.nv))
        for row, k in zip(W, range(self.done, self.count), strict=True):
            self.standing.solve(self.MV[k], row)
        k, known = self.count, self.done
        H = self.MV[:k] @ W.T
        W -= H.T @ self.V[:k]
        again = self.MV[:k] @ W.T
        W -= again.T @ self.V[:k]
        H += again
        self.T[:k, known:k], self.T[known:k, :k] = H, H.T
        self.T[known:k, known:k] = 0.5 * (H[known:] + H[known:].T)
        self.done = k
        self.left = self._append(W)

    def _append(self, W: FloatArray) -> FloatArray:
        """Adds what is new in the rows of W, orthonormal; returns R with W = Rᵀ times what was added."""
        k = self.count
        if k >= self.nv:
            return np.zeros((0, 0))
        if k and self.done < k:  # a stray vector: the basis is not yet taken out of it
            W = W - (self.MV[:k] @ W.T).T @ self.V[:k]
        MW = np.zeros_like(W)
        for row, out in zip(W, MW, strict=True):
            self.standing.mass_times(row, out)
        values, Q = np.linalg.eigh(0.5 * (W @ MW.T + MW @ W.T))
        good = values > ALMOST**2 * max(float(values.max(initial=0.0)), 1e-300)
        beside = (Q[:, good] * np.sqrt(values[good])).T
        good[: max(0, good.size - (self.most - k))] = False
        root = np.sqrt(values[good])
        if beside.size == 0 and k < self.most:
            W = self.rng.normal(size=(1, self.nv))
            return self._append(W - (self.MV[:k] @ W.T).T @ self.V[:k]) * 0.0
        self._grow(k + root.size)
        change = (Q[:, good] / root).T
        self.V[k : k + root.size], self.MV[k : k + root.size] = change @ W, change @ MW
        self.count = k + root.size
        return np.asarray(beside)

    def _grow(self, size: int) -> None:
        if size <= self.V.shape[0]:
            return
        size = min(max(size, 2 * self.V.shape[0]), self.most + BLOCK)
        V, MV, T = np.zeros((size, self.nv)), np.zeros((size, self.nv)), np.zeros((size, size))
        k = self.count
        V[:k], MV[:k], T[:k, :k] = self.V[:k], self.MV[:k], self.T[:k, :k]
        self.V, self.MV, self.T = V, MV, T
