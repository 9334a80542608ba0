"""Products with the inertia of a linkage at rest: M x by one sweep to the leaves and one back."""

from linkwork.core.jit import kernel
from linkwork.model.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store6
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, twist_to_child, wrench_to_parent
from linkwork.statics.workspace import BIAS, P_, R_, TWIST


@kernel
def mass_times(arrays, place, work, x, out):
    """out (nv,) ← M x; twists and momenta are left in the columns TWIST and BIAS of `work.body`."""
    tree, body = arrays.tree, arrays.body
    n = tree.shape[0]
    for i in range(n):
        parent = tree[i, PARENT]
        j = tree[i, V]
        twist = ZERO6
        if parent >= 0:
            twist = twist_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), load6(work.body, parent, TWIST))
        if tree[i, KIND] == HELICAL:
            twist = add6(twist, scale6(x[j], helical_twist(body, i)))
        else:
            for d in range(j, j + tree[i, DOF]):
                twist = add6(twist, scale6(x[d], load6(place.S, d, 0)))
        store6(work.body, i, TWIST, twist)
        store6(work.body, i, BIAS, rigid_times_twist(load10(body, i, INERTIA), twist))
    for i in range(n - 1, -1, -1):
        p = load6(work.body, i, BIAS)
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            out[j] = dot6(helical_twist(body, i), p) + arrays.dof[j, ARMATURE] * x[j]
        else:
            for d in range(j, j + tree[i, DOF]):
                out[d] = dot6(load6(place.S, d, 0), p) + arrays.dof[d, ARMATURE] * x[d]
        parent = tree[i, PARENT]
        if parent >= 0:
            add_to6(work.body, parent, BIAS, wrench_to_parent(load9(place.pose, i, R_), load3(place.pose, i, P_), p))
