"""Gradients: products with the Jacobian of forward dynamics in times of `aba`, full Jacobians beside Pinocchio's, runs.

Every product is checked first: from both sides against each other at all sizes, and against complex steps on trees of all
joint kinds. Times are those of calls from Python, checks included; ratios are taken within one round.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns
from ..harness.peers import pinocchio_peer
from ..reference import complex_runs, complex_steps
from .device import CHAIN, QUICK_CHAIN, on_device
from .ratios import times
from .runs import ADAPTIVE, QUICK_ADAPTIVE, QUICK_RUN, RUN, RUN_INTEGRATORS, adaptive, changing, long_run, runs

CASES = ("products", "runs", "matrices", "device", "long")
SIZES, QUICK_SIZES = (10, 100, 1000, 10_000, 100_000, 1_000_000), (10, 100)
MATRIX_SIZES, QUICK_MATRIX_SIZES = (7, 30, 100, 300), (7, 30)
SEED = 7
ANGLE, SPEED = 3.0, 0.1  # a folded chain, as in `dynamics`: nearly straight ones cost digits
MOST = {"q, v, effort": (5.0, 3.5), "everything": (6.0, 4.5), "along a direction": (3.0, 2.2)}  # times aba: must, goal
FLAT = 2.0  # largest ratio over the smallest, of all sizes
MATRIX_MOST, MATRIX_GOAL = 1.5, 1.0  # times Pinocchio's time
AGREEMENT = 1e-10  # with complex steps, relative
MATRIX_AGREEMENT = 1e-9  # with Pinocchio, relative: rounding times the condition of the mass matrix
KINDS = (
    "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "fixed", "compound",
)  # fmt: skip

STEP_KINDS = tuple(
    kind for kind in KINDS if kind not in ("spherical", "free")
)  # whose springs the judge of steps knows
RULES: dict[str, tuple[Any, dict[str, Any]]] = {  # judges of steps, and settings that they know
    "semi_implicit_euler": (complex_runs.euler_step, {"implicit_joints": False, "keep_momentum": False}),
    "variational": (complex_runs.variational_step, {}),
    "rk4": (complex_runs.rk4_step, {}),
    "kick_drift_kick": (complex_runs.kick_drift_kick_step, {}),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=31, help="turns each contestant takes (31)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most joints (1000000)")
    parser.add_argument(
        "--case", choices=CASES, help="one part alone; 'long' takes minutes and is not part of the rest"
    )


def run(options: argparse.Namespace) -> Report:
    settings = {"quick": options.quick, "rounds": options.rounds, "largest": options.largest, "case": options.case}
    report = Report("gradients", settings, is_judged=not options.quick)
    rounds = 3 if options.quick else options.rounds
    asked = (options.case,) if options.case else CASES[:-1]
    if "products" in asked:
        exactness(report, 2 if options.quick else 10)
        for rule in RULES:
            exact_steps(report, rule, 1 if options.quick else 3)
        products(report, [n for n in (QUICK_SIZES if options.quick else SIZES) if n <= options.largest], rounds)
    if "runs" in asked:
        for integrator in RUN_INTEGRATORS:
            runs(report, integrator, *(QUICK_RUN if options.quick else RUN), rounds)
        for integrator in RUN_INTEGRATORS:
            for every in (10, None):
                adaptive(report, *(QUICK_ADAPTIVE if options.quick else ADAPTIVE), rounds, integrator, every)
            changing(report, *(QUICK_ADAPTIVE if options.quick else ADAPTIVE), rounds, integrator)
    if "matrices" in asked:
        for joints in QUICK_MATRIX_SIZES if options.quick else MATRIX_SIZES:
            matrices(report, joints, rounds)
    if "device" in asked:
        on_device(report, QUICK_CHAIN if options.quick else CHAIN, rounds)
    if "long" in asked:
        long_run(report, *(QUICK_RUN if options.quick else RUN))
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
            ours = getattr(found, "effort" if name == "forcing" else name)
            direction = rng.normal(size=ours.shape)
            plain = complex_steps.derivative(
                lambda x, m=model, s=state: complex_steps.forward_dynamics(m, s, x), at, name, direction
            )
            scale = np.abs(weights) @ np.abs(plain) + np.sum(np.abs(ours * direction))
            worst = max(worst, float(abs(np.sum(ours * direction) - weights @ plain) / scale))
    report.requirements.append(
        Requirement(f"against complex steps, {trees} trees", worst, "apart", f"≤ {AGREEMENT:g}", worst <= AGREEMENT)
    )


def exact_steps(report: Report, rule: str, trees: int) -> None:
    """Gradients of two steps of random trees against complex steps, along random directions of every variable."""
    step, settings = RULES[rule]
    worst, h, count = 0.0, 2e-3, 2
    for seed in range(trees):
        progress(f"complex steps, {rule}, tree {seed + 1} of {trees}")
        model = lw.library.random_tree(5, seed=seed, kinds=STEP_KINDS, options=True).compile()
        rng = np.random.default_rng(seed)
        state, effort = model.random_state(rng, speed=0.5), rng.normal(size=model.nv)
        sim = lw.FullDynamics(model, state, integrator=rule, limits=False, **settings)
        sim.set_efforts(effort)
        by_q, by_v = rng.normal(size=(2, model.nv))
        found = lw.run_with_gradients(sim, h, count).backward(q=by_q, v=by_v)
        at = complex_steps.variables(model, state, effort)
        for name in at._fields:
            if name == "wrenches":
                continue  # runs have loads instead
            ours = getattr(found, "effort" if name == "forcing" else name)
            direction = rng.normal(size=ours.shape)
            moved = at._replace(**{name: getattr(at, name) + 1j * complex_steps.STEP * direction})
            _, end = complex_runs.run(step, model, state, moved, h, count)
            plain_q, plain_v = end.q.imag / complex_steps.STEP, end.v.imag / complex_steps.STEP
            scale = np.abs(by_v) @ np.abs(plain_v) + np.sum(np.abs(ours * direction))
            worst = max(worst, float(abs(np.sum(ours * direction) - by_q @ plain_q - by_v @ plain_v) / scale))
    report.requirements.append(
        Requirement(
            f"two steps by {rule} against complex steps, {trees} trees",
            worst,
            "apart",
            f"≤ {AGREEMENT:g}",
            worst <= AGREEMENT,
        )
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
