"""Which way to sweep on the GPU, from the shape of the problem."""

from __future__ import annotations

from linkwork.core.jit import kernel
from linkwork.dynamics.dca.sweeps import is_singular
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.spatial.memory import load10

SCHEDULES = ("levels", "bodies")

# A model of the time both ways take, measured on one H200 in float64 [s].
LEVEL = 10e-6  # one level of the four sweeps over the assembly tree
BODY_OF_LEVELS = 2.5e-9  # one body of one sample in them
DEPTH = 12e-6  # one depth of the three sweeps body by body
BODY_OF_BODIES = 0.6e-9
MANY_SAMPLES = 65_536  # fill the machine with one thread each


def choose_schedule(bodies: int, depths: int, levels: int, batch: int) -> str:
    """The schedule that takes less time by the model above."""
    by_levels = LEVEL * levels + BODY_OF_LEVELS * bodies * batch
    # Blocks of 32 samples: a wide tree with few samples leaves most of the machine idle.
    waves = max(1.0, batch / MANY_SAMPLES)
    by_bodies = DEPTH * depths * waves + BODY_OF_BODIES * bodies * max(batch, 32)
    few = bodies / max(depths, 1) / 8.0 * DEPTH * depths if batch < 1024 else 0.0
    return "bodies" if by_bodies + few < by_levels else "levels"


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
