"""What lies where in a recording: names, units, sizes of chunks."""

from __future__ import annotations

from typing import Any

from linkwork.core.units import unit, units_of

KEY_COST, CHANGE_COST = 8, 12  # bytes of a number in a key frame; of a change, which carries its place too

FRAME_ROWS = 8192  # frames in a chunk of times, scalars and reports
CHANGE_ROWS = 65536  # changes in a chunk
CONTACT_ROWS = 4096  # contacts in a chunk
KEY_NUMBERS = 65536  # numbers in a chunk of key frames: several frames of a small model, a part of one of a large model

GROUPS = ("model", "frames", "changes", "keys", "scalars", "reports", "checkpoints")
GROWING = (  # arrays that every recording has, beside those of its model
    "frames/time", "frames/step", "frames/changes_end", "changes/index", "changes/value", "keys/frame", "keys/state"
)  # fmt: skip

ACCELERATION = "rad/s² or m/s²"
SCALAR_UNITS = {
    "kinetic_energy": "J",
    "potential_energy": "J",
    "energy": "J",
    "field_energy": "J",
    "temperature": "K",
    "n_active": "1",
    "n_computed": "1",
    "nodes_updated": "1",
    "region_changes": "1",
    "steps_taken": "1",
    "evaluations": "1",
    "halvings": "1",
    "unbalanced": "1",
    "strikes": "1",
    "reached": "0 or 1",
    "stance_foot": "0 or 1",
    "step_length": "m",
    "step_time": "s",
    "max_acceleration": ACCELERATION,
    "error_estimate": "rad, m, rad/s or m/s",
    "contacts": "1",
    "contact_energy_lost": "J",
    "contact.contacts": "1",
    "contact.limits": "1",
    "contact.residual": "1; m/s under the law of impacts",
    "contact.sweeps": "1",
    "contact.not_converged": "1",
    "contact.deepest": "m",
    "contact.energy_lost": "J",
}
BOUNDS = ("error_bound", "rounding_floor")  # in the measure of the simulation
UNKNOWN_UNIT = "unknown"  # of scalars that are not Linkwork's own


def scalar_unit(name: str, settings: dict[str, Any]) -> str:
    """Unit of a scalar or of a number of a report. settings: of the simulation, whose `measure` bounds go by."""
    return unit(_si_unit(name, settings), units_of(settings))


def _si_unit(name: str, settings: dict[str, Any]) -> str:
    if name not in BOUNDS:
        return SCALAR_UNITS.get(name, UNKNOWN_UNIT)
    measure = str(settings.get("measure", ""))
    if not measure:
        return f"{ACCELERATION}; 1 where the measure is relative"
    return "1" if measure.startswith("relative") else ACCELERATION


def key_chunk(width: int) -> tuple[int, int]:
    """Frames and numbers in a chunk of key frames."""
    return max(1, KEY_NUMBERS // max(1, width)), max(1, min(width, KEY_NUMBERS))
