"""Many cases of contact on many cores: random scenes, throws at walls, dropped robots, ropes that lie for a minute.

A case is its kind and its name. Outcomes are written to a journal, a line of JSON per case, as they come: what was stopped
goes on where it was, with the same code. Kernels are loaded once, before processes are forked.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import linkwork as lw

from . import campaign, dropped, lasting, walls

Job = tuple[str, str]  # kind and name of a case
Row = dict[str, Any]
TINY = 4e-3  # [s] of a run that loads its kernels


def scene(name: str) -> Any:
    """12: that scene; 12@0.5: half a second of it."""
    number, _, seconds = name.partition("@")
    return campaign.outcome(int(number), float(seconds or campaign.SECONDS))


def throw(name: str) -> Any:
    return walls.outcome(walls.case_of(int(name)))


def drop(name: str) -> Any:
    robot, seed = name.rsplit("/", 1)
    return dropped.outcome(robot, dict(dropped.robots())[robot](), int(seed))


def lie(name: str) -> Any:
    return lasting.outcome(name)


RUNS: dict[str, Callable[[str], Any]] = {"scene": scene, "throw": throw, "drop": drop, "lasting": lie}


def one(job: Job) -> tuple[Job, Row]:
    """Runs a case; what it raises is its outcome too."""
    kind, name = job
    try:
        return job, asdict(RUNS[kind](name))
    except Exception as error:
        return job, {"failure": f"{type(error).__name__}: {error}"}


def load_kernels(kind: str) -> None:
    """Runs the least of a kind of case, so that its kernels are there."""
    if kind == "throw":
        for number in (0, 1, 2, 3):
            walls.make(walls.case_of(number))[0].step(walls.H)
    elif kind == "drop":
        dropped.make(lw.library.humanoid(), 0).step(dropped.H)
    elif kind.startswith("lasting"):
        for each in lasting.CASES:
            lasting.outcome(each, TINY)
    else:
        seen = set()
        for number in range(40):
            sim, _, h = campaign.make(number)
            if (type(sim), sim.integrator) not in seen:
                seen.add((type(sim), sim.integrator))
                sim.step(h, 2)


def code_of() -> str:
    """A fingerprint of the library and of these cases: outcomes of other code are not taken over."""
    digest = hashlib.sha256()
    root, here = Path(lw.__file__).parent, Path(__file__).parent
    for file in sorted(root.rglob("*.py")) + sorted(here.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def read_journal(file: Path, code: str) -> dict[Job, Row]:
    """Outcomes that this code has already found; a last line that was cut off is left out."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row.get("code") == code:
            found[row["kind"], row["name"]] = row["outcome"]
    return found


def outcomes(
    jobs: Sequence[Job], journal: Path, workers: int, tell: Callable[[int, Job, Row], None], until: float | None = None
) -> dict[Job, Row]:
    """Outcomes of these cases, as far as they were run. tell(k, job, outcome) is called after each, k in all so far.

    until: value of `time.monotonic` at which it ends, whatever is not done.
    """
    code = code_of()
    wanted = set(jobs)
    found = {job: row for job, row in read_journal(journal, code).items() if job in wanted}
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a", encoding="utf-8") as out:
        for job, row in _run([job for job in jobs if job not in found], workers, until):
            found[job] = row
            line = {"code": code, "kind": job[0], "name": job[1], "outcome": row}
            out.write(json.dumps(line, default=lambda number: number.item()) + "\n")  # NumPy's
            out.flush()
            tell(len(found), job, row)
    return found


def _run(jobs: list[Job], workers: int, until: float | None) -> Iterator[tuple[Job, Row]]:
    if workers == 1 and until is None:
        yield from map(one, jobs)
        return
    kinds = sorted({kind for kind, _ in jobs})
    if not kinds:
        return
    fork = multiprocessing.get_context("fork")
    with fork.Pool(len(kinds)) as pool:  # what is not compiled yet is compiled side by side
        pool.map(load_kernels, kinds)
    for kind in kinds:
        load_kernels(kind)
    with fork.Pool(workers) as pool:
        results = pool.imap_unordered(one, jobs)
        for _ in jobs:
            try:
                yield results.next(None if until is None else max(until - time.monotonic(), 0.0))
            except multiprocessing.TimeoutError:
                return  # leaving ends the processes
