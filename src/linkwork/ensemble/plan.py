"""The plan of a sweep, kept in its folder: everything that decides its runs, so that `--resume` needs nothing else.

sweep.json says what is run and how; points.jsonl has the parameters of each run, one line per run. Both are written before
the first run, and never again.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linkwork.ensemble.design import Points
from linkwork.ensemble.work import SweepError
from linkwork.errors import FormatError, LinkworkError

PLAN, POINTS = "sweep.json", "points.jsonl"
FORMAT, FORMAT_VERSION = "linkwork sweep", 1
WORDS = {
    "subject": "the scene or function",
    "names": "which parameters vary",
    "rows": "the values of the parameters",
    "seed": "the seed",
    "seed_keys": "which keys take the seed",
    "results": "which results are kept",
    "keep": "what is kept of each run",
}


@dataclass(frozen=True)
class Plan:
    """What is run: parameters of every run, and what is kept of each."""

    subject: dict[str, Any]  # {"kind": "scene", given, source, ...} or {"kind": "function", name}
    names: tuple[str, ...]  # of the parameters
    rows: list[tuple[Any, ...]]  # by run
    seed: int
    seed_keys: tuple[str, ...]
    results: tuple[str, ...]
    keep: str

    @property
    def title(self) -> str:
        return str(self.subject["name"])

    def parameters(self, run: int) -> dict[str, Any]:
        return dict(zip(self.names, self.rows[run], strict=True))


def write_plan(folder: Path, plan: Plan) -> None:
    """The points first: a folder with a plan has all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    data = asdict(plan)
    rows = data.pop("rows")
    about = {"format": FORMAT, "format_version": FORMAT_VERSION, "runs": len(rows), **data}
    try:
        _write(folder / POINTS, "".join(json.dumps(row) + "\n" for row in rows))
        _write(folder / PLAN, json.dumps(about, indent=1) + "\n")
    except OSError as error:
        raise SweepError(f"cannot begin the sweep in '{folder}': {error.strerror}. Nothing was run.") from error


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_plan(folder: Path) -> Plan:
    path = folder / PLAN
    if not path.is_file():
        raise FormatError(f"'{folder}' is not a sweep of Linkwork: it holds no {PLAN}.")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
            raise FormatError(f"{path}: this sweep has another format than this version of Linkwork reads.")
        rows = [tuple(json.loads(line)) for line in (folder / POINTS).read_text(encoding="utf-8").splitlines()]
        plan = Plan(
            about["subject"],
            tuple(about["names"]),
            rows,
            about["seed"],
            tuple(about["seed_keys"]),
            tuple(about["results"]),
            about["keep"],
        )
        complete = len(rows) == about["runs"] and all(len(row) == len(plan.names) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"sweep '{folder}' is damaged: {error!r}. Restore {PLAN} and {POINTS} from a copy.") from None
    if not complete:
        raise FormatError(f"sweep '{folder}' is damaged: {POINTS} does not have the points of {about['runs']} runs.")
    return plan


def refuse_other(kept: Plan, wanted: Plan, folder: Path) -> None:
    """A sweep goes on only as it began."""
    wanted = as_kept(wanted)
    other = [words for name, words in WORDS.items() if getattr(kept, name) != getattr(wanted, name)]
    if other:
        raise LinkworkError(
            f"the sweep in '{folder}' was begun otherwise; different are {', '.join(other)}. Go on with the kept plan "
            f"(linkwork sweep --resume --out {folder}), or choose another folder."
        )


def as_kept(plan: Plan) -> Plan:
    """As reading gives it: lists in place of tuples within values."""
    subject, rows = json.loads(json.dumps(plan.subject)), json.loads(json.dumps(plan.rows))
    points = Points(plan.names, [tuple(row) for row in rows])
    return Plan(subject, points.names, points.rows, plan.seed, plan.seed_keys, plan.results, plan.keep)
