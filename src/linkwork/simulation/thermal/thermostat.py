"""A Langevin thermostat at work on a moving linkage: a whole model, or the active joints of one.

After each step velocities change as friction and noise change them in the time h, exactly: v ← c v + √(1 - c²) ξ with
c = exp(-γ h) and ξ of covariance kT M⁻¹ (equation 1 of docs/proteins.md); of a closed linkage, what its loops leave of it.
Noise is a change of velocities, not a force: no
acceleration and no metric of accelerations shows it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.aba import (
    BODY_WORK,
    DOF_WORK,
    accelerations_root_to_leaf,
    inertias_leaf_to_root,
    velocities_root_to_leaf,
)
from linkwork.errors import StateError
from linkwork.loops.system import loop_plan
from linkwork.model.layout import ARMATURE, INERTIA
from linkwork.model.model import Model, ModelArrays
from linkwork.simulation.constrained.constraints import constraints_of, is_constrained
from linkwork.simulation.constrained.loop_forces import stop_slips
from linkwork.simulation.moving import OK, Moving, moving_of
from linkwork.simulation.thermal.fixman import FixmanPotential, log_det_and_slopes
from linkwork.simulation.thermal.langevin import Langevin, boltzmann_of
from linkwork.spatial.memory import load10

WORD = 2**64
RANDOM_WORDS = 6  # of the generator: state (2), increment (2), and what is left of a number that was cut in two (2)


@inlined
def color_noise(s, i, noise, root):
    """White noise in row i (6,) → a wrench of covariance root² I_i, in place.

    I = [[J + m ĉĉᵀ, m ĉ], [-m ĉ, m]] = L Lᵀ with L = [[A, √m ĉ], [0, √m]] and A Aᵀ = J, the moments about the centre c;
    A by Cholesky, where a pivot that vanishes (a rod, a point) leaves its column empty.
    """
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = load10(s.body, i, INERTIA)
    if m <= 0.0:
        for k in range(6):
            noise[i, k] = 0.0
        return
    x, y, z = hx / m, hy / m, hz / m
    xx -= m * (y * y + z * z)
    yy -= m * (x * x + z * z)
    zz -= m * (x * x + y * y)
    xy += m * x * y
    xz += m * x * z
    yz += m * y * z
    a = math.sqrt(max(xx, 0.0))
    b = xy / a if a > 0.0 else 0.0
    c = xz / a if a > 0.0 else 0.0
    d = math.sqrt(max(yy - b * b, 0.0))
    e = (yz - b * c) / d if d > 0.0 else 0.0
    f = math.sqrt(max(zz - c * c - e * e, 0.0))
    g = math.sqrt(m)
    n0, n1, n2 = noise[i, 0], noise[i, 1], noise[i, 2]
    f0, f1, f2 = g * noise[i, 3], g * noise[i, 4], g * noise[i, 5]
    noise[i, 0] = root * (a * n0 + y * f2 - z * f1)
    noise[i, 1] = root * (b * n0 + d * n1 + z * f0 - x * f2)
    noise[i, 2] = root * (c * n0 + e * n1 + f * n2 + x * f1 - y * f0)
    noise[i, 3] = root * f0
    noise[i, 4] = root * f1
    noise[i, 5] = root * f2


@kernel
def relax_velocities(table, noise, joint_noise, still, root, decay):
    """v ← kept · v + √(1 - kept²) ξ. noise (n, 6), joint_noise (nv,): white, overwritten; root: √(kT); still: three zeros.

    Returns OK (-1), or a body whose joint resists with no inertia. Accelerations of the last step stay as they are.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        color_noise(s, i, noise, root)
    for d in range(s.v.shape[0]):
        armature = s.dof[d, ARMATURE]
        s.effective_armature[d, ARMATURE] = armature
        s.joint_effort[d] = root * math.sqrt(armature) * joint_noise[d]
        s.u[d] = 0.0
    velocities_root_to_leaf(s, s.effective_armature, s.q, s.u, s.joint_effort, noise, s.work, s.dof_work, False)
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.effective_armature, s.work, s.dof_work)
    if bad >= 0:
        return bad
    accelerations_root_to_leaf(s.tree, s.body, still, s.work, s.dof_work, s.u)
    share = math.sqrt(1.0 - decay * decay)
    for d in range(s.v.shape[0]):
        s.v[d] = decay * s.v[d] + share * s.u[d]
    return -1


