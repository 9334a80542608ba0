"""The program: reads the command, runs it, and turns every failure into one message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import linkwork
from linkwork.cli.commands import (
    bench,
    demo,
    examples,
    export,
    haptics,
    info,
    mocap,
    plot,
    run,
    sweep,
    view,
    walk,
    warm,
)
from linkwork.cli.exit_codes import DONE, INTERRUPTED, REFUSED
from linkwork.errors import LinkworkError

COMMANDS = (
    info,
    run,
    sweep,
    view,
    plot,
    export,
    mocap,
    demo,
    walk,
    haptics,
    examples,
    bench,
    warm,
)  # each has NAME, SUMMARY, configure(parser) and run(arguments)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="linkwork",
        description="Rigid-body linkages with very many joints.",
        epilog="exit codes: 0 done, 1 refused, 2 wrong usage, 3 requirement missed (bench --strict), 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"linkwork {linkwork.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for command in COMMANDS:
        child = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(child)
        child.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    parser = build_parser()
    try:
        arguments, left_over = parser.parse_known_args(argv)
        _take_settings(parser, arguments, left_over)
    except SystemExit as stop:  # argparse has said everything; callers from Python get the code
        return int(stop.code or 0)
    if arguments.command is None:
        parser.print_help()
        return DONE
    return guarded(lambda: arguments.run(arguments))


def _take_settings(parser: argparse.ArgumentParser, arguments: argparse.Namespace, left_over: list[str]) -> None:
    """Settings `name=value` may stand anywhere; argparse leaves those behind an option over."""
    settings = getattr(arguments, "settings", None)
    unknown = [word for word in left_over if settings is None or word.startswith("-") or "=" not in word]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if settings is not None:
        settings += left_over


def guarded(run: Callable[[], int]) -> int:
    """Runs a command; what it raises on purpose becomes a message without a traceback."""
    try:
        code = run()
        sys.stdout.flush()  # a reader that went away shows here, not while Python shuts down
        return code
    except LinkworkError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python flushes stdout once more at exit: point it where that is harmless.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _complain("out of memory; ask for fewer joints.")
    except KeyboardInterrupt:
        _complain("interrupted.")
        return INTERRUPTED


def _complain(message: str) -> int:
    print(f"linkwork: {message}", file=sys.stderr)
    return REFUSED
