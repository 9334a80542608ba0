"""Whole runs of everyday scenes: what falls, piles up, closes in loops or crawls, beside MuJoCo at the same step.

Of each: whether it fails, by how much its energy rises above the least so far, how many steps do not converge, the
time of a step and MuJoCo's (elliptic cones, its default solver and tolerance).
"""

from __future__ import annotations

import copy
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.simulation.contact_step.search.neighbours import names_of

from .scenes import CLOCK

STEP = 2e-3  # [s]
LOOKS = 50  # steps between two looks at the energy
FRICTION = 0.6
HEAP = 10  # humanoids


@dataclass(frozen=True)
class Start:
    """A linkage, its state, and what moves its motors, if anything does."""

    linkage: lw.Linkage
    state: lw.State
    self_contact: bool = True
    drive: Callable[[float], Any] | None = None  # targets of the motors of `driven` at a time
    driven: tuple[str, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0


def rod(length: float, radius: float, mass: float) -> tuple[lw.Inertia, lw.Capsule]:
    """Inertia and capsule of a link along x."""
    inertia = lw.Inertia.box(mass, (length, 2 * radius, 2 * radius)).at(lw.Pose((length / 2, 0, 0)))
    place = lw.Pose((length / 2, 0, 0), rpy=(0, math.pi / 2, 0))
    return inertia, lw.Capsule(radius, length - 2 * radius, placement=place)


def rope_on_balls(links: int, balls: int, seed: int = 0) -> Start:
    """A rope of ball joints that falls on balls which lie on a floor."""
    linkage = lw.Linkage("rope on balls")
    inertia, shape = rod(0.05, 0.01, 0.02)
    for i in range(links):
        joint = lw.Spherical() if i else lw.Free()
        place = lw.Pose((0.05, 0, 0)) if i else lw.Pose()
        linkage.add_body(f"link_{i}", f"link_{i - 1}" if i else "world", joint, place, inertia, shapes=[shape])
    for k in range(balls):
        ball = lw.Inertia.sphere(0.2, 0.06)
        linkage.add_body(f"ball_{k}", "world", lw.Free(), lw.Pose(), ball, shapes=[lw.Sphere(0.06)])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    state = lw.State(model.neutral().q, 0.01 * np.random.default_rng(seed).normal(size=model.nv))
    state.q[:3] = (-0.025 * links, 0, 0.25)
    for k in range(balls):
        at = model.q_slice(model.joint_names[links + k]).start
        state.q[at : at + 3] = ((k - balls / 2) * 0.13, 0.03 * (-1) ** k, 0.061)
    return Start(linkage, state)


def ring_of_balls(links: int, tilt: float) -> Start:
    """A ring of links joined by ball joints, upright but for a tilt, above a floor: a bracelet."""
    linkage = lw.Linkage("ring")
    inertia, shape = rod(0.1, 0.01, 0.1)
    for k in range(links):
        joint = lw.Spherical() if k else lw.Free()
        place = lw.Pose((0.1, 0, 0)) if k else lw.Pose()
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, place, inertia, shapes=[shape])
    linkage.add_loop(lw.Spherical(), f"b{links - 1}", "b0", (lw.Pose((0.1, 0, 0)), lw.Pose()))
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[2] = 0.1 / math.sin(math.pi / links) + 0.1
    q[3:7] = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    half = math.pi / links
    for name in model.joint_names[1:]:
        q[model.q_slice(name)] = (math.cos(half), 0.0, math.sin(half), 0.0)
    return Start(linkage, lw.close_loops(model, lw.State(q, np.zeros(model.nv))))


