"""Robots of files and the library's humanoid, dropped on a floor: what fails, and whether they press with their weight.

Robots are those of the package `example-robot-data` whose shapes are there, with their meshes as hulls; each with a
floating base, in a pose near its zero, and dampers on its joints so that it comes to rest. The force on the floor is
compared with the weight over the last tenth of a second: mean force less change of momentum per time, over weight.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

SECONDS, H = 2.0, 1e-3
LAST = 100  # steps at the end over which forces are compared with the weight
BEND, SPEED = 0.2, 0.5  # [rad, rad/s] of joints at first, at random
DAMPING = 0.02  # of mass times size squared times 10 / s: of every joint
FALL = 0.05  # [m] of the lowest point above the floor at first
ROBOTS = (
    "a1_description/urdf/a1.urdf", "anymal_b_simple_description/robots/anymal.urdf", "b1_description/urdf/b1.urdf",
    "bolt_description/robots/bolt.urdf", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "go1_description/urdf/go1.urdf",
    "go2_description/urdf/go2.urdf", "hyq_description/robots/hyq_no_sensors.urdf", "icub_description/robots/icub.urdf",
    "laikago_description/urdf/laikago.urdf", "solo_description/robots/solo12.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf", "talos_data/robots/talos_reduced.urdf",
)  # fmt: skip


@dataclass
class Outcome:
    """What became of a robot. force: on the floor over the last steps, less what changed its momentum, over its weight."""

    robot: str
    seed: int
    failure: str = ""
    force: float = math.nan
    not_converged: int = 0
    steps: int = 0
    seconds: float = 0.0  # of the processor


def folder() -> Path | None:
    """Where the robots of `example-robot-data` are; None where it is not installed."""
    for place in sys.path:
        found = Path(place) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if found.is_dir():
            return found
    return None


def robots() -> Iterator[tuple[str, Any]]:
    """Names, and what makes each as a linkage."""
    yield "library humanoid", lw.library.humanoid
    place = folder()
    for file in ROBOTS if place is not None else ():
        assert place is not None
        found = sorted(place.rglob(Path(file).name))
        if found:
            yield found[0].stem, lambda path=found[0]: lw.load(path, floating=True, missing_meshes="skip")


def make(linkage: lw.Linkage, seed: int) -> Any:
    """The simulation of a robot right above a floor."""
    rng = np.random.default_rng([28, seed])
    alone = linkage.compile()
    q, v = alone.neutral().q.copy(), np.zeros(alone.nv)
    floating = alone.q_slice(alone.joint_names[0])
    for i, name in enumerate(alone.joint_names):
        at, along = alone.q_slice(name), alone.v_slice(name)
        if i > 0 and at.stop - at.start == along.stop - along.start:
            low, high = alone.lower[along], alone.upper[along]
            q[at] = np.clip(q[at] + rng.normal(scale=BEND, size=at.stop - at.start), low, high)
            v[along] = rng.normal(scale=SPEED, size=along.stop - along.start)
    turn = np.array([1.0, *(0.2 * rng.normal(size=3))])
    q[floating][3:7] = turn / np.linalg.norm(turn)
    deep = 100.0  # [m]
    alone_with_floor = lw.Collisions(with_floor(linkage, -deep), lw.Contact(self_contact=False))
    q[floating][2] -= alone_with_floor.clearances(q[None])[0] - deep - FALL
    model = with_floor(linkage, 0.0)
    return lw.FullDynamics(model, lw.State(q, v), contact=lw.Contact(friction=0.8))


def with_floor(linkage: lw.Linkage, height: float) -> lw.Model:
    both = lw.Linkage("dropped")
    both.merge(linkage)
    both.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, height)))
    return both.compile()


def outcome(robot: str, linkage: lw.Linkage, seed: int) -> Outcome:
    """Drops it."""
    result = Outcome(robot, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        sim = make(linkage, seed)
        sim.motors.damping = DAMPING * float(sim.model.mass.sum())
        try:
            for _ in range(round(SECONDS / H) // LAST):
                report = sim.step(H, LAST)
                result.not_converged += report.contact.not_converged
                result.steps += LAST
            result.force = force_over_weight(sim)
        except lw.LinkworkError as error:
            result.failure = str(error)
        result.seconds = time.process_time() - begun
    return result


def force_over_weight(sim: Any) -> float:
    """Mean force of the floor over LAST steps, less the change of momentum per time, over the weight."""
    weight = float(sim.model.mass.sum()) * -float(sim.model.gravity[2])
    before, pushed = sim.momentum.linear[2], 0.0
    for _ in range(LAST):
        sim.step(H)
        pushed += H * sum(contact.force[2] for contact in sim.contacts if contact.other == "floor")
    return (pushed - (sim.momentum.linear[2] - before)) / (LAST * H * weight)
