"""Temperature: random velocities of a linkage, and the Ornstein-Uhlenbeck step of a Langevin thermostat, both in O(n).

Random wrenches of covariance kT I_b on all bodies b, sent through one `aba` at rest, are joint velocities of covariance

    M⁻¹ (Σ J_bᵀ kT I_b J_b) M⁻¹ = kT M⁻¹                                                       (1)  docs/proteins.md
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, not_negative, positive, shown
from linkwork.core.messages.describe import described, tabled
from linkwork.core.units import BOLTZMANN as BOLTZMANN_IN
from linkwork.dynamics.api import forward_dynamics
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.dynamics.quantities.motion import energy
from linkwork.errors import StateError
from linkwork.loops.closing import close_loops
from linkwork.model import layout
from linkwork.model.model import Model, inertia_only
from linkwork.model.state import State

BOLTZMANN = BOLTZMANN_IN["molecular"]  # [kJ/mol/K]


def boltzmann_of(model: Model, given: float | None = None) -> float:
    """Boltzmann's constant in the units of a model, unless another was given."""
    return BOLTZMANN_IN[model.units] if given is None else positive(given, "boltzmann")


@described
class RandomVelocities:
    """Draws joint velocities of covariance kT M⁻¹ at any coordinates of a model; of those, what its loops leave."""

    def __init__(self, model: Model, boltzmann: float | None = None):
        self.model = as_model(model, "RandomVelocities")
        self.boltzmann = boltzmann_of(model, boltzmann)
        self._factors = inertia_factors(model)
        self._armature = np.sqrt(model.arrays.dof[:, layout.ARMATURE])
        # neither springs nor weight: the matrix alone turns wrenches into velocities
        self._inertia_only = replace(model, arrays=inertia_only(model.arrays), loops=())

    def draw(self, q: FloatArray, temperature: float, rng: np.random.Generator) -> FloatArray:
        """One sample [rad/s or m/s; per ps for molecules], shape (nv,). Cost: O(n)."""
        if not isinstance(rng, np.random.Generator):
            raise StateError(f"rng is {shown(rng)}; give np.random.default_rng(seed).")
        root = np.sqrt(self.boltzmann * not_negative(temperature, "temperature", finite=True))
        wrenches = root * np.einsum("bij,bj->bi", self._factors, rng.normal(size=(self.model.n_bodies, 6)))
        effort = root * self._armature * rng.normal(size=self.model.nv)
        still = State(q, np.zeros(self.model.nv))
        v = forward_dynamics(self._inertia_only, still, effort, wrenches)
        return close_loops(self.model, State(q, v)).v if self.model.is_constrained else v


def inertia_factors(model: Model) -> FloatArray:
    """L with L Lᵀ = I for the spatial inertia [ω; v] of each body at its origin, shape (n, 6, 6)."""
    ten = model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]
    L = np.zeros((model.n_bodies, 6, 6))
    for b, (m, hx, hy, hz, xx, xy, xz, yy, yz, zz) in enumerate(ten):
        if m == 0.0:
            continue
        c = np.array([hx, hy, hz]) / m
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
        values, vectors = np.linalg.eigh(about_com)
        skew = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
        L[b, :3, :3] = vectors * np.sqrt(np.maximum(values, 0.0))
        L[b, :3, 3:] = np.sqrt(m) * skew
        L[b, 3:, 3:] = np.sqrt(m) * np.eye(3)
    return L


@tabled
@dataclass(frozen=True)
class Langevin:
    """A thermostat: friction and noise that hold a linkage at a temperature.

    temperature: [K]. friction: rate at which velocities decay [1/s; 1/ps for molecules]. seed: of the noise.
    boltzmann: constant that takes temperatures to energies; by default that of the model's units [J/K, or kJ/mol/K].
    fixman: adds the force of Fixman's potential, so that coordinates are distributed as if bonds and angles were stiff
    springs, not rigid.
    """

    temperature: float
    friction: float = 1.0
    seed: int = 0
    boltzmann: float | None = None
    fixman: bool = False

    def __post_init__(self) -> None:
        not_negative(self.temperature, "temperature", finite=True)
        positive(self.friction, "friction")
        if self.boltzmann is not None:
            positive(self.boltzmann, "boltzmann")
        integer(self.seed, 0, "seed")
        if not isinstance(self.fixman, bool | np.bool_):
            raise StateError(f"fixman is {shown(self.fixman)}; give True or False.")

    def start(self, model: Model) -> ThermostatByHand:
        """The thermostat at work on states of a model that are moved by hand; simulations take `thermostat=` instead."""
        return ThermostatByHand(self, model)


class ThermostatByHand:
    """A Langevin thermostat at work. All that it keeps is where its random numbers stand."""

    def __init__(self, settings: Langevin, model: Model):
        self.settings, self.model = settings, as_model(model, "a thermostat")
        self.rng = np.random.default_rng(settings.seed)
        self._velocities = RandomVelocities(model, settings.boltzmann)
        self._fixman: Any = None
        if settings.fixman:
            from linkwork.simulation.thermal.fixman import FixmanPotential

            self._fixman = FixmanPotential(model, settings.temperature, settings.boltzmann)

    def efforts(self, state: State) -> FloatArray | None:
        """Efforts of Fixman's potential, to be added to those of the joints, shape (nv,); None if not asked for."""
        return None if self._fixman is None else self._fixman.efforts(state)

    def checkpoint(self) -> dict[str, Any]:
        """Where the random numbers stand, in plain numbers and strings."""
        return {"random": self.rng.bit_generator.state}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes on with the random numbers of a checkpoint."""
        try:
            self.rng.bit_generator.state = checkpoint["random"]
        except (TypeError, KeyError, ValueError, IndexError, OverflowError) as error:
            raise StateError(f"{shown(checkpoint)} is not a checkpoint of a thermostat: {error}.") from None

    def thermal_velocity(self, q: FloatArray) -> FloatArray:
        """Velocities of the thermostat's temperature at q, shape (nv,)."""
        return self._velocities.draw(q, self.settings.temperature, self.rng)

    def relax_velocity(self, state: State, h: float) -> State:
        """The exact change of velocities by friction and noise in the time h: v ← c v + √(1 - c²) ξ, c = exp(-γ h)."""
        q, v = as_state(self.model, state)
        c = np.exp(-self.settings.friction * not_negative(h, "h"))
        return State(q, c * v + np.sqrt(1.0 - c * c) * self.thermal_velocity(q))


def temperature(model: Model, state: State, boltzmann: float | None = None) -> float:
    """2 E_kin / (nv k) [K]."""
    kinetic = energy(model, state).kinetic
    if model.nv == 0:
        raise StateError(f"model '{model.name}' cannot move; it has no temperature.")
    return float(2.0 * kinetic / (model.nv * boltzmann_of(model, boltzmann)))
