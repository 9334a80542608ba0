"""The arrays of the constraints of a moving linkage: loops, and what their responses are worked out with.

They stand behind those of `Moving` in the same table. All arrays are empty for a linkage without constraints.
`parts.constraint_arrays` makes them.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader
from linkwork.core.jit import inlined
from linkwork.simulation.moving import Moving

FORCE, FORCE_AGAIN, CLOSE, CLOSE_WAY, CALLS = range(5)  # entries of `calls`


class Constraints(NamedTuple):
    """Constraints of k loops with l rows on m bodies of a linkage with n bodies, and of c couplings of e joints in
    all. Rows of couplings stand behind those of loops: p = l + c."""

    # the cut joints, as a small linkage of their own
    tree: Int2  # (k, 6)
    body: Float2  # (k, 32)
    screws: Float2
    dof: Float2
    ends: Int2  # (k, 2) bodies a and b; -1 is the world
    frames: Float2  # (k, 24) their frames in a and b
    first_row: Int1  # (k + 1,)
    constrained_bodies: Int1  # (m,) bodies at the ends of loops
    end_body: Int2  # (k, 2) number of each end in `constrained_bodies`; -1 is the world
    # their state
    z: Float1  # coordinates of the cut joints
    rate: Float1
    S: Float2
    E: Float2
    B: Float1  # (48 k,)
    matrix: Float2  # (6, 14)
    trial: Float1
    loop: Float2  # (k, 30) of `loops.frames`
    # the rows
    row: Float2  # (l, 12) on the accelerations of a and b, in their frames
    coupled_first: Int1  # (c + 1,) joints of coupling k are coupled_first[k] to coupled_first[k + 1]
    coupled_body: Int1  # (e,) body on each of these joints; -1: the joint does not move
    coupled_freedom: Int1  # (e,) its place in v
    coupled_place: Int1  # (e,) and in q
    coefficient: Float1  # (e,)
    offset: Float1  # (c,) what the sum over moving joints is to be [rad or m]
    coupling: Float1  # (c,) force of each coupling at the last evaluation
    gap: Float1  # (p,) how far loops are open [rad or m]
    slip: Float1  # (p,) how fast they open [rad/s or m/s]
    bias: Float1  # (p,)
    right: Float1  # (p,)
    force: Float1  # (p,) of the last solution
    # the system, of `loops.forces`
    A: Float2  # (p, p)
    L: Float2  # (p, p)
    free: Float1  # (p,)
    scale: Float1  # (p,)
    order: Int1  # (p,)
    left: Float1  # (p,)
    rank: Int1  # (1,) at the last evaluation
    on_joints: Float2  # (nv, p) what the force of each row leaves on joints on its way to the world
    through_joint: Float2  # (6, p) of one joint: D⁻¹ times it
    wrenches: Float2  # (m, 6) of the constraints on constrained bodies
    loop_wrenches: Float2  # (k, 12) wrench of each loop on a and on b at the last evaluation, in their frames
    change: Float1  # (nv,)
    push: Float1  # (nv,) efforts of couplings; zero elsewhere
    coupled_change: Float2  # (c, nv) of `project_couplings`, for contact
    coupled_response: Float2  # (c n, 6) the same of bodies
    # scratch of `responses`
    mark: Int1  # (n,)
    members: Int1  # (n,)
    bias_up: Float2  # (n, 6)
    effort: Float1  # (nv,)
    response: Float2  # (n, 6)
    calls: Int1  # (4,) addresses of kernels that steps call (`calling`); 0 without loops


constraints_of = reader(Constraints, Moving)


@inlined
def is_constrained(table):
    """Whether a moving linkage has loops or couplings."""
    return constraints_of(table).gap.shape[0] > 0
