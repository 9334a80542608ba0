"""Why a step with contact failed, in words."""

from __future__ import annotations

import numpy as np

from linkwork.contact.points import name_of
from linkwork.contact.tables import ShapeTable
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.shortening import SHORTEST

CAUSES = {
    mv.CONTACT_GAINS: "contact or limits of joints gain energy that nothing brings in",
    mv.CONTACT_UNSOLVED: "no impulses of contact and limits were found that keep their laws without gaining energy",
    mv.OVERFLOW: "contact or limits of joints lead to numbers that overflow",
    mv.CONTACT_ENDLESS: "contact cuts the step into more parts than one may have",
}


def explain_contact(
    model: Model, status: int, arrays: ca.ContactArrays, shapes: ShapeTable | None
) -> StateError | None:
    """The error for a step that failed because of contact; None where something else was the cause."""
    if status not in CAUSES or (status == mv.OVERFLOW and arrays.balance[ca.HAD_CONTACT] == 0.0):
        return None
    worst, where = int(arrays.balance[ca.WORST_A]), ""
    if worst >= 0 and shapes is not None:
        other, shape = int(arrays.balance[ca.WORST_B]), int(arrays.balance[ca.WORST_SHAPE])
        name = model.body_names[other] if other >= 0 else name_of(model, int(shapes.entity[shape]))
        where = f", most of all between '{model.body_names[worst]}' and '{name}'"
    if status != mv.CONTACT_ENDLESS:
        where += f", even in parts of {SHORTEST:.2g} of the step"
    k = int(np.abs(arrays.part_start_v).argmax()) if arrays.part_start_v.size else -1
    is_whole = arrays.part_start_v.size == model.nv  # not the joints of an active region alone
    named = f", '{model.joint_names[model.joint_of(k, 'v')]}'," if is_whole and k >= 0 else ""
    speed = abs(arrays.part_start_v.item(k)) if k >= 0 else 0.0
    return StateError(
        f"{CAUSES[status]}{where}. The fastest joint before it{named} moves at {speed:.3g} rad/s or m/s. Look for "
        "bodies that begin inside each other, for masses and inertias that differ by many orders of magnitude, or "
        "for loads that are too strong."
    )
