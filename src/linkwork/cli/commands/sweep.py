"""Runs a scene many times with other parameters, on all cores or on a cluster, and keeps everything in one table.

linkwork sweep hanging_cable --vary run.h=1e-3,5e-4 --vary "model.joints=20:50:4" --keep scalars --out out/cable
linkwork sweep catheter --vary "load.force[0]=0:0.05" --vary "joint.stiffness=normal(0.02, 0.002)" --samples 64 --seed 1
linkwork sweep study.py:reach --vary length=0.5:2:16       a Python function instead of a scene
linkwork sweep --resume --out out/cable                    after Ctrl-C, a full disk or a kill
linkwork sweep study.py:reach --resume --out out/reach     a function is named again: a folder alone runs no program
linkwork plot out/cable
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.cli.commands.run import OUT
from linkwork.cli.exit_codes import DONE, INTERRUPTED
from linkwork.cli.screen import count, seconds, short
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.ensemble import Sweep, SweepTable

NAME = "sweep"
SUMMARY = "run a scene many times with other parameters"

SHOWN_ERRORS = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scene", metavar="SCENE", nargs="?", help="a scene file, a built-in scene, or file.py:function")
    what = parser.add_argument_group("what is run")
    what.add_argument(
        "--vary", metavar="key=values", action="append", default=[],
        help="values 1,2,3; a range low:high:count[:log]; for samples low:high[:log] or normal(mean, deviation)",
    )  # fmt: skip
    what.add_argument("--points", metavar="FILE", type=Path, help="the points themselves: CSV or Parquet, keys on top")
    what.add_argument("--samples", metavar="N", type=int, help="draw N points; without it: every combination")
    what.add_argument("--sampler", default="sobol", help="sobol (default), halton, latin or random")
    what.add_argument("--seed", type=int, default=0, help="of samples and runs (0)")
    what.add_argument(
        "--repeat", metavar="K", type=int, default=1, help="runs at each point, with seeds of their own (1)"
    )
    what.add_argument("--seed-key", metavar="KEY", action="append", default=[], help="key that takes each run's seed")
    what.add_argument("--set", metavar="key=value", action="append", default=[], help="override a key in all runs")
    kept = parser.add_argument_group("what is kept")
    kept.add_argument("--out", metavar="DIR", type=Path, help="folder of the sweep (out/NAME_sweep)")
    kept.add_argument(
        "--keep", choices=("recordings", "scalars"), default="recordings", help="of each run (recordings)"
    )
    kept.add_argument(
        "--result", metavar="NAME", action="append", default=[],
        help="scalar for the table, with .first, .min, .max or .mean where not the last (all, last)",
    )  # fmt: skip
    kept.add_argument("--resume", action="store_true", help="do what is missing of a sweep that was stopped")
    kept.add_argument("--retry-failed", action="store_true", help="the same, and do runs that failed again")
    kept.add_argument(
        "--trust", action="store_true", help="with --resume: import the Python file that the folder names"
    )
    where = parser.add_argument_group("where it runs")
    where.add_argument("--workers", metavar="N", type=int, help="processes (by cores and memory); 0: here, one by one")
    where.add_argument("--threads", metavar="N", type=int, default=1, help="threads each run may use (1)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://10.0.0.1:8786")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.ensemble import Sweep, SweepInterrupted

    going_on = arguments.resume or arguments.retry_failed
    if arguments.trust and not (going_on and arguments.out and arguments.scene is None):
        raise LinkworkError("--trust belongs to --resume --out DIR without a scene or function.")
    if arguments.scene is None:
        if not (going_on and arguments.out):
            raise LinkworkError("sweep needs a scene or file.py:function; --resume needs --out DIR.")
        if arguments.vary or arguments.points or arguments.set:
            raise LinkworkError(
                "a sweep that goes on keeps its points and settings; leave --vary, --points and --set out."
            )
        sweep = _kept_sweep(arguments)
    elif going_on and arguments.out and _names_function_only(arguments):
        from linkwork.ensemble.functions import read_function

        sweep = Sweep.of(arguments.out, read_function(arguments.scene))
    else:
        sweep = _new_sweep(arguments)
    out = arguments.out or OUT / f"{Path(sweep.plan.title).name}_sweep"
    if not arguments.quiet:
        print(f"{sweep.plan.title}: {count(len(sweep))} runs over {', '.join(sweep.plan.names) or 'seeds'}")
    began = time.perf_counter()
    try:
        table = sweep.run(
            out,
            workers=arguments.workers,
            threads=arguments.threads,
            scheduler=arguments.scheduler,
            resume=going_on,
            retry_failed=arguments.retry_failed,
            progress=False if arguments.quiet else None,
            on_start=None if arguments.quiet else lambda words: print(f"{words}", file=sys.stderr),
        )
    except SweepInterrupted as stop:
        print(
            f"linkwork: stopped after {count(len(stop.table))} of {count(len(sweep))} runs; all of them are kept.\n"
            f"Go on with: linkwork sweep {_function_words(sweep)}--resume --out {short(out)}",
            file=sys.stderr,
        )
        return INTERRUPTED
    if not arguments.quiet:
        for line in summary(table, out, time.perf_counter() - began):
            print(line)
    return DONE


def _function_words(sweep: Sweep) -> str:
    """What names the function of a sweep on the command line; nothing for scenes."""
    subject = sweep.plan.subject
    if not sweep.plan.is_function or subject["file"] is None:
        return ""
    return f"{short(Path(subject['file']))}:{subject['name']} "


def _kept_sweep(arguments: argparse.Namespace) -> Sweep:
    """The sweep of a folder. What it names is imported only where the user says so."""
    from linkwork.ensemble import Sweep
    from linkwork.ensemble.functions import trusted_function

    sweep = Sweep.of(arguments.out)
    if arguments.trust and sweep.plan.is_function:
        sweep = Sweep.of(arguments.out, trusted_function(sweep.plan.subject))
    return sweep


def _names_function_only(arguments: argparse.Namespace) -> bool:
    """Whether the command goes on with a sweep and names no more than its function."""
    from linkwork.ensemble.functions import names_function

    return names_function(arguments.scene) and not (arguments.vary or arguments.points or arguments.set)


def _new_sweep(arguments: argparse.Namespace) -> Sweep:
    from linkwork.ensemble import Sweep
    from linkwork.ensemble.functions import names_function, read_function

    if arguments.points is not None and arguments.vary:
        raise LinkworkError("--points lists the points and --vary spans them; choose one.")
    is_function = names_function(arguments.scene)
    return Sweep(
        read_function(arguments.scene) if is_function else arguments.scene,
        arguments.points or arguments.vary,
        arguments.samples,
        sampler=arguments.sampler,
        seed=arguments.seed,
        repeat=arguments.repeat,
        settings=arguments.set,
        seed_keys=arguments.seed_key,
        keep=arguments.keep,
        results=arguments.result,
    )


def summary(table: SweepTable, out: Path, took: float) -> list[str]:
    """What a sweep came to, in a few lines."""
    failed = table.failed
    lines = [f"{count(len(table))} runs, {count(len(failed))} failed; this took {seconds(took)}"]
    for run in failed[:SHOWN_ERRORS]:
        lines.append(f"  run {run}: {table.error(run).splitlines()[0]}")
    if len(failed) > SHOWN_ERRORS:
        lines.append(f"  ... and {len(failed) - SHOWN_ERRORS} more; column 'error' of the table has all")
    return [*lines, f"table in '{short(out)}/table.csv'; look at it with: linkwork plot {short(out)}"]
