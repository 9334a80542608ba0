"""What the responses of touched bodies cost: Λ of all contacts of a step, and one more contact in longer linkages."""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw
from linkwork.core.jit import kernel
from linkwork.simulation.touching.problem import pose_problem

from .scenes import CASES, contact_of, read

BRIDGE = CASES[2]
STEPS = 60  # until the snake lies on the beams
REPEATS, ROUNDS = 50, 7


@kernel
def pose_again(table, count, n):
    """Λ, rows and free velocities of the first `count` contacts of the last step, n times."""
    for _ in range(n):
        pose_problem(table, count, 0)


def laid_down(times: float) -> lw.AdaptiveDynamics:
    """The snake of the bridge, without motors, with so many times the joints and 70 of them active, on the beams."""
    scene = read(BRIDGE, int(times))
    sim = lw.AdaptiveDynamics(
        scene.model, scene.state, active_joints=BRIDGE.active, update_every=5, contact=contact_of(scene)
    )
    sim.advance(scene.h, STEPS)
    return sim


def time_of(sim: lw.AdaptiveDynamics, contacts: int) -> float:
    """Processor time of Λ [s]: the least of some rounds, since other programs can only add to it."""
    pose_again(sim._moving_table, contacts, 1)
    found = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        pose_again(sim._moving_table, contacts, REPEATS)
        found.append((time.thread_time() - start) / REPEATS)
    return float(np.min(found))


def measured(times: int) -> dict[str, float]:
    """Links, contacts, time of Λ, and time of one contact more, from half of them to all."""
    sim = laid_down(times)
    count = len(sim.contacts)
    whole, half = time_of(sim, count), time_of(sim, count // 2)
    more = (whole - half) / max(1, count - count // 2)
    return {"links": sim.model.n_bodies, "contacts": count, "time_s": whole, "one_more_s": more}
