"""The coupling loop: hands and bodies exchange forces, in microseconds, whatever the simulation does meanwhile.

A tick takes the last snapshot and the last reading of every device, and forms for each hand

    w = Y (k (x_h - x') + d (v_h - v'))   what the hand does to the body: a spring and a damper         (1)  docs/haptics.md
    f = f₀ + I Σ_j K_j w_j - w            what the body's joints, weight and loads do to the hand       (2)

x' and v' are where the body would be, without the hand, after the time for which the simulation holds a force, and Y is how
it yields to the hand meanwhile: the coupling is taken implicitly.
f is the paper's f_ext + Σ joint reactions with the forces of all hands in place. Climbing and descending paths is linear
in those forces, so the simulation does it once for unit wrenches, and hands over a small tree of matrices (`responses`).
"""

import math

from numba import int64

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.paths.path_segments import put6, times
from linkwork.haptics.clock import clock_ns
from linkwork.haptics.sharing import layout
from linkwork.haptics.sharing.atomics import load_integer, store_integer
from linkwork.haptics.sharing.seqlock import publish, read
from linkwork.haptics.tick.responses import hand_acceleration, hand_responses
from linkwork.haptics.tick.scratch import (
    AT_GAIN,
    AT_HAND,
    AT_OUTPUT,
    AT_READING,
    AT_ROWS,
    AT_STATE,
    AT_TURNED,
    AT_WRENCH,
    HAND_WORDS,
    limited,
    nine,
    turn_from_to,
)
from linkwork.model.kernels.joint_kernels import quaternion_at
from linkwork.spatial.memory import put3, three
from linkwork.spatial.rotations import add3, dot3, matrix_quaternion, quaternion_multiply, scale3, sub3
from linkwork.spatial.simd import flat6
from linkwork.spatial.vectors import add6, scale6


@inlined
def share_left(age, watchdog, fade):
    """1 while what came is fresh; then down to 0 in the time `fade`."""
    if age <= watchdog:
        return 1.0
    return max(0.0, 1.0 - float(age - watchdog) / float(fade))