def belt(links: int, balls: int, tilt: float = 1.2) -> Start:
    """A belt of hinges across its plane, as a bicycle chain has them, that falls on balls which lie on a floor."""
    linkage = lw.Linkage("belt")
    length = 0.05
    inertia, shape = rod(length, 0.006, 0.02)
    for k in range(links):
        joint = lw.Revolute((0, 1, 0)) if k else lw.Free()
        place = lw.Pose((length, 0, 0)) if k else lw.Pose()
        linkage.add_body(f"link_{k}", f"link_{k - 1}" if k else "world", joint, place, inertia, shapes=[shape])
    ends = (lw.Pose((length, 0, 0)), lw.Pose())
    linkage.add_loop(lw.Revolute((0, 1, 0)), f"link_{links - 1}", "link_0", ends)
    for k in range(balls):
        ball = lw.Inertia.sphere(0.2, 0.06)
        linkage.add_body(f"ball_{k}", "world", lw.Free(), lw.Pose(), ball, shapes=[lw.Sphere(0.06)])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[2] = length / math.sin(math.pi / links) + 0.15
    q[3:7] = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    for name in model.joint_names[1:links]:
        q[model.q_slice(name)] = 2 * math.pi / links
    for k in range(balls):
        at = model.q_slice(model.joint_names[links + k]).start
        q[at : at + 3] = (0.13 * (k - 0.5 * balls), 0.03 * (-1) ** k, 0.061)
    return Start(linkage, lw.close_loops(model, lw.State(q, np.zeros(model.nv))))


def net(rows: int, columns: int) -> Start:
    """A net of ball joints that falls on three balls: a tree of knots with loops for every mesh."""
    linkage = lw.Linkage("net")
    edge = 0.06
    inertia, _ = rod(edge, 0.006, 0.01)
    shape = lw.Capsule(
        0.006, 0.5 * edge, placement=lw.Pose((edge / 2, 0, 0), rpy=(0, math.pi / 2, 0))
    )  # short of knots
    flat = lw.Pose((0, 0, 0), rpy=(0, 0, math.pi / 2))
    for i in range(rows):
        for j in range(columns):
            along = f"along_{i}_{j}"
            if j:
                linkage.add_body(
                    along, f"along_{i}_{j - 1}", lw.Spherical(), lw.Pose((edge, 0, 0)), inertia, shapes=[shape]
                )
            elif i:
                parent, back = f"across_{i - 1}_0", lw.Pose((edge, 0, 0), rpy=(0, 0, -math.pi / 2))
                linkage.add_body(along, parent, lw.Spherical(), back, inertia, shapes=[shape])
            else:
                linkage.add_body(along, "world", lw.Free(), lw.Pose(), inertia, shapes=[shape])
            if i + 1 < rows:
                linkage.add_body(f"across_{i}_{j}", along, lw.Spherical(), flat, inertia, shapes=[shape])
    for i in range(1, rows):
        for j in range(1, columns):
            ends = (lw.Pose((edge, 0, 0)), lw.Pose())
            linkage.add_loop(lw.Spherical(), f"across_{i - 1}_{j}", f"along_{i}_{j}", ends)
    for k in range(3):
        ball = lw.Inertia.sphere(0.2, 0.05)
        linkage.add_body(f"ball_{k}", "world", lw.Free(), lw.Pose(), ball, shapes=[lw.Sphere(0.05)])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[:3] = (0.0, 0.0, 0.25)
    for k in range(3):
        at = model.q_slice(model.joint_names[model.n_bodies - 3 + k]).start
        q[at : at + 3] = (0.05 + 0.11 * k, 0.1 + 0.03 * (-1) ** k, 0.051)
    return Start(linkage, lw.State(q, np.zeros(model.nv)))


