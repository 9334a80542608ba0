"""AdaptiveDynamics: dynamics in which only the joints that matter move, and a step costs only what moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.dynamics import checkpoint as region_checkpoint
from linkwork.adaptive.dynamics import energy as region_figures
from linkwork.adaptive.dynamics import step as adaptive_step
from linkwork.adaptive.dynamics.region import keep_path, open_moving, touch_region_path
from linkwork.adaptive.dynamics.step import BEGIN, HOLD, KEEP_MOMENTUM, PREPARE, RUN, UPDATE
from linkwork.adaptive.dynamics.workspace import ACTIVE_COUNT, CHANGE_COUNT, WRENCHED, allocate
from linkwork.adaptive.loads import Loads
from linkwork.adaptive.measures import MEASURES, NO_LIMIT, error_bound
from linkwork.adaptive.quasi_statics.workspace import JOINT_COUNT, LOAD_COUNT, SUM_JOINT, SUM_QUEUE
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.checks import not_negative, positive, whole
from linkwork.dynamics.front import Energy, Momentum
from linkwork.dynamics.inputs import as_array, as_finite_state, explain_failure, refuse_loops
from linkwork.errors import StateError
from linkwork.model.layout import DOF, FIXED, FREE, KIND, PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loads import Load
from linkwork.simulation.motors import MotorVerbs
from linkwork.simulation.protocol import ADAPTIVE_COST, Report, Setting
from linkwork.simulation.run import Runnable

FloatArray = NDArray[np.float64]

DEFAULT_TOLERANCE = 1e-3
INTEGRATORS = {"semi_implicit_euler": adaptive_step.SEMI_IMPLICIT_EULER, "rk4": adaptive_step.RUNGE_KUTTA}
NO_NODES = np.zeros(0, dtype=np.int64)
NO_FLAGS = np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class AdaptiveReport(Report):
    """Where an adaptive simulation stands.

    active_joints: joints that move; the bases of floating figures always do and are not counted.
    joints_computed: joints whose acceleration the last region update computed to choose them.
    error_bound: acceleration, by the chosen measure, that inactive joints hide from the fully articulated linkage, as
        proven at the last region update, in exact arithmetic (rounding comes on top); NaN before the first one.
    reached: whether that is within the tolerance (a number of joints may have been asked for instead).
    region_changes: joints that became active or inactive since the simulation began.
    energy: kinetic, and potential of gravity and joint springs [J].
    """

    active_joints: int
    joints_computed: int
    error_bound: float
    reached: bool
    region_changes: int
    energy: float

    def note(self) -> str:
        return f"{self.active_joints:,} active, bound {self.error_bound:.1e}"


class AdaptiveDynamics(Loads, MotorVerbs, Runnable):
    """Dynamics of a linkage in which only some joints are active; everything below them moves as rigid bodies.

    tolerance: acceleration an inactive joint may hide [rad/s² or m/s², by `measure`]; or
    active_joints: how many joints may be active; or both.
    update_every: steps between two updates of the active region.
    measure: "absolute_joint" (default), "relative_joint", "absolute_linkage", "relative_linkage", as in QuasiStatics.
    acceleration_weights, velocity_weights: metric weight of each squared acceleration and velocity, shape (nv,), > 0.
    horizon: time over which accelerations are weighed against velocities [s]; update_every steps by default. A joint is
        active while its velocity after that time, were all joints free, exceeds tolerance · horizon.
    integrator: "semi_implicit_euler" (default) or "rk4", of fourth order while the region stays as it is.
    keep_momentum: semi-implicit Euler corrects the bases of floating figures so that their momentum changes by external
        impulses only.
    Joints that move in `state` are active at first.
    Cost: O(n) once, then O(active joints) a step, whatever n. Theory: docs/theory/adaptive_dynamics.md.
    """

    # The bundles here are those of `region_workspace`, which have what loads need and more.
    _plan: Any
    _mechanism: Any
    _coefficients: Any
    _live: Any

    def __init__(
        self,
        model: Model,
        state: State,
        tolerance: float | None = None,
        active_joints: int | None = None,
        update_every: int = 10,
        measure: str = "absolute_joint",
        acceleration_weights: ArrayLike | None = None,
        velocity_weights: ArrayLike | None = None,
        keep_momentum: bool = True,
        horizon: float | None = None,
        integrator: str = "semi_implicit_euler",
    ):
        refuse_loops(model, "AdaptiveDynamics")
        if measure not in MEASURES:
            raise StateError(f"there is no measure '{measure}'; choose one of {', '.join(MEASURES)}.")
        if tolerance is None and active_joints is None:
            tolerance = DEFAULT_TOLERANCE
        self.measure = measure
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance")
        self.active_joints = None if active_joints is None else whole(active_joints, 0, "active_joints")
        self.update_every = whole(update_every, 1, "update_every")
        self.horizon = None if horizon is None else positive(horizon, "horizon")
        self.keep_momentum = bool(keep_momentum)
        if integrator not in INTEGRATORS:
            raise StateError(f"there is no integrator '{integrator}' here; choose one of {', '.join(INTEGRATORS)}.")
        self.integrator = integrator
        self.time = 0.0
        self.steps_done = 0
        q, v = as_finite_state(model, state)
        weights = [_weights(model, w, name) for w, name in (
            (acceleration_weights, "acceleration_weights"), (velocity_weights, "velocity_weights"))]  # fmt: skip
        bundles = allocate(model, q.copy(), v.copy(), *weights)
        self._hybrid = bundles.hybrid
        super().__init__(model, bundles.plan, bundles.mechanism, bundles.coefficients, bundles.live)  # type: ignore[arg-type]
        self._motors: set[str] = set()  # joints that have one
        self._pins: dict[int, int] = {}  # joints pinned active (1) or inactive (-1)
        tree = model.arrays.tree
        self._bases = np.flatnonzero((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0)).tolist()
        self._since_update = self.update_every  # the first step begins with an update
        self._is_proven = False  # before the first update nothing is
        self._keeping = True  # whether the momentum on record is the present one
        self._prepare()
        open_moving(*self._some_bundles)
        for i in self._bases:
            keep_path(self._plan, self._live, self._joint_node[i], 1)
        self._perform(BEGIN)

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates and velocities (a copy)."""
        return State(self._live.q.copy(), self._live.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations of the last step, zero where inactive; read-only, shape (nv,)."""
        view = self._live.qdd.view()
        view.setflags(write=False)
        return view

    @property
    def active(self) -> list[str]:
        """Names of the active joints, bases of floating figures included."""
        return [self.model.joint_names[i] for i in self.active_bodies.tolist()]

    @property
    def active_bodies(self) -> NDArray[np.int64]:
        """Bodies carried by active joints, ascending."""
        nodes = self._plan.nodes[self._live.active[: self._live.tally[ACTIVE_COUNT]]]
        bodies = np.sort(nodes[(nodes[:, NODE_KIND] == JOIN) | (nodes[:, NODE_KIND] == HANG), INDEX])
        return bodies[self._mechanism.tree[bodies, DOF] > 0]

    @property
    def energy(self) -> Energy:
        """Kinetic, and potential energy of gravity and joint springs [J]. Cost: O(active joints)."""
        kinetic, potential = region_figures.energies(*self._without_hybrid())
        return Energy(float(kinetic), float(potential))

    @property
    def momentum(self) -> Momentum:
        """Linear [kg·m/s] and angular momentum [kg·m²/s] about the origin of the world. Cost: O(active joints)."""
        if not self.model.n_bodies:
            return Momentum(linear=np.zeros(3), angular=np.zeros(3))
        x = np.array(region_figures.total_momentum(*self._without_hybrid()))
        return Momentum(linear=x[3:], angular=x[:3])

    @property
    def report(self) -> AdaptiveReport:
        """Where the simulation stands."""
        return self._report_with(self.energy)

    def _report_with(self, energy: Energy) -> AdaptiveReport:
        bound = float(error_bound(self._live, MEASURES[self.measure])) if self._is_proven else math.nan
        return AdaptiveReport(
            active_joints=int(region_figures.count_active(*self._some_bundles)),
            joints_computed=int(self._live.tally[JOINT_COUNT]),
            error_bound=bound,
            reached=self.tolerance is not None and bound <= self.tolerance,
            region_changes=int(self._live.tally[CHANGE_COUNT]),
            energy=energy.kinetic + energy.potential,
        )

    @property
    def work_per_step(self) -> int:
        """Joints that a step works on, in joints of a full step; all of them before the first."""
        if self.steps_done == 0:
            return max(1, self.model.n_bodies)
        active = int(region_figures.count_active(*self._some_bundles))
        return max(1, ADAPTIVE_COST * max(active, int(self._live.tally[JOINT_COUNT])))

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        names = ("measure", "tolerance", "active_joints", "update_every", "horizon", "keep_momentum", "integrator")
        return {"simulation": type(self).__name__, **{name: getattr(self, name) for name in names}}

    def scalars(self) -> dict[str, float]:
        """Numbers worth following over time."""
        energy = self.energy
        report = self._report_with(energy)
        return {
            "kinetic_energy": energy.kinetic,
            "potential_energy": energy.potential,
            "energy": report.energy,
            "active_joints": float(report.active_joints),
            "joints_computed": float(report.joints_computed),
            "error_bound": report.error_bound,
        }

    # --------------------------------------------------------------------------------------------------------- stepping

    def step(self, h: float, n: int = 1) -> AdaptiveReport:
        """n steps of h seconds, with an update of the active region every `update_every` of them."""
        self.advance(h, n)
        return self.report

    def advance(self, h: float, n: int = 1) -> None:
        """`step` without a report."""
        h, n = positive(h, "h"), whole(n, 1, "the number of steps")
        keeps = self.keep_momentum and self.integrator == "semi_implicit_euler"
        if keeps and not self._keeping:
            self._perform(KEEP_MOMENTUM)
        self._keeping = keeps
        self._perform(RUN, steps=n, h=h)

    def update_region(self, horizon: float | None = None) -> AdaptiveReport:
        """Chooses the active region anew, now. horizon [s]: as in the constructor; must be given there or here."""
        time = horizon if horizon is not None else self.horizon
        if time is None:
            raise StateError("update_region needs a horizon [s]: give one here or to AdaptiveDynamics.")
        self._perform(UPDATE, horizon=positive(time, "horizon"))
        return self.report

    def _perform(
        self,
        task: int,
        joint: int = -1,
        opened: NDArray[np.int64] = NO_NODES,
        flags: NDArray[np.uint8] = NO_FLAGS,
        steps: int = 0,
        h: float = 0.0,
        horizon: float | None = None,
    ) -> None:
        most = NO_LIMIT if self.active_joints is None else whole(self.active_joints, 0, "active_joints")
        tolerance = 0.0 if self.tolerance is None else not_negative(self.tolerance, "tolerance")
        every = whole(self.update_every, 1, "update_every")
        if horizon is None:
            horizon = every * h if self.horizon is None else positive(self.horizon, "horizon")
        bad, done, self._since_update = adaptive_step.perform(
            *self._bundles, task, joint, opened, flags, steps, h, self._since_update, every,
            MEASURES[self.measure], tolerance, most, horizon, INTEGRATORS[self.integrator], self.keep_momentum,
        )  # fmt: skip
        self.steps_done += done
        self.time += h * done
        self._is_proven = self._is_proven or (bad == -1 and task in (RUN, UPDATE))
        self._check(bad)

    # --------------------------------------------------------------------------------------------------- what users want

    def pin_active(self, joint: str) -> None:
        """Keeps a joint active, from the next update on; the joints above it in the assembly tree with it. O(log n)."""
        i = self._unpinned(joint)
        self._pins[i] = 1
        keep_path(self._plan, self._live, self._joint_node[i], 1)

    def pin_inactive(self, joint: str) -> None:
        """Stops a joint by an impulse, at once, and keeps it where it is. O(active joints)."""
        i = self._unpinned(joint)
        self._pins[i] = -1
        self._perform(HOLD, joint=i)
        self._touch(self._joint_node[i], 0)
        if i in self._bases:
            self._perform(KEEP_MOMENTUM)

    def unpin(self, joint: str) -> None:
        """Leaves a joint to the metrics again."""
        i = self.model.joint(joint)
        pin = self._pins.pop(i, 0)
        if pin == 0:
            raise StateError(f"joint '{joint}' is not pinned.")
        if pin > 0:
            keep_path(self._plan, self._live, self._joint_node[i], -1)
            return
        self._hold(i, False)
        self._touch(self._joint_node[i], 0)
        if i in self._bases:
            self._perform(KEEP_MOMENTUM)

    def _has_motor(self, joint: str) -> bool:
        return joint in self._motors

    def _write_motor(self, joint: str, rows: FloatArray | None) -> None:
        self._live.motor[self.model.v_slice(joint)] = 0.0 if rows is None else rows
        if rows is None:
            self._motors.discard(joint)
        else:
            self._motors.add(joint)
        self._touch(self._joint_node[self.model.joint(joint)], 0)

    # ------------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self) -> dict[str, object]:
        """All that depends on history, loads, efforts, motors and pins included."""
        return region_checkpoint.save(self)

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes back to a checkpoint of a simulation made in the same way, with the same loads applied, or none."""
        region_checkpoint.restore(self, checkpoint)

    # ------------------------------------------------------------------------------------------------------ what changes

    @property
    def _bundles(self) -> Any:
        return self._plan, self._mechanism, self._coefficients, self._hybrid, self._live

    def _without_hybrid(self) -> Any:
        return self._plan, self._mechanism, self._coefficients, self._live

    def _prepare(self) -> None:
        if self.model.n_bodies:
            root = self._plan.nodes.shape[0] - 1
            self._live.world[root] = (1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)
            self._live.pin[root] = max(1, self._live.pin[root])  # the root is always open
        self._perform(PREPARE)

    def _touch(self, node: int, pin: int) -> None:
        touch_region_path(self._plan, self._live, node, pin)

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        self._live.wrench[body] = total
        self._live.tally[WRENCHED] = 1
        self._touch(self._live.leaf[body], 0)

    def _world_load_changed(self, load: Load) -> None:
        pass  # world loads are expressed anew in every step, and their paths assembled anew at every update

    def _world_load_leaves(self, load: Load) -> None:
        # Rows move when one goes, and are attached anew only before the next step: so nothing stays where any of them acts.
        self._live.force[self._live.load_front[: len(self._rows)]] = 0.0
        self._live.tally[WRENCHED] = 1  # sums of forces that held it are to be formed anew

    def _world_load_left(self, load: Load) -> None:
        self._live.tally[LOAD_COUNT] = len(self._rows)
        self._touch(self._live.leaf[load.body], -1)

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        self._live.effort[first : first + effort.size] = effort
        self._touch(self._joint_node[joint], 0)

    def _hold(self, joint: int, held: bool) -> None:
        """Marks a joint as held inactive, or not."""
        self._live.held[joint] = held
        tree = self._mechanism.whole_tree[joint]
        self._mechanism.tree[joint, KIND], self._mechanism.tree[joint, DOF] = (
            (FIXED, 0) if held else (tree[KIND], tree[DOF])
        )

    def _unpinned(self, joint: str) -> int:
        i = self.model.joint(joint)
        if i in self._pins:
            raise StateError(f"joint '{joint}' is pinned already; unpin it first.")
        return i

    def _check(self, bad: int) -> None:
        figure = self._live.figure
        if bad == -1 and math.isfinite(figure[SUM_JOINT] + figure[SUM_QUEUE]):
            return
        vectors = {"state.q": self._live.q, "state.v": self._live.v, "effort": self._live.effort}
        cause = explain_failure(self.model, "adaptive dynamics", max(bad, -1), vectors, self._live.wrench)
        advice = " Take a smaller step." if bad == adaptive_step.OVERFLOW else ""
        raise StateError(f"at {self.time:.6g} s, step {self.steps_done}: {cause}{advice}")


def _weights(model: Model, weights: ArrayLike | None, what: str) -> FloatArray:
    if weights is None:
        return np.ones(model.nv)
    metric = as_array(weights, (model.nv,), what, model).copy()
    bad = np.flatnonzero(~((metric > 0.0) & np.isfinite(metric)))
    if bad.size:
        raise StateError(f"{what}[{bad[0]}] is {metric[bad[0]]}; metric weights must be finite and > 0.")
    return metric
