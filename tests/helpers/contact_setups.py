"""Set-ups of contact whose solutions are known, shared by the tests of the solver alone and of the simulations."""

from __future__ import annotations

import math

import numpy as np

import linkwork as lw

G = 9.81
LAWS = ("coupled", "impacts")
KINDS = ("full", "adaptive")


def simulate(kind, model, state, contact=None, **more):
    """A simulation in which every joint may move."""
    if kind == "full":
        return lw.FullDynamics(model, state, contact=contact, **more)
    return lw.AdaptiveDynamics(model, state, tolerance=0.0, contact=contact, **more)


def world_twist(sim, body=0):
    return lw.body_twists(sim.model, sim.state, frame="world")[body]


def on_a_plane(shape, inertia, gravity=(0, 0, -G), joint=None):
    linkage = lw.Linkage("body", gravity=gravity)
    linkage.add_body("body", joint=joint or lw.Free(), inertia=inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile()


def ball_on_a_plane(height=0.1, **options):
    """A solid ball of 1 kg and 0.1 m, and its state at rest at a height."""
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), **options)
    q = model.neutral().q
    q[2] = height
    return model, lw.State(q, np.zeros(6))


def chain(links, radius=0.02, length=0.1, ground=-0.02, friction=None):
    """A free chain of capsules that lies straight on a table."""
    linkage = lw.Linkage("chain")
    rod = lw.Inertia.box(0.1, (length, radius, radius)).at(lw.Pose((length / 2, 0, 0)))
    shape = lw.Capsule(
        radius, length - 2 * radius, placement=lw.Pose((length / 2, 0, 0), rpy=(0, math.pi / 2, 0)), friction=friction
    )
    for i in range(links):
        joint = lw.Free() if i == 0 else (lw.Revolute((0, 1, 0)) if i % 2 else lw.Revolute((0, 0, 1)))
        place = lw.Pose() if i == 0 else lw.Pose((length, 0, 0))
        linkage.add_body(f"link_{i}", "world" if i == 0 else f"link_{i - 1}", joint, place, rod, shapes=[shape])
    linkage.add_obstacle("table", lw.Plane(), lw.Pose((0, 0, ground)))
    return linkage


def two_chains():
    """Two free chains without gravity, of which one runs into the other."""
    linkage = lw.Linkage("two", gravity=(0, 0, 0))
    for name, at in (("a", 0.0), ("b", 0.13)):
        one = chain(4)
        one.remove_obstacle("table")
        placement = lw.Pose((0.05 * (name == "b"), at, 0), rpy=(0, 0, 0.3 * (name == "b")))
        linkage.merge(one, prefix=name, placement=placement)
    model = linkage.compile()
    start = np.zeros(model.nv)
    start[model.v_slice("alink_0").start + 4] = 1.0
    return model, lw.State(model.neutral().q, start)


CAPSTAN_FRICTION = 0.3


def capstan(wrap):
    """A chain of spheres over a fixed drum, its settings, and the loads of unit tension at either end: body and direction.

    A chain that winds several times lies on itself: it does not touch itself here. Friction acts at the drum's radius,
    tension at that of the centres: the spheres are small (0.2 % of the drum).
    """
    drum, radius, links = 1.0, 0.002, round(24 * wrap / math.pi)
    step = wrap / links
    length = 2 * (drum + radius) * math.sin(step / 2)
    linkage = lw.Linkage("capstan", gravity=(0, 0, 0))
    ball = lw.Inertia(1e-3, (0, 0, 0), (1e-5, 1e-5, 1e-5))
    first = lw.Pose(((drum + radius), 0, 0), rpy=(0, 0, math.pi / 2 + step / 2))
    for i in range(links + 1):
        joint = lw.Planar() if i == 0 else lw.Revolute((0, 0, 1))
        place = first if i == 0 else lw.Pose((length, 0, 0), rpy=(0, 0, step))
        linkage.add_body(f"b{i}", "world" if i == 0 else f"b{i - 1}", joint, place, ball, shapes=[lw.Sphere(radius)])
    linkage.add_obstacle("drum", lw.Cylinder(drum, 1.0))
    contact = lw.Contact(friction=CAPSTAN_FRICTION, self_contact=False, margin=1e-4, tolerance=1e-7, max_sweeps=5000)
    end = math.pi / 2 + wrap
    pulls = (("b0", np.array([0.0, -1.0, 0.0])), (f"b{links}", np.array([math.cos(end), math.sin(end), 0.0])))
    return linkage.compile(), contact, pulls


def capstan_speeds(bodies, h):
    """Speeds of the pulled end after a step, below which the chain holds and above which it slips.

    free: what it would gain from 3 % of the smaller load.
    """
    free = 0.03 / (1e-3 * bodies) * h
    return 0.05 * free, 0.2 * free


def pendulum(**joint):
    linkage = lw.Linkage("pendulum")
    inertia = lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0), **joint), inertia=inertia)
    return linkage.compile()


def cradle():
    """Four equal balls in a row on one line; the first runs into the others."""
    linkage = lw.Linkage("cradle", gravity=(0, 0, 0))
    for k in range(4):
        linkage.add_body(f"ball_{k}", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.sphere(1.0, 0.1),
                         placement=lw.Pose((0.3 * k, 0, 0)), shapes=[lw.Sphere(0.1)])  # fmt: skip
    return linkage.compile(), lw.State(np.zeros(4), np.array([1.0, 0, 0, 0]))
