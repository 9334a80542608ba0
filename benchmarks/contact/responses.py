"""What the responses of touched bodies cost: Λ of all contacts of a step, and one more contact in longer linkages."""

from __future__ import annotations

import math
import time

import numpy as np

import linkwork as lw
from linkwork.core.jit import kernel
from linkwork.simulation.contact_step.problem import assemble_problem

LINKS, ACTIVE, BEAMS = 500, 70, 70
LENGTH, RADIUS, BEAM_RADIUS = 0.02, 0.004, 0.05  # [m]
MARGIN = 1e-5  # [m]
TINY_STEP = 1e-9  # [s] nothing moves, but contacts are found and answered
REPEATS, ROUNDS = 50, 7


@kernel
def reassemble_problem(table, count, n):
    """Λ, rows and free velocities of the first `count` contacts of the last step, n times."""
    for _ in range(n):
        assemble_problem(table, count, 0)


def laid_down(times: int) -> lw.AdaptiveDynamics:
    """A horizontal chain, the last 500 links of which just touch 70 round beams; `times` - 1 as many lie before them.

    The same 70 joints are active whatever the length: the groups that touch and the contacts are the same, only n grows.
    """
    before = (times - 1) * LINKS
    linkage = lw.library.chain(joints=before + LINKS, axes="same", length=LENGTH, mass=0.01, radius=RADIUS)
    across = lw.Pose(rpy=(math.pi / 2, 0, 0))
    for k in range(BEAMS):
        x = before * LENGTH + (k + 0.5) * LINKS * LENGTH / BEAMS
        place = lw.Pose((x, 0, -RADIUS - 0.5 * MARGIN - BEAM_RADIUS)) @ across
        linkage.add_obstacle(f"beam_{k}", lw.Cylinder(BEAM_RADIUS, 0.5), place)
    model = linkage.compile()
    state = model.neutral()
    state.q[0] = -math.pi / 2  # from hanging to horizontal, along x
    contact = lw.Contact(friction=0.4, self_contact=False, margin=MARGIN)
    sim = lw.AdaptiveDynamics(model, state, max_active_joints=0, contact=contact)
    for k in range(ACTIVE):
        sim.pin_active(model.joint_names[before + (k * LINKS) // ACTIVE])
    sim.advance(TINY_STEP, 2)
    return sim


def time_of(sim: lw.AdaptiveDynamics, contacts: int) -> float:
    """Processor time of Λ [s]: the least of some rounds, since other programs can only add to it."""
    reassemble_problem(sim.view.table, contacts, 1)
    found = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        reassemble_problem(sim.view.table, contacts, REPEATS)
        found.append((time.thread_time() - start) / REPEATS)
    return float(np.min(found))


def measured(times: int) -> dict[str, float]:
    """Links, contacts, time of Λ, and time of one contact more, from half of them to all."""
    sim = laid_down(times)
    count = len(sim.contacts)
    whole, half = time_of(sim, count), time_of(sim, count // 2)
    more = (whole - half) / max(1, count - count // 2)
    return {"links": sim.model.n_bodies, "contacts": count, "time_s": whole, "one_more_s": more}
