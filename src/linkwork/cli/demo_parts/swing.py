"""Part: a chain swings from one end, without friction. Its energy shows how well."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.demo_parts.setup import Panel, Setup
from linkwork.cli.screen import count, seconds, working

TITLE = "a chain swings for a moment; energy should not change"
SAYS = "Without friction a swinging chain keeps its energy; how well the computed one does shows how far it can be trusted."

JOINTS = 100
QUICK_JOINTS = 10
DURATION = 2.0  # [s]
STEP = 5e-4  # [s], a fraction of the fastest oscillation between neighbouring links
QUICK_DURATION = 0.01
START_ANGLE = 1.5  # [rad] from the vertical: held out nearly level, then let go
PICTURES = 9  # outlines drawn


def show(setup: Setup) -> list[Panel]:
    model = lw.library.chain(joints=QUICK_JOINTS if setup.quick else JOINTS, axes="same").compile()
    state = model.neutral()
    state.q[0] = START_ANGLE
    steps = round((QUICK_DURATION if setup.quick else DURATION) / STEP)
    keep = max(1, steps // (PICTURES - 1))
    with working("swinging"):
        step(model, state, STEP)  # compiles, as the next line does
        lw.energy(model, state), outline(model, state)
        start = time.thread_time()
        first = lw.energy(model, state)
        largest = first.kinetic
        drift = 0.0
        outlines = [outline(model, state)]
        for k in range(1, steps + 1):
            state = step(model, state, STEP)
            if k % keep == 0:
                now = lw.energy(model, state)
                largest = max(largest, now.kinetic)
                drift = max(drift, abs(now.total - first.total))
                outlines.append(outline(model, state))
        took = time.thread_time() - start
    setup.print(f"{count(model.nv)} joints, {steps * STEP:g} s in {count(steps)} steps, {seconds(took)} of computing")
    setup.print(
        f"kinetic energy rose to {largest:.4g} J; total energy drifted by {drift:.1e} J, {drift / largest:.1e} of it"
    )
    return [Panel(f"swinging chain, {count(model.nv)} joints", _drawing(outlines, steps * STEP))]


def step(model: lw.Model, state: lw.State, h: float) -> lw.State:
    """One classical Runge-Kutta step of a chain without efforts."""

    def rate(q: Any, v: Any) -> tuple[Any, Any]:
        return v, lw.forward_dynamics(model, lw.State(q, v))

    q, v = state
    v1, a1 = rate(q, v)
    v2, a2 = rate(model.integrate(q, v1, h / 2), v + h / 2 * a1)
    v3, a3 = rate(model.integrate(q, v2, h / 2), v + h / 2 * a2)
    v4, a4 = rate(model.integrate(q, v3, h), v + h * a3)
    return lw.State(model.integrate(q, (v1 + 2 * v2 + 2 * v3 + v4) / 6, h), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4))


def outline(model: lw.Model, state: lw.State) -> Any:
    """Origins of all bodies in the world [m], shape (n, 3)."""
    return lw.body_poses(model, state)[:, :3, 3]


def _drawing(outlines: list[Any], duration: float) -> Any:
    across = max((0, 1), key=lambda k: float(np.ptp(np.stack(outlines)[..., k])))  # the plane the chain swings in

    def draw(axes: Any) -> None:
        for k, places in enumerate(outlines):
            age = k / max(1, len(outlines) - 1)
            axes.plot(places[:, across], places[:, 2], color=(0.1, 0.3, 0.6, 0.15 + 0.85 * age), linewidth=1.5)
        axes.set_aspect("equal")
        axes.set_xlabel(f"{'xy'[across]} [m], from t = 0 (pale) to {duration:g} s (dark)")
        axes.set_ylabel("z [m]")

    return draw
