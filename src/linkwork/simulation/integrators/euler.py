"""Semi-implicit Euler: v ← v + h q̈(q, v), then q ← q ⊕ h v with the new v. Order 1, one evaluation."""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.accelerate import AT_END
from linkwork.simulation.acting import note_joints
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.integrators.straight import go_straight, speed_up
from linkwork.simulation.momentum import add_efforts_of_bases, add_impulses, aim_centres, momentum_leaf_to_root
from linkwork.simulation.moving import COMPOSITES_READY, IMPLICIT, KEEPS_MOMENTUM, MOTORS, OK, moving_of
from linkwork.simulation.stepping.integrator import Integrator


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
    move(table, h)
    return DONE


@routine
def move(table, h):
    """From the accelerations of the start, with the velocities there in `v`, to the end of the step."""
    s = moving_of(table)
    speed_up(s, h)
    for k in range(s.v.shape[0]):
        s.u[k] = s.v[k]
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_efforts_of_bases(table, h)
        aim_centres(table, h)
    go_straight(s, s.u, h)


@inlined
def at_end(table):
    return AT_END


@routine
def note_efforts(table, h):
    """What acted on the joints in the step of h [s] that was just made, but for limits: (1) of `acting`."""
    s = moving_of(table)
    if s.counts[IMPLICIT] != 0 and s.counts[MOTORS] > 0:
        note_joints(table, s.start_q, s.start_v, h, s.judged)
    else:
        note_joints(table, s.start_q, s.start_v, h if s.counts[IMPLICIT] != 0 else 0.0, s.start_v)


EULER = Integrator(begin, resume, at_end, note_efforts)
