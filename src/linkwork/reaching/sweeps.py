"""The sweeps of reaching: (Σ Jᵀ W J + D) δq = Σ Jᵀ W e is the equation of motion of a linkage whose target bodies have the
inertia W and whose joints have the armature D, under the wrenches W e.

    place root to leaf      poses of bodies
    gather leaf to root     S in the axes of the world, gradient Sᵀ F, F the sum of wrenches that hang from a joint
    eliminate leaf to root  U = I S,  D = SᵀU + damping,  I -= U D⁻¹ Uᵀ
    lift leaf to root       u = τ - Sᵀ p,  p += U D⁻¹ u
    substitute root to leaf δq = D⁻¹ (u - Uᵀ a),  a += S δq

All twists are in the axes of the world about one point near the targets: nothing is transformed between bodies. A joint of
several freedoms is a chain of its columns with nothing between them, which is elimination column by column. A held joint
has no column; what it is moved by goes on as a twist that is given.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.joint_solve import move_freedom, pivot, push_freedom
from linkwork.model.kernels.joint_kernels import (
    body_pose,
    helical_pose,
    helical_twist,
    joint_integrate,
    joint_motion,
    joint_passive_effort,
)
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.reaching import arrays as at
from linkwork.reaching.arrays import reaching_of
from linkwork.reaching.misses import target_cost, target_terms
from linkwork.spatial.inertia import articulated_times_twist, articulated_to_parent, subtract_outer
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, add3, cross3, sub3
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, dot6, join, scale6, twist_to_parent

ZERO9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@routine
def place_root_to_leaf(table, q, first):
    """Poses of the bodies of the paths at q, into the rows from `first` on; returns Σ w e² of the targets."""
    s = reaching_of(table)
    for k in range(s.path.shape[0]):
        i = s.path[k]
        if s.tree[i, KIND] == HELICAL:
            R, p = helical_pose(s.body, i, q[s.tree[i, Q]])
        else:
            R, p = body_pose(s.tree, s.body, s.screws, i, q)
        up = s.up[k]
        if up >= 0:
            R, p = compose_pose(load9(s.pose, first + up, 0), load3(s.pose, first + up, 9), R, p)
        store9(s.pose, first + k, 0, R)
        store3(s.pose, first + k, 9, p)
    cost = 0.0
    for t in range(s.target_node.shape[0]):
        k = s.target_node[t]
        R, p = IDENTITY3, ZERO3
        if k >= 0:
            R, p = load9(s.pose, first + k, 0), load3(s.pose, first + k, 9)
        cost += target_cost(s.target, t, R, p)
    return cost


@routine
def pull_bodies(table, first):
    """Wrenches and second derivatives of the targets, on their bodies; poses in the rows from `first` on."""
    s = reaching_of(table)
    for k in range(s.path.shape[0]):
        store6(s.node, k, at.IA, ZERO6)
        store9(s.node, k, at.IB, ZERO9)
        store6(s.node, k, at.IC, ZERO6)
        store6(s.node, k, at.PULL, ZERO6)
    if s.target_node.shape[0] > 0:  # about a body that is pulled: a point far away would cost digits
        for d in range(3):
            s.origin[d] = s.pose[first + s.target_node[0], 9 + d]
    o = (s.origin[0], s.origin[1], s.origin[2])
    for t in range(s.target_node.shape[0]):
        k = s.target_node[t]
        if k >= 0:
            n, f, A, B, C, x = target_terms(s.target, t, load9(s.pose, first + k, 0), load3(s.pose, first + k, 9))
            r = sub3(x, o)
            A, B, C = articulated_to_parent(IDENTITY3, r, A, B, C)
            add_to6(s.node, k, at.IA, A)
            add_to9(s.node, k, at.IB, B)
            add_to6(s.node, k, at.IC, C)
            add_to6(s.node, k, at.PULL, join(add3(n, cross3(r, f)), f))


@routine
def screws_in_world(table, q, first):
    """S of every freedom of the paths, in the axes of the world about the origin."""
    s = reaching_of(table)
    o = (s.origin[0], s.origin[1], s.origin[2])
    for k in range(s.path.shape[0]):
        i = s.path[k]
        j = s.tree[i, V]
        R = load9(s.pose, first + k, 0)
        r = sub3(load3(s.pose, first + k, 9), o)
        if s.tree[i, KIND] == HELICAL:
            store6(s.freedom, j, at.SCREW, twist_to_parent(R, r, helical_twist(s.body, i)))
        else:
            S = s.freedom[:, at.SCREW : at.SCREW + 6]
            joint_motion(s.tree, s.body, s.screws, i, q, s.still, S)
            for d in range(s.tree[i, DOF]):
                store6(S, j + d, 0, twist_to_parent(R, r, load6(S, j + d, 0)))


@routine
def gradient_leaf_to_root(table, q, with_posture):
    """How fast the cost falls along every freedom of the paths: Sᵀ F and what the posture adds."""
    s = reaching_of(table)
    for k in range(s.path.shape[0] - 1, -1, -1):
        i = s.path[k]
        j = s.tree[i, V]
        F = load6(s.node, k, at.PULL)
        for d in range(s.tree[i, DOF]):
            s.gradient[j + d] = dot6(load6(s.freedom, j + d, at.SCREW), F)
        if with_posture:
            joint_passive_effort(s.tree, s.dof, s.rest, i, q, s.still, s.gradient)
        if s.up[k] >= 0:
            add_to6(s.node, s.up[k], at.PULL, F)


@inlined
def eliminate_leaf_to_root(s, damping, with_posture):
    """Coefficients of the elimination with the held joints as they are; needs the blocks of `pull_bodies`."""
    for k in range(s.path.shape[0] - 1, -1, -1):
        i = s.path[k]
        A = load6(s.node, k, at.IA)
        B = load9(s.node, k, at.IB)
        C = load6(s.node, k, at.IC)
        j = s.tree[i, V]
        for d in range(s.tree[i, DOF] - 1, -1, -1):
            if s.blocked[j + d] == at.FREE_TO_MOVE:
                S = load6(s.freedom, j + d, at.SCREW)
                resist = damping * s.dof[j + d, at.METRIC]
                if with_posture:
                    resist += s.dof[j + d, 1]
                U, D = pivot(A, B, C, S, resist)
                inverse = 1.0 / D
                store6(s.freedom, j + d, at.U_, U)
                s.freedom[j + d, at.D_INVERSE] = inverse
                A, B, C = subtract_outer(A, B, C, U, inverse)
            else:  # its twist is given: U = I S is the wrench that it takes
                store6(s.freedom, j + d, at.U_, articulated_times_twist(A, B, C, load6(s.freedom, j + d, at.SCREW)))
                s.freedom[j + d, at.D_INVERSE] = 0.0
        up = s.up[k]
        if up >= 0:
            add_to6(s.node, up, at.IA, A)
            add_to9(s.node, up, at.IB, B)
            add_to6(s.node, up, at.IC, C)


@inlined
def lift_leaf_to_root(s, effort):
    """Right sides: efforts of joints, wrenches in BIAS (with a minus), and the given moves of held joints."""
    for k in range(s.path.shape[0] - 1, -1, -1):
        i = s.path[k]
        p = load6(s.node, k, at.BIAS)
        j = s.tree[i, V]
        for d in range(s.tree[i, DOF] - 1, -1, -1):
            U = load6(s.freedom, j + d, at.U_)
            if s.blocked[j + d] == at.FREE_TO_MOVE:
                S, d_inverse = load6(s.freedom, j + d, at.SCREW), s.freedom[j + d, at.D_INVERSE]
                s.freedom[j + d, at.RIGHT], p = push_freedom(S, U, d_inverse, effort[j + d], p)
            else:
                p = add6(p, scale6(s.step[j + d], U))
        if s.up[k] >= 0:
            add_to6(s.node, s.up[k], at.BIAS, p)


@inlined
def substitute_root_to_leaf(s):
    """The step, and the twists it gives to bodies."""
    for k in range(s.path.shape[0]):
        i = s.path[k]
        a = ZERO6
        if s.up[k] >= 0:
            a = load6(s.node, s.up[k], at.TWIST)
        j = s.tree[i, V]
        for d in range(s.tree[i, DOF]):
            S = load6(s.freedom, j + d, at.SCREW)
            if s.blocked[j + d] == at.FREE_TO_MOVE:
                U, d_inverse = load6(s.freedom, j + d, at.U_), s.freedom[j + d, at.D_INVERSE]
                s.step[j + d], a = move_freedom(S, U, d_inverse, s.freedom[j + d, at.RIGHT], a)
            else:
                a = add6(a, scale6(s.step[j + d], S))
        store6(s.node, k, at.TWIST, a)


@routine
def move(table, q, step, out):
    """out ← q ⊕ step on the paths, no joint beyond its limits."""
    s = reaching_of(table)
    for k in range(s.path.shape[0]):
        i = s.path[k]
        joint_integrate(s.tree, i, q, step, 1.0, out)
        kind = s.tree[i, KIND]
        if kind == HELICAL or kind == COMPOUND:
            j, c = s.tree[i, V], s.tree[i, Q]
            for d in range(s.tree[i, DOF]):
                out[c + d] = min(max(out[c + d], s.lower[j + d]), s.upper[j + d])
