"""Derivatives of the dynamics of closed chains: the implicit function theorem on the equations of motion with loops.

    ID(q, v, q̈) = τ + Jᵀλ,   J q̈ + J̇ v = 0;        M μ + Jᵀν = w,   J μ = 0

Gradients of w · q̈ are those of -(μ · (ID - Jᵀλ) + ν · (J q̈ + J̇ v)), and μ itself for the efforts. With y = T λ and y' = T ν
in the frame B of a loop, X from its frame A to B, and w_A, V, a twists and accelerations of the frames,

    -μ · Jᵀλ = -y · (w_B - X w_A),        ν · (J q̈ + J̇ v) = y' · (a_B - X a_A + V_B x X V_A + V_B x N (V_B - X V_A))

N takes out of a twist what the loop's joint allows: N (V_B - X V_A) is zero where loops do not slip, its change is not.
A relative motion ξ of the frames changes X u by (X u) x ξ. T, the directions that a loop's joint blocks, is constant in B.
Weights ω on the wrenches Jᵀλ of the bodies stand on the right side of the second line, J μ = -C ω.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.api import RULES, Rule
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.inputs import as_names, as_weights, finite_gradients
from linkwork.derivatives.kinematics import Moving, cross_force
from linkwork.derivatives.stepping.accelerations import SOLVERS
from linkwork.derivatives.sweeps.seeds import accelerations_of, seeded
from linkwork.dynamics.api import solve_dca
from linkwork.dynamics.inputs import as_effort, as_state, as_wrenches, refuse_couplings
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.quantities.motion import body_jacobian
from linkwork.errors import StateError
from linkwork.loops.closing import loop_solver
from linkwork.loops.constrained import LoopSolution, constrained_dynamics
from linkwork.loops.factors import Factors
from linkwork.loops.frames import L_P, L_R
from linkwork.loops.system import LoopPlan, LoopSystem, loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.matrices import motion_matrix

STAGE_GAP = 0.3  # [rad or m] by which stages of a step may open loops, as in `constrained.loop_forces`
SEED, TURNED = 20_260_101, 1e-9  # of a second place of the joints; what the blocked directions may turn by


class ClosedPull:
    """Gradients of w · q̈ for any w (nv,), of a closed chain at the state where it was made."""

    def __init__(self, model: Model, state: State, effort: Any, solution: LoopSolution, asked: frozenset[str]):
        self.model, self.asked, self.plan = model, asked, loop_plan(model)
        tree = model.without_loops
        self.system = LoopSystem(self.plan, state.q, state.v)
        refuse_turning(self.plan, self.system)
        self.at = Moving(tree, state)
        _, self.solve = forward.vjp(tree, state, effort, solution.wrenches, wrt=("effort", "wrenches"))
        _, self.pull = inverse.vjp(tree, state, solution.acceleration, solution.wrenches)
        self.a = accelerations_of(self.pull)
        solver = loop_solver(model)
        solve_dca(solver, state.q, state.v, as_effort(model, effort), np.zeros((0, 6)))
        self.factors = Factors(
            self.system.matrix(solver_paths(solver), solver.assembly.leaf), self.system.free_responses()
        )
        self.reactions = solution.reactions  # T λ of each loop, in B
        self.loop_wrenches = reaction_wrenches(self.plan, self.system, self.reactions)  # on the bodies, (n, 6)

    def __call__(self, weights: ArrayLike, by_wrenches: FloatArray | None = None) -> Gradients:
        """by_wrenches: weights of the wrenches of the loops on the bodies, (n, 6), beside those of q̈."""
        w = as_weights(weights, (self.model.nv,), self.model)
        right = self.system.C @ self.stacked(self.solve(w).wrenches)
        if by_wrenches is not None:
            right += self.system.C @ self.stacked(by_wrenches)
        nu = self.factors.solve(right)
        _, pushed = self.at.back(None, self.system.wrenches(nu))
        mu: Any = self.solve(w - pushed).effort
        found: Any = self.pull(mu)
        virtual = self.virtual_twists(mu)
        if by_wrenches is not None:
            virtual = virtual + by_wrenches
        A, B, G, gravity = self._seeds(nu)
        G += reaction_turns(self.plan, self.system, self.reactions, virtual)
        more: Any = seeded(self.pull, A, B)
        turned, _ = self.at.back(G, None)
        values = {
            "q": -(found.q + more.q + turned),
            "v": -(found.v + more.v),
            "effort": mu,
            "gravity": -(found.gravity + more.gravity + gravity),
            **{name: -getattr(found, name) for name in ("wrenches", "inertias", "stiffness", "damping", "armature")},
        }
        for name in self.asked:
            finite_gradients(values[name], "constrained dynamics")
        return Gradients(**{name: values[name] for name in self.asked})

    def virtual_twists(self, mu: FloatArray) -> FloatArray:
        """Of the bodies, by the velocities μ, (n, 6)."""
        _, twists = self.at.along({"v": mu})
        return twists

    def stacked(self, rows: FloatArray | None) -> FloatArray:
        assert rows is not None
        return stacked(self.plan, rows)

    def _seeds(self, nu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Weights of accelerations, twists and poses of the bodies in ν · (J q̈ + J̇ v), (n, 6) each, and of gravity by the
        acceleration of the world (3,)."""
        n, plan = self.model.n_bodies, self.plan
        A, B, G, gravity = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(3)
        still, fall = np.zeros(6), np.concatenate([np.zeros(3), -self.model.gravity])
        for k, rows in enumerate(plan.rows):
            a, b = plan.ends[k]
            to_a, to_b = plan.to_frame[k]
            X = relative_motion(self.system, k)
            other = self.system.bases[k] @ nu[rows]
            V_A, V_B = (to @ (self.at.twists[i] if i >= 0 else still) for to, i in ((to_a, a), (to_b, b)))
            a_A = X @ to_a @ (self.a[a] if a >= 0 else fall)
            V_A = X @ V_A
            N = _blocked(self.system.bases[k])
            slip = -N @ _cross(V_B, other)  # weights of V_B - X V_A by way of N
            by_b = _cross(V_A + N @ (V_B - V_A), other)
            turned = _cross(a_A, other) + _cross(V_A, _cross(V_B, other) + slip)
            pairs = (
                (b, to_b.T, other, by_b + slip, turned),
                (a, -to_a.T @ X.T, other, _cross(V_B, other) + slip, turned),
            )
            for i, back, by_a, by_v, by_pose in pairs:
                if i >= 0:
                    A[i] += back @ by_a
                    B[i] += back @ by_v
                    G[i] += back @ by_pose
                else:
                    gravity -= (back @ by_a)[3:]
        return A, B, G, gravity


