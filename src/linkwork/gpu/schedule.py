"""Which way to sweep on the GPU, from the shape of the problem."""

from __future__ import annotations

from linkwork.core.arrays import IntArray
from linkwork.core.jit import kernel
from linkwork.dynamics.dca.sweeps import is_singular
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.spatial.memory import load10

SCHEDULES = ("levels", "bodies")

# A model of the time both ways take, measured on one H200 in float64 with linkages of 20 to 4,096 bodies [s].
LEVEL = 15e-6  # one level of the four sweeps over the assembly tree
BODY_OF_LEVELS = 1.35e-9  # one body of one sample in them
STEP = 4.4e-6  # one body after the other in the three sweeps body by body
CHILD = 0.3 * STEP  # one child after the other
BODY_OF_BODIES = 0.42e-9
MANY_SAMPLES = 65_536  # fill the machine with one thread each
STRAND, LONG_STRAND = 8, 16  # bodies one behind the other that one thread does in the sweeps over the assembly tree
VERY_MANY = 2**19  # bodies: threads are plenty even when each does more; measured on chains of 2^14, 2^17 and 2^20


def choose_schedule(widths: IntArray, most_children: int, levels: int, batch: int) -> str:
    """The schedule that takes less time by the model above.

    widths: bodies of each depth. most_children: of one body. levels: of the assembly tree.
    """
    bodies = int(widths.sum())
    by_levels = LEVEL * levels + BODY_OF_LEVELS * bodies * batch
    threads = choose_threads(int(widths.max(initial=0)), batch)
    one_after_the_other = int((-(-widths // threads)).sum())
    by_bodies = STEP * one_after_the_other + CHILD * most_children + BODY_OF_BODIES * bodies * batch
    return "bodies" if by_bodies < by_levels else "levels"


def choose_strand(bodies: int) -> int:
    """Bodies of a strand, at most."""
    return LONG_STRAND if bodies >= VERY_MANY else STRAND


def choose_threads(widest: int, batch: int) -> int:
    """Threads for one sample of "bodies": as many as bodies of one depth, unless the samples alone fill the machine."""
    most = 1
    while 2 * most <= min(widest, 8) and most * batch < MANY_SAMPLES:
        most *= 2
    return most


def first_singular(model: Model) -> int:
    """The first body whose inertia cannot be inverted, or -1."""
    return int(_first_singular(model.arrays.body))


@kernel
def _first_singular(body):
    for i in range(body.shape[0]):
        if is_singular(load10(body, i, layout.INERTIA)):
            return i
    return -1
