"""What a call of `FullDynamics.step` did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.simulation.protocol import Report

if TYPE_CHECKING:
    from linkwork.simulation.contact_step.contact_state import ContactReport


@dataclass(frozen=True, slots=True)
class FullReport(Report):
    """What a call of `step` did.

    steps_taken: steps, or substeps where the integrator controls its error.
    evaluations: of the accelerations.
    error_estimate: sum of the estimated errors of the substeps, in the worst coordinate or velocity [rad, m, rad/s or m/s];
    NaN for integrators without an estimate.
    energy: kinetic and potential (gravity, joint springs, field) at the end [J].
    field_energy: that of the field alone [J]; zero without one.
    contact: what contact and joint limits did; None where neither acts.
    halvings: times a step or substep of "variational" was halved, since it could not be solved or its energy jumped.
    unbalanced: steps of "implicit_midpoint" that could only be made without the balance of energy.
    """

    steps_taken: int
    evaluations: int
    error_estimate: float
    energy: float
    field_energy: float = 0.0
    contact: ContactReport | None = None
    halvings: int = 0
    unbalanced: int = 0
