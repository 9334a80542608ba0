"""Forward and inverse dynamics of revolute joints against Pinocchio and MuJoCo, from 1,000 to 1,000,000 joints, and steps.

Every contestant gets the same mechanism, state and efforts; the answers are compared before anything is timed. One call
is one call from Python, checks included. Steps of `FullDynamics` are compared with the compiled `aba` they rest on.
"""

from __future__ import annotations

import argparse
import gc
import statistics
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba
from linkwork.model.model import ModelArrays

from .harness import Report, Requirement, Timing, progress, resident_bytes, take_turns
from .harness.peers import Peer, mujoco_peer, pinocchio_peer
from .harness.stepping import MANY, call_requirements, step_calls, time_per_step

SHAPES: dict[str, Callable[[int], lw.Linkage]] = {
    "chain": lambda joints: lw.library.chain(joints=joints),
    "binary tree": lambda joints: lw.library.binary_tree(joints=joints),
    "random tree": lambda joints: lw.library.random_tree(joints=joints, seed=1),
}
SEED = 7
# The random state [rad, rad/s]. A chain folded at random is far better conditioned than a nearly straight one, whose
# accelerations any engine that factors a mass matrix gets to 6 digits only; the time of a call is the same.
ANGLE, SPEED = 3.0, 0.1

AGREEMENT = 1e-8  # relative, in the largest entry: rounding times the condition of a mass matrix of 1,000 joints
RESIDUAL = 1e-12  # relative: rounding alone, since inverse dynamics inverts nothing
MUJOCO_CHAIN = 80.0  # times faster
MUJOCO_TREE = 1.3  # times its time, at most
COST_SPREAD = 2.0  # largest cost of a joint over the smallest
BYTES_PER_JOINT = 1500.0
STEP_OF_KERNEL = {12: 2.0, 100: 1.3}  # joints: times the aba kernel that a step of FullDynamics may take
STEP = 1e-7  # [s] so short that thousands of steps stay near the state they began at
PROOF_STEPS = 20
STEP_AGREEMENT = 1e-9  # of velocities after PROOF_STEPS, relative: rounding times the condition of the mass matrix


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=101, help="turns each contestant takes (101)")
    parser.add_argument("--largest", type=int, default=1_000_000, help="most joints of the scaling cases (1000000)")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="which shapes (all)")


def run(options: argparse.Namespace) -> Report:
    rounds = 3 if options.quick else options.rounds
    small, middle, large = (10, 30, 50) if options.quick else (100, 300, 1000)
    sizes = [100, 1000] if options.quick else [10**k for k in range(3, 7) if 10**k <= options.largest]
    report = Report("dynamics", {key: getattr(options, key) for key in _OPTIONS}, is_judged=not options.quick)
    for shape in options.shapes:
        for joints in (small, middle):
            against_pinocchio(report, shape, joints, rounds, is_required=joints == middle)
        against_mujoco(report, shape, large, rounds)
    for shape in options.shapes:
        scaling(report, shape, sizes, rounds)
    for joints, most in STEP_OF_KERNEL.items():
        stepping(report, joints, most, rounds)
    return report


_OPTIONS = ("quick", "rounds", "largest", "shapes")


class Case:
    """One mechanism in one state, with the accelerations `aba` finds."""

    def __init__(self, shape: str, joints: int):
        progress(f"{shape}, {joints:,} joints")
        self.shape, self.joints = shape, joints
        self.model = SHAPES[shape](joints).compile()
        rng = np.random.default_rng(SEED)
        self.state = lw.State(rng.uniform(-ANGLE, ANGLE, self.model.nq), SPEED * rng.normal(size=self.model.nv))
        self.effort = rng.normal(size=self.model.nv)
        self.acceleration = self.forward()

    def forward(self) -> np.ndarray:
        return lw.forward_dynamics(self.model, self.state, self.effort)

    def inverse(self) -> np.ndarray:
        return lw.inverse_dynamics(self.model, self.state, self.acceleration)


