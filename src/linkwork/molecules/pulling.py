"""Two atoms drawn apart by a spring whose length grows at a steady rate: forces, work, and what they say of free energies.

The spring is a restraint of the distance r with the length λ(t). Its work is W = ∫ k (λ - r) dλ. Over repeats that begin in
thermal equilibrium, at any speed (C. Jarzynski, Phys. Rev. Lett. 78, 1997),

    ΔF = -kT ln⟨exp(-W/kT)⟩   and, where W is normally distributed,   ΔF = ⟨W⟩ - var W / 2kT
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive
from linkwork.core.messages.describe import tabled
from linkwork.core.units import FORCE_IN_PN
from linkwork.errors import MissingExtraError, ModelError, StateError
from linkwork.full.simulation import FullDynamics
from linkwork.model.state import State
from linkwork.molecules.forces.field import CompiledField, poses_of
from linkwork.molecules.restraints import Restraints
from linkwork.simulation.thermal.langevin import BOLTZMANN, Langevin, RandomVelocities


@tabled
class Pulled(NamedTuple):
    """Curves of all repeats of a pull."""

    length: FloatArray  # (frames,)  of the spring, λ [nm]
    extension: FloatArray  # (repeats, frames)  distance of the two atoms [nm]
    force: FloatArray  # (repeats, frames)  of the spring, k (λ - r) [kJ/mol/nm]; times FORCE_IN_PN: pN
    work: FloatArray  # (repeats, frames)  done since the beginning [kJ/mol]
    temperature: float  # [K]
    states: tuple[State, ...]  # at the end of each repeat

    def jarzynski(self) -> FloatArray:
        """Free energy along λ [kJ/mol], shape (frames,), by the average of exp(-W/kT): few repeats, and it is too high."""
        kT = BOLTZMANN * self.temperature
        least = self.work.min(axis=0)
        return np.asarray(least - kT * np.log(np.exp(-(self.work - least) / kT).mean(axis=0)))

    def second_cumulant(self) -> FloatArray:
        """Free energy along λ [kJ/mol], shape (frames,), by mean and variance of the work; two repeats at least."""
        if len(self.work) < 2:
            raise StateError("a variance needs two repeats at least; give repeats=.")
        return np.asarray(self.work.mean(axis=0) - self.work.var(axis=0, ddof=1) / (2.0 * BOLTZMANN * self.temperature))

    def plot(self, axes: Any = None) -> Any:
        """Force [pN] and work [kJ/mol] over the length of the spring; returns matplotlib's two axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError("a plot needs matplotlib: pip install matplotlib.") from error
        above, below = axes if axes is not None else plt.subplots(2, 1, sharex=True, figsize=(4.8, 4.8))[1]
        above.plot(self.length, FORCE_IN_PN * self.force.T, color="0.7", linewidth=0.6)
        above.plot(self.length, FORCE_IN_PN * self.force.mean(axis=0), color="C0")
        above.set_ylabel("force [pN]")
        below.plot(self.length, self.work.T, color="0.7", linewidth=0.6)
        below.plot(self.length, self.jarzynski(), color="C1", label="free energy (Jarzynski)")
        below.set_ylabel("work [kJ/mol]")
        below.set_xlabel("length of the spring [nm]")
        below.legend(frameon=False)
        return above, below


def pull(
    molecule: Any,
    field: CompiledField,
    a: Any,
    b: Any,
    *,
    to: float,
    speed: float,
    stiffness: float = 500.0,
    temperature: float = 300.0,
    friction: float | None = 5.0,
    h: float = 2e-3,
    settle: float = 1.0,
    repeats: int = 1,
    seed: int = 0,
    frames: int = 200,
    state: State | None = None,
) -> Pulled:
    """Draws two atoms to another distance by a spring that grows (or shrinks) at a steady rate; forces and work.

    a, b: atoms, by label or number. to: [nm] length of the spring at the end; it begins with the distance of the atoms.
    speed: [nm/ps]. stiffness: of the spring [kJ/mol/nm²]. h: step [ps]. settle: [ps] at the first length before it, so
    that repeats begin in equilibrium; each with its own velocities and noise, from `seed` on.
    friction: of the Langevin thermostat [1/ps]; None: no thermostat, energy is kept but for the work.
    state: where to begin; that of the molecule by default. Restraints of the field are left out.
    """
    start = molecule.state if state is None else state
    target, rate = positive(to, "to"), positive(speed, "speed")
    warmth, step = positive(temperature, "temperature"), positive(h, "h")
    if not isinstance(field, CompiledField):
        raise StateError("pull needs a field of the own kernel: mol.field() without engine='openmm'.")
    who = [molecule.atom(x) if isinstance(x, str) else int(x) for x in (a, b)]
    x = molecule.positions(start)[who]
    first = float(np.linalg.norm(x[1] - x[0]))
    if first == target:
        raise ModelError(f"the atoms are {first:g} nm apart already; there is nothing to pull.")
    spring = Restraints(molecule).distance(who[0], who[1], first, stiffness)
    restrained = field.with_restraints(spring)
    steps = max(1, round(abs(target - first) / rate / step))
    every = max(1, steps // integer(frames, 1, "frames"))
    lengths = np.linspace(first, target, steps + 1)
    curves, ends = [], []
    for repeat in range(integer(repeats, 1, "repeats")):
        rng = np.random.default_rng(seed + repeat)
        v = RandomVelocities(molecule.model).draw(start.q, warmth, rng)
        thermostat = None if friction is None else Langevin(warmth, friction, seed + repeat)
        sim = FullDynamics(molecule.model, State(start.q, v), field=restrained, thermostat=thermostat)
        sim.advance(step, max(1, round(settle / step)))
        curves.append(_one_pull(molecule, sim, who, lengths, every, step, stiffness))
        ends.append(sim.state)
    shown = np.append(lengths[:-1:every], lengths[-1])
    extension, force, work = (np.array([curve[k] for curve in curves]) for k in range(3))
    return Pulled(shown, extension, force, work, warmth, tuple(ends))


def _one_pull(
    molecule: Any, sim: FullDynamics, who: list[int], lengths: FloatArray, every: int, h: float, k: float
) -> tuple[list[float], list[float], list[float]]:
    """Extension, force and work at every so many lengths, and at the last."""
    band = sim.field.restraint_tables.pair_band
    bodies, local = molecule.tree.body[who], molecule.tree.local[who]

    def distance() -> float:
        T = poses_of(molecule.model, sim.state.q)[bodies]
        x = np.einsum("aij,aj->ai", T[:, :9].reshape(-1, 3, 3), local) + T[:, 9:]
        return float(np.linalg.norm(x[1] - x[0]))

    r, work = distance(), 0.0
    rows = []
    for n, (now, then) in enumerate(pairwise(lengths.tolist())):
        if n % every == 0:
            rows.append((r, k * (now - r), work))
        # λ moves by half at either end of the step: its work there is that of the spring at rest
        work += k * (0.75 * now + 0.25 * then - r) * 0.5 * (then - now)
        band[0, :2] = 0.5 * (now + then)
        sim.advance(h)
        r = distance()
        work += k * (0.25 * now + 0.75 * then - r) * 0.5 * (then - now)
        band[0, :2] = then
    rows.append((r, k * (lengths[-1] - r), work))
    extension, force, done = zip(*rows, strict=True)
    return list(extension), list(force), list(done)
