"""Cold start: CPU time of the first call of each kind, in a fresh process on one core with an empty kernel cache.

With --kept: also with the kernels that such a process left behind, how many they are, and how large, as they are and in a
zip file (what a wheel of kernels would hold); the same for processor levels that a wheel could be made for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from linkwork.core.numba_patches import PATCHES, SWITCH

from .harness import Requirement, TableReport, progress

# what is called first → its code, and the seconds of CPU time allowed from the start of Python to its end
FIRST_CALLS = {
    "forward_dynamics": ("lw.forward_dynamics(model, state)", 5.0),
    "quasi-static solve": ("lw.QuasiStatics(model, state).solve()", 15.0),
    "adaptive step": ("lw.AdaptiveDynamics(model, state).step(1e-3)", 25.0),
    "full step": ("lw.FullDynamics(model, state).step(1e-3)", 10.0),
}
QUICK = ("forward_dynamics",)

PROGRAM = """
import json, os, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import linkwork as lw
imported = time.process_time()
model = lw.library.chain(20).compile()
state = model.state()
{call}
total = time.process_time()
step = 0.0
if {timed}:
    model = lw.library.molecule(2000).compile()
    sim = lw.AdaptiveDynamics(model, model.state(), max_active_joints=100)
    sim.apply_wrench(1000, force=(0.1, 0.0, 0.05))
    sim.advance(1e-4, 200)
    began = time.process_time()
    sim.advance(1e-4, 2000)
    step = (time.process_time() - began) / 2000
print(json.dumps({{"import_s": imported, "total_s": total, "step_s": step}}))
"""


LEVELS = ("", "x86-64-v3", "x86-64-v4")  # processors that kernels are compiled for; "": this one


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kept", action="store_true", help="also with kernels kept, and what they weigh")
    parser.add_argument("--call", choices=tuple(FIRST_CALLS), help="this first call only, not judged")
    parser.add_argument(
        "--patches", action="store_true", help="the same with each exchanged part of Numba left as it is, and with none"
    )


def run(options: argparse.Namespace) -> TableReport:
    names = (options.call,) if options.call else QUICK if options.quick else tuple(FIRST_CALLS)
    report = TableReport("start", {"calls": list(names)}, is_judged=not options.quick and not options.call)
    if options.kept:
        kept_rows(report, options.call or "adaptive step")
        return report
    for name in names:
        call, allowed = FIRST_CALLS[name]
        progress(f"first {name} with an empty kernel cache")
        results = measure(call)
        what = f"first {name}, {results['import_s']:.2f} s of it import"
        met = results["total_s"] <= allowed
        report.requirements.append(Requirement(what, results["total_s"], "s CPU", f"≤ {allowed:g}", met))
        for left_out in (*PATCHES, "all of them") if options.patches else ():
            others = ",".join(part for part in PATCHES if part != left_out) if left_out in PATCHES else "none"
            without = measure(call, **{SWITCH: others})["total_s"]
            what = f"first {name} without {left_out}, {without / results['total_s']:.2f} times"
            report.requirements.append(Requirement(what, without, "s CPU", "", True))
    return report


def measure(call: str, **switches: str) -> dict[str, float]:
    """Seconds of CPU time of a program whose first call is `call`; its kernels are compiled, kept and thrown away."""
    with tempfile.TemporaryDirectory() as cache:
        return measure_in(cache, call, **switches)


def measure_in(cache: str, call: str, timed: bool = False, **switches: str) -> dict[str, float]:
    """The same with a folder of kernels. timed: steps of 100 active joints of 2,000 as well, processor time of one [s]."""
    settings = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **switches,
    }
    program = PROGRAM.format(call=call, timed=timed)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=settings)
    results: dict[str, float] = json.loads(done.stdout)
    return results


def kept_rows(report: TableReport, name: str) -> None:
    """A first call with no kernels, and with those it left; for each level of processors."""
    call, _ = FIRST_CALLS[name]
    rows = []
    for level in LEVELS:
        progress(f"first {name}, kernels for {level or 'this processor'}")
        switch = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""} if level else {}
        with tempfile.TemporaryDirectory() as cache:
            cold = measure_in(cache, call, **switch)
            code = sorted(Path(cache).rglob("*.nb?"))
            sizes = sorted((file.stat().st_size for file in code), reverse=True)
            packed = Path(cache) / "all.zip"
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
                for one in code:
                    file.write(one)
            weight = packed.stat().st_size
            packed.unlink()
            again = measure_in(cache, call, **switch)
            steps = measure_in(cache, call, timed=True, **switch)
        kernels = sum(file.suffix == ".nbc" for file in code)
        found: dict[str, Any] = {
            "case": name, "processor": level or "this one", "cold_s": cold["total_s"], "kept_s": again["total_s"],
            "kernels": kernels, "bytes": sum(sizes), "largest_20_bytes": sum(sizes[:20]), "zipped_bytes": weight,
            "step_s": steps["step_s"],
        }  # fmt: skip
        report.results.append(found)
        weights = [f"{size / 1e6:.1f} MB" for size in (sum(sizes), sum(sizes[:20]), weight)]
        times = [f"{found[key]:.2f} s" for key in ("cold_s", "kept_s")]
        rows.append([found["processor"], *times, f"{kernels}", *weights, f"{1e6 * steps['step_s']:.1f} µs"])
    columns = ["kernels for", "first call, none kept", "kept", "kernels", "size", "largest 20", "zipped", "a step then"]
    report.add_table("kept", f"first {name}", columns, rows)
