"""Hostile inputs over all borders: files, scenes, the Python interface, checkpoints, recordings, commands, runs.

Every case follows from seed, border and number. Batches run in processes of their own, so that a crash or a case that does
not come back is counted and named; the number of a case is enough to try it again:
`python -m benchmarks.adversary.batch BORDER SEED NUMBER 1`.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import math
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..harness import Requirement, TableReport, progress

Tried = tuple[int, str, float]  # number of a case, what happened, seconds of the processor

# Borders, and the part of all cases that each gets: those that take long get few.
SHARES = {
    "files": 0.3,
    "scenes": 0.02,
    "api": 0.36,
    "checkpoints": 0.2,
    "recordings": 0.02,
    "commands": 0.04,
    "molecules": 0.04,
    "sweeps": 0.05,
    "shapes": 0.05,
    "threads": 0.02,
    "contact": 0.01,
    "devices": 0.05,
}
BORDERS = (*SHARES, "arguments")  # the last one, every argument with every odd value, is tried where it is asked for
COUNT, QUICK_COUNT, BATCH = 100_000, 60, 4000
# [s of the processor, without compiling] that a case may take; longer is a hang. A step with contact may be cut into
# 1,024 parts with a solve each, of up to 20 ms where tens of contacts do not converge: 20 s; three times that is too long.
LIMITS = dict.fromkeys(BORDERS, 10.0) | {"contact": 60.0}
WAITING = 120.0  # [s] without a sign from a process that does not compute: who waits for a lock computes nothing
STARTING = 300.0  # [s of the processor] for loading everything, and for compiling one kernel
SHOWN = 12  # kinds of faults that are listed with their smallest case
SOUND = ("taken", "refused")
KINDS = (*SOUND, "raw", "nan", "changed", "different", "crash", "hang")
BEGINS_TO_COMPILE, ENDS_TO_COMPILE = "compiling", "compiled"  # what a batch says meanwhile


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=COUNT, help=f"cases over all borders ({COUNT:,})")
    parser.add_argument("--seed", type=int, default=1, help="of all cases (1)")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time, whatever is left")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time (1)")
    parser.add_argument("--border", choices=BORDERS, action="append", help="these borders only; may be given again")


def run(options: argparse.Namespace) -> TableReport:
    count = QUICK_COUNT if options.quick else options.count
    borders = tuple(options.border or SHARES)
    shares = SHARES | {"arguments": 1.0}
    report = TableReport("adversary", {"count": count, "seed": options.seed}, is_judged=True)
    until = None if options.seconds is None else time.monotonic() + options.seconds
    rows, totals = [], collections.Counter[str]()
    faults: dict[str, tuple[int, str]] = {}  # kind of fault → how often, first case
    for k, border in enumerate(borders):
        weight = shares[border] / sum(shares[other] for other in borders[k:])
        share = None if until is None else time.monotonic() + (until - time.monotonic()) * weight
        part = math.ceil(count * shares[border] / sum(shares[other] for other in borders))
        if border == "arguments":
            from .every_argument import places

            part = min(part, len(places(options.seed)))
        found, slowest, all_seconds = collections.Counter[str](), 0.0, 0.0
        for number, what, seconds in in_parts(border, options.seed, part, share, max(1, options.jobs)):
            kind = what.partition(" ")[0]
            found[kind] += 1
            slowest, all_seconds = max(slowest, seconds), all_seconds + seconds
            if kind not in SOUND:
                times, first = faults.get(f"{border}: {what}", (0, f"{border} {options.seed} {number} 1"))
                faults[f"{border}: {what}"] = (times + 1, first)
        tried = sum(found.values())
        bad = tried - sum(found[kind] for kind in SOUND)
        rows.append([border, f"{tried:,}", *(f"{found[kind]:,}" for kind in KINDS), f"{slowest:.1f} s"])
        progress(f"{border}: {tried:,} cases, {bad} bad, {all_seconds:,.0f} s of the processor")
        totals += found
    report.add_table(
        "counts",
        "hostile inputs by border",
        ["border", "cases", "taken", "refused", "raw exceptions", "NaN", "changed", "different", "crashes", "hangs",
         "slowest"],
        rows,
    )  # fmt: skip
    listed = sorted(faults.items(), key=lambda item: -item[1][0])[:SHOWN]
    if listed:
        report.add_table("faults", "faults", ["what", "times", "case"], [[k, str(n), c] for k, (n, c) in listed])
    wrong = sum(totals.values()) - sum(totals[kind] for kind in SOUND)
    report.requirements.append(
        Requirement(f"{sum(totals.values()):,} hostile inputs", wrong, "faults", "0", wrong == 0)
    )
    return report


def in_parts(border: str, seed: int, count: int, until: float | None, jobs: int) -> Iterator[Tried]:
    """All cases of a border, shared by so many processes."""
    if jobs == 1:
        yield from cases(border, seed, 0, count, until)
        return
    edges = [count * k // jobs for k in range(jobs + 1)]
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(lambda a, b: list(cases(border, seed, a, b, until)), edges, edges[1:])
        yield from itertools.chain.from_iterable(parts)


def cases(border: str, seed: int, first: int, count: int, until: float | None) -> Iterator[Tried]:
    """Number, what happened, and seconds of the processor, of the cases of a border from `first` up to `count`."""
    number = first
    while number < count and (until is None or time.monotonic() < until):
        last = number - 1
        for case, what, seconds in batch(border, seed, number, min(BATCH, count - number), until):
            if what.startswith("hang"):  # where it is loaded already, what was loaded is not counted
                again = list(batch(border, seed, case, 1, None, times=2))
                _, what, seconds = again[-1]
            yield case, what, seconds
            last = case
        if last < number:  # out of time before the first
            return
        number = last + 1


def batch(border: str, seed: int, first: int, size: int, until: float | None, times: int = 1) -> Iterator[Tried]:
    """Cases of one process, up to the one that it did not survive."""
    words = [border, str(seed), str(first), str(size), str(times)]
    watch = Watched([sys.executable, "-m", "benchmarks.adversary.batch", *words])
    limit, begun, done, is_compiling = LIMITS[border], first, first - 1, False
    try:
        while done < first + size - 1:
            try:
                line = watch.next_line(STARTING if done < first or is_compiling else limit)
            except queue.Empty:
                watch.end()  # before whoever asks tries the case again
                yield begun, f"hang over {limit:g} s", limit
                return
            if line is None:
                yield begun, f"crash with exit code {watch.process.wait()}", 0.0
                return
            said = json.loads(line)
            if isinstance(said, str):
                is_compiling = said == BEGINS_TO_COMPILE
                continue
            begun = said[0]
            if len(said) > 1:
                done, what, seconds = said
                yield done, what if seconds <= limit else f"hang over {limit:g} s", seconds
            if until is not None and time.monotonic() > until:
                return
    finally:
        watch.end()


class Watched:
    """A process whose lines are read as they come, with limits of the processor time that it takes for each."""

    def __init__(self, words: list[str]):
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[2]
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def next_line(self, limit: float) -> str | None:
        """The next line, None after the last; queue.Empty where it computes longer than `limit` [s] or waits without end.

        Processor time, since other programs may be served before it.
        """
        before, idle = self._computed(), 0.0
        while True:
            try:
                return self._lines.get(timeout=1.0)
            except queue.Empty:
                now = self._computed()
                idle = 0.0 if now > before else idle + 1.0
                before, limit = now, limit - (now - before)
                if limit < 0.0 or idle > WAITING:
                    raise

    def _computed(self) -> float:
        """[s] that the process and its threads have computed; the clock's where it has ended or cannot be asked."""
        import psutil

        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.Error:
            return time.monotonic()
        return float(times.user + times.system)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
