"""Lets the compass walker walk down a slope, finds its gait, and draws both.

linkwork walk
linkwork walk --slope 0.03 --hip-mass 4 --steps 200
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.cli.exit_codes import DONE
from linkwork.cli.screen import console, working

if TYPE_CHECKING:
    from linkwork.scenarios.walker.gait import Step
    from linkwork.scenarios.walker.limit_cycle import Gait

NAME = "walk"
SUMMARY = "a passive walker on a slope: its steps, its gait, pictures"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--slope", type=float, default=0.0524, help="of the ground, downwards [rad] (0.0524)")
    parser.add_argument("--leg-length", type=float, default=1.0, help="[m] (1)")
    parser.add_argument("--hip-mass", type=float, default=2.0, help="[kg] (2)")
    parser.add_argument("--leg-mass", type=float, default=1.0, help="of each leg [kg] (1)")
    parser.add_argument("--mass-from-hip", type=float, default=0.5, help="where on the leg its mass sits, 0 to 1 (0.5)")
    parser.add_argument("--steps", type=int, default=100, help="how many steps to walk (100)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="folder of the picture (out)")
    parser.add_argument("--no-picture", action="store_true", help="print only")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.errors import StateError
    from linkwork.scenarios.walker.gait import Walker, walk
    from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at

    if arguments.steps < 2:
        raise StateError(f"--steps is {arguments.steps}; a walk has at least 2 steps.")
    screen = console()
    walker = Walker(
        arguments.slope, arguments.leg_length, arguments.hip_mass, arguments.leg_mass, arguments.mass_from_hip
    )
    with working("looking for the gait"):
        gait = find_gait(walker, require_stable=True)
    nearby = gait.start * (1.0 + DISTURBANCE)
    with working("walking"):
        steps = walk(walker, stance_at(walker, nearby), arguments.steps, record=True)
    for line in summary_lines(steps, gait):
        screen.print(line, markup=False)
    if not arguments.no_picture:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            screen.print("no picture: matplotlib is not installed (pip install '.[plots]')", markup=False)
            return DONE
        from linkwork.scenarios.walker.pictures import save_pictures

        arguments.out.mkdir(parents=True, exist_ok=True)
        path = arguments.out / "walker.png"
        save_pictures(path, walker, steps, gait)
        screen.print(f"picture saved to {path}", markup=False)
    return DONE


DISTURBANCE = 0.01  # how far from the gait the walk begins, relative: the walk then shows that it returns to it


def summary_lines(steps: list[Step], gait: Gait) -> list[str]:
    """What a walk and its gait amount to, in a few lines."""
    drift = max(step.energy_drift for step in steps)
    last = steps[-1]
    return [
        f"{len(steps)} steps, {sum(step.length for step in steps):.1f} m in {sum(step.duration for step in steps):.1f} s; "
        f"the last one {last.length:.6f} m in {last.duration:.6f} s",
        f"total energy between strikes changes by at most {drift:.0e} J; a strike takes {last.loss.kinetic_energy:.4f} J",
        f"gait: period {gait.period:.9f} s, step {gait.step_length:.9f} m, "
        f"{gait.step_length / gait.period:.4f} m/s; residual of the fixed point {gait.residual:.0e}",
        f"Floquet multipliers {', '.join(_number(m) for m in gait.multipliers)}: "
        + ("stable" if gait.is_stable else "unstable"),
    ]


def _number(value: complex) -> str:
    if math.isclose(value.imag, 0.0, abs_tol=1e-12):
        return f"{value.real:.4f}"
    return f"{value.real:.4f}{value.imag:+.4f}i"
