"""Makes the arrays of contact and joint limits of a moving linkage (`touching.arrays`)."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import lazy_zeros
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.arrays import Touch


def allocate_touch(
    bodies: int, coordinates: int, freedoms: int, nodes: int, contacts: int, slots: int, limits: int
) -> Touch:
    touch = Touch(
        open_nodes=np.zeros(nodes, dtype=np.int64),
        piece=np.full(nodes, -1, dtype=np.int64),
        pose=np.tile([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], (nodes, 1)),
        leaf=np.zeros(bodies, dtype=np.int64),
        whole=np.arange(freedoms),
        twists=lazy_zeros(bodies, 6),
        before=lazy_zeros(bodies, 6),
        way=lazy_zeros(bodies, 12),
        carrier=np.zeros((contacts, 4), dtype=np.int64),
        slot_of=np.full(bodies, -1, dtype=np.int64),
        reached=np.zeros(slots + limits, dtype=np.int64),
        lower=np.full(freedoms, -np.inf),
        upper=np.full(freedoms, np.inf),
        bound=np.zeros((limits, 3), dtype=np.int64),
        held=np.zeros((freedoms, 2)),
        summed=np.zeros((freedoms, 4)),
        drive=np.zeros(freedoms),
        known=np.zeros((ta.MOST_KNOWN, ta.KNOWN_COLUMNS), dtype=np.int64),
        known_at=np.zeros((ta.MOST_KNOWN, 4)),
        carry=np.zeros(6 * ta.WIDE),
        own=np.zeros(6 * ta.WIDE),
        columns=np.zeros(12 * ta.WIDE),
        joint=np.zeros((12, 6)),
        evaluated=np.zeros((ta.EVALUATED, freedoms)),
        switches=np.zeros(2, dtype=np.int64),
        switched=np.zeros((ta.MOST_SWITCHED, freedoms)),
        switched_answer=lazy_zeros(ta.MOST_SWITCHED * bodies, 6),
        switch_weight=np.zeros(ta.MOST_SWITCHED),
        began_q=np.zeros(coordinates),
        began_v=np.zeros(freedoms),
        began_target_momentum=lazy_zeros(bodies, 6),
        safe_q=np.zeros(coordinates),
        safe_v=np.zeros(freedoms),
        safe_target_momentum=lazy_zeros(bodies, 6),
        safe_totals=np.zeros((3, ta.TOTALS)),
        settings=np.zeros(ta.SETTINGS),
        counts=np.zeros(ta.COUNTS, dtype=np.int64),
        totals=np.zeros(ta.TOTALS),
        balance=np.zeros(ta.BALANCE),
        calls=np.zeros(ta.CALLS, dtype=np.int64),
        turns=np.zeros(ta.TURNS, dtype=np.int64),
        region=np.zeros(0, dtype=np.int64),
        choice=np.zeros(0),
    )
    touch.counts[ta.SLOT_CAPACITY] = slots
    return touch
