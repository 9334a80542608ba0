"""The balance of energy of a step with contact: what it may gain, and what it gained.

Contact and friction take energy, gravity and springs store it, loads, motors and given efforts bring it in. What is left is
made by the integrator, where the step is too long for the motion:

    gain = ΔT + ΔV - W - W_push  ≤  GROSS (T₀ + T_f)                                                               (34)
    Σ gain  ≤  MOST_GAINED max T                                                                                   (35)

T₀: kinetic energy at the start; T_f: that of the change of velocities which forces alone make, from rest, and without
loads and motors no more than that of a fall and what springs hold; W: the most that
loads, motors and given efforts can have done, W_push: of taking penetration back against gravity. What bounds the gain does
not grow with what a failing solve does. A step that breaks (34) is made in shorter parts. Small gains add up whatever the
length: what is beyond (35), a sum that losses pay for, is taken back from the velocities. So is what a long push lifts:
a linkage that is jammed would climb by it, step by step.
Theory: docs/theory/contact.md.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import TWIST
from linkwork.model.layout import ARMATURE, COMPOUND, DOF, HELICAL, INERTIA, KIND, Q, V
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of
from linkwork.simulation.energy import MOVED, PLACED, UNPLACED, energies, energies_where, spring_energy
from linkwork.simulation.integrators.euler import BY_VARIATIONAL, record_efforts
from linkwork.simulation.integrators.whipping import FADING, MOST_GAINED, has_energy_source
from linkwork.simulation.loading.accelerate import load_wrench
from linkwork.simulation.loading.applied_efforts import BY_GIVEN, BY_MOTOR
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.simulation.momentum.momentum import correct_bases, keep_present_momentum
from linkwork.simulation.moving import moving_of
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3
from linkwork.spatial.vectors import dot6, sub6

GROSS = 0.01  # part of the kinetic energy at the start that one step may gain
IN_DEBT = 0.1  # of that, while what was gained could not be taken back: it is in the momentum of a floating tree
PAID = 1.01  # of the bound (35): taking energy back leaves no more than that
ROUNDS = 2  # of (35): how much of the energy is not momentum is known after the first
PUSH_KNOWN = 0.1  # of the work of a push, or of the kinetic energy after a long one: what is not known of it
WORK_KNOWN = 0.5  # of the work of loads and motors: what is not known of it
ROUNDING = 1e-9  # of the energies that are compared


@routine
def open_balance(table):
    """Energies and power at the start of a step, after `begin_contact_step`, without another sweep over the joints."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    kinetic, by_forces, potential, springs = 0.0, 0.0, s.numbers[mv.POTENTIAL_OFFSET], 0.0
    for i in range(s.tree.shape[0]):
        R = load9(s.world, i, 0)
        before = load6(t.before, i, 0)
        inertia = load10(s.body, i, INERTIA)
        kinetic += 0.5 * dot6(before, rigid_times_twist(inertia, before))
        change = sub6(load6(s.work, i, TWIST), before)
        by_forces += 0.5 * dot6(change, rigid_times_twist(inertia, change))
        moment = matvec3(R, (inertia[1], inertia[2], inertia[3]))
        potential -= dot3(g, add3(moment, scale3(inertia[0], load3(s.world, i, 9))))
        springs += spring_energy(s, i, s.start_q)
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            kinetic += 0.5 * s.dof[d, ARMATURE] * s.start_v[d] * s.start_v[d]
    t.balance[ca.KINETIC_START], t.balance[ca.BY_FORCES] = kinetic, by_forces
    t.balance[ca.ENERGY_START], t.balance[ca.SPRINGS_START] = kinetic + potential + springs, springs
    t.balance[ca.POWER_START] = power_of_loads(s, True, t)
    t.balance[ca.PUSH_WORK] = 0.0


@inlined
def power_of_loads(s, is_start, t):
    """Power of wrenches and loads on bodies [W], at the start of a step or at the pose and the twists of its end."""
    power = 0.0
    for i in range(s.wrench.shape[0]):
        twist = load6(t.before, i, 0) if is_start else load6(s.work, i, TWIST)
        power += dot6(load6(s.wrench, i, 0), twist)
    for k in range(s.counts[mv.LOADS]):
        i = s.load_body[k]
        twist = load6(t.before, i, 0) if is_start else load6(s.work, i, TWIST)
        power += dot6(load_wrench(s, k), twist)
    return power


