"""Draws a recording: energies, joints at work, the error bound, which joints move, chosen joints, paths of points.

linkwork plot out/snake_robot
linkwork plot out/snake_robot --joint link_3 --joint 'link_1?' --body link_20 --out wave.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from linkwork.cli.exit_codes import DONE
from linkwork.cli.output import beside, refuse_existing, short, written_whole
from linkwork.cli.screen import working
from linkwork.errors import LinkworkError

NAME = "plot"
SUMMARY = "draw a recording"

FORMATS = (".png", ".pdf", ".svg", ".jpg")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RUN", type=Path, help="folder of a recording")
    parser.add_argument("--joint", metavar="NAME", action="append", default=[], help="a joint to show, or a pattern")
    parser.add_argument("--body", metavar="NAME", action="append", default=[], help="a body whose path to show")
    parser.add_argument("--out", metavar="FILE", type=Path, help=f"picture, {', '.join(FORMATS)} (RUN.png)")
    parser.add_argument("--force", action="store_true", help="replace an existing picture")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.record.recording import Recording
    from linkwork.scene.plots import save_plot

    recording = Recording(arguments.recording)
    out = arguments.out or beside(arguments.recording, ".png")
    if out.suffix.lower() not in FORMATS:
        raise LinkworkError(f"'{out}' is not a kind of picture that can be written; take {', '.join(FORMATS)}.")
    refuse_existing(out, arguments.force)
    for body in arguments.body:
        recording.model.frame(body)  # refuses unknown ones before anything is drawn
    with working("drawing"), written_whole(out) as partial:
        titles = save_plot(recording, partial, arguments.joint, arguments.body)
    print(f"{', '.join(titles)}: drawn to '{short(out)}'")
    return DONE