@routine
def pull(memory, scratch, h, now):
    """The wrench of hand h of the snapshot on its body, equation (1), into the scratch; with its gain."""
    r = layout.S_GRASPS + h * layout.RECORD
    words = scratch.view(int64)
    slot = words[r + layout.R_SLOT]
    reading = scratch[AT_READING : AT_READING + layout.READING_WORDS]
    got = read(
        memory, layout.READINGS + slot * layout.READING_POST, layout.READING_WORDS, reading, layout.READING_WORDS
    )
    age = now - words[layout.S_TIME]
    if got >= 0:
        age = max(age, now - words[AT_READING + layout.D_TIME])
    gain = share_left(age, words[r + layout.R_WATCHDOG], words[r + layout.R_FADE])
    m = layout.REMEMBERED + slot * layout.MEMORY_WORDS
    if load_integer(memory, m + layout.M_GRASP) != words[r + layout.R_GRASP]:  # a new grasp
        store_integer(memory, m + layout.M_GRASP, words[r + layout.R_GRASP])
        for k in range(layout.M_GRASP + 1, layout.MEMORY_WORDS):
            memory[m + k] = 0.0
        put3(memory, m + layout.M_POSITION, three(reading, layout.D_POSITION))
        for k in range(4):
            memory[m + layout.M_TURN + k] = reading[layout.D_QUATERNION + k]
    x = three(reading, layout.D_POSITION)
    q = quaternion_at(reading, layout.D_QUATERNION)
    scale = scratch[r + layout.R_LENGTH_SCALE]
    hand = add3(three(scratch, r + layout.R_ORIGIN), scale3(scale, sub3(x, three(scratch, r + layout.R_DEVICE_ORIGIN))))
    hold = scratch[r + layout.R_HOLD]
    velocity = add3(three(scratch, r + layout.R_TWIST + 3), scale3(hold, three(scratch, r + layout.R_DRIFT + 3)))
    gap = sub3(sub3(hand, three(scratch, r + layout.R_POINT)), scale3(hold, velocity))
    slip = sub3(scale3(scale, three(reading, layout.D_VELOCITY)), velocity)
    force = add3(scale3(scratch[r + layout.R_STIFFNESS], gap), scale3(scratch[r + layout.R_DAMPING], slip))
    torque = (0.0, 0.0, 0.0)
    if scratch[r + layout.R_TURN_STIFFNESS] > 0.0 or scratch[r + layout.R_TURN_DAMPING] > 0.0:
        wanted = quaternion_multiply(q, quaternion_at(scratch, r + layout.R_TURN))
        turn = turn_from_to(matrix_quaternion(nine(scratch, r + layout.R_ROTATION)), wanted)
        spin = add3(three(scratch, r + layout.R_TWIST), scale3(hold, three(scratch, r + layout.R_DRIFT)))
        slip = sub3(three(reading, layout.D_TURN_RATE), spin)
        torque = scale3(scratch[r + layout.R_TURN_STIFFNESS], sub3(turn, scale3(hold, spin)))
        torque = add3(torque, scale3(scratch[r + layout.R_TURN_DAMPING], slip))
    torque, force = what_is_left(scratch, r + layout.R_YIELD, torque, force)
    torque = limited(torque, scratch[r + layout.R_TORQUE_LIMIT])
    force = limited(force, scratch[r + layout.R_FORCE_LIMIT])
    size = dot3(force, force) + dot3(torque, torque) + dot3(hand, hand)
    if not size < math.inf or memory[m + layout.M_RELEASED] != 0.0:  # a device that says nonsense does nothing
        gain = 0.0
    if gain == 0.0:
        memory[m + layout.M_RELEASED] = 1.0  # for good: only a new grasp takes hold again
        force = (0.0, 0.0, 0.0)
        torque = (0.0, 0.0, 0.0)
    scratch[AT_GAIN + h] = gain
    put3(scratch, AT_WRENCH + 6 * h, scale3(gain, torque))
    put3(scratch, AT_WRENCH + 6 * h + 3, scale3(gain, force))
    at = AT_HAND + HAND_WORDS * h
    put3(scratch, at, hand)
    put3(scratch, at + 3, x)
    for k in range(4):
        scratch[at + 6 + k] = q[k]
    put3(scratch, at + 10, three(reading, layout.D_VELOCITY))
    put3(scratch, at + 13, three(reading, layout.D_TURN_RATE))


@inlined
def what_is_left(scratch, o, torque, force):
    """The matrix Y at scratch[o] times a wrench."""
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    for c in range(3):
        n = add3(n, scale3(torque[c], (scratch[o + c], scratch[o + 6 + c], scratch[o + 12 + c])))
        n = add3(n, scale3(force[c], (scratch[o + 3 + c], scratch[o + 9 + c], scratch[o + 15 + c])))
        f = add3(f, scale3(torque[c], (scratch[o + 18 + c], scratch[o + 24 + c], scratch[o + 30 + c])))
        f = add3(f, scale3(force[c], (scratch[o + 21 + c], scratch[o + 27 + c], scratch[o + 33 + c])))
    return n, f


