"""A warning of energy that grows without a source: what an integrator makes where its step is too long."""

from __future__ import annotations

import math

from linkwork.core.messages.warning import warn_user
from linkwork.core.units import unit
from linkwork.simulation.parts.joint_inputs import NOTHING_DRIVEN

LARGEST_GAIN = 0.05  # part of the largest kinetic energy so far that the total may rise above its start
ROUNDING = 1e-9  # part of the energies met that sums over many bodies may lose: not a gain


class EnergyWatch:
    """Compares the energy of a simulation with where it began, and with the work that is known of what acts.

    work: of efforts on joints since the beginning [J]. steps: those made when it was counted last. driven: efforts that
    it is counted of, which stay as they are. idle: their work function [J] where they would have done no work.
    """

    def __init__(self) -> None:
        self.has_warned, self.steps = False, 0
        self.forget()

    @property
    def is_new(self) -> bool:
        """Whether the energy at the beginning is still missing."""
        return math.isnan(self.start)

    def forget(self) -> None:
        """Begins anew: energy may have come in."""
        self.start, self.largest_kinetic, self.largest_sum = math.nan, 0.0, 0.0
        self.work, self.idle, self.driven = 0.0, 0.0, NOTHING_DRIVEN

    def check(self, kinetic: float, total: float, known: float = 0.0) -> float:
        """kinetic, total: energy now [J]. How far it is above the start, the work and what else is known, if too far; once,
        then 0 [J]."""
        if math.isnan(self.start):
            self.start = total
        self.largest_kinetic = max(self.largest_kinetic, kinetic)
        self.largest_sum = max(self.largest_sum, kinetic + abs(total - kinetic))
        gain = total - self.start - self.work - known
        # What was gained is in the kinetic energy seen: compare with what it would be without.
        is_rounding = gain <= ROUNDING * self.largest_sum
        if self.has_warned or is_rounding or not gain > LARGEST_GAIN * (self.largest_kinetic - gain):
            return 0.0
        self.has_warned = True
        return gain

    def warn(self, gain: float, integrator: str) -> None:
        """Of a gain that `check` found [J]."""
        if integrator == "variational":
            advice = "Take shorter steps."
        else:
            advice = "Take shorter steps, or integrator='variational', which is made for this."
        joules = unit("J")
        spent = f" and the {self.work:.3g} {joules} that efforts on joints have done" if self.work else ""
        warn_user(
            f"energy grows without a source: it is {gain:.3g} {joules} above its start{spent}, with at most "
            f"{self.largest_kinetic:.3g} {joules} in motion so far, and nothing else acts that does work. {integrator} "
            f"makes it at this step. {advice}"
        )
