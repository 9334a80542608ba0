"""What steps come to, in bits: a hash of states, reports, efforts and checkpoints for every way to make them.

As a script, `python -m tests.helpers.step_hashes [pattern ...] > before.txt`: one line per case, every integrator x what
acts x {full, all active, few active}. Run before and after a change that must not change any result, on one machine, and
compare the two with `diff`. With patterns, only cases whose names hold one of them.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.simulation.integrators.names import INTEGRATORS
from tests.helpers.contact_setups import chain
from tests.helpers.kernel_parts.mechanisms import Strings, apply_loads, mixed_joints, slow

H, STEPS = 2e-3, 7  # [s], twice per case: with a checkpoint and a change of what acts in between
KINDS = ("full", "all active", "few active")
KEPT_APART = ("saved_by", "version")  # of checkpoints: says which program wrote it


class Case(NamedTuple):
    """What moves and what acts on it."""

    make: Callable[[], tuple[lw.Model, lw.State]]
    options: dict[str, Any]
    load: Callable[[Any], object]


def tree() -> tuple[lw.Model, lw.State]:
    model = mixed_joints(floating=True)
    return model, slow(model, model.random_state(np.random.default_rng(3)))


def swinging(links: int = 6, **limits: Any) -> tuple[lw.Model, lw.State]:
    model = lw.library.chain(links, joint=lw.Revolute((0, 1, 0), **limits)).compile()
    return model, model.state(0.15 * np.arange(1, links + 1), np.full(links, 0.5))


def limited() -> tuple[lw.Model, lw.State]:
    """Joints that reach their limits within the steps."""
    model, state = swinging(limits=(-0.3, 0.92))
    return model, model.state(state.q, np.full(model.nv, 3.0))


def driven() -> tuple[lw.Model, lw.State]:
    """Motors that reach their limits."""
    return swinging(effort_limit=0.2, velocity_limit=2.0)


def loop() -> tuple[lw.Model, lw.State]:
    """A four-bar linkage that moves, with a chain of five links at one of its bars."""
    linkage = lw.library.four_bar()
    bar = linkage.compile().body_names[-1]
    for i in range(5):
        rod = lw.Inertia.box(0.1, (0.02, 0.02, 0.1)).at(lw.Pose((0, 0, -0.05)))
        parent, place = (bar, lw.Pose()) if i == 0 else (f"tail_{i - 1}", lw.Pose((0, 0, -0.1)))
        linkage.add_body(f"tail_{i}", parent, lw.Revolute((1, 0, 0) if i % 2 else (0, 1, 0)), place, rod)
    model = linkage.compile()
    return model, lw.close_loops(model, model.state(model.neutral().q, 0.4 * np.ones(model.nv)))


def lying() -> tuple[lw.Model, lw.State]:
    """A chain that falls on a table from a height where some bodies touch at once and others on the way."""
    model = chain(5).compile()
    q = model.neutral().q
    q[2] += 0.004
    q[7:] = 0.05
    return model, model.state(q, np.full(model.nv, -0.3))


def closed_on_table() -> tuple[lw.Model, lw.State]:
    """A closed chain of four balls that falls on a table."""
    linkage = lw.Linkage("ring")
    ball = lw.Inertia.sphere(0.2, 0.04)
    for i in range(4):
        joint = lw.Free() if i == 0 else lw.Revolute((0, 1, 0))
        place = lw.Pose() if i == 0 else lw.Pose((0.2, 0, 0), rpy=(0, np.pi / 2, 0))
        shapes = [lw.Sphere(0.04)]
        linkage.add_body(f"b{i}", "world" if i == 0 else f"b{i - 1}", joint, place, ball, shapes=shapes)
    linkage.add_loop(lw.Revolute((0, 1, 0)), "b3", "b0", (lw.Pose((0.2, 0, 0), rpy=(0, np.pi / 2, 0)), lw.Pose()))
    linkage.add_obstacle("table", lw.Plane(), lw.Pose((0, 0, -0.045)))
    model = linkage.compile()
    state = lw.close_loops(model, model.neutral())
    v = np.zeros(model.nv)
    v[5] = -0.5
    return model, lw.close_loops(model, model.state(state.q, v))


def motor(sim: Any) -> None:
    sim.set_motor(sim.model.joint_names[2], position=1.5, stiffness=0.3, damping=2e-4)
    sim.apply_wrench(4, force=(0.05, 0.0, 0.1))


def push(sim: Any) -> None:
    sim.apply_wrench(0, force=(0.4, 0.1, 0.3))


BATH = lw.Langevin(300.0, 1.0, seed=1, boltzmann=1e-6)
CASES = {
    "open": Case(tree, {}, apply_loads),
    "motors": Case(driven, {"limits": False}, motor),
    "loop": Case(loop, {}, push),
    "limits": Case(limited, {}, motor),
    "contact": Case(lying, {"contact": lw.Contact()}, push),
    "bouncing": Case(lying, {"contact": lw.Contact(restitution=0.6)}, push),
    "contact, closed": Case(closed_on_table, {"contact": lw.Contact()}, push),
    "field": Case(swinging, {"field": Strings()}, motor),
    "field, closed": Case(loop, {"field": Strings()}, push),
    "thermostat": Case(swinging, {"thermostat": BATH}, motor),
}


def simulation(kind: str, case: Case, integrator: str) -> Any:
    model, state = case.make()
    if kind == "full":
        return lw.FullDynamics(model, state, integrator=integrator, **case.options)
    some = {"tolerance": 0.0} if kind == "all active" else {"max_active_joints": 3}
    return lw.AdaptiveDynamics(model, state, update_every=3, integrator=integrator, **some, **case.options)


def digest(parts: dict[str, Any]) -> str:
    """Of the bits of all numbers, by name."""
    sums = hashlib.sha256()
    for name, value in sorted(parts.items()):
        if isinstance(value, np.ndarray):
            sums.update(name.encode() + str((value.dtype.str, value.shape)).encode() + value.tobytes())
        else:
            sums.update(f"{name}={value!r}".encode())
    return sums.hexdigest()[:12]


def words_of(sim: Any, report: Any) -> dict[str, str]:
    """Hashes of what a simulation shows after steps."""
    saved = {name: x for name, x in sim.checkpoint().items() if name not in KEPT_APART}
    return {
        "state": digest({"q": np.array(sim.state.q), "v": np.array(sim.state.v)}),
        "report": digest({"report": repr(report), "scalars": repr(sim.scalars())}),
        "efforts": digest({"efforts": np.array(sim.efforts), "acceleration": np.array(sim.acceleration)}),
        "checkpoint": digest(saved),
    }


def hashes(kind: str, what: str, integrator: str, at_once: int = STEPS) -> dict[str, str]:
    """Hashes after two runs, the second from a checkpoint of the first; steps are made `at_once` per call."""
    case = CASES[what]
    sim = simulation(kind, case, integrator)
    case.load(sim)
    for _ in range(STEPS // at_once):
        report = sim.step(H, at_once)
    first = words_of(sim, report)
    other = simulation(kind, case, integrator)
    other.restore(sim.checkpoint())
    other.set_effort(other.model.joint_names[-1], np.full(other.model.joints[-1].nv, 0.02))
    last = words_of(other, other.step(H, STEPS))
    return {**first, **{f"{name}_after": x for name, x in last.items()}}


def lines(patterns: list[str]) -> Iterator[str]:
    for what in CASES:
        for integrator in (*INTEGRATORS, "implicit_euler"):
            for kind in KINDS if integrator in INTEGRATORS else KINDS[:1]:
                name = f"{what} / {integrator} / {kind}"
                if patterns and not any(pattern in name for pattern in patterns):
                    continue
                try:
                    found = hashes(kind, what, integrator)
                    yield f"{name}: " + " ".join(f"{key}={x}" for key, x in found.items())
                except lw.LinkworkError as error:
                    yield f"{name}: {type(error).__name__} {error}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in lines(sys.argv[1:]):
        print(line, flush=True)
