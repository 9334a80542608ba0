"""Where a step begins: saved, and put back where the step fails."""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import (
    COMPOSITES_READY,
    COUNTED_ENERGY,
    ENERGY_DEBT,
    MOTORS,
    PROPOSED_STEP,
    SAVED_NUMBERS,
    START_NUMBERS,
    moving_of,
)
from linkwork.spatial.memory import load6, store6


@inlined
def save_state(s, q, v, momentum, numbers, first):
    """Copies coordinates, velocities and the momentum to keep there; into SAVED_NUMBERS of `numbers` the proposed substep
    [s], the energy that steps have made and not given back [J], and what was counted of energy gained."""
    for k in range(s.q.shape[0]):
        q[k] = s.q[k]
    for k in range(s.v.shape[0]):
        v[k] = s.v[k]
    for t in range(s.target_momentum.shape[0]):
        store6(momentum, t, 0, load6(s.target_momentum, t, 0))
    numbers[first], numbers[first + 1] = s.numbers[PROPOSED_STEP], s.numbers[ENERGY_DEBT]
    for k in range(SAVED_NUMBERS - 2):
        numbers[first + 2 + k] = s.numbers[COUNTED_ENERGY + k]


@inlined
def put_back(s, q, v, momentum, numbers, first):
    """All that `save_state` copied is as it was then."""
    for k in range(s.q.shape[0]):
        s.q[k] = q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = v[k]
    for t in range(s.target_momentum.shape[0]):
        store6(s.target_momentum, t, 0, load6(momentum, t, 0))
    s.numbers[PROPOSED_STEP], s.numbers[ENERGY_DEBT] = numbers[first], numbers[first + 1]
    for k in range(SAVED_NUMBERS - 2):
        s.numbers[COUNTED_ENERGY + k] = numbers[first + 2 + k]
    s.counts[COMPOSITES_READY] = 0


@routine
def save_start(table):
    """Saves where the step begins; laws of motors begin at its velocities."""
    s = moving_of(table)
    save_state(s, s.start_q, s.start_v, s.start_momentum, s.numbers, START_NUMBERS)
    if s.counts[MOTORS] > 0:
        for k in range(s.v.shape[0]):
            s.saturation_velocity[k] = s.v[k]  # few motors come to their limits, or leave them, within a step


@routine
def take_back_state(table):
    """Puts back what `save_start` saved."""
    s = moving_of(table)
    put_back(s, s.start_q, s.start_v, s.start_momentum, s.numbers, START_NUMBERS)


@routine
def is_finite(table):
    """Whether all coordinates and velocities are."""
    s = moving_of(table)
    x = 0.0
    for k in range(s.q.shape[0]):
        x += 0.0 * s.q[k]
    for k in range(s.v.shape[0]):
        x += 0.0 * s.v[k]
    return x == 0.0
