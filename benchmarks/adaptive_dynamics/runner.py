"""What the cases of the adaptive dynamics benchmark share: a linkage under forces that travel, full steps of it, proofs.

A full step computes all accelerations by `dca` (one thread) or `aba` and moves all coordinates, v ← v + h q̈, q ← q ⊕ h v.
Expressing the world-fixed forces anew, and keeping the momentum of floating trees, is charged to the adaptive step only.
Times are processor times of the calling thread, which does all the work: short steps dodge other programs, long do not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.model import layout

FloatArray = NDArray[np.float64]

UPDATE_EVERY = 10  # steps
INTEGRATOR = "semi_implicit_euler"  # one evaluation per step: what active joints save shows best
MEASURE = "absolute_joint"  # what the proofs compare with: the largest acceleration of an inactive joint
SEED = 1
TURN, TURN_STEPS = 0.3, 400  # [rad] by which the first force turns the fastest joint in so many steps
AGREEMENT = 1e-9  # of two full simulations, relative to the largest value: rounding times conditioning
JUDGE_ROUNDING = 1e-11  # of aba, relative to the largest acceleration: the judge's own error
MOMENTUM_DRIFT = 1e-9  # relative
PROOF_STEPS, PROOF_UPDATES = 20, 20
EFFORT_ARM = 0.01  # [m] efforts of the momentum proof: the force of the case at this lever
SLOW_TWIST = 1e-3  # [rad/s and m/s] of the base in the momentum proof: its tips, up to 100 m away, must not be torn off


@dataclass(frozen=True)
class Case:
    """A linkage at rest, and world-fixed forces on it, each on a body of a path it may travel along."""

    name: str
    model: lw.Model
    q: FloatArray  # (nq,) start
    path: list[int]  # bodies
    forces: int = 1  # how many act at once, on neighbours in the path
    stride: int = 1  # places along the path by which one of them moves on at every update of the region
    first: int = 0  # place of the first force
    magnitude: float = 1e-3  # [N]

    @property
    def joints(self) -> int:
        """Joints that may be active: the bases of floating trees are not counted."""
        tree = self.model.arrays.tree
        bases = (tree[:, layout.KIND] == layout.FREE) & (tree[:, layout.PARENT] < 0)
        return int(((tree[:, layout.DOF] > 0) & ~bases).sum())

    def state(self) -> lw.State:
        return lw.State(self.q.copy(), np.zeros(self.model.nv))

    def place(self, k: int) -> int:
        return self.path[k % len(self.path)]

    def force(self, k: int) -> FloatArray:
        """The force at a place of the path: a direction of its own, shape (3,) [N]."""
        direction = np.random.default_rng([SEED, k]).normal(size=3)
        return self.magnitude * direction / np.linalg.norm(direction)

    def start_places(self) -> list[int]:
        return [self.first + k for k in range(self.forces)]

    def wrenches(self, state: lw.State, places: list[int]) -> FloatArray:
        """The forces as forward dynamics takes them, in the frames of the bodies, shape (n, 6)."""
        result = np.zeros((self.model.n_bodies, 6))
        R = lw.body_poses(self.model, state)[:, :3, :3]
        for k in places:
            result[self.place(k), 3:] += R[self.place(k)].T @ self.force(k)
        return result

    def acceleration(self, state: lw.State, places: list[int]) -> FloatArray:
        """Every joint's acceleration by `aba`, the judge."""
        return lw.forward_dynamics(self.model, state, wrenches=self.wrenches(state, places), algorithm="aba")

    def step_size(self) -> float:
        """Time step [s] with which the fastest joint, under the forces of the start, turns by TURN in TURN_STEPS."""
        largest = float(np.abs(self.acceleration(self.state(), self.start_places())).max())
        return math.sqrt(2.0 * TURN / largest) / TURN_STEPS


@dataclass
class Runner:
    """An adaptive simulation of a case, led from update to update of its region while the forces stay or travel."""

    case: Case
    h: float
    active: int | None  # joints that may be active; None: all that move at all
    travels: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = {"tolerance": 0.0} if self.active is None else {"max_active_joints": self.active}
        how = {"update_every": UPDATE_EVERY, "measure": MEASURE, "integrator": INTEGRATOR, **limit, **self.options}
        self.sim = lw.AdaptiveDynamics(self.case.model, self.case.state(), **how)
        self.places = self.case.start_places()
        self.loads = [self._applied(k) for k in self.places]
        self.moved = 0

    def _applied(self, k: int) -> Any:
        return self.sim.apply_wrench(self.case.place(k), force=self.case.force(k))

    def travel(self) -> None:
        """One force leaves its body for another, further along the path."""
        if not self.travels:
            return
        which = self.moved % len(self.loads)
        self.sim.clear(self.loads[which])
        self.places[which] += self.case.stride
        self.loads[which] = self._applied(self.places[which])
        self.moved += 1

    def advance(self) -> tuple[float, float]:
        """Steps to the next update of the region, and that update; processor and wall time [s]."""
        busy, start = time.thread_time(), time.perf_counter()
        self.sim.step(self.h, UPDATE_EVERY)
        return time.thread_time() - busy, time.perf_counter() - start

    def prove_bound(self, when: str) -> tuple[float, float]:
        """Largest acceleration of a joint left inactive by an update, by `aba`, and its bound; stops where that fails."""
        before = self.sim.state
        bound = self.sim.update_region(UPDATE_EVERY * self.h).error_bound
        exact = self.case.acceleration(before, self.places)
        hidden = self._inactive_norms(exact)
        largest = float(np.abs(exact).max())
        error = float(hidden.max()) if hidden.size else 0.0
        if not error <= bound * (1.0 + JUDGE_ROUNDING) + JUDGE_ROUNDING * largest:
            raise lw.LinkworkError(
                f"{self.case.name}, {self.active} active, {when}: an inactive joint hides {error:.3e}, "
                f"its bound is {bound:.3e}. Nothing was timed."
            )
        return error, bound

    def _inactive_norms(self, acceleration: FloatArray) -> FloatArray:
        tree = self.case.model.arrays.tree
        inactive = tree[:, layout.DOF] > 0
        inactive[self.sim.active_bodies] = False
        first = tree[:, layout.V]
        starts = first[tree[:, layout.DOF] > 0]
        norms = np.sqrt(np.add.reduceat(np.square(acceleration), starts))
        return norms[inactive[tree[:, layout.DOF] > 0]]


