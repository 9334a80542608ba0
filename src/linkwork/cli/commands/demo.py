"""Shows what Linkwork does, in a few short parts and one picture.

linkwork demo
linkwork demo swing
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from linkwork.cli.demo_parts import PARTS, Panel, Setup
from linkwork.cli.exit_codes import DONE
from linkwork.cli.screen import console, seconds

NAME = "demo"
SUMMARY = "a few seconds of what Linkwork does"

LOOK = "linkwork view snake_robot"
PANEL_SIZE = (5.0, 4.6)  # width and height [inch]
PANELS_IN_A_ROW = (4, 3)  # at most


def configure(parser: argparse.ArgumentParser) -> None:
    titles = "; ".join(f"{name}: {part.title}" for name, part in PARTS.items())
    parser.add_argument("parts", metavar="PART", nargs="*", type=_part, help=f"which parts (all): {titles}")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="folder of the picture (out)")
    parser.add_argument("--no-picture", action="store_true", help="print only")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")


def _part(name: str) -> str:
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no part '{name}'; there are {', '.join(PARTS)}")
    return name


def run(arguments: argparse.Namespace) -> int:
    screen = console()
    setup = Setup(screen, quick=arguments.quick)
    start = time.perf_counter()
    panels: list[Panel] = []
    names = arguments.parts or list(PARTS)
    for k, name in enumerate(names, 1):
        screen.print(f"[bold]{name}[/bold] ({k} of {len(names)})  {PARTS[name].title}")
        setup.print(PARTS[name].says)
        panels += PARTS[name].show(setup)
        screen.print()
    if panels and not arguments.no_picture:
        screen.print(_save_picture(panels, arguments.out / "demo.png"), markup=False)
    screen.print(f"done in {seconds(time.perf_counter() - start)}", markup=False)
    screen.print(f"see it move, and pull at it: {LOOK}", markup=False)
    return DONE


def _save_picture(panels: list[Panel], path: Path) -> str:
    """Draws all panels side by side; returns a line that says where, or why not."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed (pip install '.[plots]')"
    columns = min(len(panels), min(PANELS_IN_A_ROW, key=lambda most: -len(panels) % most))  # fewest empty places
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for k, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        axes.set_title(panel.title, fontsize=11)
        panel.draw(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return f"picture saved to {path}"
