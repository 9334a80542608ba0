"""Part: the compass walker comes down a slope by itself, and its gait is a fixed point."""

from __future__ import annotations

from linkwork.cli.commands.walk import summary_lines
from linkwork.cli.demo_parts.setup import Panel, Setup
from linkwork.cli.screen import working
from linkwork.scenarios.walker.gait import Walker, first_step, walk
from linkwork.scenarios.walker.limit_cycle import find_gait
from linkwork.scenarios.walker.pictures import draw_phase_portrait, draw_strip

TITLE = "two legs walk down a slope, re-rooted at every step"
SAYS = "Two legs walk down a slope with no motor, and each foot that lands becomes the root of the linkage."

STEPS, QUICK_STEPS = 40, 3


def show(setup: Setup) -> list[Panel]:
    walker = Walker()
    with working("walking"):
        steps = walk(walker, first_step(walker), QUICK_STEPS if setup.quick else STEPS, record=True)
        gait = find_gait(walker)
    for line in summary_lines(steps, gait):
        setup.print(line)
    return [
        Panel("walker, phase portrait", lambda axes: draw_phase_portrait(axes, steps, gait)),
        Panel("walker, last steps", lambda axes: draw_strip(axes, walker, steps[-3:])),
    ]
