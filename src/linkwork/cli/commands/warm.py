"""Compiles kernels ahead of their first use, on all cores, so that nothing waits later. The result is kept on disk.

linkwork warm
linkwork warm --workers 1
linkwork warm --list
linkwork warm --only "full dynamics" --only contact
linkwork warm --clear                        deletes what was compiled
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

from linkwork.cli.exit_codes import DONE, INTERRUPTED, REFUSED
from linkwork.cli.screen import console, seconds, table
from linkwork.core.cache_folder import package_stamp, warm_notes
from linkwork.core.checks import integer, one_of
from linkwork.core.messages.progress import progress_bar

NAME = "warm"
SUMMARY = "compile kernels ahead of their first use"

LOOK_EVERY = 0.1  # [s] at what the workers have done

START = "import linkwork as lw; model = lw.library.{model}.compile(); state = model.state(); "
CHAIN, LOOP = START.format(model="chain(20)"), START.format(model="four_bar()")
INTEGRATORS = ("semi_implicit_euler", "rk4", "dormand_prince", "implicit_midpoint", "kick_drift_kick", "variational")
BALL = """
import linkwork as lw
linkage = lw.Linkage("ball and rod")
linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
linkage.add_body(
    "rod", "ball", lw.Revolute((0, 1, 0)), lw.Pose((0.2, 0, 0)), lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Capsule(0.05, 0.1)]
)
linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.099)))
model = linkage.compile(); state = model.state()
"""
HAND = """
sim = lw.AdaptiveDynamics(model, state)
grasp = lw.haptics.grasp(sim, model.body_names[-1], lw.haptics.Pointer())
grasp.session.tick(); grasp.session.step(1e-3); grasp.session.tick()
"""
MOLECULE = """
import sys
import linkwork as lw
try:
    molecule = lw.molecules.peptide("A" * 4, helix=True, seed=1)
    field = molecule.field(engine="numba", cutoff=0.9)
except lw.MissingExtraError:
    sys.exit()  # nothing to compile where proteins cannot be read
lw.FullDynamics(molecule.model, molecule.state, field=field, integrator="kick_drift_kick").step(1e-3)
lw.AdaptiveDynamics(molecule.model, molecule.state, field=field, integrator="kick_drift_kick").step(1e-3)
"""
DEVICE = """
import sys
try:
    lw.forward_dynamics(model, state, algorithm="gpu")
except (lw.MissingExtraError, lw.DeviceError):
    sys.exit()  # nothing to compile where there is no device
