"""What flows along a rod: tension, shear, moments, twist and curvature at its joints, from what joints carry.

At a joint with the rotation vector φ from rest, the section looks along the middle of both sides: the frame of the child
turned back by φ/2. Seen from it, results are of order 2 in the length of a segment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import numbers
from linkwork.core.messages.describe import described
from linkwork.core.messages.names import did_you_mean
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.rods.ends import RodOn
from linkwork.model.state import State


@described
class RodForces(NamedTuple):
    """Along one rod, at its joints from start to end. y and z are the axes of its section.

    start_force and end_force are of what holds the ends on the rod: with its weight, its fluid and its loads they are in
    balance. Where an end is free they are zero.
    """

    name: str
    s: FloatArray  # (n,)  length from the start [m]
    tension: FloatArray  # (n,)  [N], negative where it is pressed
    shear: FloatArray  # (n, 2)  along y and z [N]
    moment: FloatArray  # (n, 2)  about y and z [N·m]
    torque: FloatArray  # (n,)  about its axis [N·m]
    curvature: FloatArray  # (n, 2)  about y and z, natural curvature included [1/m]
    twist: FloatArray  # (n,)  natural twist included [rad/m]
    at: FloatArray  # (n, 3)  where the joints are, in the world [m]
    start_force: FloatArray  # (3,)  of what holds the start on the rod, in the world [N]
    end_force: FloatArray  # (3,)  and of what holds or hangs from the end


def find_rod(model: Model, name: str | None) -> RodOn:
    """The rod of a model by its name, or the only one."""
    if not as_model(model, "rod_forces").rods:
        raise StateError(f"model '{model.name}' has no rod; build one with lw.rod(...).")
    if name is None:
        if len(model.rods) > 1:
            names = ", ".join(rod.name for rod in model.rods[:8])
            raise StateError(f"model '{model.name}' has {len(model.rods)} rods ({names}); say which, by name.")
        return model.rods[0]
    for rod in model.rods:
        if isinstance(name, str) and rod.name == name:
            return rod
    raise StateError(
        f"model '{model.name}' has no rod '{name}'{did_you_mean(str(name), [r.name for r in model.rods])}."
    )


def rod_forces(
    model: Model, state: State, reactions: FloatArray, name: str | None = None, *, loops: FloatArray | None = None
) -> RodForces:
    """Internal forces of a rod at a state, from the wrenches that joints pass to the bodies they carry.

    reactions: [n; f] in each body's frame at its origin, shape (n, 6), as `lw.joint_reactions` gives them.
    name: of the rod; the only one by default.
    loops: reactions of the loops, shape (loops, 6), as `lw.constrained_dynamics` gives them, where the model has loops.
    The first piece of a rod that is clamped belongs to the body that holds it, and to no joint: its weight is in
    start_force; its acceleration, and a fluid around it, are not (`along` counts the fluid).
    """
    rod = find_rod(model, name)
    q, v = as_state(model, state)
    bodies = np.array([model.body(body) for body in rod.bodies])
    carried = carried_pieces(model, rod, bodies)
    poses = body_poses(model, State(q, v))
    every = numbers(reactions, (model.n_bodies, 6), "reactions", f"model '{model.name}'")
    wrench = _from_other_side(every[carried], poses[carried], poses[bodies], carried != bodies)
    phi = _turns(model, q, carried, carried != bodies)
    half = _rotations(0.5 * phi)  # from the child to the middle
    force = -np.einsum("kij,kj->ki", half, wrench[:, 3:])
    moment = -np.einsum("kij,kj->ki", half, wrench[:, :3])
    bent = rod.curvature + phi / rod.spacing[:, None]
    force_of = np.einsum("kij,kj->ki", poses[:, :3, :3], every[:, 3:])  # on each body, of its joint, in the world
    at_loops = _forces_of_loops(model, poses, loops)
    return RodForces(
        rod.name,
        rod.s,
        force[:, 0],
        force[:, 1:],
        moment[:, 1:],
        moment[:, 0],
        bent[:, 1:],
        bent[:, 0],
        poses[bodies, :3, 3],
        *_end_forces(model, rod, force_of, at_loops),
    )


def _end_forces(
    model: Model, rod: RodOn, force_of: FloatArray, at_loops: Callable[[int], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Of all joints and loops at the first and at the last piece but the rod's own; of a clamped first piece, what the next
    one and its weight ask for."""
    start, end = model.body(rod.start.body), model.body(rod.end.body)

    def of_others(piece: int, passed: FloatArray) -> FloatArray:
        return np.asarray(force_of[piece] - force_of[model.parent == piece].sum(axis=0) + passed + at_loops(piece))

    passed, following = _passed(model, start, end, force_of)
    at_end = of_others(end, _passed(model, end, start, force_of)[0])
    if rod.start.body not in model.frames:
        return of_others(start, passed), at_end
    part = 1.0 if following == model.body(rod.bodies[0]) else 0.5  # a piece that stretches is two halves
    return passed - part * rod.start.mass * model.gravity, at_end


