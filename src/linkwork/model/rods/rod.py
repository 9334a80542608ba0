"""The linkage that stands for a rod: rigid bodies with springs between them.

n joints stand in the middles of n segments of length ℓ, so that the first and the last piece are half ones. A joint carries
EI/ℓ and GJ/ℓ about axes of the natural shape at its place: the midpoint rule, order 2 in ℓ, for clamped, pinned and free
ends alike. The frame of a piece is that of the natural shape at its joint, x along the rod.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, shown
from linkwork.core.messages.warning import warn_user
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Joint, Prismatic, Revolute, Spherical
from linkwork.model.linkage import EARTH_GRAVITY, WORLD, Linkage
from linkwork.model.rods.curve import Natural, check_curve, natural_shape
from linkwork.model.rods.ends import Clamped, Pinned, RodEnd, RodOn
from linkwork.model.rods.numbers import Given, Numbers, rod_numbers
from linkwork.model.shapes import Capsule, Shape
from linkwork.spatial.pose import Pose, Vector3, vector3

Held = Clamped | Pinned

KINDS = ("ball", "hinges", "plane")
SLACK = 1e-9  # part of its length by which the ends of an inextensible rod may be farther apart


@dataclass(repr=False)
class Rod(Linkage):
    """A linkage that is one rod. Its start is free until it is attached."""

    numbers: Numbers = field(default=None, repr=False)  # type: ignore[assignment]
    held: dict[str, Held] = field(default_factory=dict, repr=False)
    _start_frame: Pose = field(default_factory=Pose, repr=False)
    _end_frame: Pose = field(default_factory=Pose, repr=False)  # natural shape, in the world

    @property
    def on(self) -> RodOn:
        """Where the rod is in this linkage."""
        return self.rods[0]

    def attach_world(self, end: str, how: Held, at: Pose | Sequence[float] | None = None) -> None:
        """Holds an end ("start" or "end") in the world.

        how: `lw.Clamped()` or `lw.Pinned()`; an end that is not attached is free.
        at: where, as a pose whose x points along the rod, or as a point; without it, where the natural shape has it. A
        start that is given takes the whole rod with it.
        An end that is held besides the start closes a loop.
        """
        self.attach(end, WORLD, how, at)

    def attach(self, end: str, body: str, how: Held, at: Pose | Sequence[float] | None = None) -> None:
        """Holds an end by a body of this linkage, or by "world"; `at` is in that body's frame."""
        if end not in ("start", "end"):
            raise ModelError(f"{self.name}: a rod has a 'start' and an 'end', not {shown(end)}.")
        if not isinstance(how, Clamped | Pinned):
            raise ModelError(f"{self.name}: an end is held by lw.Clamped() or lw.Pinned(), not {shown(how)}.")
        if end in self.held:
            raise ModelError(f"{self.name}: its {end} is attached already; build another rod, or edit the linkage.")
        natural = self._start_frame if end == "start" else self._end_frame
        if isinstance(at, Pose):
            place = at
        elif at is None:
            place = natural
        else:
            place = Pose.raw(natural.rotation, vector3(at, f"{self.name}: at"))
        if end == "start":
            if "end" in self.held:
                raise ModelError(f"{self.name}: attach the start before the end.")
            self.edit_body(self.on.start.body, parent=body, joint=how.joint, placement=place)
            _ignore_clamp(self, self.on, body, how)
            self._end_frame = place @ natural.inverse() @ self._end_frame
            self._start_frame = place
        else:
            self._refuse_too_far(body, how, place)
            self.add_loop(how.joint, body, self.on.end.body, (place, self.on.end.frame), name=f"{self.name}_end")
        self.held[end] = how

    def _refuse_too_far(self, body: str, how: Held, place: Pose) -> None:
        """An inextensible rod between two fixed places must reach from one to the other."""
        if body != WORLD or "start" not in self.held or self[self.on.start.body].parent != WORLD:
            return
        apart = math.dist(place.xyz, self._start_frame.xyz)
        if apart > self.on.length * (1.0 + SLACK) and not self.numbers.stretches:
            raise ModelError(
                f"{self.name}: its ends are held {apart:.6g} m apart, and it is {self.on.length:.6g} m long and does not "
                "stretch. Make it longer, hold its ends closer, or give EA."
            )
        both = isinstance(how, Clamped) and isinstance(self.held["start"], Clamped)
        if both and apart >= self.on.length * (1.0 - SLACK) and not self.numbers.stretches:
            along = np.array(place.matrix[:3, 0]) - np.array(self._start_frame.matrix[:3, 0])
            if np.abs(along).max() < SLACK:
                raise ModelError(
                    f"{self.name}: it is clamped at both ends without length to spare, so that no joint can turn. Give it "
                    "slack, EA, or a pinned end."
                )

    def attach_to(self, linkage: Linkage, prefix: str = "", *, start: Any = None, end: Any = None) -> RodOn:
        """Adds a copy of this rod to another linkage, under names that begin with `prefix`, and holds its ends there.

        start, end: (body, lw.Clamped() or lw.Pinned(), pose in that body with x along the rod); None leaves an end free.
        """
        linkage.merge(self, prefix)
        placed = linkage.rods[-1]
        for what, given in (("start", start), ("end", end)):
            if given is None:
                continue
            try:
                body, how, pose = given
            except (TypeError, ValueError):
                raise ModelError(f"{self.name}: {what} must be (body, how, pose), not {shown(given)}.") from None
            if not isinstance(how, Clamped | Pinned) or not isinstance(pose, Pose):
                raise ModelError(
                    f"{self.name}: {what} is held by lw.Clamped() or lw.Pinned() at a lw.Pose, not by {shown(given)}."
                )
            if what == "start":
                linkage.edit_body(placed.start.body, parent=body, joint=how.joint, placement=pose)
                _ignore_clamp(linkage, placed, body, how)
            else:
                frames = (pose, placed.end.frame)
                linkage.add_loop(how.joint, body, placed.end.body, frames, name=f"{placed.name}_end")
        return placed


