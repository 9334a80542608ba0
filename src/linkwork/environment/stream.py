"""How a fluid moves at a place: a profile over height, and regular waves of small amplitude (Airy).

With θ = k x' − ω t + φ, ζ the height above still water (at most 0), d the depth:

    η = a cos θ,   u = a ω cosh k(ζ + d) / sinh kd cos θ,   w = a ω sinh k(ζ + d) / sinh kd sin θ,   ω² = g k tanh kd   (1)
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.environment import wet_columns as at


@inlined
def stream_at(profile, z):
    """Velocity of the fluid at the height z: straight lines between rows, the last rows beyond them."""
    m = profile.shape[0]
    k = 0
    while k < m - 2 and profile[k + 1, 0] < z:
        k += 1
    share = 0.0
    if m > 1:
        share = min(max((z - profile[k, 0]) / (profile[k + 1, 0] - profile[k, 0]), 0.0), 1.0)
    n = k + 1 if m > 1 else k
    return (
        profile[k, 1] + share * (profile[n, 1] - profile[k, 1]),
        profile[k, 2] + share * (profile[n, 2] - profile[k, 2]),
        profile[k, 3] + share * (profile[n, 3] - profile[k, 3]),
    )


@routine
def flow_at(water, profile, place):
    """Velocity and acceleration of the fluid at a place [m/s, m/s²], and the height of its surface there [m]."""
    u = stream_at(profile, place[2])
    a = water[at.WAVE_HEIGHT]
    if a == 0.0:
        return u, (0.0, 0.0, 0.0), water[at.SURFACE]
    k, rate, x, y = water[at.WAVE_NUMBER], water[at.WAVE_RATE], water[at.WAVE_X], water[at.WAVE_Y]
    theta = k * (x * place[0] + y * place[1]) - rate * water[at.TIME] + water[at.WAVE_PHASE]
    c, s = math.cos(theta), math.sin(theta)
    low = min(place[2] - water[at.SURFACE], 0.0)
    depth = water[at.WAVE_DEPTH]
    down, up, both = math.exp(k * low), 0.0, 1.0
    if depth < math.inf:  # ratios of hyperbolic functions by falling exponentials
        up, both = math.exp(-k * (low + 2.0 * depth)), 1.0 - math.exp(-2.0 * k * depth)
    level, upright = a * rate * (down + up) / both, a * rate * (down - up) / both
    velocity = (u[0] + level * c * x, u[1] + level * c * y, u[2] + upright * s)
    return velocity, (rate * level * s * x, rate * level * s * y, -rate * upright * c), water[at.SURFACE] + a * c
