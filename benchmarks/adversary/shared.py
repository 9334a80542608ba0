"""Objects that several threads share, as docs/threads.md says they may."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import linkwork as lw

THREADS, CALLS = 3, 6


@cache
def tree() -> lw.Model:
    return lw.library.random_tree(20, seed=5).compile()


@cache
def solid() -> lw.Model:
    return lw.library.humanoid().compile()


def simulation(rng: random.Random) -> Any:
    state = tree().random_state(2, speed=0.1)
    kind = rng.randrange(3)
    if kind == 0:
        return lw.FullDynamics(tree(), state)
    if kind == 1:
        return lw.AdaptiveDynamics(tree(), state, max_active_joints=8)
    return lw.QuasiStatics(tree(), lw.State(state.q, 0.0 * state.v), tolerance=1e-3)


def calls_on_a_simulation(rng: random.Random, faults: list[object]) -> list[Callable[[int], Any]]:
    sim = simulation(rng)
    motors = [
        name for i, name in enumerate(tree().joint_names) if tree().v_slice(i).stop - tree().v_slice(i).start == 1
    ]

    def look(_: int) -> None:
        if not np.isfinite(sim.state.q).all():
            faults.append("a state that is not finite")

    def drive(k: int) -> None:
        sim.set_motor(motors[k], 0.1, stiffness=1.0)
        sim.clear_motor(motors[k])

    return [
        lambda _: sim.step(1e-4, 2),
        lambda k: sim.clear(sim.apply_wrench(k, force=(0.0, 0.0, 1e-3))),
        lambda _: sim.checkpoint(),
        lambda _: copy.deepcopy(sim),
        lambda _: sim.scalars(),
        look,
        drive,
    ]


def calls_on_answers(rng: random.Random, faults: list[object]) -> list[Callable[[int], Any]]:
    """Answers of objects with memory of their own must be those that they give alone."""
    response = lw.Response(tree(), tree().random_state(1))
    collisions = lw.Collisions(solid())
    states = [solid().random_state(k) for k in range(THREADS)]
    alone = response.block(3, 17).tobytes()
    gaps = [collisions.clearance(state) for state in states]
    several = collisions.clearances(np.stack([state.q for state in states]))

    def block(_: int) -> None:
        if response.block(3, 17).tobytes() != alone:
            faults.append("another block")

    def gap(k: int) -> None:
        if repr(collisions.clearance(states[k])) != repr(gaps[k]):
            faults.append("another clearance")

    def all_gaps(_: int) -> None:
        if repr(collisions.clearances(np.stack([state.q for state in states]))) != repr(several):
            faults.append("other clearances")

    def dynamics(k: int) -> None:
        if not np.isfinite(lw.forward_dynamics(solid(), states[k])).all():
            faults.append("accelerations that are not finite")

    return [block, gap, all_gaps, dynamics]


def by_threads(rng: random.Random) -> bool:
    """Several threads call one object; whether it ends as it must."""
    faults: list[object] = []
    calls = rng.choice((calls_on_a_simulation, calls_on_answers))(rng, faults)
    order = [[rng.randrange(len(calls)) for _ in range(CALLS)] for _ in range(THREADS)]

    def work(k: int) -> None:
        try:
            for which in order[k]:
                calls[which](k)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fault in faults:
        if isinstance(fault, Exception):
            raise fault
    return not faults
