"""Samples of a molecule at a temperature: hybrid Monte Carlo, and replicas at several temperatures that exchange places.

A proposal of hybrid Monte Carlo (Duane, Kennedy, Pendleton and Roweth 1987) is a short run of variational steps from random
velocities. Such steps keep volumes of (q, p), p = M v, and go back the way they came when v is turned round. So taking the
proposal with the probability min(1, exp(-ΔH/kT)) leaves exp(-H/kT) dq dp as it is, whatever the length of the steps. Steps
that the integrator halves have neither property; proposals with one are refused, which they are in both directions of time.
With Fixman's potential in H, coordinates are distributed as exp(-E/kT) dq.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag, integer, positive, shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.progress import progress_bar
from linkwork.dynamics.inputs import as_state
from linkwork.dynamics.quantities.motion import energy
from linkwork.errors import StateError
from linkwork.full.simulation import FullDynamics
from linkwork.model.state import State
from linkwork.molecules.molecule import Molecule, Torsion
from linkwork.simulation.thermal.fixman import FixmanPotential
from linkwork.simulation.thermal.langevin import BOLTZMANN, RandomVelocities

SPREAD = 0.2  # steps of a proposal are longer or shorter by up to this part: none returns to where it began each time


@tabled
@dataclass(frozen=True)
class Sampled:
    """Samples at one temperature, in the order they were drawn; neighbours are not independent."""

    molecule: Molecule
    temperature: float  # [K]
    q: FloatArray  # (samples, nq)
    energy: FloatArray  # (samples,)  of the field [kJ/mol]
    acceptance: float  # part of the proposals that was taken

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        many = f"{len(self)} samples of '{self.molecule.name}'"
        return f"Sampled({many} at {self.temperature:g} K, {self.acceptance:.0%} taken)"

    def state(self, k: int) -> State:
        """Sample k, at rest."""
        return State(self.q[k].copy(), np.zeros(self.molecule.model.nv))

    def angles(self, torsion: Torsion) -> FloatArray:
        """The dihedral angle of a torsion in all samples [rad], from -π to π, shape (samples,)."""
        first = self.molecule.angle(torsion, self.molecule.state)
        turned = first + self.q[:, self.molecule.model.q_slice(torsion.joint).start]
        return np.asarray(turned - 2.0 * np.pi * np.round(turned / (2.0 * np.pi)))


@tabled
@dataclass(frozen=True)
class Replicas:
    """Samples of all replicas by temperature, and how often neighbours exchanged places."""

    samples: tuple[Sampled, ...]  # in the order of the temperatures
    exchanged: FloatArray  # (temperatures - 1,)  part of the attempts between neighbours that succeeded
    walker: NDArray[np.int64]  # (rounds, temperatures)  which of the first shapes stood at each temperature

    def at(self, temperature: float) -> Sampled:
        """The samples at one of the temperatures [K]."""
        found = [one for one in self.samples if one.temperature == temperature]
        if not found:
            known = ", ".join(f"{one.temperature:g}" for one in self.samples)
            raise StateError(f"there is no replica at {shown(temperature)} K; there are {known}.")
        return found[0]


def hmc(
    molecule: Molecule,
    field: Any,
    *,
    temperature: float = 300.0,
    samples: int = 1000,
    h: float = 5e-3,
    steps: int = 20,
    seed: int = 0,
    fixman: bool = True,
    state: State | None = None,
    progress: bool | None = None,
) -> Sampled:
    """Samples of a molecule in a field at a temperature [K], by hybrid Monte Carlo: exact for every step length.

    samples: of which each is a proposal that was taken, or the one before it again. h: mean step of proposals [ps]. steps:
    of each proposal. Longer steps are taken less often; `acceptance` of 0.6 to 0.9 is usual.
    fixman: coordinates are distributed as exp(-E/kT) dq, as with stiff bonds and angles; without it, as those of a rigid
    chain, exp(-E/kT) √det M dq. state: where to begin; that of the molecule by default.
    """
    chain = _Chain(molecule, field, temperature, h, steps, seed, fixman, state)
    count = integer(samples, 1, "samples")
    rows, energies = [], []
    with progress_bar(count, "sampling", progress) as bar:
        for k in range(count):
            chain.propose()
            rows.append(chain.q.copy())
            energies.append(chain.potential)
            bar(k + 1, f"{chain.taken / chain.proposed:.0%} taken")
    return Sampled(molecule, chain.temperature, np.array(rows), np.array(energies), chain.taken / chain.proposed)


def replica_exchange(
    molecule: Molecule,
    field: Any,
    temperatures: Sequence[float],
    *,
    rounds: int = 1000,
    proposals: int = 1,
    h: float = 5e-3,
    steps: int = 20,
    seed: int = 0,
    fixman: bool = True,
    state: State | None = None,
    progress: bool | None = None,
) -> Replicas:
    """Samples at several temperatures [K], ascending, whose replicas exchange places: heat passes high barriers.

    Each round makes `proposals` of `hmc` in every replica, keeps one sample, and tries to exchange neighbours, even and odd
    pairs in turn, with the probability min(1, exp((1/kT_i - 1/kT_j)(E_i - E_j))). Steps are shorter where it is hotter, by
    √(T_0/T). Other arguments as of `hmc`. Replicas are computed one after the other; `lw.Sweep` runs repeats with other
    seeds on many cores.
    """
    hot = _ladder(temperatures)
    step = positive(h, "h")
    count, tries = integer(rounds, 1, "rounds"), integer(proposals, 1, "proposals")
    chains = [
        _Chain(molecule, field, T, step * math.sqrt(hot[0] / T), steps, [seed, k], fixman, state)
        for k, T in enumerate(hot)
    ]
    rng = np.random.default_rng([integer(seed, 0, "seed"), len(hot)])
    asked, done = np.zeros(len(hot) - 1), np.zeros(len(hot) - 1)
    who = np.arange(len(hot))
    walker = np.empty((count, len(hot)), dtype=np.int64)
    q: list[list[FloatArray]] = [[] for _ in hot]
    potential: list[list[float]] = [[] for _ in hot]
    with progress_bar(count, "replicas", progress) as bar:
        for round_ in range(count):
            for chain in chains:
                for _ in range(tries):
                    chain.propose()
            for i in range(round_ % 2, len(hot) - 1, 2):
                asked[i] += 1
                if _exchange(chains[i], chains[i + 1], rng):
                    done[i] += 1
                    who[[i, i + 1]] = who[[i + 1, i]]
            walker[round_] = who
            for k, chain in enumerate(chains):
                q[k].append(chain.q.copy())
                potential[k].append(chain.potential)
            bar(round_ + 1, f"{done.sum() / max(1.0, asked.sum()):.0%} exchanged")
    found = tuple(
        Sampled(molecule, c.temperature, np.array(rows), np.array(energies), c.taken / c.proposed)
        for c, rows, energies in zip(chains, q, potential, strict=True)
    )
    return Replicas(found, done / np.maximum(asked, 1.0), walker)


class _Chain:
    """One chain of samples: coordinates, their energy, and proposals from there."""

    def __init__(
        self,
        molecule: Molecule,
        field: Any,
        temperature: float,
        h: float,
        steps: int,
        seed: int | list[int],
        fixman: bool,
        state: State | None,
    ):
        if not isinstance(molecule, Molecule):
            raise StateError(f"molecule is {shown(molecule)}; give a Molecule of lw.molecules.")
        for word in seed if isinstance(seed, list) else [seed]:
            integer(word, 0, "seed")
        model = molecule.model
        if model.is_constrained:
            raise StateError(
                "sampling is for trees; this molecule has closed chains (make the region with closed=False)."
            )
        self.temperature, self.h = positive(temperature, "temperature"), positive(h, "h")
        self.steps = integer(steps, 1, "steps")
        self.kT = BOLTZMANN * self.temperature
        self.q = as_state(model, molecule.state if state is None else state)[0].copy()
        still = State(self.q, np.zeros(model.nv))
        self._sim = FullDynamics(model, still, field=field, integrator="variational")
        self._velocities, self._rng = RandomVelocities(model), np.random.default_rng(seed)
        self._fixman = FixmanPotential(model, self.temperature) if flag(fixman, "fixman") else None
        self.potential = self._sim.field_energy
        self.taken = self.proposed = 0

    def propose(self) -> bool:
        """Goes on to another sample, or stays; says whether it went."""
        model, rng = self._sim.model, self._rng
        v = self._velocities.draw(self.q, self.temperature, rng)
        h = self.h * (1.0 + SPREAD * (2.0 * rng.random() - 1.0))
        chance = rng.random()
        self.proposed += 1
        before = energy(model, State(self.q, v)).kinetic + self.potential + self._weight(self.q)
        try:
            self._sim.set_state(State(self.q, v))
            report = self._sim.step(h, self.steps)
        except StateError:  # a step that cannot be solved is a proposal of no weight
            return False
        if report.halvings or report.steps_taken != self.steps:  # steps in parts neither keep volumes nor go back
            return False
        there = self._sim.state
        potential = self._sim.field_energy
        after = energy(model, there).kinetic + potential + self._weight(there.q)
        if not chance < math.exp(min(0.0, (before - after) / self.kT)):  # NaN stays, too
            return False
        self.q, self.potential = there.q, potential
        self.taken += 1
        return True

    def _weight(self, q: FloatArray) -> float:
        """Fixman's potential [kJ/mol]; none without it."""
        return 0.0 if self._fixman is None else self._fixman.energy(State(q, np.zeros(self._sim.model.nv)))


def _ladder(temperatures: Sequence[float]) -> list[float]:
    if isinstance(temperatures, str | bytes) or not isinstance(temperatures, Sequence | np.ndarray):
        raise StateError(f"temperatures are {shown(temperatures)}; give a sequence such as (300, 400, 533) [K].")
    hot = [positive(T, "temperatures") for T in temperatures]
    if len(hot) < 2 or sorted(set(hot)) != hot:
        raise StateError(f"temperatures are {shown(temperatures)}; give two or more, ascending [K].")
    return hot


def _exchange(cold: _Chain, hot: _Chain, rng: np.random.Generator) -> bool:
    """Exchanges the shapes of two replicas, or not. Fixman's potential over kT is the same at all temperatures."""
    gain = (1.0 / cold.kT - 1.0 / hot.kT) * (cold.potential - hot.potential)
    if not rng.random() < math.exp(min(0.0, gain)):
        return False
    cold.q, hot.q = hot.q, cold.q
    cold.potential, hot.potential = hot.potential, cold.potential
    return True
