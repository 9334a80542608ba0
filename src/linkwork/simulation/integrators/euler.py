"""Semi-implicit Euler: v ← v + h q̈(q, v), then q ← q ⊕ h v with the new v. Order 1, one evaluation."""

from linkwork.core.jit import inlined
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.momentum import add_impulses, momentum_leaf_to_root
from linkwork.simulation.moving import COMPOSITES_READY, KEEPS_MOMENTUM, OK, moving_of


@inlined
def begin(table, h):
    s = moving_of(table)
    if s.counts[KEEPS_MOMENTUM] != 0 and s.counts[COMPOSITES_READY] == 0:
        momentum_leaf_to_root(table)
    return EVALUATE


@inlined
def resume(table, h, bad):
    s = moving_of(table)
    if bad != OK:
        return bad
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    for k in range(s.v.shape[0]):
        s.v[k] += h * s.qdd[k]
    integrate(s.tree, s.q, s.v, h, s.q)
    return DONE
