"""What simulations of motion have in common: the linkage that moves, contact, forces from Python, energy, reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.contact.points import add_contact_wrenches
from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag, positive
from linkwork.core.units import given_in
from linkwork.dynamics.inputs import as_state
from linkwork.dynamics.kinematics import world_poses
from linkwork.dynamics.quantities.motion import Energy, Momentum
from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.dynamics.quantities.wrench_efforts import efforts_of_wrenches
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.contact_choice import warn_of_untouched
from linkwork.simulation.energy import kinetic_and_potential
from linkwork.simulation.integrators.names import AUTO, suitable_integrator
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.momentum.momentum import total_momentum
from linkwork.simulation.parts.joint_inputs import NOTHING_DRIVEN, Driven
from linkwork.simulation.parts.moving_linkage import MovingLinkage, Stepping
from linkwork.simulation.parts.part import Part
from linkwork.simulation.reporting.along import along_now
from linkwork.simulation.reporting.energy_watch import EnergyWatch
from linkwork.simulation.reporting.extremes import Moment
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.view import View

if TYPE_CHECKING:
    from linkwork.contact.points import ContactPoint, ContactRows
    from linkwork.simulation.contact_step.contact_state import ContactReport, ContactState

BEYOND = 1e-6  # [rad or m] beyond a limit: steps leave joints that rest there within 1e-8


def chosen_integrator(
    model: Model, integrator: str, implicit: bool, field: Field | None, thermostat: Langevin | None
) -> str:
    """The integrator that was asked for, or for "auto" the one that suits."""
    if integrator != AUTO:
        return integrator
    return suitable_integrator(model, implicit, field is not None, thermostat is not None)


class Dynamics(LinkageSimulation):
    """Motion of a linkage in time, by steps of an integrator.

    Its parts, besides loads and joints: `_moving`, `_contact_state` (None where neither contact nor limits act) and
    `_forces`, which the derived class makes.
    """

    _moving: MovingLinkage

    def __init__(self, model: Model, state: State, how: Stepping, contact: Contact | None, limits: bool):
        """how: steps are made. limits: whether joint limits act."""
        super().__init__(model, State(*as_state(model, state)))
        self.integrator, self.implicit_joints = how.integrator, how.implicit_joints
        self.keep_momentum = flag(how.keep_momentum, "keep_momentum")
        self.rtol, self.atol = positive(how.rtol, "rtol"), positive(how.atol, "atol")
        self._refuse_state(*self._first_state)
        self.contact, self.limits = contact, limits
        warn_of_untouched(model, contact, limits)
        self._contact_settings = "" if contact is None else repr(contact)
        self._contact_state: ContactState | None = None
        if contact is not None or limits:
            from linkwork.simulation.contact_step.contact_state import ContactState

            self._contact_state = ContactState(model, contact, limits, self._first_state)
        self._energy_watch = EnergyWatch()
        self._reported_energy = Energy(0.0, 0.0)

    def _begin_moving(self, tables: Sequence[NDArray[Any]], is_model: bool) -> None:
        """Memory for the linkage that moves, and the kernel that makes its steps."""
        how = Stepping(self.integrator, self.implicit_joints, self.keep_momentum, self.rtol, self.atol)
        self._moving = MovingLinkage(self.model, tables, how, self._contact_state, is_model)
        self._advance = self._moving.kernel()

    @property
    def _parts(self) -> tuple[Part, ...]:
        contact = () if self._contact_state is None else (self._contact_state,)
        return self._loads, self._joints, self._moving, self._forces, *self._own_parts, *contact

    @property
    def _own_parts(self) -> tuple[Part, ...]:
        """Other parts of a derived class; they are restored before contact."""
        return ()

    @property
    def view(self) -> View:
        """The parts that it is made of, for other rooms of the package and for tests: see `simulation.view.View`."""
        moving = self._moving
        arrays = (moving.arrays, moving.constraints, moving.table)
        more = {"parts": self._parts, **self._more_of_view()}
        return View(self._loads, self._joints, *arrays, self._contact_state, self._forces, **more)

    def _more_of_view(self) -> dict[str, Any]:
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------------- what acts

    @property
    def thermostat(self) -> Langevin | None:
        """The thermostat as it was given."""
        return self._forces.settings

    @property
    def thermostat_kind(self) -> str | None:
        """The thermostat and what it was made with, for recordings."""
        return None if self._forces.thermostat is None else repr(self._forces.settings)

    @property
    def contacts(self) -> tuple[ContactPoint, ...]:
        """Where bodies touched each other or an obstacle in the last step; nothing without `contact`."""
        return self._contact_state.points() if self._contact_state is not None else ()

    def contact_wrenches(self) -> FloatArray:
        """What contact did to each body in the last step, shape (n, 6): torque about the body's origin [N·m], then force
        [N], in the axes of the world. Zeros without `contact`. Cost: O(n) and the contacts.
        """
        total = np.zeros((self.model.n_bodies, 6))
        rows = self.contact_rows()
        if rows is not None and rows.ids.shape[0]:
            tree, body, screws, *_ = self.model.arrays
            add_contact_wrenches(rows, world_poses(tree, body, screws, self.state.q), total)
        return total

    def along(self, rod: str | None = None) -> RodForces:
        """Tension, shear, moments, twist and curvature along a rod now, by its name; the only one by default.

        Joints are balanced with the accelerations that all that acts gives; added mass of a fluid is left out of them,
        contact forces are those of the last step. Cost: O(n), and that of loops.
        """
        return along_now(self, getattr(self, "water", None), rod)

    def _contact_efforts(self) -> FloatArray:
        return efforts_of_wrenches(self.model, self.state.q, self.contact_wrenches())

    @property
    def contact_report(self) -> ContactReport | None:
        """What contact and limits did in the last call of `step`; None where neither acts."""
        return self._contact_state.report() if self._contact_state is not None else None

    def contact_rows(self) -> ContactRows | None:
        """`contacts` as arrays, one row each, as recordings keep them; None without `contact`.

        ids: (c, 3) numbers of the body and of the other one (obstacles behind the bodies, the world last), and the state.
        numbers: (c, 11) point [m], normal, gap [m], impulse [N·s], and the step that it acted in [s].
        """
        return None if self._contact_state is None or self.contact is None else self._contact_state.rows()

    def _explain_contact(self, status: int) -> StateError | None:
        """Why a step failed, where contact or limits were the cause."""
        return self._contact_state.explain(status) if self._contact_state is not None else None

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def energy(self) -> Energy:
        """Kinetic, and potential energy of gravity, joint springs and the field [J]. Cost: O(joints that move), and the
        field."""
        self._make_current()
        kinetic, potential = kinetic_and_potential(self._moving.table)
        return Energy(kinetic, potential + self.field_energy if self._forces.act else potential)

    @property
    def momentum(self) -> Momentum:
        """Linear [kg·m/s] and angular momentum [kg·m²/s] about the origin of the world. Cost: O(joints that move)."""
        self._make_current()
        x = np.array(total_momentum(self._moving.table))
        return Momentum(linear=x[3:], angular=x[:3])

    def _forces_and_contact_scalars(self, kinetic: float, velocities: int) -> dict[str, float]:
        """Contacts that press, the energy lost to contact and limits since the beginning [J]; of the field, temperature."""
        found: dict[str, float] = {}
        if self._contact_state is not None:
            if self.contact is not None:
                found["contacts"] = float(self._contact_state.pressing)
            found["contact_energy_lost"] = self._contact_state.all_energy_lost
        return found | self._forces.scalars(kinetic, velocities)

    # ----------------------------------------------------------------------------------------------------------- stepping

    def _step(self, h: float, n: int) -> Energy:
        """n steps of h [s] with a watch on the energy, which is returned."""
        if self._contact_state is not None:
            self._contact_state.clear_totals()
        watch = self._energy_watch
        if not watch.is_new and watch.steps != self.steps_done and self._joints.driven.place.size:
            watch.forget()  # work was done that nobody counted
        if watch.is_new:
            self._watch_energy()
        driven = NOTHING_DRIVEN if watch.is_new or watch.has_warned else self._joints.driven
        if watch.driven is not driven:
            watch.driven, watch.idle = driven, self._work_function(driven) - watch.work
        self.advance(h, n)
        watch.work = self._work_function(driven) - watch.idle
        watch.steps = self.steps_done
        self._reported_energy = energy = self.energy
        self._watch_energy(energy)
        return energy

    def _work_function(self, driven: Driven) -> float:
        """Σ effort · coordinate now [J]: by its change, efforts that stay as they are have worked."""
        return float(driven.effort @ self._coordinates_at(driven.place)) if driven.place.size else 0.0

    def _moment(self, energy: Energy | None = None) -> Moment:
        """Energy, by default of the last report, and the fastest joint now: for the report of a run."""
        energy = energy or self._reported_energy
        return Moment(energy.kinetic, energy.total, *self._fastest())

    def _fastest(self) -> tuple[float, int]:
        """Largest speed of a degree of freedom [rad/s or m/s], and the body on its joint."""
        raise NotImplementedError

    @property
    def _could_gain_energy(self) -> bool:
        """Whether anything acts that could do work, or steps push bodies apart that began inside each other."""
        contact = self._contact_state
        is_pushed_apart = contact is not None and contact.is_pushed_apart
        flows = getattr(self, "water", None) is not None
        return self._loads.are_any or self._joints.could_work or self._forces.are_any or is_pushed_apart or flows

    @property
    def _begins_beyond_limits(self) -> bool:
        """Whether joints are so far beyond limits that act that steps push them back, against whatever holds them there."""
        if not self.limits:
            return False
        rows = np.flatnonzero(self._joints.place >= 0)
        at = self._coordinates_at(self._joints.place[rows])
        lower, upper = self.model.lower[rows] - BEYOND, self.model.upper[rows] + BEYOND
        return bool(((at < lower) | (at > upper)).any())

    def _watch_energy(self, energy: Energy | None = None) -> None:
        """Warns, once, of energy that nothing has put in. Whatever could do work begins the watch anew."""
        if self._could_gain_energy or (self._energy_watch.is_new and self._begins_beyond_limits):
            self._energy_watch.forget()
            return
        now = self.energy if energy is None else energy
        contact = self._contact_state  # at rest in contact the energy varies by what forces give in a step
        kinetic = now.kinetic if contact is None else max(now.kinetic, self._moving.largest_kinetic)
        # What begins inside something is pushed out; of that, the watch may have begun a margin too early.
        pushed = 0.0 if contact is None else contact.margin * contact.weight
        gain = self._energy_watch.check(kinetic, now.total, pushed)
        if gain:
            with given_in(self.units):
                self._energy_watch.warn(gain, self.integrator)

    def _warn_of_long_steps(self, h: float, bodies: NDArray[np.int64] | None = None) -> None:
        """bodies: of the model, for each one that moves; by default they are the same."""
        if self._contact_state is not None:
            self._contact_state.warnings.of_turns(h, bodies)
            self._contact_state.warnings.of_gains(h, self._moving.largest_kinetic)