def against_pinocchio(report: Report, shape: str, joints: int, rounds: int, is_required: bool) -> None:
    case = Case(shape, joints)
    peer = pinocchio_peer(case.model, case.state, case.effort, case.acceleration)
    if peer is None:
        note(report, "Pinocchio is not installed (pip install pin): its cases are left out.")
        return
    prove_equal(case, peer)
    for algorithm, own, theirs in (("aba", case.forward, peer.forward), ("rnea", case.inverse, peer.inverse)):
        timings = take_turns({"linkwork": own, "pinocchio": theirs}, rounds)
        report.add_timings(f"{algorithm}, {shape}", joints, timings)
        ratio = timings["linkwork"].times_faster_than(timings["pinocchio"])
        goal = {("aba", True): 1.5, ("aba", False): 1.0, ("rnea", True): None, ("rnea", False): None}[
            algorithm, is_required
        ]
        report.requirements.append(
            Requirement(
                f"{algorithm}, {shape}, {joints} joints, vs Pinocchio",
                ratio,
                "times faster",
                "≥ 1 times" if is_required else "",
                ratio >= 1.0 or not is_required,
                f"{goal:g} times" if goal else "",
                None if goal is None else ratio >= goal,
            )
        )


def against_mujoco(report: Report, shape: str, joints: int, rounds: int) -> None:
    case = Case(shape, joints)
    peer = mujoco_peer(case.model, case.state, case.effort)
    if peer is None:
        note(report, "MuJoCo is not installed (pip install mujoco): its cases are left out.")
        return
    prove_equal(case, peer)
    timings = take_turns({"linkwork": case.forward, "mujoco": peer.forward}, rounds)
    report.add_timings(f"aba, {shape}", joints, timings)
    report.requirements.append(mujoco_requirement(shape, joints, timings))


def mujoco_requirement(shape: str, joints: int, timings: dict[str, Timing]) -> Requirement:
    ratio = timings["linkwork"].times_faster_than(timings["mujoco"])
    name = f"aba, {shape}, {joints:,} joints, vs MuJoCo"
    if shape == "chain":
        return Requirement(name, ratio, "times faster", f"≥ {MUJOCO_CHAIN:g} times", ratio >= MUJOCO_CHAIN)
    least = 1.0 / MUJOCO_TREE
    required = f"≥ {least:.2f} times (at most {MUJOCO_TREE:g} times its time)" if shape == "binary tree" else ""
    return Requirement(name, ratio, "times faster", required, ratio >= least or not required, "1 times", ratio >= 1.0)


def prove_equal(case: Case, peer: Peer) -> None:
    """Stops the benchmark when a peer answers otherwise: a fast wrong answer is worth nothing."""
    peer.forward()
    check(case, peer.name, "accelerations", peer.acceleration(), case.acceleration)
    if peer.inverse is not None and peer.effort is not None:
        peer.inverse()
        check(case, peer.name, "efforts", peer.effort(), case.inverse())


def check(case: Case, who: str, what: str, theirs: np.ndarray, own: np.ndarray) -> None:
    difference = float(np.abs(theirs - own).max() / np.abs(own).max())
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(
            f"{case.shape}, {case.joints} joints: {what} of linkwork and {who} differ by {difference:.1e} of the largest; "
            f"at most {AGREEMENT:g} is rounding. Nothing was timed."
        )


def prove_solved(case: Case) -> None:
    """Inverse dynamics must give the efforts back, measured by the efforts that would stop all acceleration."""
    bias = lw.inverse_dynamics(case.model, case.state, np.zeros(case.model.nv))
    difference = float(np.abs(case.inverse() - case.effort).max() / np.abs(bias - case.effort).max())
    if not difference <= RESIDUAL:
        raise lw.LinkworkError(
            f"{case.shape}, {case.joints:,} joints: rnea returns the efforts to {difference:.1e} only."
        )


def stepping(report: Report, joints: int, most: float, rounds: int) -> None:
    """A step of `FullDynamics` of a chain against the kernel `aba` at the same state, and one step per call."""
    case = Case("chain", joints)
    model = case.model
    sim = lw.FullDynamics(model, case.state, integrator="semi_implicit_euler")
    for name in model.joint_names:
        sim.set_effort(name, case.effort[model.v_slice(name)])
    prove_steps(case, sim)
    work, dof_work, qdd = np.zeros((model.n_bodies, BODY_WORK)), np.zeros((model.nv, DOF_WORK)), np.zeros(model.nv)
    (q, v), no_wrenches = case.state, np.zeros((0, 6))

    def kernel() -> object:
        return aba(*model.arrays, q, v, case.effort, no_wrenches, work, dof_work, qdd)

    timings = take_turns({"aba kernel": kernel, **step_calls(sim, STEP)}, rounds)
    check(case, "its kernel", "accelerations", qdd, case.acceleration)
    report.add_timings("steps, chain", joints, timings)
    kernels = timings["aba kernel"].processor_samples
    ratio = statistics.median(a / b for a, b in zip(time_per_step(timings, MANY), kernels, strict=True))
    name = f"FullDynamics, chain, {joints} joints"
    report.requirements.append(
        Requirement(f"{name}, {MANY}: a step vs the aba kernel", ratio, "times its time", f"≤ {most:g}", ratio <= most)
    )
    report.requirements += call_requirements(name, timings)


