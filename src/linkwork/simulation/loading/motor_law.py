"""The law of motors: proportional and derivative control within limits of effort and speed, and dry friction.

    τ = k (q* - q) + d (v* - v),  |τ| ≤ effort_limit                                              (1)  docs/control.md
    faster than 0.9 v_max in the direction it pushes to:  τ = W (v_max - |v|) / (0.1 v_max)       (2)

with W what (1) gives at 0.9 v_max. So the push falls to zero at the limit v_max of the speed, and brakes above it.
Dry friction F of the drive is added to either: -F sign(v), and -F v / SLIP below the speed SLIP, at which a joint that
sticks creeps.                                                                                                      (3)
"""

import math

from linkwork.core.jit import inlined

# Columns of the table of motors, one row per degree of freedom.
M_STIFFNESS, M_DAMPING, M_POSITION, M_VELOCITY, M_FRICTION = range(5)
MOTOR_COLUMNS = 5

SPEED_BAND = 0.1  # part of the limit of speed, below it, over which the push of a motor falls to zero
SLIP = 1e-4  # [rad/s or m/s] speed below which dry friction is proportional to it: a joint that sticks creeps slower


@inlined
def motor_law(motor, effort_limit, velocity_limit, j, q, v, ahead, u):
    """Effort of the motor of a coordinate at (q, v), and what it loses per position and per velocity: (1), (2) and (3).

    Limits and friction are taken at the velocity u, with the position as it will be then, `ahead` [s] later.
    """
    effort, k, d = drive_law(motor, effort_limit, velocity_limit, j, q, v, ahead, u)
    friction = motor[j, M_FRICTION]
    if friction > 0.0:
        if abs(u) >= SLIP:  # false where u is not known yet
            effort -= friction if u > 0.0 else -friction
        else:
            slope = friction / SLIP
            effort -= slope * v
            d += slope
    return effort, k, d


@inlined
def drive_law(motor, effort_limit, velocity_limit, j, q, v, ahead, u):
    """The same without friction: (1) and (2)."""
    k = motor[j, M_STIFFNESS]
    d = motor[j, M_DAMPING]
    effort = k * (motor[j, M_POSITION] - q) + d * (motor[j, M_VELOCITY] - v)
    if effort_limit[j] == math.inf and velocity_limit[j] == math.inf:
        return effort, k, d
    pull = k * (motor[j, M_POSITION] - q - ahead * u) + d * motor[j, M_VELOCITY]
    demand = pull - d * u
    top = velocity_limit[j]
    if 0.0 < top < math.inf:
        way = 1.0 if u > 0.0 else -1.0
        onset = (1.0 - SPEED_BAND) * top
        if way * u > onset:
            push = min(way * pull - d * onset, effort_limit[j])
            if push > d * SPEED_BAND * top:  # otherwise its own damping stops the push before the limit
                k = 0.0
                d = push / (SPEED_BAND * top)
                demand = d * (way * top - u)
                effort = d * (way * top - v)
    if abs(demand) > effort_limit[j]:
        return (effort_limit[j] if demand > 0.0 else -effort_limit[j]), 0.0, 0.0
    return effort, k, d
