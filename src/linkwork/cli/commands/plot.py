"""Draws a recording: energies, joints at work, the error bound, which joints move, chosen joints, paths of points.
Of a sweep: curves, maps or scatter of its results by parameter; --table prints them instead.

linkwork plot out/snake_robot
linkwork plot out/snake_robot --joint link_3 --joint 'link_1?' --body link_20 --out wave.png
linkwork plot out/snake_robot --effort 'link_*' --force
linkwork plot out/cable_sweep --result 'point_0.*'
linkwork plot out/cable_sweep --table
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.cli.exit_codes import DONE
from linkwork.cli.screen import beside, console, refuse_existing, short, working, written_whole
from linkwork.cli.screen import table as text_table
from linkwork.core.messages.names import matching
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.ensemble.table import SweepTable

NAME = "plot"
SUMMARY = "draw a recording or a sweep"

FORMATS = (".png", ".pdf", ".svg", ".jpg")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RUN", type=Path, help="folder of a recording or a sweep")
    parser.add_argument("--joint", metavar="NAME", action="append", default=[], help="a joint to show, or a pattern")
    parser.add_argument(
        "--effort", metavar="NAME", action="append", default=[], help="a joint whose effort to show, or a pattern"
    )
    parser.add_argument("--body", metavar="NAME", action="append", default=[], help="a body whose path to show")
    of_sweep = parser.add_argument_group("of a sweep")
    of_sweep.add_argument(
        "--over", metavar="NAME", action="append", default=[], help="a parameter on an axis (those varied)"
    )
    of_sweep.add_argument("--result", metavar="NAME", action="append", default=[], help="a result, or a pattern (all)")
    of_sweep.add_argument("--kind", default="auto", help="auto, curves, map or scatter (auto)")
    of_sweep.add_argument("--table", action="store_true", help="print the table, draw nothing")
    parser.add_argument("--out", metavar="FILE", type=Path, help=f"picture, {', '.join(FORMATS)} (RUN.png)")
    parser.add_argument("--force", action="store_true", help="replace an existing picture")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.ensemble.table import is_sweep
    from linkwork.record.recording import Recording
    from linkwork.scene.plots import save_plot

    if is_sweep(arguments.recording):
        return _sweep(arguments)
    refuse_options(arguments, ("over", "result", "table"), "a recording")
    recording = Recording(arguments.recording)
    out = _picture(arguments)
    for body in arguments.body:
        recording.model.frame(body)  # refuses unknown ones before anything is drawn
    with working("drawing"), written_whole(out) as partial:
        titles = save_plot(recording, partial, arguments.joint, arguments.body, arguments.effort)
    print(f"{', '.join(titles)}: drawn to '{short(out)}'")
    return DONE


def _picture(arguments: argparse.Namespace) -> Path:
    """The file to draw to."""
    out: Path = arguments.out or beside(arguments.recording, ".png")
    if out.suffix.lower() not in FORMATS:
        raise LinkworkError(f"'{out}' is not a kind of picture that can be written; take {', '.join(FORMATS)}.")
    refuse_existing(out, arguments.force)
    return out


def refuse_options(arguments: argparse.Namespace, names: tuple[str, ...], what: str) -> None:
    """Refuses options that say nothing about what is drawn, rather than ignoring them."""
    for name in names:
        if getattr(arguments, name):
            raise LinkworkError(f"'{arguments.recording}' is {what}, for which --{name} means nothing; leave it out.")


def _sweep(arguments: argparse.Namespace) -> int:
    from linkwork.ensemble.pictures import save_sweep_plot
    from linkwork.ensemble.table import SweepTable

    refuse_options(arguments, ("joint", "effort", "body"), "a sweep")
    table = SweepTable(arguments.recording)
    if arguments.table:
        console().print(printed_table(table, arguments.result))
        return DONE
    out = _picture(arguments)
    with working("drawing"), written_whole(out) as partial:
        titles = save_sweep_plot(table, partial, arguments.over, arguments.result, arguments.kind)
    print(f"{', '.join(titles)}: drawn to '{short(out)}'")
    return DONE


def printed_table(sweep: SweepTable, results: list[str]) -> Any:
    """The rows of a sweep for the screen: parameters and results, and of those that failed the error."""
    from linkwork.ensemble.pictures import short_text

    known = list(sweep.results)
    chosen = [known[k] for words in results for k in matching(words, known)] if results else known
    shown = [*sweep.parameters, *chosen]
    columns = ["run", *shown, "status"]
    rows = []
    for k in range(len(sweep)):
        row = sweep.row(k)
        cells = ["" if row[name] is None else short_text(row[name]) for name in shown]
        error = row["error"].splitlines()[0] if row["error"] else ""
        rows.append([str(row["run"]), *cells, row["status"] + (f": {error}" if error else "")])
    missing = f", {sweep.missing} missing" if sweep.missing else ""
    title = f"{sweep.plan.title}: {len(sweep)} runs, {len(sweep.failed)} failed{missing}"
    return text_table(title, columns, rows)
