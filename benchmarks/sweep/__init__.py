"""Sweeps: what a run costs beyond itself, two workers against one, memory of the client over 10,000 runs, kernels.

Runs are functions that compute for 0.1 s of processor time, so that what is left of the wall clock is the sweep's own.
Tables on one and two workers are compared with that of one process, byte for byte, before anything is timed. Memory and
kernels are measured in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import linkwork as lw
from linkwork.ensemble.engine import local_client

from ..harness import Requirement, TableReport, fill_in, progress

RUN_TIME = 0.1  # [s] of processor time
SHORT_RUNS, MANY_RUNS = 200, 10_000
OVERHEAD = 0.020  # [s] per run
SPEED_UP = 1.7  # of two workers against one
CLIENT_BYTES = 500e6  # that the client's memory may reach
CASES = ("short", "many", "kernels")

MANY = """
import json, resource, sys
import linkwork as lw

def half(x):
    return {"half": x / 2, "more": x * 3}

if __name__ == "__main__":
    out, runs = sys.argv[1], int(sys.argv[2])
    table = lw.Sweep(half, {"x": range(runs)}).run(out, workers=2, progress=False)
    assert len(table) == runs and not table.failed and table["half"].tolist() == [x / 2 for x in range(runs)]
    print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""
# A second sweep compiles nothing: no file of the cache is written anew. The cache folder is empty at first.
SCENE = """
import sys
import linkwork as lw

if __name__ == "__main__":
    vary = {"model.joints": [20, 30]}
    sweep = lw.Sweep("catheter", vary, settings=["run.duration=0.02"], keep="scalars")
    sweep.run(sys.argv[1], workers=2, progress=False)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, help="which part (all)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    quick, cases = options.quick, (options.case,) if options.case else CASES
    report = TableReport("sweep", {"cases": list(cases)}, is_judged=not quick)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if "short" in cases:
            judge_short(report, folder, 6 if quick else SHORT_RUNS)
        if "many" in cases:
            judge_many(report, folder, 50 if quick else MANY_RUNS)
        if "kernels" in cases and not quick:
            judge_kernels(report, folder)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def busy(x: int) -> dict[str, float]:
    """Computes for RUN_TIME of its thread's processor time, and says how long that took."""
    import time

    began, wall = time.thread_time(), time.perf_counter()
    while time.thread_time() - began < 0.1:
        sum(range(1000))
    return {"twice": 2.0 * x, "wall": time.perf_counter() - wall}


def judge_short(report: TableReport, folder: Path, runs: int) -> None:
    def same(x: int) -> float:
        return x / 3

    alone = lw.Sweep(same, {"x": range(20)})
    alone.run(folder / "alone", workers=0, progress=False)
    took = {}
    for workers in (1, 2):
        progress(f"{runs} runs on {workers} worker(s)")
        with local_client(workers, 1) as client:
            alone.run(folder / f"same_{workers}", client=client, progress=False)
            assert (folder / f"same_{workers}/table.csv").read_bytes() == (folder / "alone/table.csv").read_bytes()
            sweep = lw.Sweep(by_value(busy), {"x": range(runs)})
            began = time.perf_counter()
            table = sweep.run(folder / f"short_{workers}", client=client, progress=False)
            took[workers] = time.perf_counter() - began
            assert table["twice"].tolist() == [2.0 * x for x in range(runs)]
            own = float(table["wall"].sum()) / workers  # what the runs themselves took of the wall clock
            beyond = (took[workers] - own) / runs * workers
        case = f"beyond each run of {RUN_TIME:g} s, {workers} worker{'s' if workers > 1 else ''}"
        detail = f"{runs} runs, {took[workers]:.2f} s"
        report.requirements.append(Requirement(case, 1e3 * beyond, "ms", "≤ 20", beyond <= OVERHEAD, detail=detail))
    ratio = took[1] / took[2]
    detail = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    report.requirements.append(
        Requirement("two workers against one", ratio, "times", f"≥ {SPEED_UP}", ratio >= SPEED_UP, detail=detail)
    )


def by_value(function):  # type: ignore[no-untyped-def]
    """The function so that workers need not import the benchmarks."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
    return function


def judge_many(report: TableReport, folder: Path, runs: int) -> None:
    progress(f"{runs:,} runs in one table")
    said = json.loads(_python(MANY, folder / "many.py", folder / "many", str(runs)).splitlines()[-1])
    case = f"memory of the client, {runs:,} runs"
    peak = said["peak"]
    report.requirements.append(
        Requirement(case, peak / 1e6, "MB", "≤ 500", peak <= CLIENT_BYTES, detail="at its highest")
    )


def judge_kernels(report: TableReport, folder: Path) -> None:
    progress("kernels of two sweeps")
    cache = folder / "cache"
    written = []
    for turn in ("first", "second"):
        _python(SCENE, folder / "scene.py", folder / turn, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)})
        files = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")}
        written.append(files)
    compiled = len(written[0])
    anew = sum(1 for path, at in written[1].items() if written[0].get(path) != at)
    assert compiled > 0
    case = "kernels that a second sweep compiles"
    report.requirements.append(Requirement(case, anew, "files", "0", anew == 0, detail=f"the first wrote {compiled}"))


def _python(program: str, file: Path, *arguments: object, env: dict[str, str] | None = None) -> str:
    file.write_text(program, encoding="utf-8")
    words = [sys.executable, str(file), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout
