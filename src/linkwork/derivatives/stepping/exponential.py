"""Derivatives of q⁺ = q ⊕ h v, along the tangents at q and q⁺.

A ball or free joint moves by x = h v: g⁺ = g exp(x), so that

    δ⁺ = Ad(exp(-x)) δ + Jr(x) h dv,   Jr(x) = Σ (-ad x)^k / (k + 1)!

and for gradients the transposes, in which x x* takes the place of -ad x. All other joints just add.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import se3_exp_position
from linkwork.model.layout import DOF, FREE, KIND, SPHERICAL, V
from linkwork.spatial.rotations import quaternion_exp, quaternion_matrix
from linkwork.spatial.vectors import (
    add6,
    angular,
    cross_force,
    cross_motion,
    linear,
    scale6,
    twist_to_child,
    wrench_to_parent,
)

MOST_TERMS = 200  # of a series that ends after some 20 for turns below one radian
UNSEEN = 1e-17  # part of the sum that a term may be when the series ends


@inlined
def six_of(tree, i, x, c):
    """Six numbers of a ball (no translation) or free joint from column c of x."""
    j = tree[i, V]
    if tree[i, KIND] == FREE:
        found = (x[j, c], x[j + 1, c], x[j + 2, c], x[j + 3, c], x[j + 4, c], x[j + 5, c])
    else:
        found = (x[j, c], x[j + 1, c], x[j + 2, c], 0.0, 0.0, 0.0)
    return found


@inlined
def size6(x):
    return max(max(abs(x[0]), abs(x[1]), abs(x[2])), max(abs(x[3]), abs(x[4]), abs(x[5])))


@routine
def right_jacobian(x, y):
    """Jr(x) y"""
    total = y
    term = y
    for k in range(1, MOST_TERMS):
        term = scale6(-1.0 / (k + 1.0), cross_motion(x, term))
        total = add6(total, term)
        if not size6(term) > UNSEEN * size6(total):
            break
    return total


@routine
def right_jacobian_transposed(x, g):
    """Jr(x)ᵀ g"""
    total = g
    term = g
    for k in range(1, MOST_TERMS):
        term = scale6(1.0 / (k + 1.0), cross_force(x, term))
        total = add6(total, term)
        if not size6(term) > UNSEEN * size6(total):
            break
    return total


@inlined
def pose_of(x):
    return quaternion_matrix(quaternion_exp(angular(x))), se3_exp_position(angular(x), linear(x))


@kernel
def integrate_adjoint(tree, v, h, weights, by_q, by_v):
    """Gradients with respect to q and v from those with respect to q⁺: columns of `weights`, `by_q`, `by_v`, (nv, m)."""
    for i in range(tree.shape[0]):
        j = tree[i, V]
        n = tree[i, DOF]
        if tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE:
            x = scale6(h, six_of(tree, i, v, 0))
            R, p = pose_of(x)
            for c in range(weights.shape[1]):
                g = six_of(tree, i, weights, c)
                turned = wrench_to_parent(R, p, g)
                moved = right_jacobian_transposed(x, g)
                for d in range(n):
                    by_q[j + d, c] = turned[d]
                    by_v[j + d, c] = h * moved[d]
        else:
            for d in range(j, j + n):
                for c in range(weights.shape[1]):
                    by_q[d, c] = weights[d, c]
                    by_v[d, c] = h * weights[d, c]


@kernel
def integrate_tangent(tree, v, h, dq, dv, out):
    """The change of q⁺ along its tangent for changes of q and v: columns of `dq`, `dv` and `out`, (nv, m)."""
    for i in range(tree.shape[0]):
        j = tree[i, V]
        n = tree[i, DOF]
        if tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE:
            x = scale6(h, six_of(tree, i, v, 0))
            R, p = pose_of(x)
            for c in range(dq.shape[1]):
                moved = right_jacobian(x, six_of(tree, i, dv, c))
                change = add6(twist_to_child(R, p, six_of(tree, i, dq, c)), scale6(h, moved))
                for d in range(n):
                    out[j + d, c] = change[d]
        else:
            for d in range(j, j + n):
                for c in range(dq.shape[1]):
                    out[d, c] = dq[d, c] + h * dv[d, c]
