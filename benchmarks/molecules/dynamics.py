"""Runs of molecules for `linkwork bench molecules`: energy kept, temperature held, a helix pulled apart."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw


def warm_state(molecule: Any, seed: int) -> lw.State:
    """The molecule's state with random velocities of 300 K."""
    q = molecule.state.q
    return lw.State(q, lw.molecules.RandomVelocities(molecule.model).draw(q, 300.0, np.random.default_rng(seed)))


def energy_drift(molecule: Any, field: Any, integrator: str, h: float, time: float, seed: int) -> float:
    """Slope of the total energy of a run without thermostat, begun at 300 K [kJ/mol/ps]."""
    sim = lw.FullDynamics(molecule.model, warm_state(molecule, seed), field=field, integrator=integrator)
    energies = []
    for _ in range(round(time / h)):
        energies.append(sim.energy.total)
        sim.advance(h)
    return float(np.polyfit(h * np.arange(len(energies)), energies, 1)[0])


class Warmth(NamedTuple):
    temperature: float  # [K] mean
    error: float  # [K] standard error, by blocks
    coldest_mode: float  # [K] mean temperature of the coldest mode of M, and of the warmest
    warmest_mode: float
    mode_error: float  # [K] standard error of one mode


def held_temperature(
    molecule: Any, field: Any, integrator: str, h: float, time: float, friction: float, seed: int
) -> Warmth:
    """A run with the thermostat at 300 K: mean temperature, and that of every mode of the mass matrix."""
    model = molecule.model
    thermostat = lw.Langevin(300.0, friction, seed)
    sim = lw.FullDynamics(model, warm_state(molecule, seed), field=field, integrator=integrator, thermostat=thermostat)
    seen, modes = [], []
    for k in range(round(time / h)):
        sim.advance(h)
        state = sim.state
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
    thermostat = lw.Langevin(pulling.temperature, pulling.friction, seed)
    sim = lw.FullDynamics(
        model, warm_state(molecule, seed), field=field, integrator="kick_drift_kick", thermostat=thermostat
    )
    springs = [
        sim.apply_spring(int(body), target=anchor, stiffness=pulling.stiffness, at=at)
        for body, anchor, at in zip(bodies, start, local, strict=True)
    ]
    anchor = start[1].copy()
    steps = round(pulling.length / pulling.speed / h)
    rows, work = [], 0.0
    for k in range(steps):
        sim.advance(h)
        T = lw.body_poses(model, sim.state)[bodies]
        x = np.einsum("aij,aj->ai", T[:, :3, :3], local) + T[:, :3, 3]
        force = pulling.stiffness * float((anchor - x[1]) @ along)
        work += force * pulling.speed * h
        anchor += pulling.speed * h * along
        sim.move_target(springs[1], anchor)
        if k % max(1, steps // frames) == 0:
            rows.append((np.linalg.norm(x[1] - x[0]), force, lw.molecules.helix_content(molecule, sim.state)))
    extension, force_, content = np.array(rows).T
    return Pull(extension, force_, content, work, sim.state)


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
