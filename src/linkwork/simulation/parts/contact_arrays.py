"""Makes the arrays of contact and joint limits of a moving linkage (`contact_step.arrays`)."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import lazy_zeros
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import ContactArrays
from linkwork.spatial.simd import LANES


def allocate_contact_arrays(
    bodies: int, coordinates: int, freedoms: int, nodes: int, contacts: int, body_capacity: int, limits: int
) -> ContactArrays:
    arrays = ContactArrays(
        open_nodes=np.zeros(nodes, dtype=np.int64),
        node_body=np.full(nodes, -1, dtype=np.int64),
        pose=np.tile([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], (nodes, 1)),
        leaf=np.zeros(bodies, dtype=np.int64),
        model_dof=np.arange(freedoms),
        twists=lazy_zeros(bodies, 6),
        before=lazy_zeros(bodies, 6),
        end_pose=lazy_zeros(bodies, 12),
        moving_body=np.zeros((contacts, 4), dtype=np.int64),
        contact_body_number=np.full(bodies, -1, dtype=np.int64),
        contact_bodies=np.zeros(body_capacity + limits, dtype=np.int64),
        lower=np.full(freedoms, -np.inf),
        upper=np.full(freedoms, np.inf),
        bound=np.zeros((limits, 3), dtype=np.int64),
        limit_impulse=np.zeros((freedoms, 2)),
        limit_sums=np.zeros((freedoms, 4)),
        joint_impulse=np.zeros(freedoms),
        recent=np.zeros((ca.MOST_RECENT, ca.RECENT_COLUMNS), dtype=np.int64),
        recent_at=np.zeros((ca.MOST_RECENT, 4)),
        carry=np.zeros(6 * LANES),
        own=np.zeros(6 * LANES),
        columns=np.zeros(12 * LANES),
        joint=np.zeros((12, 6)),
        evaluated=np.zeros((ca.EVALUATED, freedoms)),
        switches=np.zeros(2, dtype=np.int64),
        switched=np.zeros((ca.MOST_SWITCHED, freedoms)),
        switched_response=lazy_zeros(ca.MOST_SWITCHED * bodies, 6),
        switch_weight=np.zeros(ca.MOST_SWITCHED),
        part_start_q=np.zeros(coordinates),
        part_start_v=np.zeros(freedoms),
        part_start_momentum=lazy_zeros(bodies, 6),
        step_start_q=np.zeros(coordinates),
        step_start_v=np.zeros(freedoms),
        step_start_momentum=lazy_zeros(bodies, 6),
        saved_totals=np.zeros((3, ca.TOTALS)),
        settings=np.zeros(ca.SETTINGS),
        counts=np.zeros(ca.COUNTS, dtype=np.int64),
        totals=np.zeros(ca.TOTALS),
        balance=np.zeros(ca.BALANCE),
        calls=np.zeros(ca.CALLS, dtype=np.int64),
        turns=np.zeros(ca.TURNS, dtype=np.int64),
        region=np.zeros(0, dtype=np.int64),
        choice=np.zeros(0),
    )
    arrays.counts[ca.BODY_CAPACITY] = body_capacity
    return arrays
