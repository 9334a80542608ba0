"""Free joints in semi-implicit Euler: they go straight on, while their axes turn.

The velocity of a free joint is in axes that turn with its body, and its acceleration counts that turning, -ω x v. Taken by
Euler's rule it lengthens v, and a constant twist bends the way into a screw. So the step is made in the axes of its start:

    v⁺ = v + h (q̈ + ω x v)        p⁺ = p + h R v⁺        R⁺ = R exp(h ω⁺)        v⁺ ← exp(h ω⁺)ᵀ v⁺                    (5)

Then a body that spins does so at any speed in the same way. Theory: docs/integrators.md.
"""

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import quaternion_at
from linkwork.model.layout import FREE, KIND, Q, V
from linkwork.simulation.integrators.chart import integrate
from linkwork.spatial.rotations import cross3, matvec3, quaternion_exp, quaternion_matrix, tmatvec3


@inlined
def speed_up(s, h):
    """v ← v + h q̈, free joints in the axes of the start of the step; `start_v` is the velocity there."""
    for k in range(s.v.shape[0]):
        s.v[k] += h * s.qdd[k]
    for i in range(s.tree.shape[0]):
        if s.tree[i, KIND] == FREE:
            j = s.tree[i, V]
            w = (s.start_v[j], s.start_v[j + 1], s.start_v[j + 2])
            x = cross3(w, (s.start_v[j + 3], s.start_v[j + 4], s.start_v[j + 5]))
            for d in range(3):
                s.v[j + 3 + d] += h * x[d]


@routine
def go_straight(s, u, h):
    """q ← start ⊕ h u, free joints straight on; velocities `v`, which may differ from u, in the axes they have then."""
    integrate(s.tree, s.q, u, h, s.q)
    for i in range(s.tree.shape[0]):
        if s.tree[i, KIND] == FREE:
            j, k = s.tree[i, V], s.tree[i, Q]
            x = matvec3(quaternion_matrix(quaternion_at(s.start_q, k + 3)), (u[j + 3], u[j + 4], u[j + 5]))
            for d in range(3):
                s.q[k + d] = s.start_q[k + d] + h * x[d]
            R = quaternion_matrix(quaternion_exp((h * u[j], h * u[j + 1], h * u[j + 2])))
            for first in (j, j + 3):
                turned = tmatvec3(R, (s.v[first], s.v[first + 1], s.v[first + 2]))
                for d in range(3):
                    s.v[first + d] = turned[d]
