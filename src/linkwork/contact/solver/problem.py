"""What the contact solver is given and what it works on.

Contact bodies are numbered 0 to m-1. Their twists (world axes, at a reference point of each) and the
velocities of k joint coordinates at their limits make one vector of s = 6 m + k numbers; `Lambda` (s, s) is the change of
these velocities per impulse on the same places. Every constraint is a few rows over this vector:

    contact  normal, two tangents     limit  one coordinate, signed     loop  its closed rows     u = J v     (13)
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int1, Int2

# columns of limit
SIGN, LIMIT_GAP, LIMIT_RESTITUTION, LIMIT_COLUMNS = 0, 1, 2, 3
# numbers of a solve, report (6,)
RESIDUAL, SWEEPS, CONVERGED, ENERGY, PENETRATION, CONTACTS, REPORT = range(7)

FREE, STICK, SLIDE = 0, 1, 2  # states of a contact


class Problem(NamedTuple):
    """One solve: m contact bodies, c contacts (in a list of their own), l limits, r rows of loops."""

    Lambda: Float2  # (s, s)  velocity response to impulses, symmetric [1/kg, ...]
    v_free: Float1  # (s,)    velocities after the step's forces, without contact
    v_before: Float1  # (s,)    velocities before the step, for restitution
    origin: Float2  # (m, 3)  reference points of the contact bodies in the world [m]
    body_number: Int2  # (c, 2)  numbers of bodies a and b of each contact; -1: the world
    limit_at: Int1  # (l,)    place of the coordinate in the vector, 6 m or more
    limit: Float2  # (l, 3)  sign (+1 lower, -1 upper limit), distance to the limit ≥ 0 inside [rad or m], restitution
    limit_impulse: Float1  # (l,)    warm start and result, ≥ 0 [N·s or N·m·s]
    loop_body_number: Int2  # (r, 2)  numbers of the two bodies of each row; -1: the world
    loop_row: Float2  # (r, 12) coefficients on the twists of the two
    loop_rate: Float1  # (r,)    velocity that is wanted (stabilization), usually 0
    loop_first: Int1  # (b+1,)  rows of loop k are loop_first[k] to loop_first[k+1], at most 6
    loop_impulse: Float1  # (r,)    warm start and result
    impulse: Float1  # (s,)    result: impulses on the contact bodies and coordinates
    push: Float1  # (s,)    result: pseudo impulses that take penetration back; they move bodies, not velocities
    v_after: Float1  # (s,)    velocities that the linkage itself has with the impulses: for the check of the solve


class System(NamedTuple):
    """Memory of the solver for up to R rows over s numbers; R = 3 c + l + r."""

    column: Int2  # (R, 2)  where a row's coefficients stand in the vector; -1: nowhere
    width: Int1  # (R,)    numbers in each place: 6, or 1 for a limit
    J: Float2  # (R, 12) coefficients
    W: Float2  # (R, s)  J Lambda
    G: Float2  # (R, R)  Delassus matrix J Lambda Jᵀ
    u_free: Float1  # (R,)    J v_free
    bias: Float1  # (R,)    what the law adds to u
    x: Float1  # (R,)    impulses
    y: Float1  # (R,)    impulses after a sweep
    best: Float1  # (R,)    impulses kept aside
    u: Float1  # (R,)    velocities with the impulses of a sweep, bias included
    state: Int1  # (R,)    FREE, STICK or SLIDE of each contact (by number), for Newton
    matrix: Float1  # of Newton's step, see `linear_systems`
    small: Float2  # (9, 9)  normal equations; blocks of loops
    small_matrix: Float1  # (240,)  systems of up to 15 unknowns
    report: Float1  # (6,)    see the names above