@routine
def check_balance(table, h):
    """After a step of h [s] that succeeded: OK, OVERFLOW, or CONTACT_GAINS where it gained more than (34) allows.

    Leaves what it certainly gained, and the kinetic energy, in `balance`.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    b = t.balance
    placed = PLACED if s.counts[mv.COMPOSITES_READY] != 0 else UNPLACED
    kinetic, potential = energies_where(table, MOVED if b[ca.HAD_CONTACT] == ca.SOLVED_AND_PLACED else placed)
    size = b[ca.KINETIC_START] + kinetic + abs(potential)
    if not size < math.inf:
        return mv.OVERFLOW
    if not has_energy_source(s):  # forces of inertia change velocities and bring no energy
        b[ca.BY_FORCES] = min(b[ca.BY_FORCES], energy_of_fall(s, h) + b[ca.SPRINGS_START])
    allowed, lifted = GROSS * (b[ca.KINETIC_START] + b[ca.BY_FORCES]), -math.inf
    if s.numbers[mv.GAINED] > PAID * MOST_GAINED * s.numbers[mv.LATE_TOP]:
        allowed *= IN_DEBT
    if b[ca.PUSH_WORK] < math.inf:
        gain = kinetic + potential - b[ca.ENERGY_START] - max(b[ca.PUSH_WORK], 0.0)
        allowed += PUSH_KNOWN * max(b[ca.PUSH_WORK], 0.0)
        if has_energy_source(s):
            gain -= work_done(table, s, t, h)
    elif has_energy_source(s):  # what loads do along a long push is not known
        gain = 0.0
    else:  # a long push changes no velocities; what it lifts may hide what has fallen
        gain = kinetic - b[ca.KINETIC_START] - given_on_the_way(s, b[ca.SPRINGS_START], h)
        allowed += PUSH_KNOWN * b[ca.KINETIC_START]  # the inertia is that of another shape afterwards
        lifted = kinetic + potential - b[ca.ENERGY_START]
    b[ca.GAIN], b[ca.KINETIC_END] = max(gain, lifted) - ROUNDING * size, kinetic
    return mv.OK if gain - ROUNDING * size <= allowed else mv.CONTACT_GAINS


@inlined
def energy_of_fall(s, h):
    """Kinetic energy of all bodies after a fall of h [s] from rest [J]."""
    mass = 0.0
    for i in range(s.tree.shape[0]):
        mass += s.body[i, INERTIA]
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    return 0.5 * mass * dot3(g, g) * h * h


@inlined
def given_on_the_way(s, springs_start, h):
    """What gravity and springs give a step that goes h [s] with its velocities, whatever else moves its bodies [J].

    Needs the poses and twists of its end. Gravity's part is no less than what it does by Euler's rule.
    """
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    power, springs = 0.0, 0.0
    for i in range(s.tree.shape[0]):
        inertia = load10(s.body, i, INERTIA)
        w, v = load3(s.work, i, TWIST), load3(s.work, i, TWIST + 3)
        momentum = add3(scale3(inertia[0], v), cross3(w, (inertia[1], inertia[2], inertia[3])))
        power += dot3(g, matvec3(load9(s.world, i, 0), momentum))
        springs += spring_energy(s, i, s.q)
    return h * power + max(springs_start - springs, 0.0)


@routine
def limit_gains(table):
    """After a step that is kept: what was gained in all goes no further than a part of the kinetic energy; the rest is
    taken back from velocities within the linkage, momentum of floating trees stays.   (35)"""
    s = moving_of(table)
    t = contact_arrays_of(table)
    b = t.balance
    earned = b[ca.KINETIC_END] - max(b[ca.GAIN], 0.0)  # what is gained from nothing allows no more of it
    top = max(FADING * s.numbers[mv.LATE_TOP], earned + b[ca.BY_FORCES])  # at rest all else is rounding
    s.numbers[mv.LATE_TOP] = top
    s.numbers[mv.GAINED] = max(s.numbers[mv.GAINED] + b[ca.GAIN], 0.0)
    excess = s.numbers[mv.GAINED] - MOST_GAINED * top
    if excess > 0.0:
        taken = slow_down(table, s, b[ca.KINETIC_END], excess)
        s.numbers[mv.GAINED] = max(s.numbers[mv.GAINED] - taken, 0.0)
        t.totals[ca.TAKEN_BACK] += taken


@routine
def slow_down(table, s, kinetic, excess):
    """Scales velocities until `excess` [J] of the kinetic energy is removed, or all that is not momentum of floating
    trees; returns what was removed.

    T = T_rigid + T_within, and a factor f on all velocities, with momentum put right again, leaves T_rigid + f² T_within.
    """
    within, factor = kinetic, 1.0
    keeps = s.base.shape[0] > 0
    if keeps and s.counts[mv.METHOD] != mv.SEMI_IMPLICIT_EULER:
        keep_present_momentum(table)
    for _ in range(ROUNDS):
        wanted = math.sqrt(1.0 - excess / within) if within > excess else 0.0
        if factor > 0.0:
            for k in range(s.v.shape[0]):
                s.v[k] *= wanted / factor
        factor = wanted
        if not factor < 1.0:  # what is to be taken is lost in rounding
            return 0.0
        if not keeps:
            return (1.0 - factor * factor) * within
        correct_bases(table)
        left, _ = energies(table)
        within = max((kinetic - left) / (1.0 - factor * factor), 0.0)
    return (1.0 - factor * factor) * within


@inlined
def effort_of_motor(s, i, d, h):
    """Of coordinate d of joint i, in a step of h [s] by Euler's rule, as it acts where the step ends."""
    kind, j = s.tree[i, KIND], s.tree[i, V] + d
    if kind != HELICAL and kind != COMPOUND:
        return 0.0
    q, v, faster = s.start_q[s.tree[i, Q] + d], s.start_v[j], h * s.qdd[j]
    effort, stiffness, damping = motor_law(
        s.motor, s.effort_limit, s.velocity_limit, j, q, v, h, s.saturation_velocity[j]
    )
    return effort - stiffness * h * (v + faster) - damping * faster


