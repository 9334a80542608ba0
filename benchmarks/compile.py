"""From `add_body` calls to a compiled model: seconds and peak memory, each size in a fresh process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from .harness import Report, Requirement, progress

# joints → seconds and gigabytes allowed
LIMITS = {50_000: (3.0, None), 1_000_000: (60.0, 8.0)}
QUICK_LIMITS = {500: (3.0, None)}

# Every object its own, as in a user's loop.
PROGRAM = """
import json, resource, sys, time
import linkwork as lw
n = int(sys.argv[1])
lw.library.chain(3).compile()  # the ordering kernel compiles once; its time is left out
start = time.perf_counter()
linkage, parent = lw.Linkage("long"), "world"
for i in range(n):
    name = f"body_{i}"
    linkage.add_body(name, parent, lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, -0.1)),
                     lw.Inertia(1.0, (0, 0, -0.05), (1e-3, 1e-3, 1e-4)))
    parent = name
built = time.perf_counter()
model = linkage.compile()
compiled = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
assert model.n_bodies == model.depth == n
print(json.dumps({"build_s": built - start, "compile_s": compiled - built, "peak_gb": peak / 1e9}))
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joints", type=int, help="this size only, not judged")


def run(options: argparse.Namespace) -> Report:
    limits = QUICK_LIMITS if options.quick else LIMITS
    if options.joints:
        limits = {options.joints: (float("inf"), None)}
    judged = not options.quick and not options.joints
    report = Report("compile", {"joints": list(limits)}, is_judged=judged)
    measure(3)  # fills the kernel cache, so that compiling kernels is in nobody's memory
    for joints, (seconds, gigabytes) in limits.items():
        progress(f"building and compiling {joints:,} joints")
        figures = measure(joints)
        total = figures["build_s"] + figures["compile_s"]
        what = f"build {figures['build_s']:.2f} s and compile {figures['compile_s']:.2f} s, {joints:,} joints"
        report.requirements.append(Requirement(what, total, "s", f"≤ {seconds:g}", total <= seconds))
        peak = figures["peak_gb"]
        allowed = "" if gigabytes is None else f"≤ {gigabytes:g}"
        reached = gigabytes is None or peak <= gigabytes
        report.requirements.append(Requirement(f"peak memory, {joints:,} joints", peak, "GB", allowed, reached))
    return report


def measure(joints: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(joints)], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
