"""The energy that a hand got, and the brake that takes back what was too much (passivity control)."""

from linkwork.core.jit import inlined
from linkwork.haptics.atomics import load_integer
from linkwork.haptics.layout import (
    M_ENERGY,
    M_FELT,
    M_LEAST,
    M_MOST,
    M_POSITION,
    M_PULL,
    M_SPRING,
    M_SPRING_MOST,
    M_TIME,
    M_TURN,
)
from linkwork.haptics.scratch import AT_HAND, HAND_WORDS, four, put3, three, turn_from_to
from linkwork.spatial.rotations import dot3, scale3, sub3

LIGHTEST_HAND = (
    0.05  # [kg] and [kg·m²]: what a damper of passivity control may stop within a tick, with the device it holds
)
LIGHTEST_TURN = 5e-5
LONGEST_TICK = 0.1  # [s] after which a tick says nothing about the one before


@inlined
def count_energy(memory, scratch, h, m):
    """Energy given to the hand: the force held since the last tick times the way the hand went meanwhile.

    Beside it what the coupling's own force would have given: the linkage's energy, no more.
    """
    at = AT_HAND + HAND_WORDS * h
    moved = sub3(three(scratch, at + 3), three(memory, m + M_POSITION))
    turned = turn_from_to(four(memory, m + M_TURN), four(scratch, at + 6))
    work = dot3(three(memory, m + M_FELT + 3), moved) + dot3(three(memory, m + M_FELT), turned)
    spring_work = dot3(three(memory, m + M_PULL + 3), moved) + dot3(three(memory, m + M_PULL), turned)
    if work - work == 0.0 and spring_work - spring_work == 0.0:
        memory[m + M_ENERGY] += work
        memory[m + M_SPRING] += spring_work
    memory[m + M_LEAST] = min(memory[m + M_LEAST], memory[m + M_ENERGY])
    memory[m + M_MOST] = max(memory[m + M_MOST], memory[m + M_ENERGY])
    memory[m + M_SPRING_MOST] = max(memory[m + M_SPRING_MOST], memory[m + M_SPRING])
    put3(memory, m + M_POSITION, three(scratch, at + 3))
    for k in range(4):
        memory[m + M_TURN + k] = scratch[at + 6 + k]


@inlined
def without_gift(memory, scratch, h, m, force, torque, now):
    """The force with what brakes the hand when it got energy that the coupling would not have given (passivity control).

    Joint reactions as a field of forces need not be conservative: (1 - F) k is not symmetric. The meter sees it, and a
    damper takes back within the next tick what was given too much, as far as the lightest hand bears it.
    """
    excess = memory[m + M_ENERGY] - memory[m + M_SPRING_MOST]
    passed = 1e-9 * float(now - load_integer(memory, m + M_TIME))
    if excess > 0.0 and passed > 0.0 and passed < LONGEST_TICK:
        at = AT_HAND + HAND_WORDS * h
        velocity = three(scratch, at + 10)
        speed = dot3(velocity, velocity)
        if speed > 0.0:
            # as much as the next tick is to take back, on top of what the force itself would give in it
            given = max(0.0, dot3(force, velocity)) * passed
            brake = min((excess + given) / (passed * speed), LIGHTEST_HAND / passed)
            force = sub3(force, scale3(brake, velocity))
        spin = three(scratch, at + 13)
        speed = dot3(spin, spin)
        if speed > 0.0 and dot3(torque, torque) > 0.0:
            brake = min(excess / (passed * speed), LIGHTEST_TURN / passed)
            torque = sub3(torque, scale3(brake, spin))
    return force, torque
