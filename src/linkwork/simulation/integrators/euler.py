"""Semi-implicit Euler: v ← v + h q̈(q, v), then q ← q ⊕ h v with the new v. Order 1, one evaluation.

Steps in which the linkage whips are made by the variational integrator (`whipping` says which, and why), for two more
evaluations and what its equations take.

Free joints go straight on, while their axes turn. The velocity of a free joint is in axes that turn with its body, and its
acceleration counts that turning, -ω x v. Taken by Euler's rule it lengthens v, and a constant twist bends the way into a
screw. So the step is made in the axes of its start:

    v⁺ = v + h (q̈ + ω x v)        p⁺ = p + h R v⁺        R⁺ = R exp(h ω⁺)        v⁺ ← exp(h ω⁺)ᵀ v⁺                    (5)

Then a body that spins does so at any speed in the same way. Theory: docs/integrators.md.
"""

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import quaternion_at
from linkwork.model.layout import FREE, KIND, Q, V
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.integrators.variational import discrete_equations, variational
from linkwork.simulation.integrators.whipping import whips
from linkwork.simulation.loading.accelerate import AT_END
from linkwork.simulation.loading.applied_efforts import record_joints
from linkwork.simulation.momentum.momentum import (
    add_efforts_of_bases,
    add_impulses,
    aim_centres,
    correct_bases,
    keep_present_momentum,
    momentum_leaf_to_root,
)
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.spatial.memory import put3, three
from linkwork.spatial.rotations import add3, cross3, matvec3, quaternion_exp, quaternion_matrix, scale3, tmatvec3


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
    s.numbers[mv.SUBSTEP] = h
    integrate(s.tree, s.q, u, h, s.q)
    for i in range(s.tree.shape[0]):
        if s.tree[i, KIND] == FREE:
            j, k = s.tree[i, V], s.tree[i, Q]
            x = matvec3(quaternion_matrix(quaternion_at(s.start_q, k + 3)), (u[j + 3], u[j + 4], u[j + 5]))
            put3(s.q, k, add3(three(s.start_q, k), scale3(h, x)))
            R = quaternion_matrix(quaternion_exp((h * u[j], h * u[j + 1], h * u[j + 2])))
            for first in (j, j + 3):
                put3(s.v, first, tmatvec3(R, three(s.v, first)))


# RULE of a step: Euler's, unless it whips; variational; Euler's, since that one failed.
BY_EULER, BY_VARIATIONAL, BY_EULER_AGAIN = range(3)

_begin_variational, _resume_variational = variational.begin, variational.resume
_where_variational, _note_variational = variational.where_joints_act, discrete_equations.record_efforts


@inlined
def begin(table, h):
    s = moving_of(table)
    s.counts[mv.RULE] = BY_EULER
    if s.counts[mv.KEEPS_MOMENTUM] != 0 and s.counts[mv.COMPOSITES_READY] == 0:
        momentum_leaf_to_root(table)
    return EVALUATE


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if s.counts[mv.RULE] == BY_VARIATIONAL:
        status = _resume_variational(table, h, bad)
        if status == EVALUATE or end_whipping(table, status):
            return status
        return EVALUATE
    if bad != mv.OK:
        return bad
    if s.counts[mv.RULE] == BY_EULER and whips(table, h):
        s.counts[mv.RULE] = BY_VARIATIONAL
        return _begin_variational(table, h)
    return resume_plain(table, h, bad)


@inlined
def resume_plain(table, h, bad):
    """By Euler's rule, whatever turns how fast: for accelerations that come from Python."""
    s = moving_of(table)
    if bad != mv.OK:
        return bad
    if s.counts[mv.KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    move(table, h)
    return DONE


@routine
def end_whipping(table, status):
    """After a variational step: whether it succeeded. Then momentum is what it left; else all goes back to its start."""
    s = moving_of(table)
    if status == DONE:
        if s.counts[mv.KEEPS_MOMENTUM] != 0:
            keep_present_momentum(table)
        return True
    for k in range(s.q.shape[0]):
        s.q[k] = s.start_q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    s.numbers[mv.ENERGY_DEBT] = s.numbers[mv.START_NUMBERS + 1]
    s.counts[mv.RULE] = BY_EULER_AGAIN
    if s.counts[mv.KEEPS_MOMENTUM] != 0:
        momentum_leaf_to_root(table)
    return False


@routine
def move(table, h):
    """From the accelerations of the start, with the velocities there in `v`, to the end of the step."""
    s = moving_of(table)
    speed_up(s, h)
    for k in range(s.v.shape[0]):
        s.u[k] = s.v[k]
    if s.counts[mv.KEEPS_MOMENTUM] != 0:
        add_efforts_of_bases(table, h)
        aim_centres(table, h)
    go_straight(s, s.u, h)


@inlined
def where_joints_act(table):
    return _where_variational(table) if moving_of(table).counts[mv.RULE] == BY_VARIATIONAL else AT_END


@routine
def record_efforts(table, h):
    """What acted on the joints in the step of h [s] that was just made, but for limits: (1) of `applied_efforts`."""
    s = moving_of(table)
    if s.counts[mv.RULE] == BY_VARIATIONAL:
        _note_variational(table, h)
    elif s.counts[mv.IMPLICIT] != 0 and s.counts[mv.MOTORS] > 0:
        record_joints(table, s.start_q, s.start_v, h, s.saturation_velocity)
    else:
        record_joints(table, s.start_q, s.start_v, h if s.counts[mv.IMPLICIT] != 0 else 0.0, s.start_v)


@inlined
def end_step(table):
    """Puts the momentum of floating trees right."""
    s = moving_of(table)
    if s.counts[mv.KEEPS_MOMENTUM] != 0:
        correct_bases(table)
    else:
        s.counts[mv.COMPOSITES_READY] = 0


EULER = Integrator(begin, resume, where_joints_act, record_efforts, end_step=end_step)
PLAIN_EULER = Integrator(begin, resume_plain, where_joints_act, record_efforts, end_step=end_step)
