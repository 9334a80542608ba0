"""Where a step begins: saved, and put back where the step fails."""

from linkwork.core.jit import routine
from linkwork.simulation.moving import COMPOSITES_READY, MOTORS, SUBSTEP_WISH, WISH_BEFORE, moving_of
from linkwork.spatial.memory import load6, store6


@routine
def save_start(table):
    """Saves the state, the momentum to keep and the length of substeps; limits of motors are judged anew."""
    s = moving_of(table)
    for k in range(s.q.shape[0]):
        s.start_q[k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.start_v[k] = s.v[k]
    for t in range(s.kept.shape[0]):
        store6(s.start_kept, t, 0, load6(s.kept, t, 0))
    s.numbers[WISH_BEFORE] = s.numbers[SUBSTEP_WISH]
    if s.counts[MOTORS] > 0:
        for k in range(s.v.shape[0]):
            s.judged[k] = s.v[k]  # few motors come to their limits, or leave them, within a step


@routine
def take_back_state(table):
    """Puts back what `save_start` saved."""
    s = moving_of(table)
    for k in range(s.q.shape[0]):
        s.q[k] = s.start_q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    for t in range(s.kept.shape[0]):
        store6(s.kept, t, 0, load6(s.start_kept, t, 0))
    s.numbers[SUBSTEP_WISH] = s.numbers[WISH_BEFORE]
    s.counts[COMPOSITES_READY] = 0


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