@routine
def feel(memory, scratch, h, now):
    """What hand h feels, equation (2), as its output; and the energy that its device gave it."""
    r = layout.S_GRASPS + h * layout.RECORD
    words = scratch.view(int64)
    slot = words[r + layout.R_SLOT]
    output = scratch[AT_OUTPUT : AT_OUTPUT + layout.OUTPUT_WORDS]
    gain = scratch[AT_GAIN + h]
    w = flat6(scratch, AT_WRENCH + 6 * h)
    f = scale6(-1.0, w)
    if words[r + layout.R_FEEL] != layout.FEEL_SPRING:
        a = hand_acceleration(scratch, scratch, h, AT_STATE, AT_ROWS)
        f = add6(f, add6(scale6(gain, flat6(scratch, r + layout.R_FEED)), times(scratch, r + layout.R_OUT, 6, a)))
    put6(output, layout.O_WRENCH, w)
    put6(output, layout.O_FELT, f)
    scale = scratch[r + layout.R_FORCE_SCALE]
    turn_scale = scale / scratch[r + layout.R_LENGTH_SCALE]
    m = layout.REMEMBERED + slot * layout.MEMORY_WORDS
    count_energy(memory, scratch, h, m)
    force = scale3(scale, three(output, layout.O_FELT + 3))
    torque = scale3(turn_scale, three(output, layout.O_FELT))
    force = limited(force, scale * gain * scratch[r + layout.R_FORCE_LIMIT])
    torque = limited(torque, turn_scale * gain * scratch[r + layout.R_TORQUE_LIMIT])
    spring = scale3(-scale, three(output, layout.O_WRENCH + 3))
    spring_torque = scale3(-turn_scale, three(output, layout.O_WRENCH))
    if words[r + layout.R_PASSIVE] != 0:
        allowance = scratch[r + layout.R_ALLOWANCE]
        force, torque = within_account(memory, m, force, torque, spring, spring_torque, allowance, now)
    if not dot3(force, force) + dot3(torque, torque) < math.inf:
        force = (0.0, 0.0, 0.0)
        torque = (0.0, 0.0, 0.0)
    put3(output, layout.O_FELT, torque)
    put3(output, layout.O_FELT + 3, force)
    put3(memory, m + layout.M_FELT, torque)
    put3(memory, m + layout.M_FELT + 3, force)
    put3(memory, m + layout.M_PULL, spring_torque)
    put3(memory, m + layout.M_PULL + 3, spring)
    store_integer(memory, m + layout.M_TIME, now)
    integers = output.view(int64)
    integers[layout.O_TIME] = now
    integers[layout.O_GRASP] = words[r + layout.R_GRASP]
    integers[layout.O_STATE] = layout.HELD if gain == 1.0 else (layout.FADING if gain > 0.0 else layout.RELEASED)
    output[layout.O_GAIN] = gain
    output[layout.O_ENERGY] = memory[m + layout.M_ENERGY]
    output[layout.O_LEAST] = memory[m + layout.M_LEAST]
    output[layout.O_MOST] = memory[m + layout.M_MOST]
    put3(output, layout.O_HAND, three(scratch, AT_HAND + HAND_WORDS * h))
    publish(memory, layout.OUTPUTS + slot * layout.OUTPUT_POST, layout.OUTPUT_WORDS, output, layout.OUTPUT_WORDS)


@routine
def couple(memory, scratch, now):
    """One tick at the time `now` [ns]; returns the age of the snapshot it used [ns], -1 where there is none yet."""
    words = scratch.view(int64)
    again = read_snapshot(memory, scratch)
    if again > 0:
        store_integer(memory, layout.H_RETRIES, load_integer(memory, layout.H_RETRIES) + again)
    count = min(max(words[layout.S_COUNT], 0), layout.GRASPS)
    for h in range(count):
        pull(memory, scratch, h, now)
    for k in range(6 * count):
        scratch[AT_TURNED + k] = scratch[AT_WRENCH + k]
    hand_responses(scratch, scratch, AT_TURNED, AT_STATE, AT_ROWS)
    for h in range(count):
        feel(memory, scratch, h, now)
    store_integer(memory, layout.H_LAST_TICK, now)
    store_integer(memory, layout.H_TICKS, load_integer(memory, layout.H_TICKS) + 1)
    return now - words[layout.S_TIME] if words[layout.S_TIME] != 0 else -1


@inlined
def read_snapshot(memory, scratch):
    """The last snapshot into the scratch: its first words say how many there are. One that says nonsense has no hands."""
    start = scratch[: layout.S_GRASPS]
    again = read(memory, layout.SNAPSHOT, layout.SNAPSHOT_WORDS, start, layout.S_GRASPS)
    words = scratch.view(int64)
    for _ in range(layout.GRASPS):
        count = min(max(words[layout.S_WORDS], layout.S_GRASPS), layout.SNAPSHOT_WORDS)
        more = read(memory, layout.SNAPSHOT, layout.SNAPSHOT_WORDS, scratch, count)
        again += max(more, 0)
        if words[layout.S_WORDS] <= count:
            break
    return again


@kernel
def couple_once(memory, scratch, now):
    """One tick, for a loop in Python or for virtual time. scratch: (SCRATCH,), kept from tick to tick."""
    return couple(memory, scratch, now)


