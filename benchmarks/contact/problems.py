"""Problems of contact on which solvers are judged, made anew from seeds.

A scene runs; every so many steps it is copied, once per solver, and each copy makes the next step: the same contacts, the
same warm start. What is compared is that step: the iterations of its solve, and whether it converged. The processor time is
that of the step after it: the memory of a copy is new to the processor in its first one.

Problems of more than MOST_BY_MATRIX contacts are solved by sweeps alone: the matrix of responses of the 1,000 contacts of
`bridge` with ten times its joints takes some gigabytes, and each of Newton's steps over it seconds.
"""

from __future__ import annotations

import copy
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.simulation.contact_step import arrays as ca

from . import campaign
from .scenes import CASES, CLOCK, adaptive, full, read

SOLVERS = {"matrix": 10**9, "sweeps": 1}  # contacts from which on a solve is made by sweeps over the tree
MOST_BY_MATRIX = 300  # contacts: a matrix of responses of 900 rows
STEP = 2e-3  # [s] of the linkages made here
TREES = 400  # scenes of the campaign
GROWN = 10  # times the joints of the three scenes
GROWN_SHARE = 10  # problems of the three scenes per problem of them with so many joints: a step takes up to a second
FRICTION = 0.6


@dataclass(frozen=True)
class Runner:
    """A simulation and how it goes on by so many steps."""

    sim: Any
    h: float
    advance: Callable[[int], Any]


def branched_trees(seed: int, trees: int = 4, joints: int = 20) -> lw.Linkage:
    """Floating trees of capsules that fall on each other."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("trees")
    shape = lw.Capsule(0.02, 0.08, placement=lw.Pose((0.06, 0, 0), rpy=(0, math.pi / 2, 0)))
    inertia = lw.Inertia.box(0.1, (0.12, 0.03, 0.03)).at(lw.Pose((0.06, 0, 0)))
    for k in range(trees):
        for i in range(joints + 1):
            joint = lw.Revolute(tuple(rng.normal(size=3)), damping=1e-3, limits=(-1.0, 1.0)) if i else lw.Free()
            parent = f"link_{k}_{rng.integers(max(0, i - 4), i)}" if i else "world"
            place = lw.Pose((0.12, 0, 0), rpy=tuple(0.5 * rng.normal(size=3))) if i else lw.Pose((0, 0, 0.3 + 0.15 * k))
            linkage.add_body(f"link_{k}_{i}", parent, joint, place, inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage


def falling(linkage: lw.Linkage, friction: float = FRICTION) -> Runner:
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact(friction=friction))
    return Runner(sim, STEP, lambda n: sim.advance(STEP, n))


def crawling_snake(joints: int) -> Runner:
    """A snake of hinges whose motors send a wave along it, on a floor: two contacts per link."""
    snake = lw.library.snake(joints=joints, length=0.06, mass=0.1, radius=0.02)
    snake.add_obstacle("floor", lw.Plane(friction=FRICTION), lw.Pose((0, 0, -0.02)))
    model = snake.compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact(friction=FRICTION, self_contact=False))
    names = list(model.joint_names)[1:]
    for group in (sim.motors[names[0::2]], sim.motors[names[1::2]]):
        group.stiffness, group.damping = 20.0, 0.5
    phase = np.arange(len(names[0::2])) / 12.0

    def advance(n: int) -> None:
        for _ in range(n):
            sim.motors[names[0::2]].position = min(sim.time, 1.0) * 0.35 * np.sin(2 * np.pi * (sim.time - phase))
            sim.advance(STEP)

    return Runner(sim, STEP, advance)


def jammed(seed: int) -> lw.Linkage:
    """A chain of balls that sinks between two inclined walls until it sticks."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("jammed")
    for i in range(12):
        joint = lw.Spherical() if i else lw.Free()
        place = lw.Pose((0.0, 0.07, 0.0)) if i else lw.Pose((0.0, -0.4, 0.25))
        ball = lw.Sphere(0.03 + 0.005 * rng.random())
        parent = f"ball_{i - 1}" if i else "world"
        linkage.add_body(f"ball_{i}", parent, joint, place, lw.Inertia.sphere(0.2, 0.03), shapes=[ball])
    for k, turn in enumerate((0.25, -0.25)):
        linkage.add_obstacle(f"wall_{k}", lw.Plane(), lw.Pose((0, 0, 0), rpy=(0, math.pi / 2 * (1 - 2 * k) - turn, 0)))
    return linkage