# -------------------------------------------------------------------------------------------------------------- full steps


def full_steps(case: Case, h: float) -> dict[str, Callable[[], object]]:
    """One step of all joints by `dca` (one thread) and by `aba`, proven to agree. Every call moves a state of its own."""
    model = case.model
    solver = DcaSolver(model, threads=1)
    wrenches = case.wrenches(case.state(), case.start_places())
    no_effort, qdd = np.zeros((2, model.nv))
    q, v = case.state()

    def dca() -> None:
        nonlocal q, v
        solver.prepare(q, v, no_effort, wrenches)
        if solver.assemble() >= 0:
            raise lw.LinkworkError(f"{case.name}: dca could not solve a joint.")
        solver.substitute(qdd)
        v = v + h * qdd
        q = model.integrate(q, v, h)

    dca()
    exact = case.acceleration(case.state(), case.start_places())
    _agree(f"{case.name}: dca and aba", qdd, exact, float(np.abs(exact).max()))
    return {"dca": dca, "aba": aba_step(case, h)}


def aba_step(case: Case, h: float) -> Callable[[], None]:
    model, wrenches = case.model, case.wrenches(case.state(), case.start_places())
    q, v = case.state()

    def aba() -> None:
        nonlocal q, v
        v = v + h * lw.forward_dynamics(model, lw.State(q, v), wrenches=wrenches, algorithm="aba")
        q = model.integrate(q, v, h)

    return aba


def full_run(case: Case, h: float, steps: int, hit_steps: int | None = None) -> lw.State:
    """All joints by `aba`, the forces of the start fixed in the world, for the first `hit_steps` steps or always."""
    state = case.state()
    for k in range(steps):
        places = case.start_places() if hit_steps is None or k < hit_steps else []
        v = state.v + h * case.acceleration(state, places)
        state = lw.State(case.model.integrate(state.q, v, h), v)
    return state


def _agree(what: str, values: FloatArray, others: FloatArray, scale: float) -> float:
    difference = float(np.abs(values - others).max() / scale)
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(f"{what} differ by {difference:.1e} of the largest. Nothing was timed.")
    return difference


# ------------------------------------------------------------------------------------------------------------------ proofs


def prove_all_active(case: Case, h: float, steps: int = PROOF_STEPS) -> float:
    """With all joints active the simulation is the full one: largest difference of the velocities, relative."""
    runner = Runner(case, h, None, options={"keep_momentum": False, "implicit_joints": False})
    runner.sim.step(h, steps)
    own, full = runner.sim.state, full_run(case, h, steps)
    _agree(f"{case.name}: coordinates of all joints active and full steps", own.q, full.q, 1.0)
    name = f"{case.name}: velocities of all joints active and full steps"
    return _agree(name, own.v, full.v, float(np.abs(full.v).max()))


def prove_momentum(case: Case, h: float, active: int, updates: int = PROOF_UPDATES) -> tuple[float, int]:
    """Efforts inside a floating linkage change its region and not its momentum: relative drift, region changes."""
    state = case.state()
    base = case.model.v_slice(0)
    state.v[base] = SLOW_TWIST * np.random.default_rng(SEED).normal(size=base.stop - base.start)
    sim = lw.AdaptiveDynamics(
        case.model, state, max_active_joints=active, update_every=UPDATE_EVERY, integrator=INTEGRATOR
    )
    start = sim.momentum
    inside = [body for body in case.path if case.model.parent[body] >= 0]  # an effort on a base would push from outside
    pushed = ""
    for k in range(updates):
        if pushed:
            sim.set_effort(pushed, np.zeros(1))
        pushed = case.model.joint_names[inside[(case.first + k * case.stride) % len(inside)]]
        sim.set_effort(pushed, np.full(1, EFFORT_ARM * case.magnitude))
        sim.step(h, UPDATE_EVERY)
    end = sim.momentum
    drift = max(
        float(np.linalg.norm(end.linear - start.linear) / np.linalg.norm(start.linear)),
        float(np.linalg.norm(end.angular - start.angular) / np.linalg.norm(start.angular)),
    )
    if not drift <= MOMENTUM_DRIFT:
        raise lw.LinkworkError(f"{case.name}: its momentum drifted by {drift:.1e} of itself. Nothing was timed.")
    return drift, sim.report.region_changes
