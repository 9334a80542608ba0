"""Gradients: products with the Jacobian of forward dynamics in times of `aba`, and full Jacobians beside Pinocchio's.

Every product is checked first: from both sides against each other at all sizes, and against complex steps on trees of all
joint kinds. Times are those of calls from Python, checks included; ratios are taken within one round.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from collections.abc import Callable

import numpy as np

import linkwork as lw
from linkwork.reference import complex_steps

from .harness import Report, Requirement, Timing, progress, take_turns
from .harness.peers import pinocchio_peer

SIZES, QUICK_SIZES = (10, 100, 1000, 10_000, 100_000, 1_000_000), (10, 100)
MATRIX_SIZES, QUICK_MATRIX_SIZES = (7, 30, 100, 300), (7, 30)
SEED = 7
ANGLE, SPEED = 3.0, 0.1  # a folded chain, as in `dynamics`: nearly straight ones cost digits
MOST = {"q, v, effort": (5.0, 3.5), "everything": (6.0, 4.5), "along a direction": (3.0, 2.2)}  # times aba: must, goal
FLAT = 2.0  # largest ratio over the smallest, of all sizes
MATRIX_MOST, MATRIX_GOAL = 1.5, 1.0  # times Pinocchio's time
AGREEMENT = 1e-10  # with complex steps, relative
MATRIX_AGREEMENT = 1e-9  # with Pinocchio, relative: rounding times the condition of the mass matrix
RUN, QUICK_RUN = (1000, 200), (50, 20)  # joints, steps
RUN_INTEGRATORS = ("semi_implicit_euler", "variational")
ADAPTIVE, QUICK_ADAPTIVE = (50_000, 100, 200), (500, 20, 20)  # joints, active ones, steps
RUN_MOST, RUN_GOAL = 8.0, 5.0  # times the run itself
LONG_RUN, LONG_MEMORY = 100_000, 500e6  # steps, bytes
KINDS = (
    "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "fixed", "compound",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=31, help="turns each contestant takes (31)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most joints (1000000)")


def run(options: argparse.Namespace) -> Report:
    settings = {"quick": options.quick, "rounds": options.rounds, "largest": options.largest}
    report = Report("gradients", settings, is_judged=not options.quick)
    rounds = 3 if options.quick else options.rounds
    exactness(report, 2 if options.quick else 10)
    sizes = [n for n in (QUICK_SIZES if options.quick else SIZES) if n <= options.largest]
    products(report, sizes, rounds)
    for integrator in RUN_INTEGRATORS:
        runs(report, integrator, *(QUICK_RUN if options.quick else RUN), rounds)
    adaptive(report, *(QUICK_ADAPTIVE if options.quick else ADAPTIVE), rounds)
    for joints in QUICK_MATRIX_SIZES if options.quick else MATRIX_SIZES:
        matrices(report, joints, rounds)
    return report


def exactness(report: Report, trees: int) -> None:
    """Gradients of random trees of all joint kinds against complex steps, along random directions of every variable."""
    worst = 0.0
    for seed in range(trees):
        progress(f"complex steps, tree {seed + 1} of {trees}")
        linkage = lw.library.random_tree(12, seed=seed, kinds=KINDS, floating=seed % 2 == 0, options=True)
        model = linkage.compile()
        rng = np.random.default_rng(seed)
        state, effort, weights = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        wrenches = rng.normal(size=(model.n_bodies, 6))
        _, pull = lw.vjp(lw.forward_dynamics, model, state, effort, wrenches)
        found, at = pull(weights), complex_steps.variables(model, state, effort, wrenches)
        for name in at._fields:
            ours = getattr(found, "effort" if name == "drive" else name)
            direction = rng.normal(size=ours.shape)
            plain = complex_steps.derivative(
                lambda x, m=model, s=state: complex_steps.forward_dynamics(m, s, x), at, name, direction
            )
            scale = np.abs(weights) @ np.abs(plain) + np.sum(np.abs(ours * direction))
            worst = max(worst, float(abs(np.sum(ours * direction) - weights @ plain) / scale))
    report.requirements.append(
        Requirement(f"against complex steps, {trees} trees", worst, "apart", f"≤ {AGREEMENT:g}", worst <= AGREEMENT)
    )


class Case:
    """One folded chain in one state."""

    def __init__(self, joints: int):
        progress(f"{joints:,} joints")
        self.model = lw.library.chain(joints=joints).compile()
        rng = np.random.default_rng(SEED)
        self.state = lw.State(rng.uniform(-ANGLE, ANGLE, joints), SPEED * rng.normal(size=joints))
        self.effort, self.weights, self.direction = rng.normal(size=(3, joints))

    def calls(self) -> dict[str, Callable[[], object]]:
        return {
            "aba": lambda: lw.forward_dynamics(self.model, self.state, self.effort),
            "q, v, effort": lambda: self.gradients(("q", "v", "effort")),
            "everything": lambda: self.gradients(None),
            "along a direction": self.along,
        }

    def gradients(self, wrt: tuple[str, ...] | None) -> lw.Gradients:
        _, pull = lw.vjp(lw.forward_dynamics, self.model, self.state, self.effort, wrt=wrt)
        return pull(self.weights)

    def along(self) -> np.ndarray:
        d = self.direction
        return lw.jvp(lw.forward_dynamics, self.model, self.state, self.effort, dq=d, dv=d, deffort=d)

    def difference(self) -> float:
        """Of the two products, λ · (J d) and (Jᵀ λ) · d, relative."""
        found, change = self.gradients(None), self.along()
        left = self.weights @ change
        parts = [x @ self.direction for x in (found.q, found.v, found.effort)]
        scale = np.abs(self.weights) @ np.abs(change) + sum(
            np.abs(x) @ np.abs(self.direction) for x in (found.q, found.v, found.effort)
        )
        return float(abs(left - sum(parts)) / scale)


def products(report: Report, sizes: list[int], rounds: int) -> None:
    ratios: dict[str, dict[int, float]] = {name: {} for name in MOST}
    worst = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # folded chains of many joints cost digits: checked here
        for joints in sizes:
            case = Case(joints)
            worst = max(worst, case.difference())
            timings = take_turns(case.calls(), rounds if joints < 100_000 else min(rounds, 5))
            report.add_timings("forward dynamics", joints, timings)
            for name in MOST:
                ratios[name][joints] = times(timings[name], timings["aba"])
    report.requirements.append(
        Requirement("both products, all sizes", worst, "apart", f"≤ {AGREEMENT:g}", worst <= AGREEMENT)
    )
    for name, (most, goal) in MOST.items():
        for joints, ratio in ratios[name].items():
            report.requirements.append(
                Requirement(
                    f"{name}, {joints:,} joints",
                    ratio,
                    "times aba",
                    f"≤ {most:g}",
                    ratio <= most,
                    f"≤ {goal:g}",
                    ratio <= goal,
                )
            )
    spread = max(ratios["q, v, effort"].values()) / min(ratios["q, v, effort"].values())
    report.requirements.append(
        Requirement("q, v, effort: largest ratio over smallest", spread, "times", f"≤ {FLAT:g}", spread <= FLAT)
    )


def times(one: Timing, other: Timing) -> float:
    """Median over rounds of the ratio of processor times."""
    pairs = zip(one.processor_samples, other.processor_samples, strict=True)
    return statistics.median(a / b for a, b in pairs)


def matrices(report: Report, joints: int, rounds: int) -> None:
    """All of ∂q̈/∂q, ∂q̈/∂v and M⁻¹."""
    case = Case(joints)
    qdd = lw.forward_dynamics(case.model, case.state, case.effort)
    peer = pinocchio_peer(case.model, case.state, case.effort, qdd)
    if peer is None:
        report.notes.append("Pinocchio is not installed (pip install pin): full Jacobians are left out.")
        return
    import pinocchio as pin

    twin, data, (q, v, tau), order = peer.engine
    ours = lw.jacobians(lw.forward_dynamics, case.model, case.state, case.effort)
    pin.computeABADerivatives(twin, data, q, v, tau)
    both = np.ix_(order, order)
    apart = max(
        float(np.linalg.norm(a - b[both]) / np.linalg.norm(b))
        for a, b in ((ours.q, data.ddq_dq), (ours.v, data.ddq_dv))
    )
    timings = take_turns(
        {
            "linkwork": lambda: lw.jacobians(lw.forward_dynamics, case.model, case.state, case.effort),
            "pinocchio": lambda: pin.computeABADerivatives(twin, data, q, v, tau),
        },
        rounds,
    )
    report.add_timings("full Jacobians", joints, timings)
    ratio = times(timings["linkwork"], timings["pinocchio"])
    report.requirements.append(
        Requirement(
            f"full Jacobians, {joints} joints",
            ratio,
            "times Pinocchio's time",
            f"≤ {MATRIX_MOST:g}",
            ratio <= MATRIX_MOST and apart <= MATRIX_AGREEMENT,
            f"≤ {MATRIX_GOAL:g}",
            ratio <= MATRIX_GOAL,
            f"{apart:.0e} apart",
        )
    )


def runs(report: Report, integrator: str, joints: int, steps: int, rounds: int) -> None:
    """The way back through a run, in times of the run; checked by a difference along one direction of velocities."""
    progress(f"run of {joints} joints by {integrator}")
    model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
    rng = np.random.default_rng(SEED)
    start = model.state(rng.uniform(-ANGLE, ANGLE, joints), SPEED * rng.normal(size=joints))
    weights, h = rng.normal(size=joints), 1e-5

    def fresh(v: np.ndarray) -> lw.FullDynamics:
        return lw.FullDynamics(model, lw.State(start.q, v), integrator=integrator)

    def end(v: np.ndarray) -> float:
        sim = fresh(v)
        sim.advance(h, steps)
        return float(weights @ sim.state.v)

    run = lw.run_with_gradients(fresh(start.v), h, steps)
    direction, small = rng.normal(size=joints), 1e-5
    slope = (end(start.v + small * direction) - end(start.v - small * direction)) / (2.0 * small)
    found = run.backward(v=weights).v @ direction
    apart = float(abs(found - slope) / abs(slope))
    sim = fresh(start.v)

    def forward() -> None:
        sim.set_state(start)
        sim.advance(h, steps)

    timings = take_turns({"run": forward, "back": lambda: run.backward(v=weights)}, min(rounds, 5))
    report.add_timings(f"run of {steps} steps, {integrator}", joints, timings)
    ratio = times(timings["back"], timings["run"])
    kept = bytes_kept(run, LONG_RUN)
    report.requirements.append(
        Requirement(
            f"back through {steps} steps by {integrator}, {joints:,} joints",
            ratio,
            "times the run",
            f"≤ {RUN_MOST:g}",
            ratio <= RUN_MOST and apart <= 1e-5,
            f"≤ {RUN_GOAL:g}",
            ratio <= RUN_GOAL,
            f"{apart:.0e} from differences",
        )
    )
    report.requirements.append(
        Requirement(
            f"states kept for {LONG_RUN:,} steps by {integrator}, {joints:,} joints",
            kept / 1e6,
            "MB",
            f"≤ {LONG_MEMORY / 1e6:g} MB",
            kept <= LONG_MEMORY,
        )
    )


def bytes_kept(run: lw.GradientRun, steps: int) -> float:
    """What a run of so many steps keeps at a time: every √steps-th state with all that a step remembers, and the states
    between two of them."""
    one = sum(np.asarray(part).nbytes for part in run.kept_states[0].values())
    every = math.isqrt(steps)
    return steps / every * one + every * 8 * (run.model.nq + run.model.nv)


def adaptive(report: Report, joints: int, active: int, steps: int, rounds: int) -> None:
    """The way back through an adaptive run whose region stays, updates every ten steps, in times of the run."""
    progress(f"adaptive run of {joints:,} joints, {active} active")
    model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
    rng = np.random.default_rng(SEED)
    start, h = model.state(rng.uniform(-ANGLE, ANGLE, joints)), 1e-5
    weights = rng.normal(size=joints)
    efforts = np.zeros(joints)

    def fresh() -> lw.AdaptiveDynamics:
        sim = lw.AdaptiveDynamics(model, start, max_active_joints=0, integrator="semi_implicit_euler")
        for name in model.joint_names[joints - active :]:
            sim.pin_active(name)
        return sim

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # folded chains cost digits: checked here
        sim = fresh()
        run = lw.run_with_gradients(sim, h, steps)
        found = run.backward(v=weights)
        direction, small = rng.normal(size=found.freedoms.size), 1e-5

        def end(size: float) -> float:
            one = fresh()
            pushed = efforts.copy()
            pushed[found.freedoms] = size * direction
            one.set_efforts(pushed)
            one.advance(h, steps)
            return float(weights @ one.state.v)

        slope = (end(small) - end(-small)) / (2.0 * small)
        apart = float(abs(found.effort @ direction - slope) / np.sum(np.abs(found.effort * direction)))
        timings = take_turns(
            {"run": lambda: sim.advance(h, steps), "back": lambda: run.backward(v=weights)}, min(rounds, 5)
        )
    report.add_timings(f"adaptive run of {steps} steps, {found.freedoms.size} active", joints, timings)
    ratio = times(timings["back"], timings["run"])
    report.requirements.append(
        Requirement(
            f"back through an adaptive run, {found.freedoms.size} active of {joints:,}",
            ratio,
            "times the run",
            f"≤ {RUN_MOST:g}",
            ratio <= RUN_MOST and apart <= 1e-5,
            f"≤ {RUN_GOAL:g}",
            ratio <= RUN_GOAL,
            f"{apart:.0e} from differences",
        )
    )