def _blocked(T: FloatArray) -> FloatArray:
    """N, (6, 6): onto the directions that a loop's joint blocks; T: their basis, (6, p)."""
    return np.asarray(T @ np.linalg.pinv(T))


def stacked(plan: LoopPlan, rows: FloatArray) -> FloatArray:
    """Rows of the bodies that loops join, one after the other; zero for the world."""
    return np.where(plan.bodies[:, None] >= 0, rows[np.maximum(plan.bodies, 0)], 0.0).ravel()


def relative_motion(system: LoopSystem, k: int) -> FloatArray:
    """X of loop k: twists of its frame A to its frame B, (6, 6)."""
    row = system.loop[k]
    return motion_matrix(row[L_R : L_R + 9], row[L_P : L_P + 3])


def reaction_wrenches(plan: LoopPlan, system: LoopSystem, reactions: FloatArray) -> FloatArray:
    """What the reactions of loops (in B) do to all bodies, shape (n, 6), each in its body's frame."""
    out = np.zeros((plan.model.n_bodies, 6))
    for k, (a, b) in enumerate(plan.ends):
        to_a, to_b = plan.to_frame[k]
        for i, back in ((b, to_b.T), (a, -to_a.T @ relative_motion(system, k).T)):
            if i >= 0:
                out[i] += back @ reactions[k]
    return out


def reaction_turns(plan: LoopPlan, system: LoopSystem, reactions: FloatArray, virtual: FloatArray) -> FloatArray:
    """Weights of the poses of bodies in -μ · Jᵀλ, by the way reactions turn with the frames of loops, (n, 6)."""
    out = np.zeros((plan.model.n_bodies, 6))
    for k, (a, b) in enumerate(plan.ends):
        to_a, to_b = plan.to_frame[k]
        X = relative_motion(system, k) @ to_a
        if a >= 0:
            turned = -_cross(X @ virtual[a], reactions[k])
            out[a] -= X.T @ turned
            if b >= 0:
                out[b] += to_b.T @ turned
    return out


def _cross(V: FloatArray, F: FloatArray) -> FloatArray:
    return cross_force(V[None], F[None])[0]


def refuse_turning(plan: LoopPlan, system: LoopSystem) -> None:
    """Loops whose blocked directions turn with their joint's coordinates have terms that are not here."""
    if plan.is_constant is None:
        _look_for_turning(plan, system)
        plan.is_constant = True


def _look_for_turning(plan: LoopPlan, system: LoopSystem) -> None:
    joints = plan.joints
    state = joints.random_state(np.random.default_rng(SEED))
    for k, (loop, T) in enumerate(zip(plan.model.loops, system.bases, strict=True)):
        rows = joints.v_slice(k)
        S = body_jacobian(joints, state, k)[:, rows]
        if np.abs(T.T @ S).max(initial=0.0) > TURNED:
            raise StateError(
                f"loop '{loop.name}' is closed by a {type(loop.joint).__name__} joint, whose axes turn against each other; "
                "derivatives know loops closed by hinges, sliders, screws, ball joints, planar and fixed ones. Cut the "
                "loop at another joint."
            )


def closed_vjp(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    wrt: Sequence[str] | None = None,
    **options: Any,
) -> tuple[LoopSolution, Callable[[Any], Gradients]]:
    """The solution, and the way back: weights are those of its accelerations, (nv,)."""
    if options.get("rate"):
        raise StateError("derivatives of constrained_dynamics are those of the exact equations; leave rate= out.")
    refuse_couplings(model, "the derivative of constrained_dynamics")
    asked = as_names(wrt, forward.KNOWN, "constrained_dynamics")
    found = constrained_dynamics(model, state, effort, wrenches, **options)
    q, v = as_state(model, state)
    as_wrenches(model, wrenches)
    return found, ClosedPull(model, State(q.copy(), v.copy()), effort, found, asked)


def closed_jvp(model: Model, state: State, *arguments: Any, **options: Any) -> Any:
    raise StateError("constrained_dynamics has products from the left only: use lw.vjp.")


def step_vjp(
    model: Model, state: State, effort: FloatArray, wrenches: FloatArray | None
) -> tuple[FloatArray, ClosedPull]:
    """Accelerations (nv,) within a step, whose stages may leave the closed shapes, and the way back."""
    found = constrained_dynamics(model, state, effort, wrenches, largest_gap=STAGE_GAP)
    return found.acceleration, ClosedPull(
        model, State(state.q.copy(), state.v.copy()), effort, found, frozenset(forward.KNOWN)
    )


RULES[constrained_dynamics] = Rule(closed_vjp, closed_jvp)
SOLVERS[True] = step_vjp
