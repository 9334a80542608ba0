"""What the sweeps of `aba` begin with where no velocities count: impulses and momenta in the place of forces.

A body has its own inertia, a bias wrench p (what acts on it, with a minus) and a given part of its acceleration; what the
sweeps then find are changes of velocity.
"""

from linkwork.core.jit import inlined
from linkwork.dynamics.aba import BIAS, IA, IB, IC, PA
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import rigid_as_articulated
from linkwork.spatial.memory import load10, store6, store9


@inlined
def begin_body(body, work, i, given, p):
    """given: what the motion of joint i adds to the twist of body i, beside what its freedoms are solved for."""
    A, B, C = rigid_as_articulated(load10(body, i, INERTIA))
    store6(work, i, BIAS, given)
    store6(work, i, IA, A)
    store9(work, i, IB, B)
    store6(work, i, IC, C)
    store6(work, i, PA, p)