def branched_trees(seed: int, trees: int = 4, joints: int = 20) -> Start:
    """Floating trees of capsules that fall on each other."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("trees")
    shape = lw.Capsule(0.02, 0.08, placement=lw.Pose((0.06, 0, 0), rpy=(0, math.pi / 2, 0)))
    inertia = lw.Inertia.box(0.1, (0.12, 0.03, 0.03)).at(lw.Pose((0.06, 0, 0)))
    for k in range(trees):
        for i in range(joints + 1):
            joint = lw.Revolute(tuple(rng.normal(size=3)), damping=1e-3, limits=(-1.0, 1.0)) if i else lw.Free()
            parent = f"link_{k}_{rng.integers(max(0, i - 4), i)}" if i else "world"
            place = lw.Pose((0.12, 0, 0), rpy=tuple(0.5 * rng.normal(size=3))) if i else lw.Pose()
            linkage.add_body(f"link_{k}_{i}", parent, joint, place, inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    for k in range(trees):
        at = model.q_slice(model.joint_names[k * (joints + 1)]).start
        q[at + 2] = 0.8 + 0.4 * k
    return Start(linkage, lw.State(q, np.zeros(model.nv)))


def humanoids(number: int, seed: int = 0) -> Start:
    """Humanoids of the library, one above the other, turned at random; one of them is dropped alone."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("humanoids")
    one = lw.library.humanoid()
    for k in range(number):
        for body in one:
            is_base = body.parent == "world"
            parent, place = ("world", lw.Pose()) if is_base else (f"{body.parent}_{k}", body.placement)
            linkage.add_body(
                f"{body.name}_{k}", parent, body.joint, place, body.inertia,
                joint_name=f"{body.joint_name}_{k}", shapes=list(body.shapes),
            )  # fmt: skip
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    state = lw.State(model.neutral().q, 0.5 * rng.normal(size=model.nv))
    for k in range(number):
        at = model.q_slice(model.joint_names[k * len(one)]).start
        turn = rng.normal(size=4)
        state.q[at : at + 3] = (*rng.uniform(-0.2, 0.2, 2), 1.0 + 1.1 * k)
        state.q[at + 3 : at + 7] = turn / np.linalg.norm(turn)
    return Start(linkage, state)


def boxes_on_each_other(number: int) -> Start:
    """A tower of boxes, each a millimetre beside the one below or above it."""
    linkage = lw.Linkage("tower")
    size = 0.1
    for k in range(number):
        inertia = lw.Inertia.box(0.5, (size, size, size))
        linkage.add_body(f"box_{k}", "world", lw.Free(), lw.Pose(), inertia, shapes=[lw.Box((size, size, size))])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    for k, name in enumerate(model.joint_names):
        at = model.q_slice(name).start
        q[at : at + 3] = (0.001 * (k % 3), 0.0, size * (k + 0.5))
    return Start(linkage, lw.State(q, np.zeros(model.nv)))


