"""`python -m benchmarks.contact --scenes 0:10000 --workers 16 --seconds 500 --out FILE`: cases of contact on many cores.

Prints at the end of each kind of case how many were made, failed, gained energy, and the share of unconverged steps; ends
by itself at the limit of time with what is known then. FILE is a journal: the same command goes on where it ended.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from . import at_random, campaign, dropped, lasting, parallel, walls

SPOKEN = 20.0  # [s] between two lines of progress


def whole_range(text: str) -> range:
    first, _, last = text.rpartition(":")
    return range(int(first or 0), int(last))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contact", description=__doc__)
    parser.add_argument("--scenes", metavar="A:B", type=whole_range, default=range(0), help="random scenes, A to B - 1")
    parser.add_argument("--throws", metavar="A:B", type=whole_range, default=range(0), help="bodies thrown at walls")
    parser.add_argument("--seeds", metavar="A:B", type=whole_range, default=range(0), help="drops of every robot")
    parser.add_argument("--robot", metavar="NAME", help="drop this one only")
    parser.add_argument("--lasting", action="store_true", help="ropes, belts and nets for a minute each")
    parser.add_argument("--workers", metavar="P", type=int, default=os.cpu_count() or 1, help="processes (all cores)")
    parser.add_argument("--seconds", metavar="S", type=float, help="of the clock after which it ends (none)")
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("out/contact_cases.jsonl"), help="the journal")
    return parser.parse_args()


def jobs_of(options: argparse.Namespace) -> list[parallel.Job]:
    """Long ones first, so that none is left alone at the end."""
    jobs = [("lasting", name) for name in lasting.CASES] if options.lasting else []
    names = [name for name, _ in dropped.robots() if options.robot in (None, name)] if options.seeds else []
    jobs += [("drop", f"{name}/{seed}") for seed in options.seeds for name in names]
    jobs += [("throw", str(k)) for k in options.throws]
    return jobs + [("scene", str(k)) for k in options.scenes]


def summary(kind: str, found: dict[str, parallel.Row], asked: int) -> list[str]:
    """What became of the cases of one kind, in lines."""
    failed = {name: row["failure"] for name, row in found.items() if row["failure"]}
    most = {"throw": walls.GAIN, "scene": campaign.MOST_GAIN, "lasting": lasting.MOST_GAIN}.get(kind)
    gained = (
        {} if most is None else {name: row["gain"] for name, row in found.items() if not row.get("gain", 0.0) <= most}
    )
    steps = sum(row.get("steps", 0) for row in found.values())
    lines = [f"{kind}: {len(found):,} of {asked:,} made, {len(failed)} failed, {len(gained)} gained energy"]
    if steps:
        share = sum(row.get("not_converged", 0) for row in found.values()) / steps
        lines[0] += f", {share:.3%} of {steps:,} steps unconverged"
    if kind == "throw":
        passed = [name for name, row in found.items() if row.get("passed")]
        lines[0] += f", {len(passed)} passed" + (f" ({', '.join(passed)})" if passed else "")
    if kind == "drop":
        lines += of_robots(found)
    lines += [f"  {kind} {name} gained {gain:.2%}" for name, gain in sorted(gained.items(), key=lambda each: -each[1])]
    return lines + [f"  {kind} {name} failed: {text.splitlines()[0][:200]}" for name, text in failed.items()]


def of_robots(found: dict[str, parallel.Row]) -> list[str]:
    """Each robot: force off its weight, unconverged steps."""
    lines = []
    for robot in sorted({name.rsplit("/", 1)[0] for name in found}):
        rows = [row for name, row in found.items() if name.rsplit("/", 1)[0] == robot and not row["failure"]]
        steps = sum(row["steps"] for row in rows)
        if steps:
            off, share = max(abs(row["force"] - 1.0) for row in rows), sum(row["not_converged"] for row in rows) / steps
            over = ", more than 1 %" if off > at_random.MOST_OFF else ""
            lines.append(
                f"  {robot}: {len(rows)} drops, force off its weight by {off:.2%}{over}, {share:.2%} unconverged"
            )
    return lines


def main() -> None:
    options = arguments()
    begun = time.monotonic()
    jobs = jobs_of(options)
    spoken = begun

    def tell(done: int, job: parallel.Job, row: parallel.Row) -> None:
        nonlocal spoken
        if row["failure"] or time.monotonic() - spoken > SPOKEN:
            spoken = time.monotonic()
            words = f"failed: {row['failure'][:100]}" if row["failure"] else "held"
            print(f"{spoken - begun:6.0f} s: {done:,} of {len(jobs):,}; {job[0]} {job[1]} {words}", flush=True)

    until = begun + options.seconds if options.seconds else None
    found = parallel.outcomes(jobs, options.out, options.workers, tell, until)
    for kind in parallel.RUNS:
        asked = sum(job[0] == kind for job in jobs)
        if asked:
            print("\n".join(summary(kind, {job[1]: row for job, row in found.items() if job[0] == kind}, asked)))
    print(f"{len(found):,} of {len(jobs):,} cases in {time.monotonic() - begun:.0f} s with {options.workers} processes")


if __name__ == "__main__":
    main()
