"""Linkage: what a person edits. Named bodies, each hanging from its parent by a joint."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork.core.checks import choice, flag, float_or_nan, shown
from linkwork.core.messages.describe import html_table, quoted, tabled
from linkwork.core.messages.names import did_you_mean
from linkwork.core.messages.warning import warn_user
from linkwork.core.units import FREE_FALL, UNITS
from linkwork.errors import ModelError
from linkwork.model.actuators import Actuator
from linkwork.model.couplings import Coupling, as_pairs
from linkwork.model.frames import FrameOn, new_frame
from linkwork.model.inertia import MASSLESS, Inertia
from linkwork.model.joints import Fixed, Joint
from linkwork.model.loops import Loop
from linkwork.model.motion import Motion
from linkwork.model.rods.ends import RodOn
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import HeightField, Plane, Shape
from linkwork.spatial.pose import Pose, Vector3, vector3

if TYPE_CHECKING:
    from pathlib import Path

    from linkwork.model.model import Model

WORLD = "world"
EARTH_GRAVITY = (0.0, 0.0, -FREE_FALL["SI"])
_HERE = Pose()
_WELD = Fixed()


@tabled
@dataclass(frozen=True, slots=True)
class Body:
    """One rigid body, its joint to its parent, and where the joint's zero frame stands in the parent."""

    name: str
    parent: str
    joint: Joint
    placement: Pose
    inertia: Inertia
    joint_name: str
    shapes: tuple[Shape, ...]
    source: str = ""  # "file:line" when a file brought it; errors show it


@tabled
@dataclass(frozen=True, slots=True)
class Obstacle:
    """A shape that stands in the world and never moves."""

    name: str
    shape: Shape
    pose: Pose
    source: str = ""  # "file:line" when a file brought it