"""

# What a run by default settings asks of its simulation, whatever kind it is.
USED = (
    "load = sim.apply_wrench(model.body_names[-1], force=(0, 0, 1)); sim.step(1e-3, 20); "
    "sim.set_wrenches(load, [[0, 0, 0, 0, 1, 0]]); sim.step(1e-3); sim.clear(load); sim.run(1e-3, 2, progress=False); "
    "sim.state, sim.scalars(), sim.checkpoint()"
)
MOVED = "; sim.energy, sim.momentum, sim.efforts"

CLOCK = "import time; print(time.process_time())"

# Independent programs, the longest first. Kernels that two of them share may be compiled twice, at the same time.
PROGRAMS = {
    "adaptive dynamics": CHAIN + "sim = lw.AdaptiveDynamics(model, state); sim.step(1e-3); " + USED + MOVED,
    "adaptive dynamics with loops": LOOP + "lw.AdaptiveDynamics(model, lw.close_loops(model, state)).step(1e-3)",
    "adaptive quasi-statics": CHAIN + "sim = lw.QuasiStatics(model, state); sim.solve(); " + USED,
    "full dynamics": CHAIN
    + f"[lw.FullDynamics(model, state, integrator=i).step(1e-3) for i in {INTEGRATORS}]; "
    + "sim = lw.FullDynamics(model, state); "
    + USED
    + MOVED,
    "full dynamics with loops": LOOP + "lw.FullDynamics(model, lw.close_loops(model, state)).step(1e-3)",
    "contact": BALL + "lw.FullDynamics(model, state, contact=lw.Contact()).step(1e-3)",
    "adaptive dynamics with contact": BALL + "lw.AdaptiveDynamics(model, state, contact=lw.Contact()).step(1e-3)",
    "haptics": CHAIN.rstrip("; ") + HAND,
    "molecules": MOLECULE,
    "gpu": CHAIN.rstrip("; ") + DEVICE,
    "statics": CHAIN + "lw.settle(model, state)",
    "algorithms of forward dynamics": CHAIN
    + "from linkwork.dynamics.api import ALGORITHMS as every; "
    + "[lw.forward_dynamics(model, state, algorithm=name) for name in every if name != 'gpu']",
    "queries": CHAIN + "lw.inverse_dynamics(model, state, [0.0] * model.nv); lw.mass_matrix(model, state); "
    "lw.body_poses(model, state); lw.energy(model, state); lw.momentum(model, state); lw.Response(model, state)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, help="processes at a time (as many as there are cores)")
    parser.add_argument(
        "--only", action="append", metavar="SET", help="this set of kernels; may be given several times"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the sets of kernels and what compiling them saves; compile nothing",
    )
    parser.add_argument("--clear", action="store_true", help="delete all compiled kernels and compile nothing")


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        console().print(table("", ("set of kernels", "compiled", "took", "a first call now", "saves"), _rows(), left=2))
        print(_installed())
        return DONE
    if arguments.clear:
        from linkwork.core.cache_folder import clear_kernels

        count, size = clear_kernels()
        print(f"{count:,} files of compiled kernels are deleted ({size / 2**20:.1f} MiB)")
        return DONE
    workers = integer(arguments.workers or os.cpu_count() or 1, 1, "--workers")
    chosen = arguments.only or list(PROGRAMS)
    for name in chosen:
        one_of(name, PROGRAMS, "set of kernels")
    waiting = [name for name in PROGRAMS if name in chosen]
    return _compile(waiting, workers)


def _installed() -> str:
    """What is said of kernels that were installed ready compiled."""
    from linkwork.core.kernel_cache import kernel_digest
    from linkwork.core.shipped_kernels import shipped_folder

    folder = shipped_folder(kernel_digest)
    if folder is None:
        return "No compiled kernels are installed that fit (package linkwork-kernels)."
    return (
        f"{len(list(folder.iterdir()))} compiled kernels for {folder.name} are installed (linkwork-kernels), and used."
    )


def _notes() -> dict[str, Any]:
    """What was noted when sets were compiled, by their names."""
    try:
        found = json.loads(warm_notes().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _rows() -> list[tuple[str, ...]]:
    """One row per set: whether it is compiled, how long that took, how long its first call takes now, and the rest."""
    notes, stamp = _notes(), package_stamp()
    rows: list[tuple[str, ...]] = []
    for name in PROGRAMS:
        note = notes.get(name)
        if not note:
            rows.append((name, "not by this command", "", "", ""))
            continue
        state = "yes" if note["stamp"] == stamp else "before the package changed"
        cold, now = float(note["cold_s"]), float(note["warm_s"])
        rows.append((name, state, seconds(cold), seconds(now), seconds(max(0.0, cold - now))))
    return rows


def _note(done: dict[str, list[float]]) -> None:
    """Adds processor times of sets, compiling and compiled, to the notes; the longest time of compiling stays."""
    notes, stamp = _notes(), package_stamp()
    for name, (first, again) in done.items():
        before = notes.get(name, {})
        cold = max(first, before["cold_s"]) if before.get("stamp") == stamp else first
        notes[name] = {"stamp": stamp, "cold_s": cold, "warm_s": again}
    with contextlib.suppress(OSError):  # a folder that cannot be written to has no kernels either
        warm_notes().parent.mkdir(parents=True, exist_ok=True)
        warm_notes().write_text(json.dumps(notes), encoding="utf-8")


def _compile(waiting: list[str], workers: int) -> int:
    """Runs the programs of these names, so many at a time; returns an exit code."""
    began, count = time.perf_counter(), len(waiting)
    working: dict[str, subprocess.Popen[str]] = {}
    failed: dict[str, str] = {}
    taken: dict[str, list[float]] = {name: [] for name in waiting}  # processor time of the first run and of another [s]
    try:
        with progress_bar(count, "compiling") as move:
            while waiting or working:
                while waiting and len(working) < workers:
                    name = waiting.pop(0)
                    working[name] = subprocess.Popen(
                        [sys.executable, "-c", f"{PROGRAMS[name]}\n{CLOCK}"],
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                time.sleep(LOOK_EVERY)
                for name in [name for name, process in working.items() if process.poll() is not None]:
                    process = working.pop(name)
                    said, faults = process.communicate()
                    if process.returncode != 0:
                        failed[name] = (faults.strip().splitlines() or ["no message"])[-1]
                    elif said.strip():  # nothing is said where there was nothing to compile
                        taken[name].append(float(said.split()[-1]))
                        if len(taken[name]) < 2:
                            waiting.append(name)
                move(max(0, count - len(waiting) - len(working)), ", ".join(working))
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        for process in working.values():
            process.terminate()
    _note({name: times for name, times in taken.items() if len(times) == 2})
    for name, message in failed.items():
        print(f"linkwork: {name}: {message}", file=sys.stderr)
    print(f"{count - len(failed)} of {count} sets of kernels are ready; this took {_took(began)}")
    return REFUSED if failed else DONE


def _took(began: float) -> str:
    return seconds(time.perf_counter() - began)
