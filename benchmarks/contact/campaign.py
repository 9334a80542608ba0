"""Random scenes of contact: how many overflow, gain energy or do not converge.

Trees of 1 to 30 joints of all kinds, floating and fixed, fall on a floor, under a ceiling, among boxes or on hills, with
friction and restitution from 0 to 1, in both simulations, for two seconds. A scene is its number: the same one every time.

`linkwork bench contact --case campaign --first K --scenes 1` runs scene K again; `python -m benchmarks.contact` runs many.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw

SECONDS = 2.0
LOOKS = 100  # at the energy of a scene
KINDS = ("revolute", "revolute", "prismatic", "spherical")
GROUNDS = ("floor", "ceiling", "boxes", "hills")
INTEGRATORS = ("semi_implicit_euler", "auto", "auto", "variational")
MOST_GAIN = 0.01  # of the largest kinetic energy: what counts as energy from nothing
TRIES = 20  # to begin without bodies inside each other


@dataclass
class Outcome:
    """What became of a scene. gain: largest rise of the energy, over the largest kinetic energy."""

    number: int
    words: str
    failure: str = ""
    gain: float = 0.0
    contacts: int = 0  # at most at once
    steps: int = 0
    not_converged: int = 0
    shortened: int = 0
    taken_back: float = 0.0  # [J]
    energy_lost: float = 0.0  # [J]
    seconds: float = 0.0  # of the processor

    @property
    def is_failed(self) -> bool:
        return bool(self.failure)

    @property
    def has_gained(self) -> bool:
        return not self.gain <= MOST_GAIN


def add_ground(linkage: lw.Linkage, kind: str, rng: np.random.Generator) -> None:
    """A floor at z = 0, and what else there is."""
    if kind == "hills":
        heights = 0.15 * rng.random((12, 12))
        linkage.add_obstacle("hills", lw.HeightField(heights, (6.0, 6.0)), lw.Pose((0, 0, -0.15)))
        linkage.add_obstacle("ground", lw.Plane(), lw.Pose((0, 0, -0.15)))
        return
    linkage.add_obstacle("floor", lw.Plane())
    if kind == "ceiling":
        linkage.add_obstacle("ceiling", lw.Plane(), lw.Pose((0, 0, 4.0), rpy=(math.pi, 0, 0)))
    if kind == "boxes":
        for k in range(4):
            at = lw.Pose((*rng.uniform(-0.8, 0.8, 2), 0.05), rpy=(0, 0, rng.uniform(0, 3)))
            linkage.add_obstacle(f"box_{k}", lw.Box(tuple(rng.uniform(0.1, 0.5, 3))), at)


def joint_of(kind: str, rng: np.random.Generator) -> Any:
    axis = tuple(rng.normal(size=3))
    options = {"damping": 0.05 * rng.random(), "stiffness": rng.random()} if rng.random() < 0.3 else {}
    if kind == "spherical":
        return lw.Spherical(**options)
    return lw.Prismatic(axis, **options) if kind == "prismatic" else lw.Revolute(axis, **options)


def shape_of(rng: np.random.Generator) -> tuple[Any, Any]:
    """A solid of 0.05 to 0.2 m of the density of water, and its inertia."""
    kind, size = rng.integers(3), rng.uniform(0.05, 0.2, 3)
    if kind == 0:
        return lw.Sphere(size[0] / 2), lw.Inertia.sphere(520.0 * size[0] ** 3, size[0] / 2)
    box = lw.Inertia.box(1000.0 * float(np.prod(size)), tuple(size))
    if kind == 1:
        return lw.Box(tuple(size)), box
    radius = 0.25 * (size[0] + size[1])
    return lw.Capsule(radius, size[2]), lw.Inertia.box(
        3000.0 * radius**2 * (size[2] + radius), (*size[:2], 2 * size[2])
    )


def tree_of(rng: np.random.Generator, joints: int, floating: bool) -> lw.Linkage:
    """A tree of solids on joints of one or two kinds, with branches."""
    linkage = lw.Linkage("tree")
    kinds, reach = rng.choice(KINDS, 2), int(rng.integers(1, 6))
    for i in range(joints):
        joint = lw.Free() if i == 0 and floating else joint_of(str(rng.choice(kinds)), rng)
        parent = "world" if i == 0 else f"body_{rng.integers(max(0, i - reach), i)}"
        way = rng.normal(size=3)
        at = lw.Pose(tuple(0.25 * way / np.linalg.norm(way)), rpy=tuple(rng.normal(size=3)))
        shape, inertia = shape_of(rng)
        linkage.add_body(f"body_{i}", parent, joint, at, inertia, shapes=[shape])
    return linkage


def place(tree: lw.Linkage, ground: str, rng: np.random.Generator) -> tuple[lw.Model, lw.State]:
    """The tree on its ground, and a state of it: a floating one begins above the ground, a fixed one hangs over it."""
    alone = tree.compile()
    speed, seed = float(rng.choice([0.0, 0.5, 3.0])), int(rng.integers(1_000_000))
    state = alone.random_state(seed, speed=speed)
    below = -float(lw.body_poses(alone, state)[:, 2, 3].min())
    linkage = lw.Linkage("scene")
    linkage.merge(tree, placement=lw.Pose((0, 0, below + float(rng.uniform(0.3, 0.8)))))
    add_ground(linkage, ground, rng)
    model = linkage.compile()
    return model, lw.State(state.q, state.v)


def make(number: int) -> tuple[Any, str, float]:
    """The simulation of a scene, in words, and its step [s]."""
    rng = np.random.default_rng([27, number])
    joints, floating = int(rng.integers(1, 31)), bool(rng.random() < 0.6)
    ground, integrator = GROUNDS[rng.integers(len(GROUNDS))], INTEGRATORS[rng.integers(len(INTEGRATORS))]
    friction, restitution = float(rng.random()), float(rng.choice([0.0, rng.random(), 1.0]))
    own, adaptive, h = bool(rng.random() < 0.5), bool(rng.random() < 0.3), float(rng.choice([1e-3, 2e-3]))
    for attempt in range(TRIES):
        model, state = place(tree_of(rng, joints, floating), ground, rng)
        contact = lw.Contact(friction=friction, restitution=restitution, self_contact=own and attempt < TRIES // 2)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            if adaptive:
                few = max(1, joints // 2)
                sim: Any = lw.AdaptiveDynamics(
                    model, state, max_active_joints=few, contact=contact, integrator=integrator
                )
            else:
                sim = lw.FullDynamics(model, state, contact=contact, integrator=integrator)
        if not any("inside each other" in str(each.message) for each in found):
            break
    words = (
        f"{joints} joints, {'floating' if floating else 'fixed'}, {ground}, μ {friction:.2f}, e {restitution:.2f}, "
        f"{'adaptive' if adaptive else 'full'}, {integrator}, h {h:g} s{', self-contact' if contact.self_contact else ''}"
    )
    return sim, words, h


def outcome(number: int, seconds: float = SECONDS) -> Outcome:
    """Runs a scene."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim, words, h = make(number)
        result = Outcome(number, words)
        begun = time.process_time()
        energy = sim.energy
        least, largest, rise = energy.total, energy.kinetic, 0.0
        for _ in range(LOOKS):
            try:
                report = sim.step(h, round(seconds / h / LOOKS))
            except lw.LinkworkError as error:
                result.failure = str(error)
                break
            energy = sim.energy
            if not math.isfinite(energy.total):
                result.failure = f"energy is {energy.total}"
                break
            largest, rise = max(largest, energy.kinetic), max(rise, energy.total - least)
            least = min(least, energy.total)
            result.steps += round(seconds / h / LOOKS)
            result.contacts = max(result.contacts, report.contact.contacts)
            result.not_converged += report.contact.not_converged
            result.shortened += report.contact.shortened
            result.taken_back += report.contact.taken_back
            result.energy_lost += report.contact.energy_lost
        result.gain = rise / largest if largest > 0.0 else 0.0
        result.seconds = time.process_time() - begun
    return result
