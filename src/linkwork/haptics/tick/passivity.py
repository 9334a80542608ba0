"""The energy that a hand got, and the limit that keeps it from getting more than there is (passivity).

A force f is held from tick to tick while the hand goes the way Δ. The coupling's own force s (spring and damper) gives no
more than was stored, inside the region that docs/haptics.md states. What a hand feels beyond it, x = f - s, is the inertia
of the body held: it gives while the body gets faster, and takes while it gets slower. The account

    e = Σ (f - s)·Δ ≤ allowance                                                                  (7)  docs/haptics.md

is kept by giving only the part α of x that cannot overdraw it: the next way differs from the last one by at most a T², with
a the largest acceleration of a hand.
"""

import math

from linkwork.core.jit import inlined
from linkwork.haptics.sharing import layout
from linkwork.haptics.sharing.atomics import load_integer
from linkwork.haptics.tick.scratch import AT_HAND, HAND_WORDS, four, put3, three, turn_from_to
from linkwork.spatial.rotations import add3, dot3, scale3, sub3

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
    turned = turn_from_to(four(memory, m + layout.M_TURN), four(scratch, at + 6))
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
