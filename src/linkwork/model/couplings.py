"""Couplings: linear relations between joint coordinates, such as mimic joints, gears and differentials. Pure description.

    Σ cₖ qₖ = offset

A coupling is kept exactly, as loops are: the effort λ cₖ acts on each of its joints, with the λ that keeps the relation.
Theory: docs/theory/loops.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.names import did_you_mean


@tabled
@dataclass(frozen=True, slots=True)
class Coupling:
    """A relation Σ coefficient · coordinate = offset between joints of one degree of freedom each.

    joints: names and coefficients. offset: of the sum [rad or m].
    """

    name: str
    joints: tuple[tuple[str, float], ...]
    offset: float = 0.0
    source: str = ""  # "file:line" when a file brought it

    def faults(self) -> list[str]:
        """Why this is not a coupling; empty when it is."""
        found = []
        if not isinstance(self.name, str) or not self.name:
            found.append(f"name is {shown(self.name)}; it must be a text")
        if not self.joints:
            found.append("it couples no joint; give names and coefficients")
        names = [joint for joint, _ in self.joints]
        if len(set(names)) < len(names):
            found.append("a joint is given twice; add its coefficients up")
        for joint, coefficient in self.joints:
            if not 0.0 < abs(float_or_nan(coefficient)) < math.inf:
                found.append(
                    f"the coefficient of joint '{joint}' is {shown(coefficient)}; it must be a finite number, not zero"
                )
        if not math.isfinite(float_or_nan(self.offset)):
            found.append(f"offset is {shown(self.offset)}; it must be a finite number")
        return found

    def renamed(self, prefix: str = "", joints: Mapping[str, str] | None = None) -> Coupling:
        """The same coupling with a prefix before all names, or between joints that were renamed, old name → new."""
        new = joints or {}
        pairs = tuple((prefix + new.get(joint, joint), coefficient) for joint, coefficient in self.joints)
        return replace(self, name=prefix + self.name, joints=pairs)


def as_pairs(joints: Mapping[str, float] | Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Names and coefficients; numbers that are none become NaN, which `faults` reports."""
    pairs = joints.items() if isinstance(joints, Mapping) else joints
    return tuple((str(joint), float_or_nan(coefficient)) for joint, coefficient in pairs)


def coupling_faults(couplings: Iterable[Coupling], freedoms: Mapping[str, int]) -> list[str]:
    """Why couplings of a linkage cannot be kept; empty when they can. freedoms: of each joint, by name."""
    faults: list[str] = []
    names: set[str] = set()
    for coupling in couplings:
        label = f"{coupling.source}: coupling '{coupling.name}'" if coupling.source else f"coupling '{coupling.name}'"
        own = coupling.faults()
        faults += [f"{label}: {fault}" for fault in own]
        if own:
            continue
        if coupling.name in names:
            faults.append(f"{label}: the name is used twice; names of couplings must be unique")
        names.add(coupling.name)
        for joint, _ in coupling.joints:
            if joint not in freedoms:
                faults.append(f"{label}: joint '{joint}' is unknown{did_you_mean(joint, freedoms)}")
            elif freedoms[joint] != 1:
                faults.append(
                    f"{label}: joint '{joint}' has {freedoms[joint]} degrees of freedom; couplings are between joints of "
                    "one: hinges, sliders, screws and parts of compounds"
                )
    return faults