def pile_of_balls(seed: int, balls: int = 15) -> lw.Linkage:
    """Balls that fall into a shaft little wider than two of them."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("balls")
    for i in range(balls):
        place = lw.Pose((*(0.05 * rng.normal(size=2)), 0.06 + 0.1 * i))
        linkage.add_body(f"ball_{i}", "world", lw.Free(), place, lw.Inertia.sphere(1.0, 0.05), shapes=[lw.Sphere(0.05)])
    linkage.add_obstacle("floor", lw.Plane())
    quarter = math.pi / 2
    for k, (x, y, turn) in enumerate(
        ((1, 0, (0, -quarter, 0)), (-1, 0, (0, quarter, 0)), (0, 1, (quarter, 0, 0)), (0, -1, (-quarter, 0, 0)))
    ):
        linkage.add_obstacle(f"wall_{k}", lw.Plane(), lw.Pose((0.15 * x, 0.15 * y, 0), rpy=turn))
    return linkage


def stack_of_boxes(boxes: int) -> lw.Linkage:
    """Boxes on each other, none right above the next."""
    linkage = lw.Linkage("stack")
    inertia, box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1)), lw.Box((0.1, 0.1, 0.1))
    for i in range(boxes):
        place = lw.Pose((0.003 * (i % 3), 0.002 * (i % 2), 0.1 * i + 0.0505))
        linkage.add_body(f"box_{i}", "world", lw.Free(), place, inertia, shapes=[box])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage


def house_of_cards(pairs: int) -> lw.Linkage:
    """Cards that lean against each other in pairs, on a floor."""
    linkage = lw.Linkage("cards")
    size = (0.002, 0.06, 0.09)
    for k in range(2 * pairs):
        lean = 0.3 if k % 2 else -0.3
        place = lw.Pose((0.08 * (k // 2) + (-0.0145 if k % 2 else 0.0145), 0, 0.0437), rpy=(0, lean, 0))
        linkage.add_body(f"card_{k}", "world", lw.Free(), place, lw.Inertia.box(0.002, size), shapes=[lw.Box(size)])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage


def planar_chain(seed: int, links: int = 8) -> lw.Linkage:
    """A chain of hinges with parallel axes that swings onto a box and a floor: contacts slide along lines."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("planar")
    at = lw.Pose((0.12, 0, 0))
    for i in range(links):
        place = at if i else lw.Pose((0, 0, 0.3))
        hinge, ball = lw.Revolute((0, 1, 0), damping=0.01), lw.Sphere(0.05, placement=at)
        parent = f"ball_{i - 1}" if i else "world"
        linkage.add_body(f"ball_{i}", parent, hinge, place, lw.Inertia.sphere(1.0, 0.05).at(at), shapes=[ball])
    linkage.add_obstacle("floor", lw.Plane())
    linkage.add_obstacle("box", lw.Box((0.2, 1.0, 0.2)), lw.Pose((0.1 + 0.4 * rng.random(), 0, 0)))
    return linkage