def _ignore_clamp(linkage: Linkage, on: RodOn, body: str, how: Held) -> None:
    """A piece that is clamped in the world is a part of it, which the next piece overlaps with."""
    if body == WORLD and isinstance(how, Clamped) and on.bodies:
        linkage.ignore_contact.append((WORLD, on.bodies[0]))


def rod(
    length: float | None = None,
    segments: int | str = 100,
    *,
    EI: Any = None,
    GJ: Any = None,
    EA: Any = None,
    mass_per_length: Any = None,
    radius: float | None = None,
    section: Any = None,
    material: Any = None,
    curve: Any = None,
    roll: float | Callable[[float], float] = 0.0,
    damping: Any = None,
    joints: str = "ball",
    tolerance: float = 1e-3,
    name: str = "rod",
    gravity: Vector3 = EARTH_GRAVITY,
) -> Rod:
    """A rod or cable with physical numbers, as a linkage of rigid bodies with springs between them.

    length [m]: of a straight rod along x from the origin; a curve brings its own.
    segments: how many joints; "auto" takes as many as `tolerance` asks for (the estimate is in `numbers.estimated_error`).
    EI: bending stiffness [N·m²]: a number, a pair (about y, about z), rows of either per joint, or a function of length.
    GJ: twisting stiffness [N·m²]; EA: stretching stiffness [N], by a slider in every piece; None does not stretch, which
    leaves out an extension of T/EA per length.
    mass_per_length [kg/m]: a number, one per joint, or a function of the length.
    radius [m], or section=lw.round_section(r, inner) or lw.rectangle(width, height): with a material, which is
    lw.Material(E, nu, density), they give what is not given above; EA="material" lets the rod stretch as its material does.
    curve: natural shape: a function of 0 ... 1, points (m, 3) to pass through, or lw.BSpline(points).
    roll [rad]: of the axes of the section about the rod, a number or a function of the length.
    damping: lw.RodDamping, or the time [s] by which the stress lags behind the strain (Kelvin and Voigt).
    joints: "ball" (bends and twists; energy ½ φᵀKφ of the rotation vector), "hinges" (about y and z by turns, no twist), or
    "plane" (all about y).
    Results are of order 2 in the length of a segment. docs/rods.md has examples.
    """
    if not isinstance(joints, str) or joints not in KINDS:
        raise ModelError(f"{name}: joints must be one of {', '.join(KINDS)}, not {shown(joints)}.", about="joints")
    given = Given(EI, GJ, EA, mass_per_length, radius, section, material, damping)
    if joints == "ball" and GJ is None and (material is None or (section is None and radius is None)):
        warn_user(
            f"{name}: GJ is not given; two thirds of EI is taken, as of a round rod that keeps its volume. Give GJ, or a "
            "material with a radius or section."
        )
    numbers, measured = rod_numbers(length, segments, given, curve, tolerance, gravity)
    n, ell = numbers.s.size, numbers.length / numbers.s.size
    if measured is not None:
        check_curve(measured, ell)
    if not callable(roll):
        angle = finite(roll, "roll")
        roll = lambda _: angle  # noqa: E731
    stations = np.concatenate([[0.0], numbers.s, [numbers.length]])
    natural = natural_shape(stations, measured, roll)
    made = Rod(name, gravity, numbers=numbers)
    _Builder(made, numbers, natural, joints).build(n, ell)
    return made


