"""Part: a molecule of 50,000 joints. Its accelerations by `aba`, checked by inverse dynamics."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.demo_parts.setup import Panel, Setup, best_time
from linkwork.cli.screen import count, seconds, working

TITLE = "a molecule of 50,000 joints, solved and checked"
SAYS = "Every joint pulls at every other, yet all 50,000 accelerations take one pass over the linkage and back."


def show(setup: Setup) -> list[Panel]:
    start = time.perf_counter()
    with working("building a molecule"):
        model = setup.molecule
    built = time.perf_counter() - start
    rng = np.random.default_rng(1)
    state = model.random_state(rng, speed=0.1)
    effort = rng.normal(size=model.nv)

    with working("compiling kernels (the first time only)"):
        qdd = lw.forward_dynamics(model, state, effort)
        required = lw.inverse_dynamics(model, state, qdd)
    took = best_time(lambda: lw.forward_dynamics(model, state, effort))
    residual = np.abs(required - effort).max() / np.abs(effort).max()

    setup.print(f"{count(model.nv)} joints, {model.mass.sum():.4g} kg, built and compiled in {seconds(built)}")
    setup.print(f"all accelerations by aba in {seconds(took)}, {seconds(took / model.nv)} per joint")
    setup.print(f"inverse dynamics gives the efforts back: largest difference {residual:.1e} of the largest effort")
    return [Panel(f"molecule, {count(model.nv)} joints", _drawing(model, model.neutral()))]


def _drawing(model: lw.Model, state: lw.State) -> Any:
    """All bodies, seen so that the molecule spreads widest; the colour runs from the held end to the free ends."""
    places = lw.body_poses(model, state)[:, :3, 3]
    centred = places - places.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    depth = np.zeros(model.n_bodies)
    for i, parent in enumerate(model.parent.tolist()):
        depth[i] = depth[parent] + 1 if parent >= 0 else 0

    def draw(axes: Any) -> None:
        axes.scatter(flat[:, 0], flat[:, 1], c=depth, cmap="viridis", s=1, linewidths=0)
        axes.set_aspect("equal")
        axes.set_axis_off()

    return draw