@routine
def work_done(table, s, t, h):
    """The most that loads, motors and given efforts can have done in a step of h [s] with the power of its two ends [J]."""
    start, end = t.balance[ca.POWER_START], power_of_loads(s, False, t)
    work, size = h * max(start, end), h * max(abs(start), abs(end))
    has_motors = s.counts[mv.MOTORS] > 0
    is_noted = has_motors and (s.counts[mv.RULE] == BY_VARIATIONAL or s.counts[mv.IMPLICIT] == 0)
    if is_noted:
        record_efforts(table, h)
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            effort = s.effort[j]
            if is_noted:
                effort = s.applied_efforts[j, BY_GIVEN] + s.applied_efforts[j, BY_MOTOR]
            elif has_motors:
                effort += effort_of_motor(s, i, d, h)
            work += h * max(effort * s.start_v[j], effort * s.v[j])
            size += h * abs(effort) * max(abs(s.start_v[j]), abs(s.v[j]))
    return work + WORK_KNOWN * size


@routine
def note_push(s, t, moved, way, is_small):
    """Work against gravity of bodies that are pushed apart [J]. moved: (n, 6) velocities in each body's frame; way [s].

    Not is_small: bodies far inside each other are moved by ways whose work is not known; their velocities are checked.
    """
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    work = 0.0 if is_small else math.inf
    for i in range(s.tree.shape[0]):
        inertia = load10(s.body, i, INERTIA)
        w, v = load3(moved, i, 0), load3(moved, i, 3)
        momentum = add3(scale3(inertia[0], v), cross3(w, (inertia[1], inertia[2], inertia[3])))
        work -= way * dot3(g, matvec3(load9(s.world, i, 0), momentum))
    t.balance[ca.PUSH_WORK] += work
