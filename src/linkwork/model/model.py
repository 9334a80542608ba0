"""Model: what machines read. Compiled once from a Linkage, immutable."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray, frozen
from linkwork.core.checks import choice, finite, integer, numbers, shown
from linkwork.core.messages.describe import html_table, quoted, tabled
from linkwork.core.messages.names import did_you_mean
from linkwork.core.messages.warning import likely_degrees, warn_of_degrees
from linkwork.errors import ModelError, StateError
from linkwork.model import layout
from linkwork.model.actuators import Actuator
from linkwork.model.couplings import Coupling
from linkwork.model.joints import Joint
from linkwork.model.kernels.manifold import (
    all_finite,
    coordinates_difference,
    coordinates_integrate,
    normalize_coordinates,
)
from linkwork.model.kernels.random_coordinates import random_coordinates
from linkwork.model.loops import LoopClosure
from linkwork.model.rods.ends import RodOn
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Shape
from linkwork.model.state import State
from linkwork.spatial.pose import Pose


class ModelArrays(NamedTuple):
    """The tables kernels read; their columns are named in `layout`."""

    tree: IntArray  # (n, 6)    topology: parent, joint kind, first q, first v, degrees of freedom, first screw
    body: FloatArray  # (n, 32)   joint placement, inertia, screw of the joint
    screws: FloatArray  # (m, 9)    primitives of compound joints
    dof: FloatArray  # (nv, 4)   damping, stiffness, armature
    rest: FloatArray  # (nq,)     coordinates at which springs are slack
    gravity: FloatArray  # (3,)      [m/s²]


def warn_of_degrees_in(model: Model, values: FloatArray, vector: str, what: str) -> bool:
    """Warns where a number along q or v, given by a person, is an angle that was likely meant in degrees."""
    for k in likely_degrees(values).tolist():
        i = model.joint_of(k, vector)
        screws = model.joints[i].screws
        if screws and any(screws[k - int(model.arrays.tree[i, layout.Q if vector == "q" else layout.V])].axis):
            warn_of_degrees(float(values[k]), f"{what} of joint '{model.joint_names[i]}'")
            return True
    return False


def inertia_only(arrays: ModelArrays) -> ModelArrays:
    """The same tables without gravity, springs and dampers; rotors stay."""
    dof = np.zeros_like(arrays.dof)
    dof[:, layout.ARMATURE] = arrays.dof[:, layout.ARMATURE]
    return arrays._replace(dof=frozen(dof), gravity=frozen(np.zeros(3)))  # read-only: the same compiled kernels serve


def coordinate_metric(model: Model, length: float) -> FloatArray:
    """1 for angles, 1/length² for lengths, shape (nv,)."""
    metric = np.ones(model.nv)
    for joint, first in zip(model.joints, model.arrays.tree[:, layout.V].tolist(), strict=True):
        if joint.kind == layout.FREE:
            metric[first + 3 : first + 6] = length**-2
        for d, screw in enumerate(joint.screws):
            if not any(screw.axis):
                metric[first + d] = length**-2
    return metric


@tabled
class Frame(NamedTuple):
    """A named frame fixed in a body; body -1 is the world."""

    body: int
    pose: Pose


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled linkage: contiguous arrays, bodies numbered parents first (depth first), names beside them.

    Bodies that were welded to another at compile time remain as frames: `body(name)` gives the body that carries them,
    `frame(name)` also where on it they stand.
    """

    name: str
    arrays: ModelArrays
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]  # joint i carries body i
    joints: tuple[Joint, ...]
    frames: dict[str, Frame]  # bodies welded to another
    shapes: tuple[tuple[int, Shape], ...]  # body index and shape, placed in the body's frame
    lower: FloatArray  # (nv,) limits of the coordinate behind each velocity; infinite where there is none
    upper: FloatArray  # (nv,)
    effort_limit: FloatArray  # (nv,)
    velocity_limit: FloatArray  # (nv,)
    warnings: tuple[str, ...] = ()
    merged_into: dict[str, str] = field(
        default_factory=dict
    )  # massless bodies inside compound joints → the body behind
    joint_parts: dict[str, tuple[int, int, int]] = field(
        default_factory=dict
    )  # joints inside compounds → body, first, size
    loops: tuple[LoopClosure, ...] = ()  # joints beside the tree
    obstacles: tuple[tuple[str, Shape], ...] = ()  # names and shapes that stand in the world, placed in its frame
    ignore_contact: tuple[tuple[str, str], ...] = ()  # names of bodies or obstacles that never touch each other
    rods: tuple[RodOn, ...] = ()  # those whose bodies are all here
    sensors: tuple[Sensor, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    couplings: tuple[Coupling, ...] = ()  # relations between joints
    units: str = "SI"  # or "molecular": nm, ps, Da, kJ/mol
    rank: IntArray | None = None  # (n,) place of each body when it was compiled, if re-rooting has changed the order

    @cached_property
    def workspaces(self) -> threading.local:
        """Where algorithms keep their scratch memory for this model, each thread its own."""
        return threading.local()

    @cached_property
    def simulations(self) -> weakref.WeakSet[Any]:
        """Simulations of this model that are alive."""
        return weakref.WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("workspaces", "simulations")}

    def __copy__(self) -> Model:
        """Itself: a model is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self

    def __setstate__(self, values: dict[str, Any]) -> None:
        """Copies and pickles are as protected from writing as the model itself."""
        self.__dict__.update(values)
        for value in (*values.values(), *self.arrays):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @cached_property
    def without_loops(self) -> Model:
        """The tree alone: the same model with its loops cut open and its joints uncoupled."""
        return replace(self, loops=(), couplings=()) if self.is_constrained else self

    @property
    def is_constrained(self) -> bool:
        """Whether it has loops or couplings, so that its joints cannot move one by one."""
        return bool(self.loops or self.couplings)

    @property
    def n_bodies(self) -> int:
        return self.arrays.tree.shape[0]

    @property
    def nq(self) -> int:
        return self.arrays.rest.shape[0]

    @property
    def nv(self) -> int:
        return self.arrays.dof.shape[0]

    @property
    def parent(self) -> IntArray:
        """Parent of each body, -1 for the world, shape (n,)."""
        return self.arrays.tree[:, layout.PARENT]

    @property
    def mass(self) -> FloatArray:
        """Mass of each body [kg], shape (n,)."""
        return self.arrays.body[:, layout.INERTIA]

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall [m/s²], shape (3,)."""
        return self.arrays.gravity

    @cached_property
    def quaternions(self) -> IntArray:
        """Where the orientations (w, x, y, z) of ball and free joints begin in q."""
        kinds, first = self.arrays.tree[:, layout.KIND], self.arrays.tree[:, layout.Q]
        return np.sort(np.concatenate([first[kinds == layout.SPHERICAL], first[kinds == layout.FREE] + 3]))

    @cached_property
    def depth(self) -> int:
        """Joints on the longest way from the world to a body."""
        depth = np.zeros(self.n_bodies, dtype=np.int64)
        for i, parent in enumerate(self.parent.tolist()):
            depth[i] = 1 if parent < 0 else depth[parent] + 1
        return int(depth.max(initial=0))

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.body_names)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names)}

    def body(self, name: str) -> int:
        """Index of a body by name; for a welded body the one that carries it (-1: the world)."""
        return self.frame(name).body

    def frame(self, name: str) -> Frame:
        """The body a name belongs to, and the pose of the named frame in it."""
        if not isinstance(name, str):
            raise ModelError(f"a body's name is a string, not {shown(name)}.")
        index = self._body_index.get(name)
        if index is not None:
            return Frame(index, Pose())
        if name in self.frames:
            return self.frames[name]
        if name == "world":
            return Frame(-1, Pose())
        if name in self.merged_into:
            raise ModelError(
                f"body '{name}' has no mass and became part of the compound joint of '{self.merged_into[name]}'; "
                "ask for that body, or give it a mass."
            )
        near = did_you_mean(name, chain(self.body_names, self.frames))
        raise ModelError(f"model '{self.name}' has no body '{name}'{near}.")

    def joint(self, name: str) -> int:
        """Index of the body that the named joint carries."""
        if not isinstance(name, str):
            raise ModelError(f"a joint's name is a string, not {shown(name)}.")
        index = self._joint_index.get(name)
        if index is None and name in self.joint_parts:
            return self.joint_parts[name][0]
        if index is None:
            raise ModelError(f"model '{self.name}' has no joint '{name}'{did_you_mean(name, self.joint_names)}.")
        return index

    def q_slice(self, joint: str | int) -> slice:
        """Where a joint's coordinates stand in q; a joint that was merged into a compound has its part of it."""
        return self._slice(joint, layout.Q)

    def v_slice(self, joint: str | int) -> slice:
        """Where a joint's velocities stand in v; a joint that was merged into a compound has its part of it."""
        return self._slice(joint, layout.V)

    def _slice(self, joint: str | int, column: int) -> slice:
        first, size = 0, -1
        if isinstance(joint, str) and joint not in self._joint_index and joint in self.joint_parts:
            i, first, size = self.joint_parts[joint]
        else:
            i = self._joint_number(joint)
        start = int(self.arrays.tree[i, column]) + first
        joint_size = self.joints[i].nq if column == layout.Q else self.joints[i].nv
        return slice(start, start + (joint_size if size < 0 else size))

    def _joint_number(self, joint: str | int) -> int:
        if isinstance(joint, str):
            return self.joint(joint)
        if isinstance(joint, bool) or not isinstance(joint, int | np.integer) or not 0 <= joint < self.n_bodies:
            raise ModelError(
                f"joint {shown(joint)} does not exist; model '{self.name}' has joints 0 to {self.n_bodies - 1}, and names."
            )
        return int(joint)

    def neutral(self) -> State:
        """At rest with every joint in its zero frame."""
        q = np.zeros(self.nq)
        q[self.quaternions] = 1.0
        return State(q, np.zeros(self.nv))

    def random_state(self, rng: np.random.Generator | int | None = None, speed: float = 1.0) -> State:
        """Random coordinates within limits and normal velocities of the given scale [rad/s or m/s]."""
        scale = finite(speed, "speed")
        try:
            rng = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise StateError(f"rng must be a seed or a numpy Generator, not {shown(rng)}.") from None
        q = random_coordinates(
            self.arrays.tree, self.arrays.body, self.arrays.screws, self.lower, self.upper, self.nq, rng
        )
        return State(q, scale * rng.normal(size=self.nv))

    def state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
        """A checked state: shapes right, numbers finite, quaternions made unit. What is not given is neutral, at rest."""
        neutral = self.neutral()
        coordinates = neutral.q if q is None else self._vector(q, self.nq, "q")
        velocities = neutral.v if v is None else self._vector(v, self.nv, "v")
        bad = normalize_coordinates(self.arrays.tree, coordinates) if self.quaternions.size > 0 else -1
        if bad >= 0:
            raise StateError(
                f"joint '{self.joint_names[bad]}' has the orientation (0, 0, 0, 0), which is not a rotation."
            )
        if q is not None:
            warn_of_degrees_in(self, coordinates, "q", "the coordinate")
        return State(coordinates, velocities)

    def _vector(self, value: ArrayLike, size: int, what: str) -> FloatArray:
        vector = numbers(value, (size,), what, f"model '{self.name}'").copy()
        if not np.isfinite(vector).all():
            k = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise StateError(f"{what}[{k}] is {vector[k]} (joint '{self.joint_names[self.joint_of(k, what)]}').")
        return vector

    def joint_of(self, k: int, vector: str = "v") -> int:
        """Index of the joint behind entry k of q or v."""
        choice(vector, ("q", "v"), "vector")
        if integer(k, 0, "k") >= (size := self.nq if vector == "q" else self.nv):
            raise StateError(f"{vector} of model '{self.name}' has {size} entries; there is no entry {k}.")
        starts = self.arrays.tree[:, layout.Q if vector == "q" else layout.V]
        return int(np.searchsorted(starts, k, side="right")) - 1

    def integrate(self, q: ArrayLike, v: ArrayLike, h: float = 1.0) -> FloatArray:
        """q ⊕ v h: coordinates after moving with the constant velocity v for the time h [s], shape (nq,)."""
        old, velocity = self._two_rows(q, self.nq, "q", v, self.nv, "v")
        time = finite(h, "h")
        new = np.asarray(coordinates_integrate(self.arrays.tree, old, velocity, time))
        if not np.isfinite(new).all():
            raise StateError(
                f"moving for {time:g} s leads beyond all numbers; give a shorter time or lower velocities."
            )
        return new

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
        """q1 ⊖ q0: the velocity that carries q0 to q1 in one second, shape (nv,)."""
        old, new = self._two_rows(q0, self.nq, "q0", q1, self.nq, "q1")
        found = np.asarray(coordinates_difference(self.arrays.tree, old, new, self.nv))
        if not np.isfinite(found).all():
            for name, q in (("q0", old), ("q1", new)):
                for k in self.quaternions[~(sum(q[self.quaternions + i] ** 2 for i in range(4)) > 0.0)]:
                    joint = self.joint_names[self.joint_of(int(k), "q")]
                    raise StateError(f"{name}[{k}:{k + 4}] of joint '{joint}' is zero, not a unit quaternion.")
            raise StateError("the coordinates are too far apart: their difference is beyond all numbers.")
        return found

    def _two_rows(
        self, a: ArrayLike, size_a: int, name_a: str, b: ArrayLike, size_b: int, name_b: str
    ) -> tuple[FloatArray, FloatArray]:
        """Both as kernels can read them, every number finite."""
        owner = f"model '{self.name}'"
        rows = numbers(a, (size_a,), name_a, owner), numbers(b, (size_b,), name_b, owner)
        if not all_finite(*rows):
            for row, name in zip(rows, (name_a, name_b), strict=True):
                for k in np.flatnonzero(~np.isfinite(row)):
                    raise StateError(f"{name}[{k}] is {row[k]}; give finite numbers.")
        return rows

    def __repr__(self) -> str:
        loops = f", {len(self.loops)} loops" if self.loops else ""
        loops += f", {len(self.couplings)} couplings" if self.couplings else ""
        return f"Model('{self.name}', {self.n_bodies} bodies, nq={self.nq}, nv={self.nv}{loops})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        kinds = Counter(type(joint).__name__ for joint in self.joints)
        rows: list[tuple[str, object]] = [
            ("bodies", f"{self.n_bodies:,}"),
            ("degrees of freedom", f"{self.nv:,}"),
            ("mass", f"{float(self.mass.sum()):.6g} kg"),
            ("joints", ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())),
            ("names", quoted(self.body_names, self.n_bodies)),
        ]
        if self.loops:
            rows.append(("loops", len(self.loops)))
        if self.couplings:
            rows.append(("couplings", len(self.couplings)))
        if self.warnings:
            rows.append(("warnings", len(self.warnings)))
        return html_table(f"Model {self.name}", rows, "lw.view(model) shows it in 3-D")