def _passed(model: Model, a: int, b: int, force_of: FloatArray) -> tuple[FloatArray, int]:
    """The force of body a on its neighbour on the way to body b, and that neighbour."""
    i, parent = b, model.parent
    while i >= 0 and parent[i] != a:
        i = int(parent[i])
    return (force_of[i], i) if i >= 0 else (-force_of[a], int(parent[a]))


def _forces_of_loops(model: Model, poses: FloatArray, loops: FloatArray | None) -> Callable[[int], FloatArray]:
    """The force (3,) of all loops on a body, in the world."""
    if loops is None and model.loops:
        raise StateError(
            f"model '{model.name}' has loops, which hold ends of rods: give their reactions, as "
            "rod_forces(..., loops=lw.constrained_dynamics(...).reactions)."
        )
    given = numbers(
        np.zeros((0, 6)) if loops is None else loops, (len(model.loops), 6), "loops", f"model '{model.name}'"
    )

    def force(body: int) -> FloatArray:
        total = np.zeros(3)
        for closure, wrench in zip(model.loops, given, strict=True):
            if body in (closure.body_a, closure.body_b):
                turned = closure.placement_b.matrix[:3, :3] @ wrench[3:]
                in_world = turned if closure.body_b < 0 else poses[closure.body_b, :3, :3] @ turned
                total += in_world if closure.body_b == body else -in_world
        return total

    return force


def carried_pieces(model: Model, rod: RodOn, bodies: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bodies that the joints of a rod carry: those towards its end, or the others where the root lies further on.

    bodies: those towards the end, shape (n,).
    """
    carried, joint = bodies.copy(), {body: k for k, body in enumerate(bodies.tolist())}
    parent = model.parent
    i = model.body(rod.start.body)
    while i >= 0:
        if int(parent[i]) in joint:
            carried[joint[int(parent[i])]] = i
        i = int(parent[i])
    return carried


def _from_other_side(
    wrench: FloatArray, carried: FloatArray, bodies: FloatArray, turned: NDArray[np.bool_]
) -> FloatArray:
    """Wrenches on the bodies towards the end, from those on the bodies that joints carry: opposite where these differ.

    carried, bodies: poses in the world, shape (n, 4, 4).
    """
    a, b = carried[turned], bodies[turned]
    n, f = (np.einsum("kij,kj->ki", a[:, :3, :3], half) for half in (wrench[turned, :3], wrench[turned, 3:]))
    n = n + np.cross(a[:, :3, 3] - b[:, :3, 3], f)
    out = wrench.copy()
    out[turned] = -np.concatenate([np.einsum("kji,kj->ki", b[:, :3, :3], part) for part in (n, f)], axis=1)
    return out


def _turns(model: Model, q: FloatArray, bodies: NDArray[np.int64], turned: NDArray[np.bool_]) -> FloatArray:
    """Rotation vector of each joint from rest, in the axes of the body towards the rod's end, shape (n, 3)."""
    out = np.zeros((bodies.size, 3))
    tree, body, rest = model.arrays.tree, model.arrays.body, model.arrays.rest
    kind, first = tree[bodies, layout.KIND], tree[bodies, layout.Q]
    hinge = kind == layout.HELICAL
    sign = np.where(turned, -1.0, 1.0)[
        :, None
    ]  # a turned joint has the inverse coordinates, in the axes of the other body
    angle = sign[hinge] * (q[first[hinge]] - rest[first[hinge]])[:, None]
    out[hinge] = angle * body[bodies[hinge], layout.AXIS : layout.AXIS + 3]
    ball = kind == layout.SPHERICAL
    rows = first[ball][:, None] + np.arange(4)
    inverse = np.concatenate([np.ones_like(sign), sign, sign, sign], axis=1)[ball]
    out[ball] = _logarithm(inverse * rest[rows], inverse * q[rows])
    R = body[bodies[turned], layout.ROTATION : layout.POSITION].reshape(-1, 3, 3)
    out[turned] = np.einsum("kij,kj->ki", R, out[turned])
    return out


def _logarithm(before: FloatArray, after: FloatArray) -> FloatArray:
    """Rotation vectors from one orientation (w, x, y, z) to another, rows."""
    w = np.einsum("ij,ij->i", before, after)
    a, b = before[:, 1:], after[:, 1:]
    v = before[:, :1] * b - after[:, :1] * a - np.cross(a, b)
    sine = np.linalg.norm(v, axis=1)
    angle = 2.0 * np.arctan2(sine, np.abs(w))
    scale = np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0) * np.where(w < 0.0, -1.0, 1.0)
    return np.asarray(scale[:, None] * v)


def _rotations(phi: FloatArray) -> FloatArray:
    """Matrices of rotation vectors, shape (n, 3, 3)."""
    angle2 = np.einsum("ij,ij->i", phi, phi)
    angle = np.sqrt(angle2)
    small = angle < 1e-6
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 1.0 - angle2 / 6.0, np.sin(safe) / safe)
    b = np.where(small, 0.5 - angle2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    hat = np.zeros((phi.shape[0], 3, 3))
    hat[:, 0, 1], hat[:, 0, 2], hat[:, 1, 2] = -phi[:, 2], phi[:, 1], -phi[:, 0]
    hat -= np.swapaxes(hat, 1, 2)
    return np.asarray(np.eye(3) + a[:, None, None] * hat + b[:, None, None] * (hat @ hat))
