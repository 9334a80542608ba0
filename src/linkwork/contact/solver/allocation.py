"""Makes the arrays of contact problems (`problem`)."""

from __future__ import annotations

import numpy as np

from linkwork.contact.solver.linear_systems import MOST_SMALL, ROW, room_for
from linkwork.contact.solver.problem import LIMIT_COLUMNS, REPORT, Problem, System


def make_problem(bodies: int, contacts: int, limits: int = 0, loops: int = 0) -> Problem:
    """Empty arrays for so many contact bodies, contacts, limits and rows of loops (each a loop of its own)."""
    s = 6 * bodies + limits
    return Problem(
        np.zeros((s, s)),
        np.zeros(s),
        np.zeros(s),
        np.zeros((bodies, 3)),
        np.full((contacts, 2), -1, dtype=np.int64),
        6 * bodies + np.arange(limits, dtype=np.int64),
        np.zeros((limits, LIMIT_COLUMNS)),
        np.zeros(limits),
        np.full((loops, 2), -1, dtype=np.int64),
        np.zeros((loops, 12)),
        np.zeros(loops),
        np.arange(loops + 1, dtype=np.int64),
        np.zeros(loops),
        np.zeros(s),
        np.zeros(s),
        np.zeros(s),
    )


def make_system(rows: int, numbers: int) -> System:
    """Memory for so many rows over so many velocity numbers."""
    return System(
        column=np.full((rows, 2), -1, dtype=np.int64),
        width=np.zeros(rows, dtype=np.int64),
        J=np.zeros((rows, 12)),
        W=np.zeros((rows, numbers)),
        G=np.zeros((rows, rows)),
        u_free=np.zeros(rows),
        bias=np.zeros(rows),
        x=np.zeros(rows),
        y=np.zeros(rows),
        best=np.zeros(rows),
        u=np.zeros(rows),
        state=np.zeros(rows, dtype=np.int64),
        matrix=np.zeros(room_for(rows)),
        small=np.zeros((9, 9)),
        small_matrix=np.zeros(MOST_SMALL * ROW),
        report=np.zeros(REPORT),
    )
