"""Cold start: CPU time of the first call of each kind, in a fresh process on one core with an empty kernel cache."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

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
    return report


def measure(call: str) -> dict[str, float]:
    """Seconds of CPU time of a program whose first call is `call`; its kernels are compiled, kept and thrown away."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=True, env=settings
        )
    results: dict[str, float] = json.loads(done.stdout)
    return results
