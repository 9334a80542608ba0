"""Cold start: CPU time of the first call of each kind, in a fresh process on one core with an empty kernel cache."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

from linkwork.core.numba_patches import PATCHES, SWITCH

from .harness import Report, Requirement, progress

# what is called first → its code, and the seconds of CPU time allowed from the start of Python to its end
FIRST_CALLS = {
    "forward_dynamics": ("lw.forward_dynamics(model, state)", 8.0),
    "quasi-static solve": ("lw.QuasiStatics(model, state).solve()", 20.0),
    "adaptive step": ("lw.AdaptiveDynamics(model, state).step(1e-3)", 25.0),
    "full step": ("lw.FullDynamics(model, state).step(1e-3)", None),
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
print(json.dumps({{"import_s": imported, "total_s": time.process_time()}}))
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--call", choices=tuple(FIRST_CALLS), help="this first call only, not judged")
    parser.add_argument(
        "--patches", action="store_true", help="the same with each exchanged part of Numba left as it is, and with none"
    )


def run(options: argparse.Namespace) -> Report:
    names = (options.call,) if options.call else QUICK if options.quick else tuple(FIRST_CALLS)
    report = Report("start", {"calls": list(names)}, is_judged=not options.quick and not options.call)
    for name in names:
        call, allowed = FIRST_CALLS[name]
        progress(f"first {name} with an empty kernel cache")
        results = measure(call)
        what = f"first {name}, {results['import_s']:.2f} s of it import"
        bound = "" if allowed is None else f"≤ {allowed:g}"
        met = allowed is None or results["total_s"] <= allowed
        report.requirements.append(Requirement(what, results["total_s"], "s CPU", bound, met))
        for left_out in (*PATCHES, "all of them") if options.patches else ():
            others = ",".join(part for part in PATCHES if part != left_out) if left_out in PATCHES else "none"
            without = measure(call, **{SWITCH: others})["total_s"]
            what = f"first {name} without {left_out}, {without / results['total_s']:.2f} times"
            report.requirements.append(Requirement(what, without, "s CPU", "", True))
    return report


def measure(call: str, **switches: str) -> dict[str, float]:
    """Seconds of CPU time of a program whose first call is `call`; its kernels are compiled, kept and thrown away."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {
            **os.environ,
            "NUMBA_CACHE_DIR": cache,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **switches,
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=True, env=settings
        )
    results: dict[str, float] = json.loads(done.stdout)
    return results
