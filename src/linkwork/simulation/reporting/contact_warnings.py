"""What is said of steps with contact that were made, but are not to be trusted; and of where they begin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from linkwork.contact import contact_list as cl
from linkwork.contact.model_search import find_all_contacts
from linkwork.contact.volumes import all_open
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.warning import warn_user
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.reporting.energy_watch import LARGEST_GAIN

if TYPE_CHECKING:
    from linkwork.simulation.contact_step.contact_state import ContactState

NAMED_AT_MOST = 4  # pairs of bodies
SHORT = 0.125  # of a step: parts as short as this are reported


class ContactWarnings:
    """Warnings of one simulation; those of its steps are given once."""

    def __init__(self, contact: ContactState):
        self._contact = contact
        self._turns_are_known, self._gains_are_known = False, False

    def of_gains(self, h: float, top: float) -> None:
        """A named warning, once, where steps of h [s] made energy from nothing, or were made in far shorter parts.

        top: the largest kinetic energy lately [J].
        """
        contact = self._contact
        totals, balance = contact.arrays.totals, contact.arrays.balance
        slowest = contact.arrays.settings.item(ca.SLACK) / h  # [m/s] goes by what counts as touching in a step
        is_much = totals.item(ca.TAKEN_BACK) > LARGEST_GAIN * max(
            top, 0.5 * slowest**2 * float(contact.model.mass.sum())
        )
        is_short = 0.0 < balance.item(ca.PROPOSED_LENGTH) <= SHORT * h
        if self._gains_are_known or not (is_much or is_short):
            return
        self._gains_are_known = True
        warn_user(
            f"steps of {h:g} s are too long for what moves here: they gain energy from nothing. "
            f"{totals[ca.TAKEN_BACK]:.3g} J were taken out of velocities again, and {totals[ca.SHORTENED]:.0f} steps were "
            "made in shorter parts. Motion stays bounded, but is not to be trusted in detail; take smaller steps."
        )

    def of_turns(self, h: float, bodies: IntArray | None = None) -> None:
        """A named warning, once, where a body turned more than once around in a step of h [s]: it is far too long.

        bodies: of the model, for each moving one; by default they are the same.
        """
        contact = self._contact
        turned = contact.arrays.counts.item(ca.TURNED)
        if not turned or self._turns_are_known:
            return
        self._turns_are_known = True
        body = turned - 1 if bodies is None else int(bodies[turned - 1])
        speed = float(np.linalg.norm(contact.arrays.twists[turned - 1, :3]))
        warn_user(
            f"body '{contact.model.body_names[body]}' turns by {speed * h:.3g} rad in one step of {h:g} s. Contact and "
            "limits cannot follow that, and what comes after is not to be trusted; take smaller steps."
        )

    def of_overlaps(self, poses: FloatArray) -> None:
        """A named warning where bodies begin inside each other or an obstacle, deeper than the margin. poses: (n, 12)."""
        contact = self._contact
        if contact.finder is None:
            return
        still = np.zeros((contact.model.n_bodies, 6))
        margin = float(contact.arrays.settings[ca.MARGIN])
        nodes = all_open(contact.finder.volumes)
        own = contact.arrays.counts[ca.SELF_CONTACT] != 0
        find_all_contacts(contact.finder, nodes, poses, still, 0.0, 0.0, bool(own))
        count = int(contact.contacts.number[cl.COUNT])
        deep: dict[tuple[str, str], float] = {}
        for c in range(count):
            ids = contact.contacts.ids[c]
            pair = (
                contact.model.body_names[ids[cl.BODY_A]],
                contact.name_of(int(ids[cl.BODY_B]), int(ids[cl.SHAPE_B])),
            )
            deep[pair] = max(deep.get(pair, -math.inf), -float(contact.contacts.data[c, cl.GAP]))
        contact.contacts.number[:] = 0
        worst = sorted(((depth, pair) for pair, depth in deep.items() if depth > margin), reverse=True)
        if worst:
            shown = "; ".join(f"'{a}' {depth:.3g} m inside '{b}'" for depth, (a, b) in worst[:NAMED_AT_MOST])
            more = f" and {len(worst) - NAMED_AT_MOST} more pairs" if len(worst) > NAMED_AT_MOST else ""
            warn_user(
                f"model '{contact.model.name}' begins with bodies inside each other: {shown}{more}. Steps push them apart; "
                "begin apart, or name pairs that are to overlap in Contact(ignore=...)."
            )
