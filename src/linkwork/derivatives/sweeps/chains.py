"""A compound joint as what it is: a chain of screws with bodies without mass between them."""

from linkwork.core.jit import routine
from linkwork.derivatives.sweeps import arrays as at
from linkwork.dynamics.aba import TWIST
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import screw_pose, screw_twist
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, add6, cross_motion, scale6, twist_to_child


@routine
def walk_down_chain(s, i, rows, column, mu, acceleration, chain):
    """Writes pose and X V, X a, X w of what comes to each screw of joint i into the rows of `chain`.

    rows, column: where the parent's virtual twist w is kept; mu: the virtual velocities (nv,).
    """
    parent = s.tree[i, layout.PARENT]
    j = s.tree[i, layout.V]
    k = s.tree[i, layout.Q]
    V_, a, w = ZERO6, (0.0, 0.0, 0.0, -s.gravity[0], -s.gravity[1], -s.gravity[2]), ZERO6
    if parent >= 0:
        V_, a, w = load6(s.work, parent, TWIST), load6(s.work, parent, acceleration), load6(rows, parent, column)
    R = load9(s.body, i, layout.ROTATION)
    p = load3(s.body, i, layout.POSITION)
    V_, a, w = twist_to_child(R, p, V_), twist_to_child(R, p, a), twist_to_child(R, p, w)
    for d in range(s.tree[i, layout.DOF]):
        row = s.tree[i, layout.SCREW] + d
        axis = load3(s.screws, row, layout.SCREW_AXIS)
        slide = load3(s.screws, row, layout.SCREW_SLIDE)
        center = load3(s.screws, row, layout.SCREW_CENTER)
        R, p = screw_pose(axis, slide, center, s.q[k + d])
        V_, a, w = twist_to_child(R, p, V_), twist_to_child(R, p, a), twist_to_child(R, p, w)
        store9(chain, j + d, at.CHAIN_R, R)
        store3(chain, j + d, at.CHAIN_P, p)
        store6(chain, j + d, at.CHAIN_TWIST, V_)
        store6(chain, j + d, at.CHAIN_ACCELERATION, a)
        store6(chain, j + d, at.CHAIN_VIRTUAL, w)
        screw = screw_twist(axis, slide, center)
        VJ = scale6(s.v[j + d], screw)
        V_ = add6(V_, VJ)
        a = add6(a, add6(scale6(s.qdd[j + d], screw), cross_motion(V_, VJ)))
        w = add6(w, scale6(mu[j + d], screw))
