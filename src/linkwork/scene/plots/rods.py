"""Rods of a recording: tension and bending moment along each, at a few times."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.units import unit as unit_of
from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.environment.water import Water
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import COLORS, Panel, finish, fitting_unit, scene_of
from linkwork.scene.reading.faults import Faults
from linkwork.scene.waters import water_of
from linkwork.simulation.reporting.along import along

TIMES, MOST_RODS, MOST_JOINTS = 4, 2, 5000  # lines of a panel; rods with panels; joints of a rod that is looked at


def rod_panels(recording: Recording) -> list[Panel]:
    """Nothing where a scene has loads on bodies, which a recording does not hold."""
    model, given = recording.model, given_of(recording)
    if given.get("load") or given.get("spring") or model.n_bodies > MOST_JOINTS:
        return []
    water = recorded_water(recording)
    frames = np.unique(np.linspace(0, len(recording) - 1, TIMES).astype(int)).tolist()
    panels = []
    for rod in model.rods[:MOST_RODS]:
        found = [along(recording, k, rod.name, water=water) for k in frames]
        times = [float(recording.times[k]) for k in frames]
        pulls = [forces.tension for forces in found]
        bends = [np.linalg.norm(forces.moment, axis=1) for forces in found]
        panels.append(Panel(f"{rod.name}: tension along it", _lines(found, times, pulls, "tension", "N")))
        panels.append(Panel(f"{rod.name}: bending moment along it", _lines(found, times, bends, "moment", "N·m")))
    return panels


def given_of(recording: Recording) -> dict[str, Any]:
    """The scene that a recording was made from, as it was given; empty if it was made in Python."""
    found: dict[str, Any] = json.loads(scene_of(recording).get("given", "{}"))
    return found


def recorded_water(recording: Recording) -> Water | None:
    """The fluid of the scene that a recording was made from."""
    return water_of(given_of(recording), Faults(str(recording.path)))


def _lines(
    found: list[RodForces], times: list[float], values: list[FloatArray], what: str, unit: str
) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        factor, prefixed = fitting_unit(max(float(np.abs(line).max(initial=0.0)) for line in values), unit)
        for color, forces, t, line in zip(COLORS, found, times, values, strict=False):
            axes.plot(forces.s, line / factor, color=color, linewidth=1.4, label=f"{t:.3g} {unit_of('s')}")
        finish(axes, f"length [{unit_of('m')}]", f"{what} [{prefixed}]")

    return draw
