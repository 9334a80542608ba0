"""Opens a page with a mechanism in 3-D: a file, a library model, a scene, or a recording.

linkwork view robot.urdf
linkwork view humanoid --live
linkwork view chain joints=200
linkwork view 1crn.pdb --live                a molecule under its force field
linkwork view snake_robot                    a scene: it runs on the page
linkwork view out/snake_robot                a recording
linkwork view out/coarse out/fine            two recordings beside each other
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from linkwork.cli.exit_codes import DONE
from linkwork.cli.mechanism import find_mechanism, find_molecule, library_models
from linkwork.cli.screen import working
from linkwork.errors import LinkworkError

NAME = "view"
SUMMARY = "look at a mechanism, a scene or a recording in a browser"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a file, a library model, a scene, or a recording")
    parser.add_argument("settings", metavar="NAME=VALUE", nargs="*", help="settings, or a second recording to compare")
    parser.add_argument("--live", action="store_true", help="simulate a model (press play on the page)")
    parser.add_argument("--play", action="store_true", help="begin at once")
    parser.add_argument(
        "--h", metavar="S", type=float, help="time step [s or ps] (0.001, of a molecule 0.002, or the scene's)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this computer only)")
    parser.add_argument("--port", type=int, default=8080, help="port, or the next that is free (8080)")
    parser.add_argument("--no-browser", action="store_true", help="only print where the page is")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.viewer import view

    with working(f"reading {arguments.source}"):
        subject, other = find_subject(arguments.source, arguments.settings)
        viewer = view(
            subject,
            other,
            h=arguments.h,
            live=arguments.live,
            play=arguments.play,
            host=arguments.host,
            port=arguments.port,
            browser=not arguments.no_browser,
        )
    print(f"{viewer.url} (Ctrl-C ends it)", flush=True)
    try:
        viewer.wait()
    except KeyboardInterrupt:
        print()
    return DONE


def find_subject(source: str, settings: list[str]) -> tuple[Any, Any]:
    """What `source` names, and a second recording where one is given: a recording, then a model, then a scene."""
    from linkwork.record.recording import Recording
    from linkwork.scene import Scene
    from linkwork.scene.builtin_scenes import builtin_scenes

    if Path(source).is_dir():
        others = [word for word in settings if "=" not in word]
        if len(others) > 1 or len(others) != len(settings):
            raise LinkworkError("a recording takes no settings, and at most one other beside it.")
        return Recording(source), Recording(others[0]) if others else None
    wrong = [word for word in settings if "=" not in word]
    if wrong:
        raise LinkworkError(f"'{wrong[0]}' is not a setting name=value; two recordings are folders.")
    is_scene = source.endswith(".toml") or (
        source.replace("-", "_") in builtin_scenes() and source not in library_models()
    )
    if is_scene:
        return Scene.read(source, settings), None
    molecule = find_molecule(source, settings)
    return find_mechanism(source, settings) if molecule is None else molecule, None
