"""Nothing passes a thin wall: rods, plates, cubes, spinning balls and bullets against 1 mm, in long steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.contact_setups import KINDS, simulate

import linkwork as lw

H, STEPS, THICKNESS = 1e-3, 60, 1e-3
THINGS = {  # shape, mass [kg], edges of its inertia's box [m], speed [m/s], spin [rad/s]
    "rod": (lw.Capsule(0.005, 0.2), 0.1, (0.01, 0.01, 0.21), 10.0, 20.0),
    "plate": (lw.Box((0.2, 0.15, 0.002)), 0.1, (0.2, 0.15, 0.002), 10.0, 20.0),
    "cube": (lw.Box((0.05, 0.05, 0.05)), 0.2, (0.05, 0.05, 0.05), 10.0, 20.0),
    "spinning ball": (lw.Sphere(0.02), 0.05, (0.03, 0.03, 0.03), 50.0, 300.0),
    "smooth bullet": (lw.Capsule(0.004, 0.02), 0.01, (0.008, 0.008, 0.028), 100.0, 100.0),
}


def thrown(thing, rng):
    """A body thrown at a wall across x, in any orientation, and its state."""
    shape, mass, edges, speed, spin = THINGS[thing]
    linkage = lw.Linkage("thrown", gravity=(0.0, 0.0, 0.0))
    linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.box(mass, edges), shapes=[shape])
    linkage.add_obstacle("wall", lw.Box((THICKNESS, 20.0, 20.0)))
    model = linkage.compile()
    q, v, turn = model.neutral().q, np.zeros(6), rng.normal(size=4)
    q[0], q[3:7] = -0.15 - rng.uniform(0.0, 0.05), turn / np.linalg.norm(turn)
    R = lw.body_poses(model, lw.State(q, v))[0, :3, :3]
    v[:3], v[3:] = spin * rng.normal(size=3), R.T @ (speed * np.array([1.0, *(0.3 * rng.normal(size=2))]))
    return model, lw.State(q, v)


def farthest(model, state, shape):
    """Largest x of the core of the body: corners, ends or centre [m]."""
    pose = lw.body_poses(model, state)[0]
    if isinstance(shape, lw.Box):
        core = 0.5 * np.array(shape.size) * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    elif isinstance(shape, lw.Sphere):
        core = np.zeros((1, 3))
    else:
        core = 0.5 * shape.length * np.array([[0, 0, -1.0], [0, 0, 1.0]])
    return (core @ pose[:3, :3].T + pose[:3, 3])[:, 0].max()


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_passes_a_thin_wall(kind, thing):
    """20 of each, with friction and without bounce or the other way round; the middle of the wall is not reached."""
    shape = THINGS[thing][0]
    for seed in range(20):
        model, start = thrown(thing, np.random.default_rng(seed))
        rough = seed % 2 and thing != "smooth bullet"
        contact = lw.Contact(friction=0.3 if rough else 0.0, restitution=0.0 if rough else 0.5)
        sim = simulate(kind, model, start, contact=contact, integrator="semi_implicit_euler")
        before, brought = sim.energy.kinetic, sim.momentum.linear[0]
        for _ in range(STEPS):
            sim.step(H)
            assert farthest(model, sim.state, shape) < 0.0, seed
        assert sim.momentum.linear[0] < 0.5 * brought  # it was stopped
        assert sim.energy.kinetic <= before * (1.0 + 1e-6)  # ten times what a solve may leave
