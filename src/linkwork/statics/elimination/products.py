"""Products with the inertia of a linkage at rest, of eight vectors at a time: M x by a sweep to the leaves and one back.

Momenta wait in memory between the sweeps, which takes as long as the arithmetic: rows are as wide as there are vectors.
What a row writes beyond its end is overwritten by the next, and what it reads there is not used.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.spatial.inertia import articulated_times_twist, rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.simd import (
    LANES,
    add_outer,
    add_rows,
    combine,
    lane,
    load_rows,
    motion_rows_to_child,
    no_rows,
    store_rows,
    vload,
    vstore,
    wrench_rows_to_parent,
)
from linkwork.statics.elimination.solve import NEEDS_TWIST, ROWS, given_efforts
from linkwork.statics.elimination.workspace import P_, R_


@inlined
def load_close(a, o, width):
    """Six rows that begin at a[o], so many numbers apart."""
    return (
        vload(a, o),
        vload(a, o + width),
        vload(a, o + 2 * width),
        vload(a, o + 3 * width),
        vload(a, o + 4 * width),
        vload(a, o + 5 * width),
    )


@inlined
def store_close(a, o, width, m):
    vstore(a, o, m[0])
    vstore(a, o + width, m[1])
    vstore(a, o + 2 * width, m[2])
    vstore(a, o + 3 * width, m[3])
    vstore(a, o + 4 * width, m[4])
    vstore(a, o + 5 * width, m[5])


@kernel
def mass_times(arrays, place, added, x, sides, out):
    """out (m, nv) ← M x for the rows of x (m, nv). added (n, 21): inertia that a fluid adds to bodies, or no rows."""
    for first in range(0, x.shape[0], LANES):
        last = min(first + LANES, x.shape[0])
        momenta_to_leaves(arrays, place, added, x, sides, first, last)
        efforts_to_root(arrays, place, x, sides, out, first, last)


@routine
def momenta_to_leaves(arrays, place, added, x, sides, first, last):
    """Momenta of all bodies at the velocities x, into `sides.wrench`."""
    tree, body = arrays.tree, arrays.body
    for i in range(tree.shape[0]):
        if 0 <= tree[i, PARENT] < i - 1:
            sides.flags[tree[i, PARENT]] = NEEDS_TWIST
    twist = no_rows()
    for i in range(tree.shape[0]):
        parent, j = tree[i, PARENT], tree[i, V]
        if parent < 0:
            twist = no_rows()
        else:
            if parent != i - 1:
                twist = load_rows(sides.twist, ROWS * parent)
            twist = motion_rows_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), twist)
        if tree[i, KIND] == HELICAL:
            twist = add_outer(twist, helical_twist(body, i), given_efforts(x, j, first, last))
        else:
            for d in range(j, j + tree[i, DOF]):
                twist = add_outer(twist, load6(place.S, d, 0), given_efforts(x, d, first, last))
        if sides.flags[i] & NEEDS_TWIST:
            store_rows(sides.twist, ROWS * i, twist)
        sides.flags[i] = 0
        momentum = rigid_times_twist(load10(body, i, INERTIA), twist)
        if added.shape[0] > 0:
            more = articulated_times_twist(load6(added, i, 0), load9(added, i, 6), load6(added, i, 15), twist)
            momentum = add_rows(momentum, more)
        store_close(sides.wrench, 6 * i * (last - first), last - first, momentum)


@routine
def efforts_to_root(arrays, place, x, sides, out, first, last):
    tree, body, dof = arrays.tree, arrays.body, arrays.dof
    carried = no_rows()  # of the body behind this one, if it is its child
    for i in range(tree.shape[0] - 1, -1, -1):
        parent, j = tree[i, PARENT], tree[i, V]
        carried = add_rows(carried, load_close(sides.wrench, 6 * i * (last - first), last - first))
        for d in range(j, j + tree[i, DOF]):
            s = helical_twist(body, i) if tree[i, KIND] == HELICAL else load6(place.S, d, 0)
            effort = combine(s, carried)
            if dof[d, ARMATURE] != 0.0:
                effort = effort + dof[d, ARMATURE] * given_efforts(x, d, first, last)
            for k in range(first, last):
                out[k, d] = lane(effort, k - first)
        if parent >= 0:
            carried = wrench_rows_to_parent(load9(place.pose, i, R_), load3(place.pose, i, P_), carried)
        if parent != i - 1:
            if parent >= 0:
                for d in range(6):
                    for k in range(last - first):
                        sides.wrench[(6 * parent + d) * (last - first) + k] += lane(carried[d], k)
            carried = no_rows()