class _Builder:
    """Adds the pieces of a rod; equal ones share their joint, inertia and shape."""

    def __init__(self, rod: Rod, numbers: Numbers, natural: Natural, joints: str):
        self.rod, self.numbers, self.natural, self.joints = rod, numbers, natural, joints
        self._inertias: dict[tuple[Any, ...], Inertia] = {}
        self._shapes: dict[tuple[Any, ...], tuple[Shape, ...]] = {}
        self._joints: dict[tuple[Any, ...], Joint] = {}

    def build(self, n: int, ell: float) -> None:
        natural, rod, name = self.natural, self.rod, self.rod.name
        at, frames = natural.at, natural.frame
        placements = [Pose.raw(tuple(frames[0].ravel().tolist()), tuple(at[0].tolist()))]
        local = np.einsum("kji,kj->ki", frames[:-1], np.diff(at, axis=0))  # the next station, in each frame
        turns = np.einsum("kji,kjl->kil", frames[:-1], frames[1:])
        parent, bodies = WORLD, []
        for i in range(n + 1):
            body = f"{name}_{i}"
            joint = Free() if i == 0 else self._joint(i - 1, ell)
            tip, mass = local[i], self.numbers.mass[i]
            far = self._piece(body, parent, joint, placements[-1], tip, mass)
            if i > 0:
                bodies.append(body)
            if i < n:
                placements.append(Pose.raw(tuple(turns[i].ravel().tolist()), far[1]))
            parent = far[0]
        lengths = np.diff(natural.s)
        curvature = np.zeros((n, 3))
        if np.abs(turns - np.eye(3)).max() > 0.0:
            bends = np.array([_rotation_vector(turn) for turn in turns])
            curvature = (bends[1:] + bends[:-1]) / (lengths[1:] + lengths[:-1])[:, None]
        end_turn = tuple(turns[n].ravel().tolist())
        first, last = f"{name}_0", parent
        on = RodOn(
            name,
            tuple(bodies),
            self.numbers.length,
            self.numbers.s,
            ell * np.array([segments_covered(k, n) if self.joints == "hinges" else 1.0 for k in range(n)]),
            curvature,
            RodEnd(first, Pose(), float(self.numbers.mass[0]), float(lengths[0])),
            RodEnd(last, Pose.raw(end_turn, far[1]), float(self.numbers.mass[n]), float(lengths[n])),
        )
        rod.rods.append(on)
        rod._start_frame = placements[0]
        rod._end_frame = Pose.raw(tuple(frames[-1].ravel().tolist()), tuple(at[-1].tolist()))

    def _joint(self, k: int, ell: float) -> Joint:
        """The joint in the middle of segment k."""
        GJ, EIy, EIz = self.numbers.stiffness[k]
        lag = self.numbers.lag
        if self.joints == "ball":
            key: tuple[Any, ...] = (GJ, EIy, EIz)
            if key not in self._joints:
                stiff = (GJ / ell, EIy / ell, EIz / ell)
                self._joints[key] = Spherical(stiffness=stiff, damping=tuple(lag * x for x in stiff) if lag else None)
            return self._joints[key]
        about_z = self.joints == "hinges" and k % 2 == 1
        covered = segments_covered(k, self.numbers.s.size) if self.joints == "hinges" else 1.0
        stiffness = (EIz if about_z else EIy) / (covered * ell)
        key = (about_z, stiffness)
        if key not in self._joints:
            axis = (0.0, 0.0, 1.0) if about_z else (0.0, 1.0, 0.0)
            self._joints[key] = Revolute(axis, stiffness=stiffness, damping=lag * stiffness if lag else None)
        return self._joints[key]

    def _piece(
        self, body: str, parent: str, joint: Joint, placement: Pose, tip: FloatArray, mass: float
    ) -> tuple[str, Vector3]:
        """Adds a piece, in two halves with a slider where it stretches; returns the far body, and the far end in it."""
        far = (float(tip[0]), float(tip[1]), float(tip[2]))
        if not self.numbers.stretches:
            self.rod.add_body(body, parent, joint, placement, self._inertia(tip, mass), shapes=self._shape(tip))
            return body, far
        half = 0.5 * tip
        size = float(np.linalg.norm(tip))
        middle = (0.5 * far[0], 0.5 * far[1], 0.5 * far[2])
        self.rod.add_body(body, parent, joint, placement, self._inertia(half, 0.5 * mass), shapes=self._shape(half))
        k = min(len(self.rod) // 2, self.numbers.EA.size - 1)
        stiffness = float(self.numbers.EA[k]) / size
        key = ("slider", stiffness, *(tip / size).tolist())
        if key not in self._joints:
            axis = tuple((tip / size).tolist())
            lag = self.numbers.lag
            self._joints[key] = Prismatic(axis, stiffness=stiffness, damping=lag * stiffness if lag else None)
        slid = body + "_far"
        place = Pose.raw((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), middle)
        self.rod.add_body(
            slid, body, self._joints[key], place, self._inertia(half, 0.5 * mass), shapes=self._shape(half)
        )
        return slid, middle

    def _inertia(self, tip: FloatArray, mass: float) -> Inertia:
        """Of a straight piece from the origin of its frame to `tip`."""
        key = (*tip.tolist(), mass)
        if key not in self._inertias:
            size = float(np.linalg.norm(tip))
            about_x, about_y, about_z = (mass * x for x in self.numbers.gyration2)
            slim = mass * size * size / 12.0
            C = _towards(tip / size)
            moments = C @ np.diag([about_x, slim + about_y, slim + about_z]) @ C.T
            middle = (0.5 * float(tip[0]), 0.5 * float(tip[1]), 0.5 * float(tip[2]))
            self._inertias[key] = Inertia(mass, middle, 0.5 * (moments + moments.T))
        return self._inertias[key]

    def _shape(self, tip: FloatArray) -> tuple[Shape, ...]:
        key = tuple(tip.tolist())
        if key not in self._shapes:
            size = float(np.linalg.norm(tip))
            C = _towards(tip / size) @ np.array(
                [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
            )  # z along the piece
            pose = Pose.raw(tuple(C.ravel().tolist()), (0.5 * key[0], 0.5 * key[1], 0.5 * key[2]))
            self._shapes[key] = (Capsule(self.numbers.radius, size, placement=pose),)
        return self._shapes[key]


def segments_covered(k: int, n: int) -> float:
    """How many segments hinge k of n bends for, where every second one turns its way: as far as halfway to the next."""
    return (k + 1.5 if k + 2 < n else n) - (k - 0.5 if k >= 2 else 0.0)


def _towards(direction: FloatArray) -> FloatArray:
    """The rotation of x to a unit direction by the shortest way, columns; the direction is not −x."""
    x, y, z = direction.tolist()
    c = 1.0 / (1.0 + x)
    return np.array([[x, -y, -z], [y, 1.0 - c * y * y, -c * y * z], [z, -c * y * z, 1.0 - c * z * z]])


def _rotation_vector(R: FloatArray) -> FloatArray:
    """Of a rotation by less than half a turn."""
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = 0.5 * float(np.linalg.norm(axis))
    if sine == 0.0:
        return np.zeros(3)
    return np.asarray(0.5 * axis * math.atan2(sine, 0.5 * (float(np.trace(R)) - 1.0)) / sine)
