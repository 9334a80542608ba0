"""Part: a long springy chain that floats is hit by a short blow, and only the joints that matter move."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.cli.demo_parts.setup import Panel, Setup
from linkwork.cli.screen import count, seconds, working
from linkwork.core.arrays import FloatArray

TITLE = "a long chain is hit: only the joints that matter move"
SAYS = "A blow sets the joints around it in motion; the rest of the chain moves as rigid groups until that reaches it."

LINKS, QUICK_LINKS = 20_000, 60
LENGTH, MASS = 0.1, 0.1  # of a link [m, kg]
WAVE, BEND = 120, 1.15  # links of one bend of the chain there and back, and how far it turns aside [rad]
STIFFNESS, DAMPING = 0.5, 0.004  # of every joint [N·m/rad, N·m·s/rad]
FORCE, BLOW = 30.0, 0.2  # [N, s]
STEP, STEPS, QUICK_STEPS = 2e-3, 3_000, 150  # [s]
TOLERANCE = 3.0  # [rad/s²]; the blow accelerates the link it meets by thousands
MOMENTS = (0.0, 0.2, 1.0, 6.0)  # [s] shown
SAMPLES = 100  # of active joints and energy over the run
FULL_STEPS = 15  # timed
SHOWN = 165  # links to each side of the blow that are drawn

LABEL_ROOM, ROW_ROOM, ARROW = 0.3, 3.0, 2.5  # [m] in the drawing

ACTIVE_COLOR, REST_COLOR, BLOW_COLOR = "#c2541d", "#b4bac0", "#1b4f8a"


class Moment(NamedTuple):
    """What is drawn of one moment."""

    time: float  # [s]
    places: FloatArray  # (n, 2) joints in the plane of the chain [m]
    active: NDArray[np.bool_]  # (n,)


class Course(NamedTuple):
    """Figures over time, all of shape (samples,)."""

    time: FloatArray  # [s]
    active: FloatArray
    energy: FloatArray  # [J]


def show(setup: Setup) -> list[Panel]:
    links = QUICK_LINKS if setup.quick else LINKS
    steps = QUICK_STEPS if setup.quick else STEPS
    with working("building a chain"):
        model = bent_chain(links)
    hit = links // 2 - WAVE // 4 if links > WAVE else links // 2  # in the middle of a straight part
    with working("hitting it (kernels compile the first time)"):
        sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=TOLERANCE, measure="absolute_joint")
        force = FORCE * across(model, hit)
        blow = sim.apply_wrench(hit, force=force, frame="world", at=(0.5 * LENGTH, 0.0, 0.0))
        moments, course, took = _run(sim, blow, steps)
    worst = _true_error(model, sim)
    report = sim.report
    pushed = np.linalg.norm(sim.momentum.linear - force * BLOW) / np.linalg.norm(force * BLOW)
    full = _full_step(model)
    setup.print(f"{count(steps)} steps; {course.active.mean():,.0f} of {count(links)} joints active on average, "
              f"{count(report.region_changes)} times a joint became active or inactive")  # fmt: skip
    setup.print(f"inactive joints hide accelerations bounded by {report.error_bound:.1e}, by aba {worst:.1e} rad/s²")
    setup.print(f"momentum is that of the blow to {pushed:.0e}; energy {course.energy.max():.3g} J at most, "
              f"{course.energy[-1]:.3g} J at the end")  # fmt: skip
    setup.print(f"{seconds(took)} per step, updates of the region included; {seconds(full)} by aba: "
              f"{full / took:,.3g} times faster")  # fmt: skip
    return [
        Panel(
            f"hit chain, {count(links)} joints: the active ones in colour", _strip(moments, hit, force[[0, 2]] / FORCE)
        ),
        Panel("hit chain: active joints and energy", _course(course)),
    ]


def bent_chain(links: int) -> lw.Model:
    """Rods on hinges about y and z by turns; winds like a river in the x-z plane, afloat, and springs hold that shape."""
    rod = lw.Inertia(MASS, (0.5 * LENGTH, 0.0, 0.0), (1e-6, MASS * LENGTH**2 / 12.0, MASS * LENGTH**2 / 12.0))
    hinges = [lw.Revolute(axis, stiffness=STIFFNESS, damping=DAMPING) for axis in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    linkage = lw.Linkage("bent chain", gravity=(0.0, 0.0, 0.0))
    slope = BEND * np.sin(2.0 * math.pi * np.arange(links) / WAVE)
    for i, turn in enumerate(np.diff(slope, prepend=0.0).tolist()):
        place = lw.Pose(xyz=(LENGTH if i else 0.0, 0.0, 0.0), rpy=(0.0, turn, 0.0))
        parent = f"link_{i - 1}" if i else "world"
        linkage.add_body(f"link_{i}", parent, hinges[i % 2] if i else lw.Free(), place, rod)
    return linkage.compile()


def across(model: lw.Model, body: int) -> FloatArray:
    """The direction across a link at the start, upwards."""
    return np.asarray(lw.body_poses(model, model.neutral())[body, :3, 2])


def _run(sim: lw.AdaptiveDynamics, blow: Any, steps: int) -> tuple[list[Moment], Course, float]:
    """Runs on, from look to look; returns the moments to draw, the course of things, and the time of a step [s]."""
    looks = sorted({round(k * steps / SAMPLES) for k in range(SAMPLES + 1)} | {round(BLOW / STEP)})
    wanted = {looks[int(np.abs(np.array(looks) * STEP - moment).argmin())] for moment in MOMENTS}
    sim.step(STEP)  # compiles
    moments, course = [], []
    busy = 0.0
    for look in looks:
        if look > sim.steps_done:
            start = time.thread_time()  # steps this short dodge other programs, full ones cannot
            sim.step(STEP, look - sim.steps_done)
            busy += time.thread_time() - start
        if look == round(BLOW / STEP):
            sim.clear(blow)
        report = sim.report
        course.append((sim.time, report.n_active, report.energy))
        if look in wanted:
            moments.append(_moment(sim))
    return moments, Course(*np.array(course).T), busy / (steps - 1)


def _moment(sim: lw.AdaptiveDynamics) -> Moment:
    active = np.zeros(sim.model.n_bodies, dtype=bool)
    active[sim.active_bodies[1:]] = True  # without the base
    return Moment(sim.time, lw.body_poses(sim.model, sim.state)[:, [0, 2], 3], active)


def _true_error(model: lw.Model, sim: lw.AdaptiveDynamics) -> float:
    """The largest acceleration, by `aba`, of a joint that the next update leaves inactive [rad/s²]."""
    state = sim.state
    sim.update_region(sim.update_every * STEP)
    exact = np.abs(lw.forward_dynamics(model, state)[6:])
    exact[sim.active_bodies[1:] - 1] = 0.0
    return float(exact.max())


def _full_step(model: lw.Model) -> float:
    """Time of a step in which all joints move [s]."""
    q, v = model.neutral()
    taken = []
    for _ in range(1 + FULL_STEPS):  # the first one compiles
        start = time.thread_time()
        v = v + STEP * lw.forward_dynamics(model, lw.State(q, v))
        q = model.integrate(q, v, STEP)
        taken.append(time.thread_time() - start)
    return float(np.median(taken[1:]))


def _strip(moments: list[Moment], hit: int, push: FloatArray) -> Any:
    """One moment below the other: the part of the chain around the blow, drawn as an arrow while it lasts."""

    def draw(axes: Any) -> None:
        from matplotlib.collections import LineCollection

        near = slice(max(0, hit - SHOWN), hit + SHOWN + 1)
        middle = moments[0].places[near].mean(axis=0)
        low = 0.0
        for moment in moments:
            places = moment.places[near] - middle
            places[:, 1] += low - places[:, 1].max()
            lit = moment.active[near]
            lit = lit[:-1] | lit[1:]  # links that a joint moves against a neighbour
            links = np.stack([places[:-1], places[1:]], axis=1)
            axes.add_collection(LineCollection(list(links[~lit]), colors=REST_COLOR, linewidths=1.4))
            axes.add_collection(LineCollection(list(links[lit]), colors=ACTIVE_COLOR, linewidths=2.4))
            label = f"{moment.time:.3g} s: {count(int(moment.active.sum()))} joints active"
            axes.text(places[:, 0].min(), low + LABEL_ROOM, label, fontsize=8, va="bottom")
            if moment.time <= BLOW:
                tip = places[hit - near.start]
                axes.annotate(
                    "", tip, tip - ARROW * push,
                    arrowprops={"arrowstyle": "-|>", "color": BLOW_COLOR, "linewidth": 1.8},
                )  # fmt: skip
            low = float(places[:, 1].min()) - ROW_ROOM
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.set_axis_off()

    return draw


def _course(course: Course) -> Any:
    def draw(axes: Any) -> None:
        axes.plot(course.time, course.active, color=ACTIVE_COLOR, linewidth=1.6)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("active joints", color=ACTIVE_COLOR)
        axes.set_ylim(bottom=0.0)
        axes.grid(True, alpha=0.3)
        right = axes.twinx()
        right.plot(course.time, course.energy, color=BLOW_COLOR, linewidth=1.6)
        right.set_ylabel("energy [J]", color=BLOW_COLOR)
        right.set_ylim(bottom=0.0)

    return draw
