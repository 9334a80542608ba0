"""Constraint rows of loops on the twists of their bodies, from the frames that `relate_frames` found, and their wrenches.

With T the constrained directions of the cut joint in frame B, the rows are Tᵀ(X_B V_b − X X_A V_a). A row of T moves to
another frame as a wrench does.
"""

from linkwork.core.jit import inlined, kernel
from linkwork.loops.frames import L_BIAS, L_GAP, L_P, L_R, L_TWIST
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.vectors import dot6, scale6, wrench_to_parent


@inlined
def constrained_direction(B, k, c):
    """Column c of T of loop k, whose six rows of eight numbers stand in B."""
    o = 48 * k + c
    return (B[o], B[o + 8], B[o + 16], B[o + 24], B[o + 32], B[o + 40])


@inlined
def constraint_row(loop, frames, B, k, c):
    """Constrained direction c of loop k: its row on the twists of a and b in their frames, gap, slip and bias."""
    T = constrained_direction(B, k, c)  # a wrench on body b in its frame B that the joint can pass on
    on_a = wrench_to_parent(load9(loop, k, L_R), load3(loop, k, L_P), scale6(-1.0, T))
    a = wrench_to_parent(load9(frames, k, 0), load3(frames, k, 9), on_a)
    b = wrench_to_parent(load9(frames, k, 12), load3(frames, k, 21), T)
    return a, b, dot6(T, load6(loop, k, L_GAP)), dot6(T, load6(loop, k, L_TWIST)), dot6(T, load6(loop, k, L_BIAS))


@kernel
def constraint_rows(loop, frames, B, starts, where, C, gap, slip, bias):
    """Adds the rows of all loops to C (p, 6 m), and fills gap, slip and bias (p,).

    starts (k + 1,): first row of each loop; where (k, 2): places of its bodies a and b among the m of C.
    """
    for k in range(where.shape[0]):
        for r in range(starts[k], starts[k + 1]):
            a, b, gap[r], slip[r], bias[r] = constraint_row(loop, frames, B, k, r - starts[k])
            for d in range(6):
                C[r, 6 * where[k, 0] + d] += a[d]
                C[r, 6 * where[k, 1] + d] += b[d]
