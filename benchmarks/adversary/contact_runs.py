"""Contact over whole runs: random trees of solids among obstacles, with sizes, masses, speeds and steps that nobody means.

A run is refused, or stays finite to its end. Where it begins without overlap, at rest or slowly, with nothing that does
work, it gains no energy. What fails on the way must leave the simulation at its last good step.
"""

from __future__ import annotations

import random
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import linkwork as lw

from ..contact import campaign

MOST_JOINTS = 8
LOOKS = 8  # at state and energy of a run
STEPS = (1e-4, 1e-3, 1e-3, 2e-3, 1e-2, 0.1, 10.0)  # [s] of one
ENOUGH = 1.0  # [s] of computing after which a run ends; most end before
SOUND_STEP, SOUND_SPEED = 2e-3, 3.0  # [s], [rad/s or m/s]: up to here energy is looked at
MOST_GAIN = 0.05  # of the largest kinetic energy
SPEEDS = (0.0, 0.5, 3.0, 30.0, 1e3, 1e6)  # [rad/s or m/s]
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e3)  # of all lengths
MASSES = (1.0, 1.0, 1e-6, 1e6)  # of one body, times


def scaled(linkage: lw.Linkage, scale: float, rng: random.Random) -> lw.Linkage:
    """The same bodies in another size, one of them heavier or lighter."""
    other = lw.Linkage("scaled")
    heavy, times = rng.choice([body.name for body in linkage._bodies]), rng.choice(MASSES)
    for body in linkage._bodies:
        mass = body.inertia.mass * scale**3 * (times if body.name == heavy else 1.0)
        inertia = lw.Inertia.sphere(mass, 0.1 * scale)
        placement = lw.Pose(
            tuple(scale * x for x in body.placement.xyz), matrix=np.reshape(body.placement.rotation, (3, 3))
        )
        shapes = [resized(shape, scale) for shape in body.shapes]
        other.add_body(body.name, body.parent, body.joint, placement, inertia, shapes=shapes)
    return other


def resized(shape: Any, scale: float) -> Any:
    lengths = {name: getattr(shape, name) for name in ("size", "radius", "length") if hasattr(shape, name)}
    return replace(
        shape, **{name: tuple(np.multiply(x, scale)) if name == "size" else scale * x for name, x in lengths.items()}
    )


def make(rng: random.Random) -> tuple[Any, float, int, bool]:
    """A simulation, its step [s], how many of them, and whether its energy is to be looked at."""
    numbers = np.random.default_rng(rng.getrandbits(64))
    scale, speed, h = rng.choice(SCALES), rng.choice(SPEEDS), rng.choice(STEPS)
    tree = campaign.tree_of(numbers, rng.randint(1, MOST_JOINTS), rng.random() < 0.6)
    if scale != 1.0 or rng.random() < 0.3:
        tree = scaled(tree, scale, rng)
    campaign.add_ground(tree, rng.choice(campaign.GROUNDS), numbers)
    model = tree.compile()
    state = model.random_state(rng.randrange(10**6), speed=speed)
    if rng.random() < 0.7:  # above the ground; the others may begin inside it
        below = lw.body_poses(model, state)[:, 2, 3].min()
        model = lifted(tree, float(0.5 * scale - below)).compile()
    contact = lw.Contact(
        friction=rng.choice((0.0, 0.5, 1.0, 1e3)),
        restitution=rng.choice((0.0, 0.5, 1.0)),
        self_contact=rng.random() < 0.5,
        continuous=rng.random() < 0.8,
    )
    integrator = rng.choice(campaign.INTEGRATORS)
    overlaps = False
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if rng.random() < 0.4:
            few = rng.randint(1, model.n_bodies)
            sim: Any = lw.AdaptiveDynamics(model, state, max_active_joints=few, contact=contact, integrator=integrator)
        else:
            sim = lw.FullDynamics(model, state, contact=contact, integrator=integrator)
        overlaps = any("inside each other" in str(each.message) for each in found)
    loaded = rng.random() < 0.3
    if loaded:
        body, force = rng.randrange(model.n_bodies), rng.choice((1.0, 1e4, 1e12))
        sim.apply_wrench(body, force=(0.0, 0.0, -force))
    is_sound = h <= SOUND_STEP and speed <= SOUND_SPEED and scale == 1.0 and not overlaps and not loaded
    return sim, h, rng.choice((8, 40, 160)), is_sound


def lifted(tree: lw.Linkage, height: float) -> lw.Linkage:
    """The same tree, so much [m] higher over its ground."""
    linkage = lw.Linkage("lifted")
    for body in tree._bodies:
        placement = lw.Pose((0.0, 0.0, height)) @ body.placement if body.parent == "world" else body.placement
        linkage.add_body(body.name, body.parent, body.joint, placement, body.inertia, shapes=body.shapes)
    for obstacle in tree._obstacles:
        linkage.add_obstacle(obstacle.name, obstacle.shape, obstacle.pose)
    return linkage


def is_finite(sim: Any) -> bool:
    return bool(np.isfinite(sim.state.q).all() and np.isfinite(sim.state.v).all())


def whole_run(rng: random.Random) -> str:
    """What happened: "taken", "refused", "nan", "changed" (by a step that failed), or "different" (energy from nothing)."""
    sim, h, steps, is_sound = make(rng)
    energy = sim.energy
    least, largest, gain = energy.total, energy.kinetic, 0.0
    until = time.process_time() + ENOUGH
    for _ in range(LOOKS):
        try:
            for _ in range(max(1, steps // LOOKS)):
                done, before = sim.steps_done, sim.state
                sim.step(h)
                if time.process_time() > until:
                    return "taken" if is_finite(sim) else "nan"
        except lw.StateError:
            if not is_finite(sim):
                return "nan"
            same = (sim.state.q == before.q).all()
            if isinstance(sim, lw.FullDynamics):  # a region that was chosen before the step failed stops joints
                same = same and (sim.state.v == before.v).all()
            return "changed" if sim.steps_done == done and not same else "refused"
        if not is_finite(sim):
            return "nan"
        energy = sim.energy
        largest, gain = max(largest, energy.kinetic), max(gain, energy.total - least)
        least = min(least, energy.total)
    return "different" if is_sound and gain > MOST_GAIN * largest else "taken"
