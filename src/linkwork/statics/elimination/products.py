"""Products with the inertia of a linkage at rest, of several vectors at a time: M x by a sweep to the leaves and one back.

What is known of a joint is read once for all vectors: on large linkages the sweeps wait for memory, not for arithmetic.
"""

from linkwork.core.jit import inlined, kernel
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.spatial.inertia import articulated_times_twist, rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store6
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, twist_to_child, wrench_to_parent
from linkwork.statics.elimination.workspace import P_, R_


@kernel
def mass_times(arrays, place, added, x, twists, momenta, out):
    """out (m, nv) ← M x for the rows of x (m, nv); twists and momenta (n, 6 m) of the bodies are scratch.

    added (n, 21): inertia that a fluid adds to bodies, or no rows.
    """
    tree, body, dof = arrays.tree, arrays.body, arrays.dof
    for i in range(tree.shape[0]):
        parent, j = tree[i, PARENT], tree[i, V]
        R, p = load9(place.pose, i, R_), load3(place.pose, i, P_)
        inertia = load10(body, i, INERTIA)
        for k in range(x.shape[0]):
            twist = ZERO6
            if parent >= 0:
                twist = twist_to_child(R, p, load6(twists, parent, 6 * k))
            if tree[i, KIND] == HELICAL:
                twist = add6(twist, scale6(x[k, j], helical_twist(body, i)))
            else:
                for d in range(j, j + tree[i, DOF]):
                    twist = add6(twist, scale6(x[k, d], load6(place.S, d, 0)))
            store6(twists, i, 6 * k, twist)
            momentum = rigid_times_twist(inertia, twist)
            if added.shape[0] > 0:
                more = articulated_times_twist(load6(added, i, 0), load9(added, i, 6), load6(added, i, 15), twist)
                momentum = add6(momentum, more)
            store6(momenta, i, 6 * k, momentum)
    for i in range(tree.shape[0] - 1, -1, -1):
        parent, j = tree[i, PARENT], tree[i, V]
        R, p = load9(place.pose, i, R_), load3(place.pose, i, P_)
        for k in range(x.shape[0]):
            carried = load6(momenta, i, 6 * k)
            if tree[i, KIND] == HELICAL:
                out[k, j] = dot6(helical_twist(body, i), carried) + dof[j, ARMATURE] * x[k, j]
            else:
                several_rows(place, dof, j, tree[i, DOF], k, x, carried, out)
            if parent >= 0:
                add_to6(momenta, parent, 6 * k, wrench_to_parent(R, p, carried))


@inlined
def several_rows(place, dof, j, count, k, x, carried, out):
    for d in range(j, j + count):
        out[k, d] = dot6(load6(place.S, d, 0), carried) + dof[d, ARMATURE] * x[k, d]
