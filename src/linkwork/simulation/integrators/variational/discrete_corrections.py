"""Corrections after an elimination of `discrete_newton`: what is missing is found anew, most of the matrices stay.

A correction takes K S₁, S₀ᵀK, D⁻¹ and X₁ as the last elimination left them: half the work of (8). Only ends of branches in
which a joint just changed by much are eliminated again, and what they pass on of K is left as it was. Any matrices will do,
as long as what is missing is right: they decide how fast corrections shrink, not where they end.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.joint_solve import push_freedom
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.integrators.variational.discrete_newton import (
    COLUMN,
    D_INVERSE,
    MARKED,
    MISSING,
    RHO,
    eliminate_body,
    pass_missing,
    push_missing,
)
from linkwork.simulation.moving import OK, moving_of
from linkwork.spatial.memory import load6
from linkwork.spatial.vectors import scale6

BEYOND = 117  # bodies in the branch that begins with this one
MUCH, LARGEST_END = 0.005, 8.0  # [rad or m] of change, and bodies of a branch, that ask for another elimination there


@inlined
def mark_all(table, are_marked):
    """Every body is to be eliminated, or none."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        s.change[i, MARKED] = 1.0 if are_marked else 0.0


@routine
def mark_fast_ends(table, changes):
    """Marks the ends of branches in which a joint just changed by much, to be eliminated again in the next correction.

    Backbones converge with matrices that are a little old; light ends that turn fast do not, and cost little.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        s.change[i, BEYOND] = 1.0
    for i in range(s.tree.shape[0] - 1, -1, -1):
        if s.tree[i, PARENT] >= 0:
            s.change[s.tree[i, PARENT], BEYOND] += s.change[i, BEYOND]
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        marked = parent >= 0 and s.change[parent, MARKED] != 0.0
        if s.change[i, BEYOND] <= LARGEST_END:
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                marked = marked or abs(changes[j]) > MUCH
        s.change[i, MARKED] = 1.0 if marked else 0.0


@routine
def eliminate_leaf_to_root(table):
    """The first half of (8) where marked; elsewhere for what is missing now, with the matrices of the last elimination.

    Returns OK, or a body whose joint resists with nothing.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0] - 1, -1, -1):
        parent = s.tree[i, PARENT]
        if s.change[i, MARKED] != 0.0:
            if not eliminate_body(table, i, parent >= 0 and s.change[parent, MARKED] != 0.0):
                return i
            continue
        p = scale6(-1.0, load6(s.change, i, MISSING))
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            t, column = helical_twist(s.body, i), load6(s.change, i, COLUMN)
            s.change[i, RHO], p = push_freedom(t, column, s.change[i, D_INVERSE], s.drive[j], p)
        else:
            p = push_missing(s, i, p)
        if parent >= 0:
            pass_missing(s, i, parent, scale6(-1.0, p))
    return OK