@kernel
def couple_many(memory, scratch, ticks):
    """So many ticks at once, by the clock, without waiting: what a benchmark times."""
    for _ in range(ticks):
        couple(memory, scratch, clock_ns())


# ------------------------------------------------------------------------------------------------------------ passivity

# The energy that a hand got, and the limit that keeps it from getting more than there is (passivity).
#
# A force f is held from tick to tick while the hand goes the way Δ. The coupling's own force s (spring and damper)
# gives no more than was stored, inside the region that docs/haptics.md states. What a hand feels beyond it, x = f -
# s, is the inertia of the body held: it gives while the body gets faster, and takes while it gets slower. The account
#
#     e = Σ (f - s)·Δ ≤ allowance                                                                  (7)  docs/haptics.md
#
# is kept by giving only the part α of x that cannot overdraw it: the next way differs from the last one by at most a
# T², with a the largest acceleration of a hand.


# A hand's own acceleration, and the lightest hand, with the device it holds, that a force may push.
HAND_ACCELERATION, HAND_TURNING = 100.0, 1000.0  # [m/s², rad/s²]
LIGHTEST_HAND, LIGHTEST_TURN = 0.05, 5e-5  # [kg, kg·m²]
FIRST_TICK = 1e-3  # [s] taken for the time to the next tick where no tick was before, or long ago
LONGEST_TICK = 0.1  # [s]


@inlined
def count_energy(memory, scratch, h, m):
    """Energy given to the hand: the force held since the last tick times the way the hand went meanwhile.

    Beside it what the coupling's own force would have given.
    """
    at = AT_HAND + HAND_WORDS * h
    moved = sub3(three(scratch, at + 3), three(memory, m + layout.M_POSITION))
    turned = turn_from_to(quaternion_at(memory, m + layout.M_TURN), quaternion_at(scratch, at + 6))
    work = dot3(three(memory, m + layout.M_FELT + 3), moved) + dot3(three(memory, m + layout.M_FELT), turned)
    spring_work = dot3(three(memory, m + layout.M_PULL + 3), moved) + dot3(three(memory, m + layout.M_PULL), turned)
    if work - work == 0.0 and spring_work - spring_work == 0.0:
        memory[m + layout.M_ENERGY] += work
        memory[m + layout.M_SPRING] += spring_work
    memory[m + layout.M_LEAST] = min(memory[m + layout.M_LEAST], memory[m + layout.M_ENERGY])
    memory[m + layout.M_MOST] = max(memory[m + layout.M_MOST], memory[m + layout.M_ENERGY])
    put3(memory, m + layout.M_POSITION, three(scratch, at + 3))
    put3(memory, m + layout.M_MOVED, moved)
    put3(memory, m + layout.M_TURNED, turned)
    for k in range(4):
        memory[m + layout.M_TURN + k] = scratch[at + 6 + k]


@inlined
def within_account(memory, m, force, torque, spring, spring_torque, allowance, now):
    """The force and torque with as much of what goes beyond the coupling as the account covers, equation (7)."""
    passed = 1e-9 * float(now - load_integer(memory, m + layout.M_TIME))
    if not (passed > 0.0 and passed < LONGEST_TICK):
        passed = FIRST_TICK
    x = sub3(force, spring)
    y = sub3(torque, spring_torque)
    pushes = math.sqrt(max(dot3(force, force), dot3(spring, spring)))
    twists = math.sqrt(max(dot3(torque, torque), dot3(spring_torque, spring_torque)))
    more = passed * passed * (HAND_ACCELERATION + pushes / LIGHTEST_HAND)
    turn = passed * passed * (HAND_TURNING + twists / LIGHTEST_TURN)
    worst = dot3(x, three(memory, m + layout.M_MOVED)) + math.sqrt(dot3(x, x)) * more
    worst += dot3(y, three(memory, m + layout.M_TURNED)) + math.sqrt(dot3(y, y)) * turn
    left = allowance + memory[m + layout.M_SPRING] - memory[m + layout.M_ENERGY]
    if worst > left:
        part = max(left, 0.0) / worst
        force = add3(spring, scale3(part, x))
        torque = add3(spring_torque, scale3(part, y))
    return force, torque
