"""Lists the example programs that come with Linkwork, shows one, or copies it to start from.

linkwork examples
linkwork examples by_hand
linkwork examples by_hand --copy .
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from linkwork.cli.exit_codes import DONE
from linkwork.cli.screen import console, table
from linkwork.cli.shipped import headline, shipped_folder
from linkwork.core.messages.names import did_you_mean
from linkwork.errors import LinkworkError

NAME = "examples"
SUMMARY = "example programs: list, show or copy them"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("example", metavar="NAME", nargs="?", help="which example; without it: list them")
    parser.add_argument("--copy", metavar="DIR", type=Path, help="copy it into this folder instead of showing it")


def run(arguments: argparse.Namespace) -> int:
    programs = example_files()
    if arguments.example is None:
        if arguments.copy is not None:
            raise LinkworkError("--copy needs the name of an example; `linkwork examples` lists them.")
        rows = [(name, headline(file)) for name, file in programs.items()]
        console().print(table("examples", ("name", "what it shows"), rows, left=2))
        return DONE
    name = arguments.example.removesuffix(".py")
    if name not in programs:
        raise LinkworkError(f"there is no example '{name}'{did_you_mean(name, programs)}")
    if arguments.copy is None:
        sys.stdout.write(programs[name].read_text(encoding="utf-8"))
        return DONE
    target = arguments.copy / programs[name].name
    if target.exists():
        raise LinkworkError(f"{target} exists already; move it away or choose another folder.")
    if not arguments.copy.is_dir():
        raise LinkworkError(f"{arguments.copy} is not a folder; create it first.")
    shutil.copyfile(programs[name], target)
    print(f"{target}: run it with `python {target}`")
    return DONE


def example_files() -> dict[str, Path]:
    """Name and file of every example program."""
    return {file.stem: file for file in sorted(shipped_folder("examples").glob("*.py"))}
