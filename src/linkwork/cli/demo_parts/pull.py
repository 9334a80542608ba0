"""Part: pulls a molecule of 50,000 joints at one atom, and computes only the joints that matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.cli.demo_parts.setup import MEASURED_CALLS, Panel, Setup, best_time
from linkwork.cli.screen import count, seconds, working

TITLE = "pulling at a molecule: only the joints that matter"
SAYS = (
    "One atom is pulled: joints far away hardly notice, so they are left out, and a proven bound says what that costs."
)

STEPS, QUICK_STEPS = 500, 20
TOLERANCE = 2.0**-11  # relative joint error
FORCE = (0.0, 0.0, 1.0)  # [N]
FIRST_MOVE = 1e-3  # [rad] of the fastest joint in the first step
SHOWN = 400  # bodies drawn: the nearest to the one pulled


def show(setup: Setup) -> list[Panel]:
    with working("building a molecule"):
        model = setup.molecule
    backbone = [i for i, name in enumerate(model.body_names) if name.startswith("ca_")]
    pulled = backbone[len(backbone) // 2]
    with working("compiling kernels (the first time only)"):
        sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
        sim.apply_wrench(pulled, force=FORCE, frame="world")
        first = sim.solve()
    h = math.sqrt(2.0 * FIRST_MOVE / first.max_acceleration)
    steps = QUICK_STEPS if setup.quick else STEPS
    with working("compiling kernels (the first time only)"):
        sim.step(h)  # all that steps will need is in memory from here on
    batch = steps // MEASURED_CALLS
    took = best_time(lambda: sim.step(h, batch), MEASURED_CALLS - 1) / batch  # as `aba` is timed

    report = sim.solve()
    error, full = _true_error(model, sim, pulled)
    setup.print(f"{count(steps)} steps, {count(report.n_computed)} of {count(model.nv)} joints computed in each")
    setup.print(f"error of the accelerations: bounded by {report.error_bound:.1e}, by aba {error:.1e} of the largest")
    setup.print(f"{seconds(took)} per step, {seconds(full)} by aba: {full / took:,.0f} times faster")
    computed = np.zeros(model.n_bodies, dtype=bool)
    computed[[model.joint(name) for name in sim.computed_joints]] = True
    return [Panel(f"pulled molecule: {count(int(computed.sum()))} joints computed", _drawing(sim, computed, pulled))]


def _true_error(model: lw.Model, sim: lw.QuasiStatics, pulled: int) -> tuple[float, float]:
    """The true relative error of all joints, against `aba`, and the time `aba` takes [s]."""
    state = sim.state
    wrenches = np.zeros((model.n_bodies, 6))
    wrenches[pulled, 3:] = lw.body_poses(model, state)[pulled, :3, :3].T @ FORCE
    exact = lw.forward_dynamics(model, state, wrenches=wrenches)
    took = best_time(lambda: lw.forward_dynamics(model, state, wrenches=wrenches))
    return float(np.abs(sim.acceleration - exact).max() / np.abs(exact).max()), took


def _drawing(sim: lw.QuasiStatics, computed: NDArray[np.bool_], pulled: int) -> Any:
    """The neighbourhood of the body pulled: bonds whose joint was computed in colour, the others grey."""
    model = sim.model
    places = lw.body_poses(model, sim.state)[:, :3, 3]
    near = np.argsort(np.linalg.norm(places - places[pulled], axis=1))[:SHOWN]
    near = near[model.parent[near] >= 0]
    centred = places - places[near].mean(axis=0)
    _, _, directions = np.linalg.svd(centred[near], full_matrices=False)
    flat = centred @ directions[:2].T
    bonds = np.stack([flat[model.parent[near]], flat[near]], axis=1)

    def draw(axes: Any) -> None:
        from matplotlib.collections import LineCollection

        lit = computed[near]
        axes.add_collection(LineCollection(list(bonds[~lit]), colors="#c4c8cc", linewidths=1.0))
        axes.add_collection(LineCollection(list(bonds[lit]), colors="#c2541d", linewidths=2.2))
        axes.plot(*flat[pulled], "o", color="#1b4f8a", markersize=7)
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.set_axis_off()

    return draw
