"""A linkage on the GPU: the same functions as on the CPU, for one state or thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.assembly.levels import Levels, plan_levels
from linkwork.assembly.plan import Assembly, assemble_model
from linkwork.core.checks import integer, positive
from linkwork.core.messages.describe import described, tabled
from linkwork.core.turns import TakesTurns
from linkwork.derivatives.gradients import Gradients
from linkwork.dynamics.inputs import refuse_loops
from linkwork.errors import ModelError, StateError
from linkwork.gpu.arrays import Reader, as_given, like, owned_copy, pose_matrices
from linkwork.gpu.cuda import CudaBackend
from linkwork.gpu.failures import failure_of
from linkwork.gpu.gradients import DevicePull
from linkwork.gpu.schedule import SCHEDULES, choose_schedule, choose_strand, choose_threads, first_singular
from linkwork.gpu.source import REAL
from linkwork.gpu.tables import body_tables, depth_tables, slot_tables
from linkwork.gpu.workspace import Sizes, Sweeps, Workspace, refuse_if_too_large
from linkwork.model import layout
from linkwork.model.model import Model

WARP = 32  # slots of a level are aligned to it when there is one sample


@tabled
class DeviceEnergy(NamedTuple):
    """[J] of each sample, as arrays on the device; what counts is as in `lw.energy`."""

    kinetic: Any
    potential: Any


@described
class DeviceModel(TakesTurns):
    """A model on the GPU.

    dtype: "float64" or "float32".
    schedule: "levels" (the assembly tree, one launch per level: long linkages), "bodies" (articulated-body algorithm, some
    threads per sample: many samples of small ones), or None to choose from the shape.
    threads: threads for each sample of "bodies", 1 to 8, or None to choose.
    strand_length: bodies one behind the other that one thread of "levels" does in one go, 1 to 32, or None to choose.
    Arrays of states are (nq,) or (batch, nq); other arrays hold for all samples or have the same first axis. CuPy, PyTorch
    and JAX arrays on the GPU are read where they are, and results come back as the same kind; NumPy arrays are copied.
    Threads that share one wait for each other. Memory: see `bytes_needed`.
    """

    def __init__(
        self,
        model: Model,
        dtype: str = "float64",
        schedule: str | None = None,
        threads: int | None = None,
        backend: Callable[[str], Any] = CudaBackend,
        strand_length: int | None = None,
    ):
        refuse_loops(model, "lw.gpu.DeviceModel")
        if dtype not in REAL:
            raise StateError(f"dtype is {dtype!r}; choose 'float64' or 'float32'.")
        if schedule is not None and schedule not in SCHEDULES:
            raise StateError(f"there is no schedule {schedule!r}; choose one of {', '.join(SCHEDULES)}, or None.")
        if threads is not None and not 1 <= integer(threads, 1, "threads") <= 8:
            raise StateError(f"threads is {threads}; a sample takes 1 to 8.")
        if strand_length is not None and not 1 <= integer(strand_length, 1, "strand_length") <= 32:
            raise StateError(f"strand_length is {strand_length}; a thread does 1 to 32 bodies.")
        self.strand_length = choose_strand(model.n_bodies) if strand_length is None else strand_length
        singular = first_singular(model)
        if singular >= 0 and schedule == "levels":
            raise ModelError(
                f"body '{model.body_names[singular]}' has a singular inertia, which schedule='levels' must invert. Give it "
                "moments > 0 about all three axes, or use schedule='bodies'."
            )
        self.model, self.dtype, self.threads = model, np.dtype(dtype), threads
        self.schedule = "bodies" if singular >= 0 else schedule
        self.backend = backend(dtype)
        self.assembly: Assembly = assemble_model(model)
        self._several = model.arrays.tree[:, layout.DOF] > 1
        self._plans: dict[int, tuple[Levels, dict[str, Any]]] = {}
        self._chosen: dict[int, str] = {}  # schedules by number of samples: the choice looks at every depth of the tree
        plan = plan_levels(self.assembly, self._several, strand_length=self.strand_length)
        self._order, self._place = plan.order, plan.place
        keeps_force = np.zeros(model.n_bodies, dtype=np.int32)
        keeps_force[plan.body[(plan.code & 3 == 0) & (plan.code >= 0)]] = 1
        keeps_force[plan.strand_body[plan.strand_body >= 0]] = 1
        tables = {**body_tables(model, plan.order), "keeps_force": keeps_force}
        self._constants = {
            name: self.backend.upload(table.astype(self.dtype) if table.dtype == np.float64 else table)
            for name, table in tables.items()
        }
        self._depth_tables = depth_tables(model.parent, plan.place)
        self._depths = self._depth_tables["depth_first"].size - 1
        self._widths = np.diff(self._depth_tables["depth_first"]).astype(np.int64)
        self._most_children = int(np.diff(self._depth_tables["child_first"]).max(initial=0))
        self._depth_arrays: dict[str, Any] | None = None
        self._phi: Any = None
        self._work: Workspace | None = None
        self._simulated: Workspace | None = None
        self._last: Workspace | None = None
        self._last_call = ""  # its name
        self._loads = 0  # how often states were taken over

    # --------------------------------------------------------------------------------------------------------- dynamics

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        effort: Any = None,
        wrenches: Any = None,
        gravity: Any = None,
        inertias: Any = None,
        check: bool = False,
    ) -> Any:
        """Joint accelerations [rad/s² or m/s²], shape (nv,) or (batch, nv), samples innermost in memory.

        q, v: coordinates (unit quaternions) and velocities, shapes (nq,), (nv,) or with a first axis for samples.
        effort [N·m or N] (nv,), wrenches [n; f] in body frames [N·m, N] (n, 6), gravity [m/s²] (3,): for all samples, or
        for each.
        inertias: of each sample, (batch, n, 10): mass [kg], mass times centre [kg·m], moments about the body origin [kg·m²]
        xx xy xz yy yz zz; those of the model by default.
        check: waits for the result and raises StateError where a joint could not be solved or a number is not finite;
        otherwise the answer holds NaN or infinity there, and `check()` says so when asked.
        """
        work, out = self._load(q, v, effort, wrenches, gravity, inertias)
        self._run(work, "forward", lambda sweeps, schedule: self._forward(work, sweeps, schedule))
        if check:
            self.check()
        return like(q, as_given(work.arrays["qdd"], out), self.backend)

    def inverse_dynamics(
        self, q: Any, v: Any, acceleration: Any, wrenches: Any = None, gravity: Any = None, inertias: Any = None
    ) -> Any:
        """Joint efforts that cause the given accelerations, on top of springs and dampers, shape (nv,) or (batch, nv)."""
        if acceleration is None:
            raise StateError("acceleration is missing; give an array of shape (nv,) or (batch, nv).")
        work, out = self._load(q, v, None, wrenches, gravity, inertias, acceleration)
        self._run(work, "inverse", lambda sweeps, _: sweeps.inverse_dynamics(), "levels")
        return like(q, as_given(work.arrays["total"], out), self.backend)

    def body_poses(self, q: Any) -> Any:
        """World poses of all bodies as homogeneous matrices, shape (n, 4, 4) or (batch, n, 4, 4)."""
        work, out = self._load(q, None)
        self._run(work, "poses", lambda sweeps, _: sweeps.kinematics(poses=True), "levels")
        return like(q, self._poses(work, out), self.backend)

    def body_twists(self, q: Any, v: Any, frame: str = "body") -> Any:
        """Twists [ω; v] of all bodies at their origins [rad/s, m/s], shape (n, 6) or (batch, n, 6).

        frame: axes the components refer to, "body" or "world".
        """
        if frame not in ("body", "world"):
            raise StateError(f"frame must be 'body' or 'world', not {frame!r}.")
        work, out = self._load(q, v)
        in_world = frame == "world"
        self._run(work, f"twists {frame}", lambda sweeps, _: sweeps.kinematics(in_world, in_world), "levels")
        return like(q, self._by_body(work.arrays["twist"], out), self.backend)

    def energy(self, q: Any, v: Any, gravity: Any = None, inertias: Any = None) -> DeviceEnergy:
        """Kinetic and potential energy of each sample [J], shapes () or (batch,)."""
        work, out = self._load(q, v, None, None, gravity, inertias)
        work.need(energy=(2, self.model.n_bodies))

        def act(sweeps: Sweeps, _: str) -> None:
            sweeps.kinematics(poses=True)
            sweeps.bodies("body_energies")

        self._run(work, "energy", act, "levels")
        sums = work.arrays["energy"].sum(axis=1)
        sums = sums[:, 0] if out is None else sums
        return DeviceEnergy(like(q, sums[0], self.backend), like(q, sums[1], self.backend))

    def vjp(
        self,
        q: Any,
        v: Any,
        effort: Any = None,
        wrenches: Any = None,
        gravity: Any = None,
        inertias: Any = None,
        *,
        wrt: Sequence[str] | None = None,
        check: bool = True,
    ) -> tuple[Any, Callable[[Any], Gradients]]:
        """Accelerations as by `forward_dynamics`, and the way back: pull(weights) gives `lw.Gradients` of Σ weights · q̈.

        weights: shape (nv,), for all samples, or (batch, nv). Gradients have the shapes of `lw.Gradients`, with a first
        axis for samples where q has one; they stay on the device and are arrays of q's kind.
        wrt: which gradients are computed, by name; all by default.
        check: weights that are not finite, and joints that cannot be solved, raise; that waits for the device.
        Cost: three to four times forward dynamics, pull included. Calls in between make pull solve once more.
        """
        given = {"q": q, "v": v, "effort": effort, "wrenches": wrenches, "gravity": gravity, "inertias": inertias}
        pull = DevicePull(self, q, {name: owned_copy(value) for name, value in given.items()}, wrt, check)
        return pull.solve(), pull

    # ------------------------------------------------------------------------------------------------------- simulation

    def set_state(
        self, q: Any, v: Any, effort: Any = None, wrenches: Any = None, gravity: Any = None, inertias: Any = None
    ) -> None:
        """Where `step` starts from, and the loads that act until the next call; as in `forward_dynamics`."""
        self._simulated, self._samples = self._load(q, v, effort, wrenches, gravity, inertias, own=True)
        self._template = q
        self.time = 0.0

    def step(self, h: float, n: int = 1) -> None:
        """Moves on by n steps of h seconds (semi-implicit Euler), without a way back to the host between them."""
        if self._simulated is None:
            raise StateError("there is no state to step from; call set_state(q, v) first.")
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        work = self._simulated
        work.tables.h = h

        def act(sweeps: Sweeps, schedule: str) -> None:
            self._forward(work, sweeps, schedule)
            sweeps.bodies("integrate")

        self._run(work, f"step {h!r}", act, times=n)
        self.time += n * h

    @property
    def q(self) -> Any:
        """Coordinates of the simulation (a copy), shape (nq,) or (batch, nq)."""
        return self._present("q")

    @property
    def v(self) -> Any:
        """Velocities of the simulation (a copy), shape (nv,) or (batch, nv)."""
        return self._present("v")

    def check(self) -> None:
        """Waits for the last call and raises StateError if a joint could not be solved in it (or in a step since then),

        or where a number of its result is not finite: the message names the sample, the joint and why.
        """
        if self._last is None or not self.model.n_bodies:
            return
        failure = failure_of(self.model, self._last_call, self.failed_body(), self._last)
        if failure is not None:
            raise failure

    def failed_body(self) -> int:
        """The body whose joint could not be solved in the last call, or -1; waits for it."""
        if self._last is None or not self.model.n_bodies:
            return -1
        return int(self.backend.download(self._last.arrays["status"])[0]) - 1

    def bytes_needed(self, batch: int = 1, schedule: str | None = None) -> int:
        """Device memory of forward dynamics for `batch` samples [bytes]."""
        chosen = schedule or self._schedule(batch)
        return self._sizes(batch).bytes_needed(batch, self.dtype.itemsize, chosen)

    # ----------------------------------------------------------------------------------------------------------- inside

    def _present(self, name: str) -> Any:
        if self._simulated is None:
            raise StateError("there is no state; call set_state(q, v) first.")
        return like(self._template, as_given(self._simulated.arrays[name], self._samples), self.backend)

    def _plan(self, batch: int) -> tuple[Levels, dict[str, Any]]:
        align = WARP if batch == 1 and self.model.n_bodies >= WARP else 1
        if align not in self._plans:
            levels = plan_levels(self.assembly, self._several, align, self.strand_length)
            self._plans[align] = levels, {k: self.backend.upload(t) for k, t in slot_tables(levels).items()}
        return self._plans[align]

    def _sizes(self, batch: int) -> Sizes:
        slots = self._plan(batch)[0].code.size
        return Sizes(self.model.n_bodies, slots, self.model.nq, self.model.nv)

    def _schedule(self, batch: int) -> str:
        if self.schedule is not None:
            return self.schedule
        if batch not in self._chosen:
            height = self._plan(batch)[0].height
            self._chosen[batch] = choose_schedule(self._widths, self._most_children, height, batch)
        return self._chosen[batch]

    def _workspace(self, batch: int, own_inertias: bool, own: bool) -> Workspace:
        last = self._simulated if own else self._work
        if last is not None and last.batch == batch and last.own_inertias == own_inertias:
            return last
        if own:
            self._simulated = None
        else:
            self._work = None
        sizes = self._sizes(batch)
        refuse_if_too_large(
            self.backend, sizes, batch, self.dtype.itemsize, self._schedule(batch), own_inertias, self.model.name
        )
        tables = dict(self._constants)
        if self._phi is None:
            self._phi = self.backend.empty((21, self.model.n_bodies), self.dtype)
            tables["phi"] = self._phi
            first = Workspace(self.backend, tables, Sizes(self.model.n_bodies, 0, 0, 0), 1, self.dtype, False)
            self.backend.launch("invert_inertias", first.tables, 0, self.model.n_bodies)
            self.backend.synchronize()  # `first` and its tables may go
        tables["phi"] = self._phi
        work = Workspace(self.backend, tables, sizes, batch, self.dtype, own_inertias)
        if not own:
            self._work = work
        return work

    def _load(
        self, q: Any, v: Any, effort: Any = None, wrenches: Any = None, gravity: Any = None, inertias: Any = None,
        acceleration: Any = None, own: bool = False,
    ) -> tuple[Workspace, int | None]:  # fmt: skip
        """Checks all arrays, then copies them into the workspace of their number of samples."""
        model = self.model
        self._loads += 1
        reader = Reader(self.backend, self.dtype, model)
        given = {"v": v, "effort": effort, "qdd": acceleration, "wrenches": wrenches, "gravity": gravity}
        found = reader.all({"q": q, **given})
        batch = reader.batch or 1
        own_inertias = inertias is not None
        ten = reader.other(inertias, (model.n_bodies, 10), "inertias") if own_inertias else None
        work = self._workspace(batch, own_inertias, own)
        if wrenches is not None:
            work.need(wrenches=(6 * model.n_bodies,))
        work.tables.has_wrenches = int(wrenches is not None)
        if gravity is None and not work.has_model_gravity:
            found["gravity"] = self.backend.upload(np.asarray(model.gravity, dtype=self.dtype))
        work.has_model_gravity = gravity is None
        work.take(**{name: found.pop(name) for name in ("q", "v", "effort") if name in found})
        for name, value in found.items():
            work.write(name, value)
        if ten is not None:
            self._write_inertias(work, ten)
        return work, reader.batch

    def _write_inertias(self, work: Workspace, ten: Any) -> None:
        n = self.model.n_bodies
        table = ten.reshape(n, 10, -1)[self.backend.upload(self._order)]
        work.arrays["inertia"][...] = self.backend.xp.moveaxis(table, 0, 1)
        self.backend.launch("invert_inertias", work.tables, 0, n)

    def _run(
        self,
        work: Workspace,
        name: str,
        act: Callable[[Sweeps, str], None],
        schedule: str | None = None,
        times: int = 1,
    ) -> None:
        """Does `act` on a workspace, `times` over: launch by launch at first, then as a recorded graph."""
        self._last, self._last_call = work, name
        if not self.model.n_bodies:
            return
        chosen = schedule or self._schedule(work.batch)
        key = (name, chosen, work.tables.has_wrenches, self.threads)
        repeat = work.recorded.get(key)
        if repeat is None:
            sweeps = self._sweeps(work, name, chosen)
            act(sweeps, chosen)  # compiles what is needed
            times -= 1
            repeat = work.recorded[key] = self.backend.record(lambda: act(sweeps, chosen))
        for _ in range(times):
            repeat()

    def _sweeps(self, work: Workspace, name: str, schedule: str) -> Sweeps:
        """What makes the launches of a call, on tables that have all it needs."""
        levels, slots = self._plan(work.batch)
        if schedule == "bodies":
            if self._depth_arrays is None:
                self._depth_arrays = {k: self.backend.upload(t) for k, t in self._depth_tables.items()}
            work.need_depths(self._depth_arrays, self._depths)
        else:
            work.need_slots(levels, slots)
            if "gradients" in name:
                work.need_relatives(self._depth_tables)
            elif name != "forward":
                work.need(world=(12, self.model.n_bodies))
        if name.startswith("step"):  # a step of another size takes the place of the last one
            work.recorded = {k: r for k, r in work.recorded.items() if not k[0].startswith("step")}
        return Sweeps(work, levels)

    def _forward(self, work: Workspace, sweeps: Sweeps, schedule: str) -> None:
        if schedule == "bodies":
            self.backend.launch_bodies(work.tables, self._threads(work))
        else:
            sweeps.forward_dynamics()

    def _threads(self, work: Workspace) -> int:
        return self.threads or choose_threads(int(self._widths.max(initial=0)), work.batch)

    def _by_body(self, table: Any, samples: int | None) -> Any:
        """Rows of bodies (rows, n, batch) in the model's order: (n, rows) or (batch, n, rows)."""
        ordered = table[:, self.backend.upload(self._place)]
        return ordered[:, :, 0].T if samples is None else self.backend.xp.moveaxis(ordered, 2, 0).swapaxes(1, 2)

    def _poses(self, work: Workspace, samples: int | None) -> Any:
        if not self.model.n_bodies:
            return self.backend.empty((0, 4, 4) if samples is None else (samples, 0, 4, 4), self.dtype)
        return pose_matrices(self._by_body(work.arrays["world"], samples), self.backend)
