"""Runs of molecules for `linkwork bench molecules`: energy kept, temperature held, a helix pulled apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from linkwork.full.one_step import Settings

import linkwork as lw
from linkwork.full.kick_drift_kick import kick_drift_kick
from linkwork.molecules.forces.field import poses_of
from linkwork.molecules.thermal.accelerating import FieldAcceleration

LOOSE = Settings(solve_tolerance=1e-6)  # of the velocity in a thermostat's step, far below its noise


def energy_drift(molecule: Any, field: Any, step: Callable[..., Any], h: float, time: float, seed: int) -> float:
    """Slope of the total energy of a run without thermostat, begun at 300 K [kJ/mol/ps]."""
    model = molecule.model
    acceleration = FieldAcceleration(model, field)
    q = molecule.state.q
    v = lw.molecules.RandomVelocities(model).draw(q, 300.0, np.random.default_rng(seed))
    state, energies = lw.State(q, v), []
    for _ in range(round(time / h)):
        energies.append(acceleration.energy(state))
        state = step(model, state, h, acceleration).state
    return float(np.polyfit(h * np.arange(len(energies)), energies, 1)[0])


class Warmth(NamedTuple):
    temperature: float  # [K] mean
    error: float  # [K] standard error, by blocks
    coldest_mode: float  # [K] mean temperature of the coldest mode of M, and of the warmest
    warmest_mode: float
    mode_error: float  # [K] standard error of one mode


def held_temperature(
    molecule: Any, field: Any, step: Callable[..., Any], h: float, time: float, friction: float, seed: int
) -> Warmth:
    """A run with the thermostat at 300 K: mean temperature, and that of every mode of the mass matrix."""
    model = molecule.model
    acceleration = FieldAcceleration(model, field)
    thermostat = lw.Langevin(300.0, friction, seed).start(model)
    state = lw.State(molecule.state.q, thermostat.thermal_velocity(molecule.state.q))
    seen, modes = [], []
    for k in range(round(time / h)):
        state = step(model, state, h, acceleration, LOOSE).state
        state = thermostat.relax_velocity(state, h)
        seen.append(lw.molecules.temperature(model, state))
        if k % 10 == 0:
            L = np.linalg.cholesky(lw.mass_matrix(model, state))
            modes.append((state.v @ L) ** 2 / lw.molecules.BOLTZMANN)
    blocks = np.array([block.mean() for block in np.array_split(np.array(seen), 20)])
    of_modes = np.mean(modes, axis=0)
    kept = math.exp(-2.0 * friction * 10 * h)
    mode_error = 300.0 * math.sqrt(2.0 / len(modes) * (1.0 + kept) / (1.0 - kept))
    return Warmth(
        float(np.mean(seen)), float(blocks.std(ddof=1) / math.sqrt(20)), float(of_modes.min()), float(of_modes.max()),
        mode_error,
    )  # fmt: skip


class Pull(NamedTuple):
    extension: np.ndarray  # (frames,) [nm] distance of the ends
    force: np.ndarray  # (frames,) [kJ/mol/nm] of the spring
    content: np.ndarray  # (frames,) of helix
    work: float  # [kJ/mol] done by the moving end of the spring
    last: lw.State | None = None  # where the linkage ended


class Pulling(NamedTuple):
    """Both ends held by springs; the far one is drawn away along the line through both."""

    stiffness: float = 500.0  # [kJ/mol/nm²]
    speed: float = 0.04  # [nm/ps]
    length: float = 3.2  # [nm] by which it is drawn
    friction: float = 5.0  # [1/ps]
    temperature: float = 300.0


def pull_linkage(molecule: Any, field: Any, pulling: Pulling, h: float, seed: int, frames: int = 100) -> Pull:
    """The linkage at a temperature, pulled by its ends."""
    model = molecule.model
    ends = ends_of(molecule)
    bodies, local = molecule.tree.body[list(ends)], molecule.tree.local[list(ends)]
    start = molecule.reference[list(ends)]
    along = (start[1] - start[0]) / np.linalg.norm(start[1] - start[0])
    anchors = start.copy()
    out = np.zeros((model.n_bodies, 6))

    def springs(poses: np.ndarray) -> np.ndarray:
        out[:] = 0.0
        for k in (0, 1):
            R = poses[bodies[k], :9].reshape(3, 3)
            f = R.T @ (pulling.stiffness * (anchors[k] - R @ local[k] - poses[bodies[k], 9:]))
            out[bodies[k]] += np.concatenate([np.cross(local[k], f), f])
        return out

    acceleration = FieldAcceleration(model, field, springs)
    thermostat = lw.Langevin(pulling.temperature, pulling.friction, seed).start(model)
    state = lw.State(molecule.state.q, thermostat.thermal_velocity(molecule.state.q))
    steps = round(pulling.length / pulling.speed / h)
    rows, work = [], 0.0
    for k in range(steps):
        state = thermostat.relax_velocity(kick_drift_kick(model, state, h, acceleration, LOOSE).state, h)
        x = atoms_at(poses_of(model, state.q), bodies, local)
        force = pulling.stiffness * float((anchors[1] - x[1]) @ along)
        work += force * pulling.speed * h
        anchors[1] += pulling.speed * h * along
        acceleration.forget()
        if k % max(1, steps // frames) == 0:
            rows.append((np.linalg.norm(x[1] - x[0]), force, lw.molecules.helix_content(molecule, state)))
    extension, force_, content = np.array(rows).T
    return Pull(extension, force_, content, work, state)


def pull_atoms(molecule: Any, pulling: Pulling, h: float, seed: int, frames: int = 100) -> Pull:
    """The same with every atom free, by OpenMM: bonds to hydrogens constrained, the same thermostat and springs."""
    import openmm as mm
    from openmm import app

    system = app.ForceField("amber14-all.xml").createSystem(
        molecule.topology, constraints=app.HBonds, removeCMMotion=False
    )
    ends = ends_of(molecule)
    start = molecule.reference[list(ends)]
    along = (start[1] - start[0]) / np.linalg.norm(start[1] - start[0])
    spring = mm.CustomExternalForce("0.5*k*((x-x0)^2+(y-y0)^2+(z-z0)^2)")
    spring.addGlobalParameter("k", pulling.stiffness)
    for name in ("x0", "y0", "z0"):
        spring.addPerParticleParameter(name)
    for atom, anchor in zip(ends, start, strict=True):
        spring.addParticle(atom, anchor.tolist())
    system.addForce(spring)
    integrator = mm.LangevinMiddleIntegrator(pulling.temperature, pulling.friction, h)
    integrator.setRandomNumberSeed(seed + 1)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
    context.setPositions(molecule.reference)
    context.setVelocitiesToTemperature(pulling.temperature, seed + 1)
    every = 10  # steps between moves of the anchor: 0.8 pm
    anchor, work, rows = start[1].copy(), 0.0, []
    rounds = round(pulling.length / pulling.speed / h / every)
    for k in range(rounds):
        integrator.step(every)
        x = context.getState(getPositions=True).getPositions(asNumpy=True)._value
        force = pulling.stiffness * float((anchor - x[ends[1]]) @ along)
        work += force * pulling.speed * h * every
        anchor = anchor + pulling.speed * h * every * along
        spring.setParticleParameters(1, ends[1], anchor.tolist())
        spring.updateParametersInContext(context)
        if k % max(1, rounds // frames) == 0:
            rows.append((np.linalg.norm(x[ends[1]] - x[ends[0]]), force))
    extension, force_ = np.array(rows).T
    return Pull(extension, force_, np.full(len(rows), np.nan), work)


def ends_of(molecule: Any) -> tuple[int, int]:
    """The first and the last carbon of the caps."""
    return molecule.atom("A:0:CH3"), int(molecule.select(residue_name="NME", atoms="C")[0])


def atoms_at(poses: np.ndarray, bodies: np.ndarray, local: np.ndarray) -> np.ndarray:
    R = poses[bodies, :9].reshape(-1, 3, 3)
    return np.einsum("aij,aj->ai", R, local) + poses[bodies, 9:]
