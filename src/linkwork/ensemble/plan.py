"""The plan of a sweep, kept in its folder: everything that decides its runs, so that `--resume` needs nothing else.

sweep.json says what is run and how; points.jsonl has the parameters of each run, one line per run. Both are written before
the first run, and never again. Each carries a checksum, so that damage is an error and never another number; and whatever
the files say is checked before it is used, since a folder may come from anywhere. Reading one imports nothing.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linkwork.core.checks import MOST, shown
from linkwork.ensemble.axes import MOST_RUNS, plain_value
from linkwork.ensemble.design import Points
from linkwork.ensemble.work import RESERVED, SweepError
from linkwork.errors import FormatError, LinkworkError
from linkwork.record.store.checksums import document_sum

PLAN, POINTS = "sweep.json", "points.jsonl"
FORMAT, FORMAT_VERSION = "linkwork sweep", 2
KEEP = ("recordings", "scalars")
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
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
    def is_function(self) -> bool:
        return bool(self.subject["kind"] == "function")

    @property
    def title(self) -> str:
        return str(self.subject["name"])

    def parameters(self, run: int) -> dict[str, Any]:
        return dict(zip(self.names, self.rows[run], strict=True))


def write_plan(folder: Path, plan: Plan) -> None:
    """The points first: a folder with a plan has all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    data = asdict(plan)
    points = "".join(json.dumps(row) + "\n" for row in data.pop("rows"))
    about = {"format": FORMAT, "format_version": FORMAT_VERSION, "runs": len(plan.rows), **data}
    about["points_sum"] = zlib.crc32(points.encode())
    about["sum"] = document_sum(about)
    try:
        _write(folder / POINTS, points)
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
    """The plan of a folder, every part of it checked."""
    path = folder / PLAN
    if not path.is_file():
        raise FormatError(f"'{folder}' is not a sweep of Linkwork: it holds no {PLAN}.")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["format_version"] != FORMAT_VERSION:
            raise FormatError(f"{path}: this sweep has another format than this version of Linkwork reads.")
        _require(about.pop("sum") == document_sum(about), f"{PLAN} is not what was written")
        points = _bytes_of(folder / POINTS)
        _require(about["points_sum"] == zlib.crc32(points), f"{POINTS} is not what was written")
        rows = [tuple(_list(json.loads(line), f"a line of {POINTS}")) for line in points.decode().splitlines()]
        return _checked_plan(about, rows)
    except FormatError:
        raise
    except UNREADABLE as error:
        reason = error if isinstance(error, ValueError) and error.args else repr(error)
        raise FormatError(
            f"sweep '{folder}' is damaged: {reason}. Restore {PLAN} and {POINTS} from a copy, or run the sweep anew."
        ) from None


def _checked_plan(about: dict[str, Any], rows: list[tuple[Any, ...]]) -> Plan:
    """What sweep.json says as a Plan; raises ValueError where it says something that no sweep has."""
    names, seed_keys, results = (_words(about[name], name) for name in ("names", "seed_keys", "results"))
    _require(len(set(names)) == len(names) and not set(names) & set(RESERVED), f"names are {shown(names)}")
    runs, seed, keep = about["runs"], about["seed"], about["keep"]
    _require(type(runs) is int and 0 <= runs <= MOST_RUNS, f"runs is {shown(runs)}")
    _require(len(rows) == runs, f"{POINTS} does not have the points of {runs} runs")
    _require(all(len(row) == len(names) for row in rows), f"a line of {POINTS} does not have {len(names)} values")
    _require(type(seed) is int and 0 <= seed <= MOST, f"seed is {shown(seed)}")
    _require(isinstance(keep, str) and keep in KEEP, f"keep is {shown(keep)}")
    try:
        rows = [tuple(plain_value(value) for value in row) for row in rows]
    except LinkworkError as error:
        raise ValueError(f"{POINTS}: {error}") from None
    return Plan(_checked_subject(about["subject"], names), names, rows, seed, seed_keys, results, keep)


def _checked_subject(subject: Any, names: tuple[str, ...]) -> dict[str, Any]:
    _require(isinstance(subject, dict), f"subject is {shown(subject)}")
    kinds: dict[str, dict[str, Any]] = {
        "function": {"name": str, "file": str | None},
        "scene": {"given": dict, "source": str, "name": str, "folder": str, "text": str | None, "keys": dict},
    }
    kind = subject["kind"]
    _require(isinstance(kind, str) and kind in kinds, f"subject.kind is {shown(kind)}")
    parts = kinds[kind]
    _require(set(subject) == {"kind", *parts}, f"subject has {shown(sorted(subject))}, not kind and {sorted(parts)}")
    for part, meant in parts.items():
        _require(isinstance(subject[part], meant), f"subject.{part} is {shown(subject[part])}")
    if kind == "scene":
        keys = subject["keys"]
        _require(set(keys) == set(names), f"subject.keys are of {shown(sorted(keys))}, not of {shown(names)}")
        _require(all(isinstance(key, str) for key in keys.values()), f"subject.keys are {shown(keys)}")
    found: dict[str, Any] = subject
    return found


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is {shown(value)}, not a list")
    return value


def _words(value: Any, what: str) -> tuple[str, ...]:
    _require(
        all(isinstance(word, str) for word in _list(value, what)), f"{what} is {shown(value)}, not a list of names"
    )
    return tuple(value)


def _bytes_of(path: Path) -> bytes:
    _require(path.is_file(), f"{path.name} is missing")
    return path.read_bytes()


def refuse_other(kept: Plan, wanted: Plan, folder: Path) -> None:
    """A sweep goes on only as it began."""
    wanted = as_stored(wanted)
    other = [words for name, words in WORDS.items() if getattr(kept, name) != getattr(wanted, name)]
    if other:
        raise LinkworkError(
            f"the sweep in '{folder}' was begun otherwise; different are {', '.join(other)}. Go on with the kept plan "
            f"(linkwork sweep --resume --out {folder}), or choose another folder."
        )


def as_stored(plan: Plan) -> Plan:
    """As reading gives it: lists in place of tuples within values."""
    subject, rows = json.loads(json.dumps(plan.subject)), json.loads(json.dumps(plan.rows))
    points = Points(plan.names, [tuple(row) for row in rows])
    return Plan(subject, points.names, points.rows, plan.seed, plan.seed_keys, plan.results, plan.keep)