@kernel
def fit_velocities(table):
    """Takes out of the velocities what loops and couplings do not allow; OK or a failure, and how many that are."""
    if not is_constrained(table):
        return OK, 0
    return stop_slips(table), constraints_of(table).rank[0]


class Thermostat:
    """A thermostat at work in a simulation. `words` (6,) holds where its random numbers stand, for checkpoints."""

    def __init__(self, settings: Langevin, model: Model):
        if not isinstance(settings, Langevin):
            raise StateError(f"thermostat is {settings!r}; give linkwork.Langevin(temperature), or None.")
        if model.is_constrained and settings.fixman:
            raise StateError(
                f"model '{model.name}' has loops or couplings, for which Fixman's potential is not known; leave fixman out."
            )
        self.settings, self.model = settings, model
        self.rng = np.random.Generator(np.random.PCG64(settings.seed))
        self.words = np.zeros(RANDOM_WORDS, dtype=np.int64)
        self.save()
        n, nv = model.n_bodies, model.nv
        self._noise, self._still = np.zeros(6 * n + nv), np.zeros(3)
        self._boltzmann = boltzmann_of(model, settings.boltzmann)
        self._root = math.sqrt(self._boltzmann * settings.temperature)
        self._constrained = (
            loop_plan(model).count if model.is_constrained else 0
        )  # velocities that constraints take away
        self._fixman: Any = None
        if settings.fixman:
            FixmanPotential(model, settings.temperature, settings.boltzmann)  # refuses joints without a law
            self._fixman = np.empty((n, BODY_WORK)), np.empty((nv, DOF_WORK)), np.zeros((n, 6, 6)), np.zeros((4, 6, 6))
            self._slopes = np.zeros(nv)

    @property
    def has_forces(self) -> bool:
        """Whether it gives efforts as well (of Fixman's potential)."""
        return self._fixman is not None

    def relax(self, table: IntArray, bodies: int, velocities: int, h: float) -> int:
        """Friction and noise of the time h on a moving linkage of so many bodies; OK, or a body that failed."""
        size = 6 * bodies + velocities
        self.rng.standard_normal(out=self._noise[:size])
        noise, joint_noise = self._noise[: 6 * bodies].reshape(bodies, 6), self._noise[6 * bodies : size]
        decay = math.exp(-self.settings.friction * h)
        status = int(relax_velocities(table, noise, joint_noise, self._still, self._root, decay))
        if status == OK and self.model.is_constrained:
            status, self._constrained = fit_velocities(table)
        return status

    def efforts(self, moving: Moving, bodies: int, velocities: int) -> FloatArray:
        """Efforts of Fixman's potential at q on a moving linkage, shape (velocities,)."""
        work, dof_work, mobility, scratch = self._fixman
        tree, body, dof = moving.tree[:bodies], moving.body[:bodies], moving.dof[:velocities]
        arrays = ModelArrays(tree, body, moving.screws, dof, moving.rest, self._still)
        slopes = self._slopes[:velocities]
        still = np.zeros(velocities)
        value = log_det_and_slopes(
            arrays, moving.q, still, still[:0], np.zeros((0, 6)), work, dof_work, mobility, scratch, slopes
        )
        if not math.isfinite(value):
            raise StateError("the mass matrix is singular here; Fixman's potential does not exist.")
        return -0.5 * self._root * self._root * slopes

    def temperature(self, kinetic: float, velocities: int) -> float:
        """2 E_kin / (f k) [K], with f the velocities that constraints leave free."""
        free = velocities - self._constrained
        return 2.0 * kinetic / (free * self._boltzmann) if free > 0 else math.nan

    # ------------------------------------------------------------------------------------------------------ checkpoints

    def save(self) -> None:
        """Writes where the random numbers stand into `words`."""
        state = self.rng.bit_generator.state
        numbers = state["state"]["state"], state["state"]["inc"]
        parts = [x for number in numbers for x in (number % WORD, number // WORD)]
        self.words.view(np.uint64)[:] = [*parts, state["has_uint32"], state["uinteger"]]

    def go_back(self) -> None:
        """Goes on with the random numbers that `words` say."""
        a, b, c, d, has_half, half = (int(x) for x in self.words.view(np.uint64))
        self.rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": a + b * WORD, "inc": c + d * WORD},
            "has_uint32": has_half,
            "uinteger": half,
        }
