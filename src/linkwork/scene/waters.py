"""From the table [water] of a scene to the fluid around its bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from linkwork.environment.water import Seabed, Water, Waves
from linkwork.errors import LinkworkError
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key, Keys
from linkwork.scene.reading.faults import Faults

WATER: Keys = {
    "density": Key(must_be.number(0.0, above=True), "of the fluid; 1025 without it", "kg/m³"),
    "current": Key(must_be.anything, "one velocity [x, y, z], or rows [height, vx, vy, vz] from low to high", "m/s"),
    "drag": Key(must_be.vector(2), "coefficients across and along bodies"),
    "added_mass": Key(must_be.number(0.0), "coefficient of the fluid that moves with a body across its axis"),
    "surface": Key(must_be.number(), "height of the surface", "m"),
    "everywhere": Key(must_be.boolean, "whether the fluid has no surface, as air"),
    "depth": Key(must_be.number(0.0, above=True), "of the seabed below the surface", "m"),
    "bed_stiffness": Key(must_be.number(0.0, above=True), "of a seabed, force per length and depth", "N/m²"),
    "bed_friction": Key(must_be.number(0.0), "of a seabed, Coulomb's coefficient"),
    "bed_damping": Key(must_be.number(0.0), "of a seabed, force per length and speed", "N·s/m²"),
    "wave_amplitude": Key(must_be.number(0.0, above=True), "of regular waves", "m"),
    "wave_period": Key(must_be.number(0.0, above=True), "of regular waves", "s"),
    "wave_direction": Key(must_be.vector(2), "where regular waves run, level"),
}
GROUPS = {"bed_": (Seabed, "seabed", "bed_stiffness"), "wave_": (Waves, "waves", "wave_amplitude")}


def water_of(scene: Mapping[str, Any], faults: Faults) -> Water | None:
    """The fluid of the table [water]; None where a scene has none."""
    if scene.get("water") is None:
        return None
    given = dict(scene["water"])
    try:
        if given.pop("everywhere", False):
            given["surface"] = math.inf
        for prefix, (kind, name, needs) in GROUPS.items():
            parts = {key[len(prefix) :]: given.pop(key) for key in list(given) if key.startswith(prefix)}
            if parts:
                if needs[len(prefix) :] not in parts or (name == "waves" and "period" not in parts):
                    more = " and 'wave_period'" if name == "waves" else ""
                    faults.add(("water",), f"water.{prefix}... needs '{needs}'{more}.")
                    return None
                given[name] = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in parts.items()})
        if "drag" in given:
            given["drag"] = tuple(given["drag"])
        return Water(**given)
    except LinkworkError as error:
        faults.add(("water",), str(error))
        return None
