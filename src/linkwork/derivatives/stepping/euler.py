"""A step of semi-implicit Euler, backwards.

It is forward dynamics of a linkage with more damping and armature (`joint_laws`), then v₁ = v + h q̈ and q⁺ = q ⊕ h v₁. Free
joints go straight on (`free_joints`), floating trees keep their momentum (`floating`), loads held by the world turn against
their bodies (`world_loads`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel
from linkwork.derivatives import forward
from linkwork.derivatives.jacobians import jacobians
from linkwork.derivatives.kinematics import Moving
from linkwork.derivatives.stepping.accelerations import solve
from linkwork.derivatives.stepping.exponential import integrate_adjoint, integrate_tangent
from linkwork.derivatives.stepping.floating import FloatingTrees, Weights
from linkwork.derivatives.stepping.free_joints import FreeJoints, MoveGradients
from linkwork.derivatives.stepping.joint_laws import JointLaws
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Linearized, Seen, StepGradients, StepMap
from linkwork.derivatives.stepping.world_loads import WorldLoads
from linkwork.derivatives.sweeps.joint_parts import springs_adjoint
from linkwork.derivatives.sweeps.kinematic_sweeps import spring_pulls
from linkwork.dynamics.api import forward_dynamics
from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.model import layout
from linkwork.model.compile.floating_trees import floating_trees
from linkwork.model.model import Model
from linkwork.model.state import State

EVERY_GRADIENT = frozenset(forward.KNOWN)


@kernel
def springs_of(tree, dof, rest, bodies, q, mu, by_q, by_dof):
    """Adds the gradient of μ · k r, the springs of the joints of some bodies, to `by_q`."""
    for i in bodies:
        springs_adjoint(tree, dof, rest, i, q, mu, by_q, by_dof)


class ByContact(NamedTuple):
    """Gradients by way of the impulses of contact and limits: of q, of v before the step, of v + h q̈, (nv,) each."""

    q: FloatArray
    v: FloatArray
    faster: FloatArray


class HasContact(Protocol):
    """Contact and limits in a step, as wrenches on bodies (n, 6) and efforts on joints (nv,) that are constant in it."""

    wrenches: FloatArray
    efforts: FloatArray

    def half_way(self, total: FloatArray, wrenches: FloatArray | None) -> Any:
        """A step that takes forces of inertia half way, where bodies turn fast; total, wrenches: what else acts."""
        ...

    def back(self, v: FloatArray, by_wrenches: FloatArray, by_efforts: FloatArray, pull: Any) -> ByContact:
        """v: v + h q̈. pull: of forward dynamics."""
        ...

    def carried_back(self, by_wrenches: FloatArray) -> FloatArray:
        """Gradient with respect to q of by_wrenches · (wrenches), impulses held, shape (nv,)."""
        ...


class EulerStep(StepMap):
    """The map of one step of h [s] of a simulation, under its present motors and loads."""

    def __init__(self, sim: Any, h: float):
        self.h = h
        self.model: Model = sim.model
        saved = sim.checkpoint()
        motor = np.asarray(saved["motor"], dtype=float)
        self.laws = JointLaws(self.model, motor, h if sim.implicit_joints else 0.0)
        self.loads = WorldLoads.of_simulation(self.model, sim.loads, saved)
        self.free = FreeJoints(self.model)
        self.floating: FloatingTrees | None = None
        if np.asarray(saved["kept_momentum"]).size:
            self.floating = FloatingTrees(self.model.without_loops, *floating_trees(self.model))
        self.closing: Any = None  # how loops are closed: set by `simulation.backward`
        self._pull = None if self.model.loops else forward.ForwardPull(self.laws.stepped, EVERY_GRADIENT)

    def _solve(self, before: State, effort: FloatArray, wrenches: FloatArray | None) -> tuple[FloatArray, Any]:
        """Accelerations of the stepped linkage, and the way back; in memory that the next step uses again."""
        if self._pull is None:
            return solve(self.laws.stepped, before, effort, wrenches)
        given = NO_WRENCHES if wrenches is None else wrenches
        qdd = forward.solve_in(self.laws.stepped, before.q, before.v, effort, given, self._pull.work)
        return qdd, self._pull.of

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        """Gradients before the step from those after it, by_q (along the tangent there) and by_v, each (nv,)."""
        h, laws = self.h, self.laws
        total = effort + laws.set_laws(before, after.v)
        wrenches = self.loads.wrenches(before)
        contact = self.contact_impulses(before, after, seen)
        fast = None
        if contact is not None:
            fast = contact.half_way(total, wrenches)
            total = total + contact.efforts
            wrenches = contact.wrenches if wrenches is None else wrenches + contact.wrenches
        qdd, pull = self._solve(before, total, wrenches) if fast is None else (fast.qdd, fast.pull)
        v, turning = before.v + h * qdd, before.v if fast is None else fast.u
        self.free.speed_up(turning, v, h)
        way = _Way(self, before, after, v, wrenches) if self.floating is not None else None
        if way is not None:
            by_q, by_v = way.end(by_q, by_v)
        shut: Any = None
        if self.closing is not None:
            end = self.closing.at(self._end(before, v if way is None else way.u, v), 1.0 / self.h)
            if way is None:  # else the bases moved on from there
                end.refuse_others(after)
            shut = end.back(by_q, by_v)
            by_q, by_v = shut.q, shut.v
        moved = self._move_back(v if way is None else way.u, v, by_q, by_v)
        faster = moved.v + (moved.u if way is None else way.turn(moved.u))
        by_qdd, more = h * faster, None
        if way is not None:
            more = way.begin(total, qdd)
            by_qdd = by_qdd + more.qdd
        found: Any = pull(by_qdd)  # every gradient is there
        if contact is not None:
            by_wrenches = found.wrenches if more is None else found.wrenches + more.wrenches
            by_contact = contact.back(
                v, by_wrenches, found.effort if more is None else found.effort + more.effort, pull
            )
            faster = faster + by_contact.faster
            found = pull(by_qdd + h * by_contact.faster)
            by_wrenches = found.wrenches if more is None else found.wrenches + more.wrenches
            moved.q[:] += by_contact.q + contact.carried_back(by_wrenches)
        turned = self.free.speed_up_back(turning, faster, h)
        if fast is not None:
            found, turned = fast.rest(found, turned), np.zeros_like(turned)
        stiffness, damping, armature = laws.own_gradients(found)
        if shut is not None:
            found = replace(found, inertias=found.inertias + shut.inertias)
            armature = armature + shut.armature
        before_v = faster + found.v + turned
        if contact is not None:
            before_v = before_v + by_contact.v
        if more is None:
            q = moved.q + found.q + self.loads.back(before, found.wrenches)
            rest = (found.effort, found.inertias, found.gravity, stiffness, damping, armature)
            return StepGradients(q, before_v, *rest)
        q = moved.q + found.q + more.q + self.loads.back(before, found.wrenches + more.wrenches)
        own = laws.own_gradients(more)
        return StepGradients(
            q,
            before_v + more.v,
            found.effort + more.effort,
            found.inertias + more.inertias,
            found.gravity + more.gravity,
            stiffness + own[0],
            damping + own[1],
            armature,  # a base with armature is not one of those
        )

    def _end(self, before: State, u: FloatArray, v: FloatArray) -> State:
        """Where velocities v, of which u move coordinates, bring a linkage, before its loops are closed."""
        q, turned = self.model.integrate(before.q, u, self.h), v.copy()
        self.free.advance(before.q, q, u, turned, self.h)
        return State(q, turned)

    def _move_back(self, u: FloatArray, v: FloatArray, by_q: FloatArray, by_v: FloatArray) -> MoveGradients:
        """From weights of q ⊕ h u, and of the velocities v in the axes they have then."""
        nv = self.model.nv
        before, moved = np.empty((nv, 1)), np.empty((nv, 1))
        integrate_adjoint(
            self.model.arrays.tree, u[:, None], self.h, np.ascontiguousarray(by_q)[:, None], before, moved
        )
        found = MoveGradients(before[:, 0], moved[:, 0], by_v.copy())
        if self.free.turn.size:
            self.free.move_back(self.h, u, v, by_q, by_v, found)
        return found

    def contact_impulses(self, before: State, after: State, seen: Seen) -> HasContact | None:
        """What contact and limits of joints did in the step, where they did anything."""
        return None

    @property
    def has_matrices(self) -> bool:
        """Whether `matrices` covers the step: neither loads held by the world nor free joints, nor kept momentum."""
        return not (self.loads.count or self.free.turn.size or self.floating is not None)

    def along(self, before: State, after: State, effort: FloatArray, change: FloatArray) -> FloatArray:
        """The matrices times a change of q, v and efforts, (3 nv,), without them; (2 nv,)."""
        nv, h, tree = self.model.nv, self.h, self.model.arrays.tree
        dq, dv, dtau = (np.ascontiguousarray(part) for part in np.split(change, 3))
        total, wrenches = effort + self.laws.set_laws(before, after.v), self.loads.wrenches(before)
        stepped = self.laws.stepped
        v = before.v + h * forward_dynamics(stepped, before, total, wrenches)
        faster = dv + h * forward.jvp(stepped, before, total, wrenches, dq=dq, dv=dv, deffort=dtau)
        moved = np.empty((nv, 1))
        integrate_tangent(tree, v[:, None], h, dq[:, None], faster[:, None].copy(), moved)
        return np.concatenate([moved[:, 0], faster])

    def matrices(self, before: State, after: State, effort: FloatArray) -> Linearized:
        """The step as matrices, from those of forward dynamics."""
        nv, h, tree = self.model.nv, self.h, self.model.arrays.tree
        total, wrenches = effort + self.laws.set_laws(before, after.v), self.loads.wrenches(before)
        J = jacobians(forward_dynamics, self.laws.stepped, before, total, wrenches)
        v = before.v + h * forward_dynamics(self.laws.stepped, before, total, wrenches)
        one, none = np.eye(nv), np.zeros((nv, nv))
        dv = np.hstack([h * J[0], one + h * J[1], h * J[2]])
        dq = np.hstack([one, none, none])
        moved = np.empty_like(dv)
        integrate_tangent(tree, v[:, None], h, dq, dv, moved)
        whole = np.vstack([moved, dv])
        return Linearized(whole[:, : 2 * nv].copy(), whole[:, 2 * nv :].copy())


class _More:
    """Gradients that floating trees add; of the stepped linkage, as those of `forward.vjp`."""

    q: FloatArray
    v: FloatArray
    qdd: FloatArray
    effort: FloatArray
    wrenches: FloatArray
    inertias: FloatArray
    gravity: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    armature: FloatArray


class _Way:
    """The floating trees in one step, from its end to its beginning: `end`, `turn`, `begin`."""

    def __init__(self, step: EulerStep, before: State, after: State, v: FloatArray, wrenches: FloatArray | None):
        assert step.floating is not None
        self.step, self.trees, self.h, self.wrenches = step, step.floating, step.h, wrenches
        self.at, self.then = Moving(step.model, before), Moving(step.model, after)
        start, end = self.trees.sums(self.at), self.trees.sums(self.then)
        self.sums = start._replace(linear=end.linear, angular=end.angular)
        self.u = v.copy()
        self.turns = self.trees.spins(self.at, self.sums, v, self.h) if self.trees.single.size else None
        if self.turns is not None:
            self.u[self.trees.turn[self.trees.single]] = self.turns.turns() / self.h

    def end(self, by_q: FloatArray, by_v: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts, self.weights = self.trees.end_back(self.then, by_q, by_v, self.h)
        self.inertias = parts.inertias
        self.q = np.zeros_like(by_q)
        return parts.q, parts.v

    def turn(self, by_u: FloatArray) -> FloatArray:
        """What velocities v + h q̈ get from those that move coordinates."""
        if self.turns is None:
            return by_u
        rows, out = self.trees.turn[self.trees.single], by_u.copy()
        q, w, inertias = self.trees.spin_back(self.at, self.sums, self.turns, by_u[rows] / self.h, self.weights)
        out[rows] = w
        self.q[rows] += q
        self.inertias[self.trees.base[self.trees.single]] += inertias
        return out

    def begin(self, effort: FloatArray, qdd: FloatArray) -> _More:
        trees, at, h, weights = self.trees, self.at, self.h, self.weights
        parts, gravity, Z = trees.begin_back(at, weights, self.wrenches, h)
        more = _More()
        more.q, more.v = self.q + parts.q, parts.v
        more.inertias, more.gravity, more.wrenches = self.inertias + parts.inertias, gravity, h * Z
        self._efforts(more, weights, Z, effort, qdd)
        return more

    def _efforts(self, more: _More, weights: Weights, Z: FloatArray, effort: FloatArray, qdd: FloatArray) -> None:
        """Impulses of the joints between the world and the bases: h (τ - k r - d v - a q̈)."""
        at, trees, arrays = self.at, self.trees, self.step.laws.stepped.arrays
        weighted = trees.effort_weights(at, weights, Z, self.h)
        dof, pulls, by_dof = arrays.dof, np.empty(at.v.size), np.zeros((at.v.size, layout.DOF_COLUMNS))
        d, a = dof[:, layout.DAMPING], dof[:, layout.ARMATURE]
        spring_pulls(arrays.tree, dof, arrays.rest, at.q, at.v, pulls)
        given = effort - pulls - a * qdd
        more.q = more.q + trees.effort_turns(weights, Z, given, self.h)
        springs_of(arrays.tree, dof, arrays.rest, trees.base, at.q, -weighted, more.q, by_dof)
        more.v = more.v - d * weighted
        more.qdd, more.effort = -a * weighted, weighted
        more.stiffness, more.damping, more.armature = (
            by_dof[:, layout.STIFFNESS],
            -at.v * weighted,
            -qdd * weighted,
        )
