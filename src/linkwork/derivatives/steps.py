"""Derivatives of one step of a simulation: semi-implicit Euler with implicit springs, dampers and motors.

The step is forward dynamics of a linkage with damping d + h k and armature a + h d + h² k, then v⁺ = v + h q̈ and
q⁺ = q ⊕ h v⁺. Motors without limits are springs and dampers with targets. Loads held by the world turn against their
bodies. Simulations are handed in: this room knows nothing of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.checks import positive, shown
from linkwork.core.describe import table_of_attributes
from linkwork.derivatives import forward
from linkwork.derivatives.exponential import integrate_adjoint, integrate_tangent
from linkwork.derivatives.jacobians import jacobians
from linkwork.derivatives.world_loads import WorldLoads
from linkwork.dynamics.front import forward_dynamics
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.joints import Free
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

EULER = "semi_implicit_euler"
M_STIFFNESS, M_DAMPING, M_POSITION, M_VELOCITY = range(4)  # columns of a simulation's motors


class StepGradients(NamedTuple):
    """Gradients of a number with respect to the state before a step, what acted in it, and the model."""

    q: FloatArray  # (nv,)
    v: FloatArray  # (nv,)
    effort: FloatArray  # (nv,)
    inertias: FloatArray  # (n, 10)
    gravity: FloatArray  # (3,)
    stiffness: FloatArray  # (nv,)
    damping: FloatArray  # (nv,)
    armature: FloatArray  # (nv,)


class Linearized(NamedTuple):
    """One step as matrices: with x = (q, v), dq along the tangent of `Model.integrate`, dx⁺ = A dx + B dτ.

    A: shape (2 nv, 2 nv). B: shape (2 nv, nv), with respect to efforts that act during the step.
    """

    _repr_html_ = table_of_attributes

    A: FloatArray
    B: FloatArray


class EulerStep:
    """The map of one step of h [s] of a simulation, under its present motors and loads."""

    def __init__(self, sim: Any, h: float):
        refuse(sim)
        self.h = h = positive(h, "h")
        self.model: Model = sim.model
        saved = sim.checkpoint()
        dof, motor = self.model.arrays.dof, np.asarray(saved["motor"], dtype=float)
        stiffness, damping = dof[:, layout.STIFFNESS], dof[:, layout.DAMPING]
        if len(saved["driven"]):
            stiffness, damping = stiffness + motor[:, M_STIFFNESS], damping + motor[:, M_DAMPING]
        table = dof.copy()
        table[:, layout.STIFFNESS] = stiffness
        if sim.implicit_joints:
            table[:, layout.DAMPING] = damping + h * stiffness
            table[:, layout.ARMATURE] = dof[:, layout.ARMATURE] + h * damping + h * h * stiffness
        else:
            table[:, layout.DAMPING] = damping
        self.implicit: bool = sim.implicit_joints
        table.setflags(write=False)
        self.stepped = replace(self.model, arrays=self.model.arrays._replace(dof=table))
        self.held = np.zeros(
            self.model.nv
        )  # efforts of motors towards their targets, seen from where springs are slack
        if len(saved["driven"]):
            self.held = motor[:, M_STIFFNESS] * (motor[:, M_POSITION] - _rest(self.model)) + (
                motor[:, M_DAMPING] * motor[:, M_VELOCITY]
            )
        self.loads = WorldLoads(self.model, sim.loads, saved)

    def wrenches(self, state: State) -> FloatArray | None:
        return self.loads.wrenches(state)

    def back(self, state: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray) -> StepGradients:
        """Gradients before the step from those after it, by_q (along the tangent there) and by_v, each (nv,)."""
        h, tree = self.h, self.model.arrays.tree
        qdd, pull = forward.vjp(self.stepped, state, effort + self.held, self.wrenches(state))
        v = state.v + h * qdd
        before, moved = np.empty((self.model.nv, 1)), np.empty((self.model.nv, 1))
        integrate_adjoint(tree, v[:, None], h, np.ascontiguousarray(by_q)[:, None], before, moved)
        after = by_v + moved[:, 0]
        found: Any = pull(h * after)  # every gradient is there
        stiffness, damping = found.stiffness, found.damping
        if self.implicit:
            stiffness = stiffness + h * found.damping + h * h * found.armature
            damping = damping + h * found.armature
        q = before[:, 0] + found.q + self.loads.back(state, found.wrenches)
        return StepGradients(
            q, after + found.v, found.effort, found.inertias, found.gravity, stiffness, damping, found.armature
        )

    def matrices(self, state: State, effort: FloatArray) -> Linearized:
        nv, h, tree = self.model.nv, self.h, self.model.arrays.tree
        if self.loads.count:
            raise StateError(
                "linearize knows no loads held by the world; clear them, or apply them with frame='body'. Products "
                "through runs (run_with_gradients) know them."
            )
        wrenches = self.wrenches(state)
        J = jacobians(forward_dynamics, self.stepped, state, effort + self.held, wrenches)
        qdd = forward_dynamics(self.stepped, state, effort + self.held, wrenches)
        v = state.v + h * qdd
        one, none = np.eye(nv), np.zeros((nv, nv))
        dv = np.hstack([h * J[0], one + h * J[1], h * J[2]])
        dq = np.hstack([one, none, none])
        moved = np.empty_like(dv)
        integrate_tangent(tree, v[:, None], h, dq, dv, moved)
        whole = np.vstack([moved, dv])
        return Linearized(whole[:, : 2 * nv].copy(), whole[:, 2 * nv :].copy())


def _rest(model: Model) -> FloatArray:
    """Where springs are slack, for the joints that motors can drive; zero elsewhere, shape (nv,)."""
    rest = np.zeros(model.nv)
    for row in model.arrays.tree:
        if row[layout.KIND] in (layout.HELICAL, layout.COMPOUND):
            q, v, d = row[layout.Q], row[layout.V], row[layout.DOF]
            rest[v : v + d] = model.arrays.rest[q : q + d]
    return rest


def refuse(sim: Any) -> None:
    """What steps have gradients, and what to do about others."""
    if type(sim).__name__ != "FullDynamics":
        raise StateError(f"gradients of steps are those of lw.FullDynamics, not of {shown(sim)}.")
    if sim.integrator != EULER:
        raise StateError(
            f"steps by '{sim.integrator}' have no gradients yet; make the simulation with integrator='{EULER}'."
        )
    model: Model = sim.model
    if model.loops:
        raise StateError(f"model '{model.name}' has loops; steps of closed linkages have no gradients yet.")
    if sim.algorithm != "aba":
        raise StateError(f"gradients go through algorithm 'aba', not '{sim.algorithm}'; leave algorithm= out.")
    saved = sim.checkpoint()
    if sim.contact is not None or sim.limits:
        raise StateError(
            "steps with contact or joint limits have no gradients yet; leave contact= out, give limits=False."
        )
    if saved["field_kind"] is not None or saved["thermostat_kind"] is not None:
        raise StateError("steps with a field or a thermostat have no gradients yet; leave them out.")
    free = [name for name, joint in zip(model.joint_names, model.joints, strict=True) if isinstance(joint, Free)]
    if free:
        raise StateError(f"joint '{free[0]}' is free; steps of free joints have no gradients yet.")
    if np.asarray(saved["kept_momentum"]).size:
        raise StateError(
            "steps that keep the momentum of planar bases have no gradients yet; make the simulation with "
            "keep_momentum=False."
        )
    driven = np.asarray(saved["motor"])[:, : M_DAMPING + 1].any(axis=1)
    limited = np.isfinite(model.effort_limit) | np.isfinite(model.velocity_limit)
    if (driven & limited).any():
        joint = model.joint_names[model.joint_of(int(np.argmax(driven & limited)))]
        raise StateError(
            f"the motor of joint '{joint}' has limits of effort or speed; gradients know motors without limits only."
        )


def linearize(sim: Any, h: float) -> Linearized:
    """Matrices A, B of one step of h [s] of a `FullDynamics` from its present state: dx⁺ = A dx + B dτ with x = (q, v).

    Semi-implicit Euler; springs, dampers and motors as the simulation takes them. Changes of q are along the tangent of
    `Model.integrate`. Cost: O(nv²).
    """
    step = EulerStep(sim, h)
    effort = np.asarray(sim.checkpoint()["effort"], dtype=float)
    return step.matrices(State(*(part.copy() for part in sim.state)), effort)