def steep_rod(friction: float, speed: float = 3.0, lean: float = 0.5) -> Runner:
    """A rod that slides steeply over a floor with its tip ahead, as Painlevé's: a contact that lifts off or jams."""
    linkage = lw.Linkage("rod")
    inertia, shape = lw.Inertia.box(1.0, (0.02, 0.02, 1.0)), lw.Capsule(0.01, 0.96)
    place = lw.Pose((0, 0, 0.48 * math.cos(lean) + 0.0105), rpy=(0, lean, 0))
    linkage.add_body("rod", "world", lw.Free(), place, inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    v = np.array([0.0, 0.0, 0.0, -speed * math.cos(lean), 0.0, -speed * math.sin(lean)])
    sim = lw.FullDynamics(model, lw.State(model.neutral().q, v), contact=lw.Contact(friction=friction))
    return Runner(sim, STEP, lambda n: sim.advance(STEP, n))


def random_tree(number: int) -> Runner:
    """A scene of the campaign."""
    sim, _, h = campaign.make(number)
    return Runner(sim, h, lambda n: sim.advance(h, n))


def all_scenes(quick: bool) -> Iterator[tuple[str, Callable[[], Runner], int, int, int]]:
    """Name of its kind, what makes it, steps before the first problem, between two, and how many."""
    few = 3 if quick else 60
    for case in CASES:
        for times in (1,) if quick else (1, GROWN):
            for kind, make in ((f"{case.active} active", adaptive), ("full", full)):

                def run(case: Any = case, make: Any = make, times: int = times) -> Runner:
                    contestant = make(read(case, times))
                    return Runner(contestant.sim, contestant.h, lambda n: contestant.advance(n, is_timed=False))

                begin = case.begin if times == 1 else case.grown_begin or case.begin
                begin = 5 if quick else round(begin / read(case).h)
                number, between = (few, 10) if times == 1 else (few // GROWN_SHARE, 2)
                yield f"{case.scene}{f' x {GROWN}' if times > 1 else ''}, {kind}", run, begin, between, number
    yield "snake of 50 joints, crawling", lambda: crawling_snake(50), 5 if quick else 300, 5, few
    for seed in range(1 if quick else 6):
        trees = branched_trees(seed)
        yield "four trees of 20 joints", lambda trees=trees: falling(trees), 5 if quick else 250, 5, few
        balls = pile_of_balls(seed)
        yield "15 balls in a shaft", lambda balls=balls: falling(balls), 5 if quick else 200, 5, few
        planar = planar_chain(seed)
        yield "chain in a plane", lambda planar=planar: falling(planar), 5 if quick else 100, 5, few
    yield "stack of 12 boxes", lambda: falling(stack_of_boxes(12)), 5, 5, few
    yield "six cards", lambda: falling(house_of_cards(3)), 5, 5, few
    yield "chain jammed between walls", lambda: falling(jammed(0), 0.9), 5 if quick else 150, 5, few
    yield "humanoid, fallen", fallen_humanoid, 5 if quick else 150, 5, few
    for friction in (0.5, 1.5, 3.0):
        yield f"steep rod, friction {friction:g}", lambda friction=friction: steep_rod(friction), 1, 5, few
    for number in range(2 if quick else TREES):
        yield "random trees", lambda number=number: random_tree(number), 5 if quick else 150, 20, few // 3


def fallen_humanoid() -> Runner:
    humanoid = lw.library.humanoid()
    humanoid.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -1.2)))
    return falling(humanoid)


@dataclass
class Found:
    """What the solvers made of the problems of one kind of scene, by the name of the solver."""

    times: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SOLVERS})  # [s]
    sweeps: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SOLVERS})
    missed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SOLVERS, 0))
    made: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SOLVERS, 0))  # steps that made energy
    contacts: list[int] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)  # [rad/s or m/s] velocities after both, where there were both

    def numbers(self) -> dict[str, Any]:
        return {
            "problems": {name: len(found) for name, found in self.times.items()},
            "contacts": statistics.median(self.contacts),
            "apart": statistics.median(self.apart) if self.apart else None,
            "missed": self.missed,
            "made_energy": self.made,
            "time_s": {name: statistics.median(found) for name, found in self.times.items() if found},
            "slow_s": {name: float(np.quantile(found, 0.99)) for name, found in self.times.items() if found},
            "sweeps": {name: statistics.mean(found) for name, found in self.sweeps.items() if found},
        }


def judge(found: Found, run: Callable[[], Runner], begin: int, between: int, number: int) -> None:
    """Both solvers on the problems of one scene; sweeps alone where contacts are too many for the matrix."""
    runner = run()
    runner.advance(begin)
    for k in range(number):
        runner.advance(between)
        ends = {}
        for name in solvers_of(runner.sim, k):
            sim = copied(runner.sim)
            sim.view.contact.arrays.counts[ca.MIN_BY_SWEEPS] = SOLVERS[name]
            report = sim.step(runner.h)
            found.sweeps[name].append(report.contact.sweeps)
            found.missed[name] += report.contact.not_converged
            found.made[name] += report.contact.energy_lost < 0.0
            ends[name] = np.asarray(sim.state.v)
            start = time.thread_time()
            sim.advance(runner.h)
            found.times[name].append(time.thread_time() - start - CLOCK)
        found.contacts.append(report.contact.contacts)
        if len(ends) == len(SOLVERS):
            found.apart.append(float(np.abs(ends["matrix"] - ends["sweeps"]).max()))


def solvers_of(sim: Any, k: int) -> list[str]:
    """Those that can solve the problem, in an order that changes from one problem to the next."""
    names = list(SOLVERS) if len(sim.contacts) <= MOST_BY_MATRIX else ["sweeps"]
    return names if k % 2 else names[::-1]


def copied(sim: Any) -> Any:
    """A copy; its warnings are those that the simulation gave when it was made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return copy.deepcopy(sim)
