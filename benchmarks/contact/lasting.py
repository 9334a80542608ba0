"""Ropes, belts, bracelets and nets that fall on bodies and lie there for a minute: no overflow, no gap, no gain."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import linkwork as lw

from . import runs

SECONDS = 60.0
LOOKS = 100  # steps between two looks at the energy
MOST_GAIN = 0.01  # of the largest kinetic energy
CASES: dict[str, Callable[[], runs.Start]] = {
    "rope of 30 ball joints on 4 balls": lambda: runs.rope_on_balls(30, 4),
    "rope of 100 ball joints on 20 balls": lambda: runs.rope_on_balls(100, 20),
    "belt of 40 hinges on 4 balls": lambda: runs.belt(40, 4),
    "belt of 12 hinges on 2 balls": lambda: runs.belt(12, 2, 0.8),
    "bracelet of 16 ball joints": lambda: runs.ring_of_balls(16, 1.0),
    "net of 3 x 4 meshes on 3 balls": lambda: runs.net(4, 5),
}


@dataclass
class Outcome:
    """What became of it. gain: largest rise of the energy over the largest kinetic energy; lost: from start to end [J]."""

    name: str
    failure: str = ""
    gain: float = 0.0
    lost: float = 0.0
    worst_gap: float = 0.0  # [m or rad] of loops at the end
    steps: int = 0
    not_converged: int = 0
    shortened: int = 0
    seconds: float = 0.0  # of the processor


def outcome(name: str, seconds: float = SECONDS) -> Outcome:
    """Lets it fall and lie for so long."""
    result = Outcome(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = runs.simulation(CASES[name]())
        begun, first = time.process_time(), sim.energy
        least, largest, rise = first.total, first.kinetic, 0.0
        steps = max(1, round(seconds / runs.STEP))
        while result.steps < steps:
            count = min(LOOKS, steps - result.steps)
            try:
                report = sim.step(runs.STEP, count)
            except lw.LinkworkError as error:
                result.failure = str(error)
                break
            energy = sim.energy
            if not math.isfinite(energy.total):
                result.failure = f"energy is {energy.total}"
                break
            largest, rise = max(largest, energy.kinetic), max(rise, energy.total - least)
            least = min(least, energy.total)
            result.steps += count
            result.not_converged += report.contact.not_converged
            result.shortened += report.contact.shortened
            result.lost = first.total - energy.total
        result.gain = rise / largest if largest > 0.0 else 0.0
        if sim.model.loops:
            result.worst_gap = float(lw.loop_gaps(sim.model, sim.state).worst_gap)
        result.seconds = time.process_time() - begun
    return result
