"""A Panda that presses a table with stiff motors for a minute: whether its force stays, at margins over three decades."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw

from .dropped import folder

SECONDS, H = 60.0, 1e-3
MARGINS = (1e-5, 1e-4, 1e-3, 5e-3)  # [m]
SETTLED = 1.5  # [s] after which the force is looked at
MOST = 0.01  # of the mean force: what it may differ by
READY = (0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8, 0.02, 0.02)  # [rad, m] the hand above a table
LEAN = 0.1  # [rad] by which the shoulder would lean forward, into the table
RADIUS, TIP = 0.03, 0.2  # [m] of the ball at its end, and along the axis of the last link
STIFFNESS, DAMPING = 400.0, 40.0  # [N·m/rad, N·m·s/rad]


@dataclass
class Outcome:
    """Mean force on the table [N], and the largest difference from it over the mean."""

    margin: float
    kind: str
    force: float = math.nan
    apart: float = math.inf
    not_converged: int = 0
    failure: str = ""


def panda() -> Any:
    """The file of the robot; None where `example-robot-data` is not installed."""
    place = folder()
    return next(iter(sorted(place.rglob("panda.urdf"))), None) if place is not None else None


def make(path: Any, margin: float, kind: str = "full") -> Any:
    """A Panda with a ball as its tip right above a table, whose motors want it deeper."""
    linkage = lw.load(path, missing_meshes="skip")
    linkage.couplings.clear()  # the fingers move one by one
    linkage.edit_body("panda_link7", shapes=(lw.Sphere(RADIUS, placement=lw.Pose((0.0, 0.0, TIP))),))
    x, y, z = tip_of(linkage.compile(), np.array(READY))
    linkage.add_obstacle("table", lw.Box((1.0, 1.0, 0.1)), lw.Pose((x, y, z - RADIUS - 1e-3 - 0.05)))
    model = linkage.compile()
    state = lw.State(np.array(READY), np.zeros(model.nv))
    contact = lw.Contact(margin=margin, friction=0.5)
    if kind == "full":
        sim: Any = lw.FullDynamics(model, state, contact=contact)
    else:
        sim = lw.AdaptiveDynamics(model, state, contact=contact, tolerance=0.0)
    sim.motors.stiffness, sim.motors.damping = STIFFNESS, DAMPING
    wanted = np.array(READY)
    wanted[1] += LEAN
    sim.motors.position = wanted
    return sim


def tip_of(model: lw.Model, q: np.ndarray) -> np.ndarray:
    pose = lw.body_poses(model, lw.State(q, np.zeros(model.nv)))[model.body_names.index("panda_link7")]
    return pose[:3, 3] + TIP * pose[:3, 2]


def force(sim: Any) -> float:
    """Sum of the contact forces on the table, upward [N]."""
    return float(sum(contact.force[2] for contact in sim.contacts))


def outcome(path: Any, margin: float, kind: str, seconds: float = SECONDS) -> Outcome:
    """Presses for so long; the force is looked at after every step once it has settled."""
    result, felt = Outcome(margin, kind), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        sim = make(path, margin, kind)
        try:
            result.not_converged = sim.step(H, round(SETTLED / H)).contact.not_converged
            for _ in range(max(1, round((seconds - SETTLED) / H))):
                result.not_converged += sim.step(H).contact.not_converged
                felt.append(force(sim))
        except lw.LinkworkError as error:
            result.failure = str(error)
    if felt and not result.failure:
        result.force = float(np.mean(felt))
        result.apart = float(np.abs(np.array(felt) / result.force - 1.0).max())
    return result
