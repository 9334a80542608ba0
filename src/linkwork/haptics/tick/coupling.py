"""The coupling loop: hands and bodies exchange forces, in microseconds, whatever the simulation does meanwhile.

A tick takes the last snapshot and the last reading of every device, and forms for each hand

    w = Y (k (x_h - x') + d (v_h - v'))   what the hand does to the body: a spring and a damper         (1)  docs/haptics.md
    f = f₀ + I Σ_j K_j w_j - w            what the body's joints, weight and loads do to the hand       (2)

x' and v' are where the body would be, without the hand, after the time for which the simulation holds a force, and Y is how
it yields to the hand meanwhile: the coupling is taken implicitly.
f is the paper's f_ext + Σ joint reactions with the forces of all hands in place. Climbing and descending paths is linear
in those forces, so the simulation does it once for unit wrenches, and hands over a small tree of matrices (`answers`).
"""

import math

from numba import int64  # what kernels see words as

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.paths.path_segments import put6, six, times
from linkwork.haptics.clock import clock_ns
from linkwork.haptics.sharing.atomics import load_integer, store_integer
from linkwork.haptics.sharing.layout import (
    D_POSITION,
    D_QUATERNION,
    D_TIME,
    D_TURN_RATE,
    D_VELOCITY,
    FADING,
    FEEL_SPRING,
    H_LAST_TICK,
    H_RETRIES,
    H_TICKS,
    HANDS,
    HELD,
    M_ENERGY,
    M_FELT,
    M_GRASP,
    M_LEAST,
    M_MOST,
    M_POSITION,
    M_PULL,
    M_RELEASED,
    M_TIME,
    M_TURN,
    MEMORY_WORDS,
    O_ENERGY,
    O_FELT,
    O_GAIN,
    O_GRASP,
    O_HAND,
    O_LEAST,
    O_MOST,
    O_STATE,
    O_TIME,
    O_WRENCH,
    OUTPUT_POST,
    OUTPUT_WORDS,
    OUTPUTS,
    R_ALLOWANCE,
    R_DAMPING,
    R_DEVICE_ORIGIN,
    R_DRIFT,
    R_FADE,
    R_FEED,
    R_FEEL,
    R_FORCE_LIMIT,
    R_FORCE_SCALE,
    R_GRASP,
    R_HOLD,
    R_LENGTH_SCALE,
    R_ORIGIN,
    R_OUT,
    R_PASSIVE,
    R_POINT,
    R_ROTATION,
    R_SLOT,
    R_STIFFNESS,
    R_TORQUE_LIMIT,
    R_TURN,
    R_TURN_DAMPING,
    R_TURN_STIFFNESS,
    R_TWIST,
    R_WATCHDOG,
    R_YIELD,
    READING_POST,
    READING_WORDS,
    READINGS,
    RECORD,
    RELEASED,
    REMEMBERED,
    S_COUNT,
    S_HANDS,
    S_TIME,
    S_WORDS,
    SNAPSHOT,
    SNAPSHOT_WORDS,
)
from linkwork.haptics.sharing.seqlock import leave, take
from linkwork.haptics.tick.answers import answer_hands, hand_acceleration
from linkwork.haptics.tick.passivity import count_energy, within_account
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
    four,
    limited,
    nine,
    put3,
    three,
    turn_from_to,
)
from linkwork.spatial.rotations import add3, dot3, matrix_quaternion, quaternion_multiply, scale3, sub3
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
    r = S_HANDS + h * RECORD
    words = scratch.view(int64)
    slot = words[r + R_SLOT]
    reading = scratch[AT_READING : AT_READING + READING_WORDS]
    got = take(memory, READINGS + slot * READING_POST, READING_WORDS, reading, READING_WORDS)
    age = max(now - words[S_TIME], now - words[AT_READING + D_TIME]) if got >= 0 else now - words[S_TIME]
    gain = share_left(age, words[r + R_WATCHDOG], words[r + R_FADE])
    m = REMEMBERED + slot * MEMORY_WORDS
    if load_integer(memory, m + M_GRASP) != words[r + R_GRASP]:  # a new grasp
        store_integer(memory, m + M_GRASP, words[r + R_GRASP])
        for k in range(M_GRASP + 1, MEMORY_WORDS):
            memory[m + k] = 0.0
        put3(memory, m + M_POSITION, three(reading, D_POSITION))
        for k in range(4):
            memory[m + M_TURN + k] = reading[D_QUATERNION + k]
    x = three(reading, D_POSITION)
    q = four(reading, D_QUATERNION)
    scale = scratch[r + R_LENGTH_SCALE]
    hand = add3(three(scratch, r + R_ORIGIN), scale3(scale, sub3(x, three(scratch, r + R_DEVICE_ORIGIN))))
    hold = scratch[r + R_HOLD]
    velocity = add3(three(scratch, r + R_TWIST + 3), scale3(hold, three(scratch, r + R_DRIFT + 3)))
    gap = sub3(sub3(hand, three(scratch, r + R_POINT)), scale3(hold, velocity))
    slip = sub3(scale3(scale, three(reading, D_VELOCITY)), velocity)
    force = add3(scale3(scratch[r + R_STIFFNESS], gap), scale3(scratch[r + R_DAMPING], slip))
    torque = (0.0, 0.0, 0.0)
    if scratch[r + R_TURN_STIFFNESS] > 0.0 or scratch[r + R_TURN_DAMPING] > 0.0:
        wanted = quaternion_multiply(q, four(scratch, r + R_TURN))
        turn = turn_from_to(matrix_quaternion(nine(scratch, r + R_ROTATION)), wanted)
        spin = add3(three(scratch, r + R_TWIST), scale3(hold, three(scratch, r + R_DRIFT)))
        slip = sub3(three(reading, D_TURN_RATE), spin)
        torque = scale3(scratch[r + R_TURN_STIFFNESS], sub3(turn, scale3(hold, spin)))
        torque = add3(torque, scale3(scratch[r + R_TURN_DAMPING], slip))
    torque, force = what_is_left(scratch, r + R_YIELD, torque, force)
    torque = limited(torque, scratch[r + R_TORQUE_LIMIT])
    force = limited(force, scratch[r + R_FORCE_LIMIT])
    size = dot3(force, force) + dot3(torque, torque) + dot3(hand, hand)
    if not size < math.inf or memory[m + M_RELEASED] != 0.0:  # a device that says nonsense does nothing
        gain = 0.0
    if gain == 0.0:
        memory[m + M_RELEASED] = 1.0  # for good: only a new grasp takes hold again
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
    put3(scratch, at + 10, three(reading, D_VELOCITY))
    put3(scratch, at + 13, three(reading, D_TURN_RATE))


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
    r = S_HANDS + h * RECORD
    words = scratch.view(int64)
    slot = words[r + R_SLOT]
    output = scratch[AT_OUTPUT : AT_OUTPUT + OUTPUT_WORDS]
    gain = scratch[AT_GAIN + h]
    w = six(scratch, AT_WRENCH + 6 * h)
    f = scale6(-1.0, w)
    if words[r + R_FEEL] != FEEL_SPRING:
        a = hand_acceleration(scratch, scratch, h, AT_STATE, AT_ROWS)
        f = add6(f, add6(scale6(gain, six(scratch, r + R_FEED)), times(scratch, r + R_OUT, 6, a)))
    put6(output, O_WRENCH, w)
    put6(output, O_FELT, f)
    scale = scratch[r + R_FORCE_SCALE]
    turn_scale = scale / scratch[r + R_LENGTH_SCALE]
    m = REMEMBERED + slot * MEMORY_WORDS
    count_energy(memory, scratch, h, m)
    force = scale3(scale, three(output, O_FELT + 3))
    torque = scale3(turn_scale, three(output, O_FELT))
    force = limited(force, scale * gain * scratch[r + R_FORCE_LIMIT])
    torque = limited(torque, turn_scale * gain * scratch[r + R_TORQUE_LIMIT])
    spring = scale3(-scale, three(output, O_WRENCH + 3))
    spring_torque = scale3(-turn_scale, three(output, O_WRENCH))
    if words[r + R_PASSIVE] != 0:
        allowance = scratch[r + R_ALLOWANCE]
        force, torque = within_account(memory, m, force, torque, spring, spring_torque, allowance, now)
    if not dot3(force, force) + dot3(torque, torque) < math.inf:
        force = (0.0, 0.0, 0.0)
        torque = (0.0, 0.0, 0.0)
    put3(output, O_FELT, torque)
    put3(output, O_FELT + 3, force)
    put3(memory, m + M_FELT, torque)
    put3(memory, m + M_FELT + 3, force)
    put3(memory, m + M_PULL, spring_torque)
    put3(memory, m + M_PULL + 3, spring)
    store_integer(memory, m + M_TIME, now)
    whole = output.view(int64)
    whole[O_TIME] = now
    whole[O_GRASP] = words[r + R_GRASP]
    whole[O_STATE] = HELD if gain == 1.0 else (FADING if gain > 0.0 else RELEASED)
    output[O_GAIN] = gain
    output[O_ENERGY] = memory[m + M_ENERGY]
    output[O_LEAST] = memory[m + M_LEAST]
    output[O_MOST] = memory[m + M_MOST]
    put3(output, O_HAND, three(scratch, AT_HAND + HAND_WORDS * h))
    leave(memory, OUTPUTS + slot * OUTPUT_POST, OUTPUT_WORDS, output, OUTPUT_WORDS)