def boxes_in_a_bin(number: int, seed: int = 0) -> Start:
    """Boxes of many sizes that fall into a bin of four walls."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("bin")
    width, wall = 0.35, 0.1
    linkage.add_obstacle("floor", lw.Plane())
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        at = lw.Pose((0.5 * x * (width + wall), 0.5 * y * (width + wall), 4.0))
        linkage.add_obstacle(f"wall_{k}", lw.Box((wall if x else 1.0, wall if y else 1.0, 8.0)), at)
    for k in range(number):
        size = tuple(rng.uniform(0.06, 0.12, 3))
        inertia = lw.Inertia.box(500.0 * math.prod(size), size)
        linkage.add_body(f"box_{k}", "world", lw.Free(), lw.Pose(), inertia, shapes=[lw.Box(size)])
    model = linkage.compile()
    q = model.neutral().q
    for k, name in enumerate(model.joint_names):
        at = model.q_slice(name).start
        turn = rng.normal(size=4)
        q[at : at + 3] = (*rng.uniform(-0.08, 0.08, 2), 0.15 + 0.21 * k)
        q[at + 3 : at + 7] = turn / np.linalg.norm(turn)
    return Start(linkage, lw.State(q, np.zeros(model.nv)))


def crawling_snake(joints: int) -> Start:
    """A snake of hinges whose motors send a wave along it, on a floor: two contacts per link."""
    linkage = lw.library.snake(joints=joints, length=0.06, mass=0.1, radius=0.02)
    linkage.add_obstacle("floor", lw.Plane(friction=FRICTION), lw.Pose((0, 0, -0.02)))
    model = linkage.compile()
    names = tuple(model.joint_names[1:])
    phase = np.arange(len(names)) / 24.0
    sideways = (np.arange(len(names)) % 2 == 0).astype(float)

    def drive(at: float) -> Any:
        return min(at, 1.0) * 0.35 * sideways * np.sin(2 * np.pi * (at - phase))

    return Start(linkage, model.neutral(), False, drive, names, 20.0, 0.5)


@dataclass(frozen=True)
class Run:
    name: str
    make: Callable[[], Start]
    seconds: float
    quick: bool = False  # part of a quick look
    has_peer: bool = True


RUNS = (
    Run("humanoid, dropped", lambda: humanoids(1), 3.0, True),
    Run("rope of 30 ball joints on 4 balls", lambda: rope_on_balls(30, 4), 4.0, True),
    Run("rope of 100 ball joints on 20 balls", lambda: rope_on_balls(100, 20), 2.0),
    Run("ring of 8 ball joints", lambda: ring_of_balls(8, 0.5), 4.0, True),
    Run("ring of 16 ball joints", lambda: ring_of_balls(16, 1.0), 4.0),
    Run("net of 5 x 6 meshes on 3 balls", lambda: net(6, 7), 1.0),
    Run("four trees of 20 joints", lambda: branched_trees(0), 2.0),
    Run("ten humanoids in a heap", lambda: humanoids(HEAP), 3.0),
    Run("thirty boxes on each other", lambda: boxes_on_each_other(30), 1.0),
    Run("thirty boxes in a bin", lambda: boxes_in_a_bin(30), 2.0),
    Run("snake of 50 joints, crawling", lambda: crawling_snake(50), 2.0),
)


def simulation(start: Start) -> Any:
    model = start.linkage.compile()
    contact = lw.Contact(friction=FRICTION, self_contact=start.self_contact)
    sim = lw.FullDynamics(model, start.state, contact=contact)
    if start.drive is not None:
        motors = sim.motors[list(start.driven)]
        motors.stiffness, motors.damping = start.stiffness, start.damping
    return sim


def never_touching(start: Start) -> list[tuple[str, str]]:
    """Bodies that our search leaves out, beside parent and child: those that overlap by design, and ends of loops."""
    loops = [(loop.body_a, loop.body_b) for loop in start.linkage.loops]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        state = simulation(start).view.contact
        names = names_of(state.model)
        return [*((names[a], names[b]) for a, b in state.left_out.tolist()), *loops]


class Peer:
    """The same linkage in MuJoCo, with the same pairs that may touch; loops are its `connect` constraints, springs of its
    default stiffness."""

    def __init__(self, start: Start, split: int = 1):
        """split: steps of MuJoCo for each of ours."""
        import mujoco

        self.mj, self.start, self.split = mujoco, start, split
        model = start.linkage.compile()
        loops = list(start.linkage.loops)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "linkage.xml"
            tree = copy.deepcopy(start.linkage)
            for loop in loops:
                tree.remove_loop(loop.name)
            tree.to_mjcf(path)
            spec = mujoco.MjSpec.from_file(str(path))
        spec.option.timestep = STEP / split
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        integrator = mujoco.mjtIntegrator  # the slower one knows how spin changes moments
        spec.option.integrator = integrator.mjINT_IMPLICITFAST if split == 1 else integrator.mjINT_IMPLICIT
        spec.memory = 512 << 20
        for geom in spec.geoms:
            geom.friction, geom.condim = [FRICTION, 0.0, 0.0], 3
            if not start.self_contact:
                on_body = geom.parent.name != "world"
                geom.contype, geom.conaffinity = (1, 2) if on_body else (2, 1)
        for a, b in never_touching(start):
            spec.add_exclude(bodyname1=a, bodyname2=b)
        for k, loop in enumerate(loops):
            equality = spec.add_equality(name=f"loop_{k}", type=mujoco.mjtEq.mjEQ_CONNECT)
            equality.objtype = mujoco.mjtObj.mjOBJ_BODY
            equality.name1, equality.name2 = loop.body_a, loop.body_b
            equality.data[:3] = loop.placement_a.matrix[:3, 3]
        for name in start.driven:
            motor = spec.add_actuator(name=f"motor_{name}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
            motor.gainprm[0], motor.biasprm[1], motor.biasprm[2] = start.stiffness, -start.stiffness, -start.damping
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        for i in range(model.n_bodies):
            rows = model.q_slice(model.joint_names[i])
            if rows.stop > rows.start:
                at = self.model.jnt_qposadr[self.model.body(model.body_names[i]).jntadr[0]]
                self.data.qpos[at : at + rows.stop - rows.start] = start.state.q[rows]

    def advance(self) -> float:
        if self.start.drive is not None:
            self.data.ctrl[:] = self.start.drive(self.data.time)
        begin = time.thread_time()
        self.mj.mj_step(self.model, self.data, self.split)
        return time.thread_time() - begin - CLOCK

    @property
    def broke_down(self) -> bool:
        """Whether MuJoCo found its state unstable; it begins anew then."""
        warning = self.mj.mjtWarning
        kinds = (warning.mjWARN_BADQPOS, warning.mjWARN_BADQVEL, warning.mjWARN_BADQACC)
        return any(self.data.warning[int(kind)].number for kind in kinds)


MOST_SPLIT = 16


def stable_peer(start: Start, steps: int) -> tuple[Peer, list[float]]:
    """MuJoCo with the longest of our step and its halves at which the run holds; times of our steps [s]."""
    split = 1
    while True:
        peer, spent = Peer(start, split), []
        while len(spent) < steps and not peer.broke_down:
            spent.append(peer.advance())
        if not peer.broke_down or split == MOST_SPLIT:
            return peer, spent
        split *= 2


def measured(run: Run, part: float = 1.0, with_peer: bool = True) -> dict[str, Any]:
    """One run, `part` of its time; each step timed by itself."""
    start = run.make()
    simulation(start).advance(STEP)  # kernels are loaded
    sim = simulation(start)
    steps = max(1, round(part * run.seconds / STEP))
    times, contacts, residuals = [], [], []
    missed = shortened = made = 0
    worst, failure = 0.0, ""
    energy = sim.energy
    weight = 9.81 * float(sim.model.mass.sum())
    least, largest, most, taken = energy.total, max(energy.kinetic, 0.01 * weight), 0.0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        for k in range(steps):
            if start.drive is not None:
                sim.motors[list(start.driven)].position = start.drive(sim.time)
            sim.view.contact.clear_totals()
            begin = time.thread_time()
            try:
                sim.advance(STEP)
            except lw.LinkworkError as error:
                failure = str(error).splitlines()[0][:120]
                break
            times.append(time.thread_time() - begin - CLOCK)
            made += 1
            found = sim.contact_report
            missed, shortened = missed + found.not_converged, shortened + found.shortened
            taken += found.taken_back
            worst = max(worst, found.residual)
            residuals.append(found.residual)
            contacts.append(found.contacts)
            if (k + 1) % LOOKS == 0 or k + 1 == steps:
                energy = sim.energy
                largest, most = max(largest, energy.kinetic), max(most, energy.total - least)
                least = min(least, energy.total)
    touching = sum(count > 0 for count in contacts)
    result = {
        "scene": run.name, "steps": made, "failure": failure, "rise": most / largest, "taken_back": taken / largest,
        "not_converged": missed / max(1, made), "shortened": shortened / max(1, made), "worst_residual": worst,
        "median_residual": statistics.median(residuals or [0.0]), "contacts": max(contacts or [0]), "touching": touching,
        "step_s": statistics.median(times or [0.0]), "mean_s": statistics.mean(times or [0.0]),
        "worst_s": max(times or [0.0]), "above_1e-5": sum(each > 1e-5 for each in residuals) / max(1, made),
    }  # fmt: skip
    if with_peer and run.has_peer:
        peer, spent = stable_peer(start, steps)
        result |= {"peer_split": peer.split, "peer_broke_down": peer.broke_down}
        result |= {"peer_s": statistics.median(spent), "peer_mean_s": statistics.mean(spent)}
        result |= {"peer_contacts": int(peer.data.ncon)}
    return result