@dataclass(repr=False)
class Linkage:
    """A mechanism of named bodies. Faults are reported together, by name, when it compiles.

    name: what the mechanism is called.
    gravity: acceleration of free fall in the world frame [m/s²]; that of the Earth by default, whatever the units.
    units: of all numbers, "SI" or "molecular" (nm, ps, Da, kJ/mol).
    """

    name: str = "linkage"
    gravity: Vector3 = EARTH_GRAVITY
    warnings: list[str] = field(default_factory=list)  # what a file said that could not be kept
    motion: Motion | None = None  # what a motion-capture file recorded
    ignore_contact: list[tuple[str, str]] = field(default_factory=list)  # pairs of bodies or obstacles that never touch
    rods: list[RodOn] = field(default_factory=list)  # where its rods are
    sensors: list[Sensor] = field(default_factory=list)  # of `lw.sensors`
    actuators: list[Actuator] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)  # relations between joints: `add_coupling`
    units: str = "SI"
    _bodies: list[Body] = field(default_factory=list, repr=False)
    _index: dict[str, int] = field(default_factory=dict, repr=False)
    _duplicates: list[Body] = field(default_factory=list, repr=False)
    _loops: list[Loop] = field(default_factory=list, repr=False)
    _obstacles: list[Obstacle] = field(default_factory=list, repr=False)
    _frames: dict[str, FrameOn] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        choice(self.units, tuple(UNITS), "units")
        if self.gravity is EARTH_GRAVITY:
            self.gravity = (0.0, 0.0, -FREE_FALL[self.units])
        self.gravity = vector3(self.gravity, f"gravity of linkage '{self.name}'")

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint = _WELD,
        placement: Pose = _HERE,
        inertia: Inertia = MASSLESS,
        *,
        joint_name: str | None = None,
        shapes: Sequence[Shape] = (),
        source: str = "",
    ) -> Body:
        """Hangs a new body from `parent`, which may be added later.

        placement: the joint's zero frame in the parent body's frame.
        joint_name: defaults to the body's name.
        """
        _expect(joint, Joint, name, "joint", "a joint such as lw.Revolute((0, 0, 1))")
        _expect(placement, Pose, name, "placement", "a lw.Pose")
        _expect(inertia, Inertia, name, "inertia", "a lw.Inertia")
        _expect(parent, str, name, "parent", "the name of a body or 'world'")
        if not isinstance(shapes, Sequence) or isinstance(shapes, str):
            raise ModelError(f"body '{name}': shapes must be a sequence of shapes, not {shown(shapes)}.")
        for shape in shapes:
            _expect(shape, Shape, name, "every shape", "a shape such as lw.Sphere(0.1)")
            if isinstance(shape, Plane | HeightField):
                raise ModelError(
                    f"body '{name}': a {type(shape).__name__} has no end and cannot move; add it with add_obstacle."
                )
        if not isinstance(name, str) or not name:
            raise ModelError(f"linkage '{self.name}': a body's name must be a non-empty string, not {name!r}.")
        if joint_name is not None:
            _name(joint_name, f"the joint of body '{name}'")
        body = Body(name, parent, joint, placement, inertia, joint_name or name, tuple(shapes), source)
        if name in self._index or name == WORLD:
            self._duplicates.append(body)
        else:
            self._index[name] = len(self._bodies)
            self._bodies.append(body)
        return body

    def add_loop(
        self,
        joint: Joint,
        body_a: str,
        body_b: str,
        placements: tuple[Pose, Pose] = (_HERE, _HERE),
        *,
        name: str | None = None,
        source: str = "",
    ) -> Loop:
        """Closes a loop: one more joint, between two bodies of the tree (or one and the world).

        placements: the joint's zero frame in body a, and the frame of body b that the joint moves against it.
        name: defaults to "a-b" of the bodies' names.
        """
        if name is not None and not isinstance(name, str):
            raise ModelError(f"linkage '{self.name}': the name of a loop is a text, not {shown(name)}.")
        label = name or f"{body_a}-{body_b}"
        try:
            in_a, in_b = placements
        except (TypeError, ValueError):
            raise ModelError(
                f"loop '{label}': placements must be two poses (in a, in b), not {placements!r}."
            ) from None
        for pose in (in_a, in_b):
            if not isinstance(pose, Pose):
                raise ModelError(f"loop '{label}': placements must be two lw.Pose, not {pose!r}.")
        if not isinstance(joint, Joint):
            raise ModelError(f"loop '{label}': joint must be a joint such as lw.Revolute((0, 0, 1)), not {joint!r}.")
        for body in (body_a, body_b):
            if not isinstance(body, str):
                raise ModelError(f"loop '{label}' joins bodies by name; {body!r} is not a name.")
        loop = Loop(label, joint, body_a, body_b, in_a, in_b, source)
        self._loops.append(loop)
        return loop

    def add_coupling(
        self,
        name: str,
        joints: Mapping[str, float] | Sequence[tuple[str, float]],
        offset: float = 0.0,
        *,
        source: str = "",
    ) -> Coupling:
        """Couples joints of one degree of freedom each, exactly: Σ coefficient · coordinate = offset [rad or m].

        joints: coefficients by name. A finger that mimics another, q_b = m q_a + c: `{"b": 1.0, "a": -m}, offset=c`.
        """
        try:
            pairs = as_pairs(joints)
        except (TypeError, ValueError):
            raise ModelError(
                f"coupling {shown(name)}: joints must be coefficients by name, such as {{'a': 1.0, 'b': -1.0}}, not "
                f"{shown(joints)}."
            ) from None
        coupling = Coupling(name, pairs, float_or_nan(offset), source)
        faults = coupling.faults()
        if faults:
            raise ModelError(f"linkage '{self.name}': coupling {shown(name)} cannot be added:", faults)
        self.couplings.append(coupling)
        return coupling

    def add_obstacle(self, name: str, shape: Shape, pose: Pose = _HERE, *, source: str = "") -> Obstacle:
        """Puts a shape into the world, for bodies to touch.

        pose: of the shape's frame in the world; the shape's own placement comes after it.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"linkage '{self.name}': an obstacle's name must be a non-empty string, not {name!r}.")
        if not isinstance(shape, Shape):
            raise ModelError(f"obstacle '{name}': shape must be a shape such as lw.Box((1, 1, 1)), not {shape!r}.")
        if not isinstance(pose, Pose):
            raise ModelError(f"obstacle '{name}': pose must be a lw.Pose, not {pose!r}.")
        obstacle = Obstacle(name, shape, pose, source)
        self._obstacles.append(obstacle)
        return obstacle

    def add_frame(self, name: str, body: str, pose: Pose = _HERE) -> FrameOn:
        """Names a frame that is fixed in a body, in another frame or in the world: a tool's tip, a camera, a grip.

        body: may be added later. pose: of the frame in it.
        """
        taken = isinstance(name, str) and (name in self._index or name in self._frames or name == WORLD)
        frame = new_frame(self.name, name, body, pose, taken)
        self._frames[name] = frame
        return frame

    @property
    def frames(self) -> tuple[FrameOn, ...]:
        """The frames, in the order they were added."""
        return tuple(self._frames.values())

    def remove_frame(self, name: str) -> None:
        """Takes a frame away."""
        if self._frames.pop(_name(name, "a frame"), None) is None:
            raise ModelError(f"linkage '{self.name}' has no frame '{name}'{did_you_mean(name, self._frames)}.")

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """What stands in the world, in the order it was added."""
        return tuple(self._obstacles)

    def remove_obstacle(self, name: str) -> None:
        """Takes an obstacle away."""
        self._warn_where_it_runs()
        kept = [obstacle for obstacle in self._obstacles if obstacle.name != _name(name, "an obstacle")]
        if len(kept) == len(self._obstacles):
            raise ModelError(f"linkage '{self.name}' has no obstacle '{name}'.")
        self._obstacles = kept

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loop closures, in the order they were added."""
        return tuple(self._loops)

    def remove_loop(self, name: str) -> None:
        """Opens a loop again."""
        self._warn_where_it_runs()
        kept = [loop for loop in self._loops if loop.name != _name(name, "a loop")]
        if len(kept) == len(self._loops):
            raise ModelError(f"linkage '{self.name}' has no loop '{name}'.")
        self._loops = kept

    def __len__(self) -> int:
        return len(self._bodies)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Body:
        try:
            return self._bodies[self._index[name]]
        except KeyError:
            raise ModelError(f"linkage '{self.name}' has no body '{name}'{did_you_mean(name, self._index)}.") from None
        except TypeError:
            raise ModelError(f"a body's name is a string, not {shown(name)}.") from None

    def edit_body(self, name: str, /, **changes: object) -> Body:
        """Replaces fields of a body: parent, joint, placement, inertia, joint_name, shapes."""
        unknown = set(changes) - set(Body.__slots__) | ({"name"} & set(changes))
        if unknown:
            raise ModelError(
                f"body '{name}' has no field {sorted(unknown)} to edit; there are parent, joint, placement, inertia, "
                "joint_name and shapes (use rename_body for the name)."
            )
        body = replace(self[name], **changes)  # type: ignore[arg-type]
        _expect(body.joint, Joint, name, "joint", "a joint such as lw.Revolute((0, 0, 1))")
        _expect(body.placement, Pose, name, "placement", "a lw.Pose")
        _expect(body.inertia, Inertia, name, "inertia", "a lw.Inertia")
        _expect(body.parent, str, name, "parent", "the name of a body or 'world'")
        self._warn_where_it_runs()
        self._bodies[self._index[name]] = body
        return body

    def rename_body(self, old: str, new: str) -> None:
        """Gives a body another name; its children follow. A joint named after the body is renamed with it."""
        body = self[old]
        if not _name(new, "a body"):
            raise ModelError(f"linkage '{self.name}': a body's name must not be empty.")
        if new in self._index or new == WORLD:
            raise ModelError(f"linkage '{self.name}': cannot rename '{old}' to '{new}'; that name is taken.")
        joint_name = new if body.joint_name == old else body.joint_name
        index = self._index.pop(old)
        self._index[new] = index
        self._bodies[index] = replace(body, name=new, joint_name=joint_name)
        for i, other in enumerate(self._bodies):
            if other.parent == old:
                self._bodies[i] = replace(other, parent=new)
        self._loops = [
            replace(
                loop,
                body_a=new if loop.body_a == old else loop.body_a,
                body_b=new if loop.body_b == old else loop.body_b,
            )
            for loop in self._loops
        ]
        self.ignore_contact = [(new if a == old else a, new if b == old else b) for a, b in self.ignore_contact]
        self._follow_names({old: new}, {body.joint_name: joint_name})
        self._frames = {name: frame.renamed(old, new) for name, frame in self._frames.items()}

    def remove_body(self, name: str) -> list[Body]:
        """Takes away a body, what hangs from it, its loops and the couplings of its joint; returns the bodies taken."""
        self[name]
        self._warn_where_it_runs()
        doomed = {name}
        children: dict[str, list[str]] = {}
        for body in self._bodies:
            children.setdefault(body.parent, []).append(body.name)
        queue = [name]
        while queue:
            found = children.get(queue.pop(), [])
            queue += [child for child in found if child not in doomed]
            doomed.update(found)
        taken = [body for body in self._bodies if body.name in doomed]
        self._bodies = [body for body in self._bodies if body.name not in doomed]
        self._index = {body.name: i for i, body in enumerate(self._bodies)}
        self._loops = [loop for loop in self._loops if not {loop.body_a, loop.body_b} & doomed]
        self.ignore_contact = [pair for pair in self.ignore_contact if not set(pair) & doomed]
        for frame in list(self._frames.values()):  # a frame on a frame was added after it, or goes in the next round
            if frame.body in doomed:
                doomed.add(frame.name)
                del self._frames[frame.name]
        joints = {body.joint_name for body in taken}
        self.sensors = [sensor for sensor in self.sensors if sensor.on not in (joints if sensor.ON_JOINT else doomed)]
        self.sensors = [sensor for sensor in self.sensors if getattr(sensor, "at", "") not in doomed]
        self.actuators = [actuator for actuator in self.actuators if actuator.joint not in joints]
        self.couplings = [x for x in self.couplings if not {joint for joint, _ in x.joints} & joints]
        return taken

    def _follow_names(self, bodies: dict[str, str], joints: dict[str, str]) -> None:
        """Sensors, actuators and couplings of what was renamed, old name → new, sit on it under its new name."""
        self.sensors = [
            sensor.moved_to(
                sensor.name,
                (joints if sensor.ON_JOINT else bodies).get(sensor.on, sensor.on),
                lambda name: bodies.get(name, name),
            )
            for sensor in self.sensors
        ]
        self.actuators = [x.moved_to(x.name, joints.get(x.joint, x.joint)) for x in self.actuators]
        self.couplings = [x.renamed(joints=joints) for x in self.couplings]

    def merge(
        self, other: Linkage, prefix: str = "", parent: str = WORLD, placement: Pose = _HERE, joint: Joint | None = None
    ) -> None:
        """Adds a copy of every body of `other` under names that begin with `prefix`.

        Bodies that hang from the world of `other` hang from `parent` at `placement`. With a `joint`, which needs a single
        such body, that joint replaces the body's own.
        """
        if not isinstance(other, Linkage):
            raise ModelError(f"linkage '{self.name}' can be merged with a lw.Linkage, not with {shown(other)}.")
        _expect(placement, Pose, other.name, "placement", "a lw.Pose")
        _name(prefix, "a prefix"), _name(parent, "a parent")
        if joint is not None:
            _expect(joint, Joint, other.name, "joint", "a joint such as lw.Revolute((0, 0, 1))")
        from linkwork.model.compile.merging import merge_into

        merge_into(self, other, prefix, parent, placement, joint)

    def compile(self, *, merge_fixed: bool = True) -> Model:
        """The compiled model, on which algorithms work; raises one ModelError with every fault found.

        merge_fixed: weld bodies on Fixed joints into their parents (default), or keep them as joints without freedom,
        whose reactions can then be asked for.
        """
        from linkwork.model.compile.compile import compile_linkage

        model = compile_linkage(self, merge_fixed=flag(merge_fixed, "merge_fixed"))
        self.__dict__["_compiled"] = weakref.ref(model)
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    def _warn_where_it_runs(self) -> None:
        """For what takes away or exchanges: simulations keep the linkage as it was compiled."""
        model = self.__dict__.get("_compiled", lambda: None)()
        if model is not None and model.simulations:
            warn_user(
                f"linkage '{self.name}' is edited while a simulation of it runs, which keeps the linkage as it was "
                "compiled. Compile it again, and begin a new simulation."
            )

    def to_urdf(self, path: str | Path, *, overwrite: bool = False) -> list[str]:
        """Writes a URDF file; returns what it does not keep. Raises ModelError for joints and loops URDF cannot hold.

        Capsules become cylinders with two spheres. overwrite: replace a file that is there.
        """
        room = import_module("linkwork.exporters.urdf")  # it builds on this one
        return list(room.write_urdf(self, path, overwrite))

    def to_mjcf(self, path: str | Path, *, overwrite: bool = False) -> list[str]:
        """Writes an MJCF file (MuJoCo); returns what it does not keep. Raises ModelError for what MJCF cannot hold.

        overwrite: replace a file that is there.
        """
        room = import_module("linkwork.exporters.mjcf")
        return list(room.write_mjcf(self, path, overwrite))

    def __repr__(self) -> str:
        loops = f", {len(self._loops)} loops" if self._loops else ""
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"Linkage('{self.name}', {len(self)} bodies{loops}{warned})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [
            ("bodies", f"{len(self):,}"),
            ("names", quoted((body.name for body in self._bodies), len(self))),
            ("loops", len(self._loops)),
            ("couplings", len(self.couplings)),
            ("obstacles", len(self._obstacles)),
            ("warnings", len(self.warnings)),
        ]
        return html_table(f"Linkage {self.name}", rows, "compile() makes a model; lw.view(linkage) shows it in 3-D")


def _name(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{what} is named by a text, not {shown(value)}.")
    return value


def _expect(value: object, kind: type, body: str, what: str, hint: str) -> None:
    if not isinstance(value, kind):
        raise ModelError(f"body '{body}': {what} must be {hint}, not {shown(value)}.")
