"""Hostile inputs over all borders: files, scenes, the Python interface, checkpoints, recordings, commands, runs.

Every case follows from seed, border and number. Batches run in processes of their own, so that a crash or a case that does
not come back is counted and named; the number of a case is enough to try it again:
`python -m benchmarks.adversary.batch BORDER SEED NUMBER 1`.
"""

from __future__ import annotations

import argparse
import collections
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

from ..harness import Requirement, TableReport, progress

# Borders, and the part of all cases that each gets: those that take long get few.
SHARES = {
    "files": 0.3,
    "scenes": 0.03,
    "api": 0.36,
    "checkpoints": 0.2,
    "recordings": 0.03,
    "commands": 0.04,
    "molecules": 0.04,
    "sweeps": 0.05,
    "shapes": 0.05,
    "threads": 0.02,
    "contact": 0.04,
    "devices": 0.05,
}
BORDERS = tuple(SHARES)
COUNT, QUICK_COUNT, BATCH = 100_000, 60, 1000
HANG = 10.0  # [s of its processor] that a case may take
WAITING = 60.0  # [s] without a sign, whatever it computes: who waits for a lock computes nothing
STARTING = 300.0  # [s] until the first case is done, and for compiling a function
SHOWN = 12  # kinds of faults that are listed with their smallest case
SOUND = ("taken", "refused")
COMPILING = "compiling"  # what a batch says while it compiles


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=COUNT, help=f"cases over all borders ({COUNT:,})")
    parser.add_argument("--seed", type=int, default=1, help="of all cases (1)")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time, whatever is left")
    parser.add_argument("--border", choices=BORDERS, action="append", help="these borders only; may be given again")


def run(options: argparse.Namespace) -> TableReport:
    count = QUICK_COUNT if options.quick else options.count
    borders = tuple(options.border or BORDERS)
    report = TableReport("adversary", {"count": count, "seed": options.seed}, is_judged=True)
    until = None if options.seconds is None else time.monotonic() + options.seconds
    rows, totals = [], collections.Counter[str]()
    faults: dict[str, tuple[int, str]] = {}  # kind of fault → how often, first case
    for k, border in enumerate(borders):
        weight = SHARES[border] / sum(SHARES[other] for other in borders[k:])
        share = None if until is None else time.monotonic() + (until - time.monotonic()) * weight
        part = max(1, round(count * SHARES[border] / sum(SHARES[other] for other in borders)))
        found = collections.Counter[str]()
        for number, what in cases(border, options.seed, part, share):
            kind = what.partition(" ")[0]
            found[kind] += 1
            if kind not in SOUND:
                times, first = faults.get(f"{border}: {what}", (0, f"{border} {options.seed} {number} 1"))
                faults[f"{border}: {what}"] = (times + 1, first)
        bad = sum(found.values()) - sum(found[kind] for kind in SOUND)
        kinds = ("taken", "refused", "raw", "nan", "changed", "different", "crash", "hang")
        rows.append([border, f"{sum(found.values()):,}", *(f"{found[kind]:,}" for kind in kinds)])
        progress(f"{border}: {sum(found.values()):,} cases, {bad} bad")
        totals += found
    report.add_table(
        "counts",
        "hostile inputs by border",
        ["border", "cases", "taken", "refused", "raw exceptions", "NaN", "changed", "different", "crashes", "hangs"],
        rows,
    )
    listed = sorted(faults.items(), key=lambda item: -item[1][0])[:SHOWN]
    if listed:
        report.add_table("faults", "faults", ["what", "times", "case"], [[k, str(n), c] for k, (n, c) in listed])
    wrong = sum(totals.values()) - sum(totals[kind] for kind in SOUND)
    report.requirements.append(
        Requirement(f"{sum(totals.values()):,} hostile inputs", wrong, "faults", "0", wrong == 0)
    )
    return report


def cases(border: str, seed: int, count: int, until: float | None):  # type: ignore[no-untyped-def]
    """(number, what happened) of all cases of a border."""
    number = 0
    while number < count and (until is None or time.monotonic() < until):
        size = min(BATCH, count - number)
        last = number - 1
        for case, what in batch(border, seed, number, size, until):
            yield case, tried_again(border, seed, case) if what.startswith("hang") else what
            last = case
        if last < number:  # out of time before the first
            return
        number = last + 1


def tried_again(border: str, seed: int, number: int) -> str:
    """What a case does that seemed to hang: where the machine is busy, others may just have been served before it.

    The case before it comes first, so that the time to load everything is not counted.
    """
    first = max(0, number - 1)
    return [what for _, what in batch(border, seed, first, number + 1 - first, None)][-1]


def next_line(lines: queue.Queue[str | None], pid: int, limit: float | None) -> str | None:
    """What a batch says next; queue.Empty where it computes longer than `limit` [s], or is silent for WAITING.

    Processor time, since other programs may be served before it. Without a limit it may take STARTING.
    """
    if limit is None:
        return lines.get(timeout=STARTING)
    before, until = processor_time(pid), time.monotonic() + WAITING
    while True:
        try:
            return lines.get(timeout=1.0)
        except queue.Empty:
            if processor_time(pid) - before > limit or time.monotonic() > until:
                raise


def processor_time(pid: int) -> float:
    """[s] that a process and its threads have computed; the clock's where it has ended or cannot be asked."""
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return time.monotonic()
    return float(times.user + times.system)


def batch(border: str, seed: int, first: int, size: int, until: float | None):  # type: ignore[no-untyped-def]
    """Cases of one process, up to the one that it did not survive."""
    words = [sys.executable, "-m", "benchmarks.adversary.batch", border, str(seed), str(first), str(size)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[2]
    )
    lines: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    begun, done, is_compiling = first, first - 1, False
    try:
        while done < first + size - 1:
            try:
                line = next_line(lines, process.pid, None if done < first or is_compiling else HANG)
            except queue.Empty:
                yield begun, f"hang over {HANG:g} s"
                return
            if line is None:
                yield begun, f"crash with exit code {process.wait()}"
                return
            said = json.loads(line)
            is_compiling = said == COMPILING
            if is_compiling:
                continue
            number, *what = said
            begun = number
            if what:
                done = number
                yield number, what[0]
            if until is not None and time.monotonic() > until:
                return
    finally:
        process.kill()
        process.wait()
