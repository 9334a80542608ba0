"""Actuators as people describe them: what turns a control into effort at a joint. Pure description.

    force = u  ("effort"),  k (u - g q) - d g q̇  ("position"),  d (u - g q̇)  ("velocity");   effort on the joint = g force

with the gear g, after u has passed a first-order lag with a time constant. How they act in a simulation is worked out in
`linkwork.simulation.loading.actuating`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.names import did_you_mean

CONTROLS = ("effort", "velocity", "position")


@tabled
@dataclass(frozen=True, slots=True)
class Actuator:
    """A drive on a joint with one degree of freedom: a hinge, a slider, a screw, or one part of a compound.

    control: what its input u is, "effort" [N·m or N], "velocity" or "position" of the drive, before the gear.
    gear: turns of the drive per turn of the joint; efforts grow with it, speeds shrink.
    stiffness ("position"), damping ("position", "velocity"): gains at the drive.
    armature: inertia of the rotor [kg·m² or kg]; the joint feels gear² times as much.
    friction: dry friction of the drive [N·m or N]; the joint feels gear times as much.
    time_constant: of the lag from u to what acts [s]; 0 acts at once.
    limits: of u. effort_limit: of the drive [N·m or N]; the joint gets at most gear times as much.
    """

    name: str
    joint: str
    control: str = "effort"
    gear: float = 1.0
    stiffness: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    time_constant: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    effort_limit: float = math.inf
    source: str = ""  # "file:line" when a file brought it

    def faults(self) -> list[str]:
        """Why this is not an actuator; empty when it is."""
        found = []
        for what in ("name", "joint"):
            if not isinstance(getattr(self, what), str) or not getattr(self, what):
                found.append(f"{what} is {shown(getattr(self, what))}; it must be a text")
        if self.control not in CONTROLS:
            found.append(f"control is {shown(self.control)}; it must be one of {', '.join(CONTROLS)}")
        if not 0.0 < abs(float_or_nan(self.gear)) < math.inf:
            found.append(f"gear is {shown(self.gear)}; it must be a finite number, not zero")
        for what in ("stiffness", "damping", "armature", "friction", "time_constant"):
            if not 0.0 <= float_or_nan(getattr(self, what)) < math.inf:
                found.append(f"{what} is {shown(getattr(self, what))}; it must be a finite number ≥ 0")
        if not float_or_nan(self.effort_limit) >= 0.0:
            found.append(f"effort_limit is {shown(self.effort_limit)}; it must be a number ≥ 0")
        try:
            low, high = map(float_or_nan, self.limits)
        except (TypeError, ValueError):
            low = high = math.nan
        if not low <= high:
            found.append(f"limits are {shown(self.limits)}; they must be (lower, upper) of the control")
        if found:
            return found
        if self.control == "position" and not self.stiffness > 0.0:
            found.append("a position actuator needs stiffness > 0 to follow with")
        if self.control == "velocity" and not self.damping > 0.0:
            found.append("a velocity actuator needs damping > 0 to follow with")
        if (self.stiffness and self.control != "position") or (self.damping and self.control == "effort"):
            found.append(f"a gain does nothing in an actuator with control='{self.control}'; leave it out")
        return found

    def moved_to(self, name: str, joint: str) -> Actuator:
        """The same actuator under another name, on another joint."""
        return replace(self, name=name, joint=joint)


def actuator_faults(actuators: list[Actuator], freedoms: Mapping[str, int]) -> list[str]:
    """Why actuators of a linkage cannot act; empty when they can. freedoms: of each joint, by name."""
    faults: list[str] = []
    names: set[str] = set()
    followers: dict[str, str] = {}
    for actuator in actuators:
        if not isinstance(actuator, Actuator):
            faults.append(f"an actuator must be lw.Actuator(name, joint, ...), not {shown(actuator)}")
            continue
        label = f"{actuator.source}: actuator '{actuator.name}'" if actuator.source else f"actuator '{actuator.name}'"
        own = actuator.faults()
        faults += [f"{label}: {fault}" for fault in own]
        if own:
            continue
        if actuator.name in names:
            faults.append(f"{label}: the name is used twice; names of actuators must be unique")
        names.add(actuator.name)
        if actuator.joint not in freedoms:
            faults.append(f"{label}: joint '{actuator.joint}' is unknown{did_you_mean(actuator.joint, freedoms)}")
        elif freedoms[actuator.joint] != 1:
            faults.append(
                f"{label}: joint '{actuator.joint}' has {freedoms[actuator.joint]} degrees of freedom; an actuator drives "
                "one. Use a hinge or a slider, or efforts and motors of the simulation"
            )
        if actuator.control != "effort" and actuator.joint in followers:
            faults.append(
                f"{label}: joint '{actuator.joint}' follows the control of '{followers[actuator.joint]}' already; one "
                "position or velocity actuator per joint"
            )
        elif actuator.control != "effort":
            followers[actuator.joint] = actuator.name
    return faults