def prove_steps(case: Case, sim: lw.FullDynamics) -> None:
    """The simulation makes the steps of semi-implicit Euler by `forward_dynamics`."""
    q, v = (x.copy() for x in case.state)
    for _ in range(PROOF_STEPS):
        v = v + STEP * lw.forward_dynamics(case.model, lw.State(q, v), case.effort)
        q = case.model.integrate(q, v, STEP)
    sim.step(STEP, PROOF_STEPS)
    difference = float(np.abs(sim.state.v - v).max() / np.abs(v).max())
    if not difference <= STEP_AGREEMENT:
        raise lw.LinkworkError(f"chain, {case.joints} joints: steps differ by {difference:.1e}. Nothing was timed.")


def scaling(report: Report, shape: str, sizes: list[int], rounds: int) -> None:
    """Cost and memory of a joint, from the smallest to the largest size."""
    cases = [Case(shape, joints) for joints in sizes]
    for case in cases:
        prove_solved(case)
    calls = {f"{case.joints}": case.forward for case in cases}
    timings = take_turns(calls, max(3, rounds // 10), sample_time=0.02)
    costs: list[float] = []  # processor time per joint [s]: what other programs take counts against no size
    walls: list[float] = []
    for case in cases:
        timing = timings[f"{case.joints}"]
        counted, measured = memory_per_joint(case)
        report.add_timings(
            f"aba scaling, {shape}", case.joints, {"linkwork": timing},
            bytes_per_joint_counted=counted, bytes_per_joint_measured=measured,
        )  # fmt: skip
        costs.append(timing.processor_median / case.joints)
        walls.append(timing.median / case.joints)
    spread = max(costs) / min(costs)
    span = f"{sizes[0]:,} to {sizes[-1]:,} joints"
    report.requirements.append(
        Requirement(
            f"aba, {shape}, {span}: cost of a joint",
            spread,
            "largest / smallest",
            f"≤ {COST_SPREAD:g}",
            spread <= COST_SPREAD,
            detail=f"{min(costs) * 1e9:.0f} to {max(costs) * 1e9:.0f} ns; by the wall clock {max(walls) / min(walls):.3g}",
        )
    )
    most = counted if measured is None else max(counted, measured)  # of the largest size, where pages do not blur it
    how = f"{counted:.0f} counted" + ("" if measured is None else f", {measured:.0f} measured")
    report.requirements.append(
        Requirement(
            f"aba, {shape}, {sizes[-1]:,} joints: memory",
            most,
            "bytes per joint",
            f"≤ {BYTES_PER_JOINT:g}",
            most <= BYTES_PER_JOINT or sizes[-1] < ENOUGH_TO_MEASURE,
            detail=how,
        )
    )


ENOUGH_TO_MEASURE = 100_000  # joints below which other memory of the process outweighs the arrays


def memory_per_joint(case: Case) -> tuple[float, float | None]:
    """Bytes per joint that `aba` needs: counted over its arrays, and measured as growth of the process."""
    model, state = case.model, case.state
    arrays = (*model.arrays, *state, case.effort, case.acceleration)
    workspace = 8 * (model.n_bodies * BODY_WORK + model.nv * DOF_WORK)
    counted = (sum(array.nbytes for array in arrays) + workspace) / case.joints
    gc.collect()
    before = resident_bytes()
    copies = ModelArrays(*(array.copy() for array in model.arrays))
    for array in copies:
        array.setflags(write=False)
    twin = replace(model, arrays=copies)
    result = lw.forward_dynamics(twin, state.copy(), case.effort.copy())  # the twin brings a workspace of its own
    after = resident_bytes()
    if before is None or after is None or result.size != model.nv:
        return counted, None
    return counted, (after - before) / case.joints


def note(report: Report, text: str) -> None:
    if text not in report.notes:
        report.notes.append(text)
