"""The three scenes of the benchmark, in every size and with every simulation that takes part."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw

GROWN = 10  # times the joints, of a tenth of the length and mass


def time_of_clock() -> float:
    """What reading the clock twice, with nothing in between, says has passed [s]."""
    found = []
    for _ in range(1000):
        start = time.thread_time()
        found.append(time.thread_time() - start)
    return statistics.median(found)


CLOCK = time_of_clock()  # half a microsecond, where a step is a call of its own and takes thirty


@dataclass(frozen=True)
class Case:
    """A built-in scene, how many joints of it are active, and what must be reached against all joints active."""

    scene: str
    joints: int
    active: int
    begin: float  # [s] when timing begins: bodies touch by then
    required: float
    goal: float
    grown_begin: float | None = None  # [s] the same with ten times the joints, where a step of all of them takes long


CASES = (
    Case("pendulum_pegs", 200, 40, 0.4, 3.0, 5.0),
    Case("threading", 300, 60, 1.9, 3.0, 5.0),
    Case("bridge", 500, 70, 0.1, 5.0, 8.0, 0.03),
)


def read(case: Case, times: int = 1) -> lw.Scene:
    """The scene, or one of `times` as many joints in a linkage of the same length, mass and radius."""
    if times == 1:
        return lw.Scene.read(case.scene)
    whole = lw.Scene.read(case.scene)
    given = whole.given["model"]["parameters"]
    extra = given["joints"] - case.joints  # the free joint of a base
    changes = {"joints": times * case.joints + extra, "length": given["length"] / times, "mass": given["mass"] / times}
    settings = {f"model.parameters.{key}": value for key, value in changes.items()}
    base = whole.given.get("state", {}).get("q", {}).get("link_0")
    if isinstance(base, list):  # the first joint stays where it is, and the curve behind it
        x, y, z, qw, qx, qy, qz = base
        shorter = given["length"] * (1.0 - 1.0 / times)  # links go along -z of their frame
        axis = (2 * (qx * qz + qw * qy), 2 * (qy * qz - qw * qx), 1 - 2 * (qx * qx + qy * qy))
        moved = [p - shorter * e for p, e in zip((x, y, z), axis, strict=True)]
        settings["state.q.link_0"] = [*moved, qw, qx, qy, qz]
    return lw.Scene.read(case.scene, settings)


def contact_of(scene: lw.Scene) -> lw.Contact:
    return lw.Contact(**scene.given["contact"])


class Contestant:
    """A simulation of a scene with its loads; only steps are timed, not the setting of loads from Python."""

    def __init__(self, scene: lw.Scene, make: Any):
        self.scene = scene.build()
        self.sim = self.scene.sim if make is None else make(self.scene)
        self.scene.sim = self.sim
        self.h = scene.h
        self.spent = 0.0
        self.contacts = 0
        self.steps = 0
        self.deepest = 0.0
        self.slip = 0.0
        self.not_converged = 0

    def advance(self, steps: int, is_timed: bool = True) -> float:
        """So many steps; their processor time [s]."""
        spent = 0.0
        calls = [1] * steps if self.scene.is_varying else [steps]  # loads change between calls
        for count in calls:
            self.scene._set_loads_for(self.h)
            start = time.thread_time()
            self.sim.advance(self.h, count)
            spent += time.thread_time() - start - CLOCK
        if is_timed:
            self.spent += spent
            self.steps += steps
        return spent

    def note(self) -> None:
        """Contacts, penetration and friction of the present moment."""
        found = self.sim.contacts
        self.contacts = max(self.contacts, len(found))
        self.deepest = max([self.deepest, *(-point.gap for point in found)])
        for point in found:
            normal, force = np.array(point.normal), np.array(point.force)
            pressed = float(normal @ force)
            if pressed > 0.0:
                beyond = float(np.linalg.norm(force - pressed * normal)) / pressed - self.sim.contact.friction
                self.slip = max(self.slip, beyond)

    @property
    def per_step(self) -> float:
        return self.spent / max(1, self.steps)


def adaptive(scene: lw.Scene, active: int | None = None) -> Contestant:
    """With the active joints of the scene, or another number, or all (-1)."""
    if active is None:
        return Contestant(scene, None)
    limit: dict[str, Any] = {"tolerance": 0.0} if active < 0 else {"max_active_joints": active}
    return Contestant(scene, lambda built: with_loads(scene, built, lw.AdaptiveDynamics, update_every=15, **limit))


def full(scene: lw.Scene) -> Contestant:
    return Contestant(scene, lambda built: with_loads(scene, built, lw.FullDynamics))


def with_loads(scene: lw.Scene, built: Any, kind: Any, **options: Any) -> Any:
    """A simulation of another kind under the loads of the scene."""
    sim = kind(scene.model, scene.state, contact=contact_of(scene), **options)
    for acting in built.acting:
        acting.is_on, acting.load = False, None
        acting.set(sim, acting.value)
    return sim
