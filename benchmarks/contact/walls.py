"""Bodies thrown at thin walls, in steps that are long for them: how many pass.

A case is its number: what is thrown, in any orientation, at what, in which simulation and by which integrator. The wall is
1 mm thick and stands, or is a plate of 1 mm that is itself free to move. A body has passed when its core (corners, ends,
centre) is on the other side of the middle of the wall at the end of a step.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw

H, STEPS, THICKNESS = 1e-3, 60, 1e-3
WALL = 20.0  # [m] edge of one that stands
PLATE, PLATE_MASS = 0.6, 0.3  # [m, kg] of one that is free
FREE = 0.2  # of the walls are
GAIN = 0.01  # of the kinetic energy at first, as in random scenes: what counts as energy from nothing
KINDS = ("full", "adaptive")
INTEGRATORS = ("semi_implicit_euler", "auto")
THINGS: dict[str, tuple[Any, float, tuple[float, float, float], float, float]] = {
    # shape, mass [kg], edges of its inertia's box [m], speed [m/s], spin [rad/s]
    "rod of 1 cm": (lw.Capsule(0.005, 0.2), 0.1, (0.01, 0.01, 0.21), 10.0, 20.0),
    "rod of 1 mm": (lw.Capsule(0.0005, 0.2), 0.01, (0.001, 0.001, 0.2), 10.0, 20.0),
    "stick": (lw.Capsule(0.003, 0.3), 0.05, (0.006, 0.006, 0.3), 20.0, 40.0),
    "needle": (lw.Cylinder(0.0005, 0.1), 0.005, (0.001, 0.001, 0.1), 30.0, 100.0),
    "plate": (lw.Box((0.2, 0.15, 0.002)), 0.1, (0.2, 0.15, 0.002), 10.0, 20.0),
    "cube": (lw.Box((0.05, 0.05, 0.05)), 0.2, (0.05, 0.05, 0.05), 10.0, 20.0),
    "spinning ball": (lw.Sphere(0.02), 0.05, (0.03, 0.03, 0.03), 50.0, 300.0),
    "bullet": (lw.Capsule(0.004, 0.02), 0.01, (0.008, 0.008, 0.028), 300.0, 100.0),
    "shot": (lw.Sphere(0.002), 0.001, (0.003, 0.003, 0.003), 400.0, 0.0),
}


@dataclass
class Case:
    """A body thrown at a wall."""

    number: int
    thing: str
    kind: str
    integrator: str
    is_free: bool  # whether the wall is a body of its own
    friction: float
    restitution: float


@dataclass
class Outcome:
    """What became of it. gain: kinetic energy at its largest, over what it was at first, less one."""

    case: Case
    passed: bool = False
    failure: str = ""
    gain: float = 0.0
    stopped: bool = False  # whether the wall was met at all
    parts: int = 0  # steps that were made in parts


def case_of(number: int) -> Case:
    """Things in turn; simulation, integrator, wall and materials at random."""
    names = list(THINGS)
    rng = np.random.default_rng([29, number])
    kind, integrator = KINDS[rng.integers(2)], INTEGRATORS[rng.integers(2)]
    material = (float(rng.choice([0.0, 0.3, 1.0])), float(rng.choice([0.0, 0.5, 1.0])))
    return Case(number, names[number % len(names)], kind, integrator, bool(rng.random() < FREE), *material)


def make(case: Case) -> tuple[Any, Any]:
    """The simulation of a case, and the core of the body that is thrown, points (k, 3) in its frame [m]."""
    rng = np.random.default_rng([27, case.number])
    shape, mass, edges, speed, spin = THINGS[case.thing]
    linkage = lw.Linkage("thrown", gravity=(0.0, 0.0, 0.0))
    linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.box(mass, edges), shapes=[shape])
    size = (THICKNESS, PLATE, PLATE) if case.is_free else (THICKNESS, WALL, WALL)
    if case.is_free:
        linkage.add_body("wall", joint=lw.Free(), inertia=lw.Inertia.box(PLATE_MASS, size), shapes=[lw.Box(size)])
    else:
        linkage.add_obstacle("wall", lw.Box(size))
    model = linkage.compile()
    q, v, turn = model.neutral().q, np.zeros(model.nv), rng.normal(size=4)
    at, along = model.q_slice("body").start, model.v_slice("body").start
    q[at], q[at + 3 : at + 7] = -0.17 - rng.uniform(0.0, 0.05), turn / np.linalg.norm(turn)
    R = lw.body_poses(model, lw.State(q, v))[model.body_names.index("body"), :3, :3]
    v[along : along + 3] = spin * rng.normal(size=3)
    v[along + 3 : along + 6] = R.T @ (speed * np.array([1.0, *(0.3 * rng.normal(size=2))]))
    contact = lw.Contact(friction=case.friction, restitution=case.restitution, self_contact=case.is_free)
    state = lw.State(q, v)
    if case.kind == "full":
        sim: Any = lw.FullDynamics(model, state, contact=contact, integrator=case.integrator)
    else:
        sim = lw.AdaptiveDynamics(model, state, tolerance=0.0, contact=contact, integrator=case.integrator)
    return sim, core_of(shape)


def core_of(shape: Any) -> Any:
    """Points of a solid that lie deepest inside a wall that it passes."""
    if isinstance(shape, lw.Box):
        return 0.5 * np.array(shape.size) * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    if isinstance(shape, lw.Sphere):
        return np.zeros((1, 3))
    return shape.length * np.linspace(-0.5, 0.5, 11)[:, None] * np.array([[0.0, 0.0, 1.0]])


def sides(sim: Any, core: Any, is_free: bool) -> Any:
    """Distance of each point of the core from the middle of the wall, NaN beside it [m]."""
    names, poses = sim.model.body_names, lw.body_poses(sim.model, sim.state)
    x = core @ poses[names.index("body"), :3, :3].T + poses[names.index("body"), :3, 3]
    if not is_free:
        return x[:, 0]
    wall = poses[names.index("wall")]
    x = (x - wall[:3, 3]) @ wall[:3, :3]
    return np.where(np.abs(x[:, 1:]).max(axis=1) < 0.5 * PLATE, x[:, 0], np.nan)


def outcome(case: Case) -> Outcome:
    """Throws it."""
    result = Outcome(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim, core = make(case)
        energy, before = sim.energy.kinetic, sides(sim, core, case.is_free)
        brought = sim.momentum.linear[0] if not case.is_free else math.nan
        for _ in range(STEPS):
            try:
                report = sim.step(H)
            except lw.LinkworkError as error:
                result.failure = str(error)
                return result
            result.parts += report.contact.shortened
            now = sides(sim, core, case.is_free)
            result.passed = result.passed or bool(np.any((before < 0.0) & (now >= 0.0)))
            before = now
            result.gain = max(result.gain, sim.energy.kinetic / energy - 1.0)
            result.stopped = result.stopped or len(sim.contacts) > 0
        if not case.is_free:
            result.stopped = sim.momentum.linear[0] < 0.5 * brought
    return result