@routine
def couple(memory, scratch, now):
    """One tick at the time `now` [ns]; returns the age of the snapshot it used [ns], -1 where there is none yet."""
    words = scratch.view(int64)
    again = take_snapshot(memory, scratch)
    if again > 0:
        store_integer(memory, H_RETRIES, load_integer(memory, H_RETRIES) + again)
    count = min(max(words[S_COUNT], 0), HANDS)
    for h in range(count):
        pull(memory, scratch, h, now)
    for k in range(6 * count):
        scratch[AT_TURNED + k] = scratch[AT_WRENCH + k]
    answer_hands(scratch, scratch, AT_TURNED, AT_STATE, AT_ROWS)
    for h in range(count):
        feel(memory, scratch, h, now)
    store_integer(memory, H_LAST_TICK, now)
    store_integer(memory, H_TICKS, load_integer(memory, H_TICKS) + 1)
    return now - words[S_TIME] if words[S_TIME] != 0 else -1


@inlined
def take_snapshot(memory, scratch):
    """The last snapshot into the scratch: its first words say how many there are. One that says nonsense has no hands."""
    start = scratch[:S_HANDS]
    again = take(memory, SNAPSHOT, SNAPSHOT_WORDS, start, S_HANDS)
    words = scratch.view(int64)
    for _ in range(HANDS):
        count = min(max(words[S_WORDS], S_HANDS), SNAPSHOT_WORDS)
        more = take(memory, SNAPSHOT, SNAPSHOT_WORDS, scratch, count)
        again += max(more, 0)
        if words[S_WORDS] <= count:
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
