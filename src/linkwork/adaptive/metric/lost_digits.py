"""Digits that the coefficients of a node have lost: the part of the rounding floor that depends on the linkage alone.

Elimination forms inverse inertias as differences, Φ11 = Φ11ᴬ - YᵀD⁻¹Y: where a light body is held by a heavy one, or a
stretch hardly bends, a small number is what large ones leave. Each node keeps an estimate, in units of rounding, of the
errors of the diagonals of its Φ11 and Φ22 (clusters) or of its K (branches):

    body      E = e Φ,   e = max(Φᵣᵣ Iᵣᵣ, Φᵣᵣ Pᵣ)      P of its branches; the same for a rigid stretch
    JOIN      E1 = max(E1ᴬ, e Φ11),   E2 = max(E2ᴮ, e Φ22)      e = max(E2ᴬ/Φ22ᴬ, E1ᴮ/Φ11ᴮ)
    HANG      P = e K + XᵀΦ11⁻¹X                        e = max E1/Φ11
    SUM       P = P' + P''                                                                                      (4)

diagonals all. No error shrinks on its way up: an estimate, on the safe side of what is seen.
Theory: docs/theory/adaptive_quasi_statics.md.
"""

import math

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_P, H_R, HANG_L, JOIN_SOLID, PHI11, load_ldl, lower_handle
from linkwork.dynamics.dca.solid import is_solid
from linkwork.model.layout import INERTIA
from linkwork.spatial.ldl import forward
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.simd import identity_rows, motion_rows_to_child, vstore

LOST_1, LOST_2 = 0, 6  # columns of `lost`: of Φ11 or K, and of Φ22


@routine
def refresh_lost(plan, mechanism, c, node):
    """(4) for one node, from its coefficients and its children."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    if kind == BODY:
        lose_body(plan, mechanism, c, node)
    elif kind == JOIN:
        if is_solid(nodes, node):
            lose_stretch(plan, c, node)
        else:
            lose_join(plan, c, node)
    elif kind == HANG:
        lose_hang(plan, c, node)
    else:
        for r in range(6):
            c.lost[node, LOST_1 + r] = c.lost[left, LOST_1 + r] + c.lost[nodes[node, RIGHT], LOST_1 + r]


@inlined
def lose_body(plan, mechanism, c, node):
    i = plan.nodes[node, INDEX]
    left = plan.nodes[node, LEFT]
    o = plan.block[node]
    worst = 1.0
    for r in range(6):
        own = mechanism.body[i, INERTIA + (4 if r == 0 else (7 if r == 1 else (9 if r == 2 else 0)))]
        worst = larger(worst, c.node_data[o + 9 * r] * own)
        if left >= 0:
            worst = larger(worst, c.node_data[o + 9 * r] * c.lost[left, LOST_1 + r])
    for r in range(6):
        c.lost[node, LOST_1 + r] = worst * c.node_data[o + 9 * r]
        c.lost[node, LOST_2 + r] = worst * c.node_data[o + 9 * r]


@inlined
def lose_stretch(plan, c, node):
    """A rigid stretch loses only what inverting its inertia costs; its branches may have lost more."""
    nodes = plan.nodes
    left = nodes[node, LEFT]
    right = nodes[node, RIGHT]
    worst = larger(
        lost_part(c, left, LOST_1, plan.slot[left] + PHI11), lost_part(c, right, LOST_1, plan.slot[right] + PHI11)
    )
    at = plan.slot[node] + PHI11
    for r in range(6):
        worst = larger(worst, c.handed_up[at + 9 * r] * c.node_data[plan.block[node] + JOIN_SOLID + 9 * r])
    for r in range(6):
        c.lost[node, LOST_1 + r] = worst * c.handed_up[at + 9 * r]
    if nodes[node, ROLE] != TOP:
        at = lower_handle(nodes, plan.slot, node)
        for r in range(6):
            c.lost[node, LOST_2 + r] = worst * c.handed_up[at + 9 * r]


@inlined
def lose_join(plan, c, node):
    nodes = plan.nodes
    left = nodes[node, LEFT]
    right = nodes[node, RIGHT]
    e = lost_by(plan, c, node)
    at = plan.slot[node] + PHI11
    for r in range(6):
        c.lost[node, LOST_1 + r] = larger(c.lost[left, LOST_1 + r], e * c.handed_up[at + 9 * r])
    if nodes[node, ROLE] != TOP:
        at = lower_handle(nodes, plan.slot, node)
        for r in range(6):
            c.lost[node, LOST_2 + r] = larger(c.lost[right, LOST_2 + r], e * c.handed_up[at + 9 * r])


@inlined
def lose_hang(plan, c, node):
    i = plan.nodes[node, INDEX]
    e = lost_by(plan, c, node)
    for r in range(6):
        c.lost[node, LOST_1 + r] = e * c.handed_up[plan.slot[node] + 9 * r]
    X = motion_rows_to_child(load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), identity_rows())
    L, d = load_ldl(c.node_data, plan.block[node] + HANG_L)
    T = forward(L, X)
    for k in range(6):
        vstore(c.scratch, 8 * k, T[k])
    for k in range(6):
        for r in range(6):
            c.lost[node, LOST_1 + r] += d[k] * c.scratch[8 * k + r] * c.scratch[8 * k + r]


@inlined
def lost_part(c, node, column, at):
    """Largest error of a diagonal, relative to it: the diagonal at handed_up[at]."""
    worst = 1.0
    for r in range(6):
        worst = larger(worst, c.lost[node, column + r] / c.handed_up[at + 9 * r])
    return worst


@inlined
def larger(a, b):
    """The larger of two; what is not a number, or negative, counts as infinite."""
    return max(a, b) if b > 0.0 else math.inf


@routine
def lost_by(plan, c, node):
    """By how much a joint's gap is magnified: the largest part lost by the clusters it joins."""
    nodes = plan.nodes
    left = nodes[node, LEFT]
    if nodes[node, NODE_KIND] == HANG:
        return lost_part(c, left, LOST_1, plan.slot[left] + PHI11)
    right = nodes[node, RIGHT]
    upper = lost_part(c, left, LOST_2, lower_handle(nodes, plan.slot, left))
    return larger(upper, lost_part(c, right, LOST_1, plan.slot[right] + PHI11))
