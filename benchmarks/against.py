"""How long this checkout takes beside another one: the same calls in turns, each in a process of its own on one core.

    python benchmarks/against.py OTHER [CASE ...] [--rounds N] [--cores N]

OTHER is the folder of a checkout with sources in `src`, say of `git worktree add --detach ../before main`; both run in
this Python with its packages. A ratio is the median over rounds of (this one's processor time / the other's), with
quartiles: above 1 this one is slower. Cases are those that a change of the step, of contact or of the region must not
slow down; each uses calls that both versions know, or is left out with the reason. With `--cores` cases run beside each
other, each on one core.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROUNDS = 15
LEAST = 0.1  # [s] of one sample
READY, GO = "ready", "go"
INTEGRATORS = ["semi_implicit_euler", "variational", "rk4", "dormand_prince", "implicit_midpoint", "kick_drift_kick"]

Call = Callable[[], object]


def from_the_start(sim: Any, h: float, n: int) -> Call:
    """n steps from the same state each time."""
    start = sim.checkpoint()

    def go() -> None:
        sim.restore(start)
        sim.advance(h, n)

    return go


def steps_of(model_name: str, size: int, integrator: str) -> Call:
    import numpy as np

    import linkwork as lw

    model = getattr(lw.library, model_name)(size).compile()
    q = 0.2 * np.sin(np.arange(model.nv))
    state = model.state(model.integrate(model.neutral().q, q), 0.3 * np.cos(np.arange(model.nv)))
    return from_the_start(lw.FullDynamics(model, state, integrator=integrator), 1e-3, 50)


def humanoid_on_floor() -> Call:
    import linkwork as lw

    linkage = lw.library.humanoid()
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[2] = 1.0
    return from_the_start(lw.FullDynamics(model, model.state(q), contact=lw.Contact(friction=0.8)), 1e-3, 600)


def chain_and_peg() -> Any:
    import numpy as np

    import linkwork as lw

    linkage = lw.library.chain(60, radius=0.01)
    linkage.add_obstacle("peg", lw.Cylinder(0.15, 1.0), lw.Pose((0.6, 0.0, -0.6), rpy=(np.pi / 2, 0.0, 0.0)))
    linkage.add_obstacle("floor", lw.Plane(friction=0.8), lw.Pose((0.0, 0.0, -4.0)))
    model = linkage.compile()
    start = model.neutral()
    start.q[0] = -1.2
    return model, start, lw.Contact(friction=0.4, restitution=0.2, self_contact=False)


def full_with_contact() -> Call:
    import linkwork as lw

    model, start, contact = chain_and_peg()
    return from_the_start(lw.FullDynamics(model, start, contact=contact), 1e-3, 600)


def adaptive_with_contact() -> Call:
    import linkwork as lw

    model, start, contact = chain_and_peg()
    sim = lw.AdaptiveDynamics(model, start, contact=contact, max_active_joints=12)
    return from_the_start(sim, 1e-3, 600)


def adaptive(joints: int, active: int | None) -> Call:
    import linkwork as lw

    model = lw.library.molecule(joints).compile()
    how = {} if active is None else {"max_active_joints": active}
    sim = lw.AdaptiveDynamics(model, model.state(), **how)
    sim.apply_wrench(joints // 2, force=(0.1, 0.0, 0.05))
    sim.advance(1e-4, 200)

    def go() -> None:
        sim.advance(1e-4, 1000)

    return go


def quasi_statics() -> Call:
    import linkwork as lw

    model = lw.library.molecule(20_000).compile()
    sim = lw.QuasiStatics(model, model.state(), max_active_joints=100)
    load = sim.apply_wrench(10_000, force=(0.1, 0.0, 0.05))

    def go() -> None:
        for k in range(200):
            sim.change_wrench(load, force=(0.1, 0.0, 0.05 if k % 2 else 0.04))
            sim.step(1e-3)

    return go


def haptics() -> Call:
    import linkwork as lw

    model = lw.library.chain(joints=1000).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=50)
    hand = lw.haptics.HumanHand(lambda t: (0.1 * t, 0.0, 0.0))
    grasp = lw.haptics.grasp(sim, "link_900", hand, stiffness=300.0, damping=3.0)
    return lambda: grasp.session.run(0.2, h=1e-3)


def forward_dynamics() -> Call:
    import linkwork as lw

    model = lw.library.random_tree(2000, seed=1).compile()
    state = model.random_state(1)

    def go() -> None:
        for _ in range(20):
            lw.forward_dynamics(model, state)

    return go


CASES: dict[str, Callable[[], Call]] = {
    "forward dynamics, tree of 2000": forward_dynamics,
    "robots: snake of 12": lambda: steps_of("snake", 12, "semi_implicit_euler"),
    "robots: snake of 50": lambda: steps_of("snake", 50, "semi_implicit_euler"),
    **{f"integrators: {name}": lambda name=name: steps_of("chain", 100, name) for name in INTEGRATORS},  # type: ignore[misc]
    "contact: humanoid on a floor": humanoid_on_floor,
    "contact: chain of 60 and a peg": full_with_contact,
    "contact: the same, 12 active": adaptive_with_contact,
    "adaptive: molecule of 2000, 100 active": lambda: adaptive(2000, 100),
    "adaptive: molecule of 2000, default": lambda: adaptive(2000, None),
    "haptics: hand on a chain of 1000": haptics,
    "quasi-statics: molecule of 20000, 100": quasi_statics,
}


class Row(NamedTuple):
    case: str
    here: str = ""  # [ms] median
    there: str = ""
    ratio: str = ""
    quartiles: str = ""


def work(case: str, root: Path) -> None:
    """A process that times one sample whenever a line comes in."""
    import time

    import linkwork

    if not Path(linkwork.__file__).is_relative_to(root / "src"):
        raise SystemExit(f"there is no package in {root / 'src'}")
    go = CASES[case]()
    go()
    began = time.process_time()
    go()
    calls = max(1, round(LEAST / max(time.process_time() - began, 1e-6)))
    print(READY, flush=True)
    for _ in sys.stdin:
        began = time.process_time()
        for _ in range(calls):
            go()
        print((time.process_time() - began) / calls, flush=True)


class Side:
    """One checkout's process for a case."""

    def __init__(self, root: Path, case: str, core: int | None):
        places = os.pathsep.join(filter(None, (str(root / "src"), os.environ.get("PYTHONPATH"))))
        env = {**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, __file__, "--work", case, str(root)]
        self.process = subprocess.Popen(
            words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, [core])
        self.fault = "" if self._line() == READY else self._last_words()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def _last_words(self) -> str:
        lines = self.process.communicate()[1].strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    def sample(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(GO + "\n")
        self.process.stdin.flush()
        return float(self._line())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.communicate()


def compare(case: str, here: Path, there: Path, rounds: int, core: int | None) -> Row:
    sides = [Side(here, case, core), Side(there, case, core)]
    for side, name in zip(sides, ("here", "there"), strict=True):
        if side.fault:
            for other in sides:
                other.end()
            return Row(case, f"  does not run {name}: {side.fault}")
    own, other = [], []
    for k in range(rounds):
        for side, samples in ((sides[0], own), (sides[1], other))[:: 1 if k % 2 else -1]:
            samples.append(side.sample())
    for side in sides:
        side.end()
    ratios = [a / b for a, b in zip(own, other, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    times = (f"{1e3 * statistics.median(samples):.2f}" for samples in (own, other))
    return Row(case, *times, f"{middle:.3f}", f"{low:.3f} to {high:.3f}")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases (all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cores", type=int, default=1, help="cases at a time, each on a core of its own")
    given = parser.parse_args(words)
    here = Path(__file__).resolve().parents[1]
    wanted = [case for case in CASES if not given.cases or any(word in case for word in given.cases)]
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    free = list(cores[: given.cores])

    def one(case: str) -> Row:
        core = free.pop()
        try:
            return compare(case, here, given.other.resolve(), given.rounds, core)
        finally:
            free.append(core)

    print(f"{'case':40}{'here ms':>10}{'there ms':>10}{'ratio':>8}  quartiles", flush=True)
    with ThreadPoolExecutor(max(1, len(free))) as pool:
        for row in pool.map(one, wanted):
            line = f"{row.case:40}{row.here:>10}{row.there:>10}{row.ratio:>8}  {row.quartiles}"
            print(line.rstrip(), flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:]))
