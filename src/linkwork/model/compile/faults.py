"""Why a linkage describes no mechanism: every fault found at once, each with the body's name and where it came from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import chain

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import shown
from linkwork.errors import ModelError
from linkwork.model.inertia import NEGATIVE_TOLERANCE, SHORTEST, TOO_LARGE, TRIANGLE_TOLERANCE, Inertia
from linkwork.model.linkage import WORLD, Body, Linkage
from linkwork.model.shapes import Shape
from linkwork.spatial.pose import Pose, vector3


def label(body: Body) -> str:
    return f"{body.source}: body '{body.name}'" if body.source else f"body '{body.name}'"


def name_faults(linkage: Linkage, bodies: list[Body]) -> list[str]:
    faults = [
        f"{label(body)}: the name '{WORLD}' is taken by the ground"
        if body.name == WORLD
        else f"{label(body)}: a body of this name exists already; names must be unique"
        for body in linkage._duplicates
    ]
    counts = Counter(body.joint_name for body in bodies)
    if len(counts) < len(bodies):
        owners: dict[str, list[str]] = {}
        for body in bodies:
            if counts[body.joint_name] > 1:
                owners.setdefault(body.joint_name, []).append(body.name)
        faults += [
            f"joint name '{name}' is used {len(users)} times, by bodies {users[:4]}; names must be unique"
            for name, users in owners.items()
        ]
    return faults


def parent_faults(bodies: list[Body], parent: list[int], frames: Mapping[str, str]) -> list[str]:
    """frames: the bodies they stand on, by name."""
    faults = [
        f"{label(body)}: its parent '{body.parent}' is a frame; hang it from '{frames[body.parent]}', with "
        "the frame's pose in its placement"
        if body.parent in frames
        else f"{label(body)}: its parent '{body.parent}' is unknown; add that body or hang this one from '{WORLD}'"
        for body, p in zip(bodies, parent, strict=True)
        if p == -2
    ]
    # Walk up from every body, marking the walk; meeting one's own mark closes a cycle.
    mark = [0] * len(bodies)
    for start in range(len(bodies)):
        i = start
        while i >= 0 and mark[i] == 0:
            mark[i] = start + 1
            i = parent[i]
        if i >= 0 and mark[i] == start + 1:
            names, j = [bodies[i].name], parent[i]
            while j != i:
                names.append(bodies[j].name)
                j = parent[j]
            shown = " → ".join(names[:6]) + (" → ..." if len(names) > 6 else "")
            faults.append(
                f"bodies hang from each other in a cycle of {len(names)}: {shown} → {names[0]}; cut it at one joint"
            )
    return faults


def value_faults(linkage: Linkage, bodies: list[Body]) -> list[str]:
    faults: list[str] = []
    try:
        gravity = vector3(linkage.gravity, "gravity")  # it may have been set since
    except ModelError:
        gravity = (math.nan,) * 3
    if not np.isfinite(gravity).all():
        faults.append(f"gravity is {shown(linkage.gravity)}; it must be three finite numbers [m/s²]")
    seen: dict[int, list[str]] = {}  # joints shared by many bodies are checked once
    for body in bodies:
        found = seen.get(id(body.joint))
        if found is None:
            found = seen[id(body.joint)] = body.joint.faults()
        faults += [f"{label(body)}: joint '{body.joint_name}': {fault}" for fault in found]
    placements = placement_table([body.placement for body in bodies])
    for i in np.flatnonzero(~np.isfinite(placements).all(axis=1)):
        faults.append(f"{label(bodies[i])}: placement has a number that is not finite: {bodies[i].placement}")
    reach = _reaches(bodies)
    for i in _suspicious_inertias([body.inertia for body in bodies], reach):
        faults += [f"{label(bodies[i])}: {fault}" for fault in bodies[i].inertia.faults(float(reach[i]))]
    for body in bodies:
        for shape in body.shapes:
            faults += [f"{label(body)}: {fault}" for fault in _seen_once(shape, seen)]
    return faults


def obstacle_faults(linkage: Linkage) -> list[str]:
    """Why obstacles cannot stand in the world, and pairs that ignore what is not there."""
    faults: list[str] = []
    names = Counter(obstacle.name for obstacle in linkage.obstacles)
    for obstacle in linkage.obstacles:
        source = f"{obstacle.source}: " if obstacle.source else ""
        named = f"{source}obstacle '{obstacle.name}'"
        faults += [f"{named}: {fault}" for fault in (*obstacle.shape.faults(), *obstacle.shape.volume_faults())]
        if not obstacle.pose.is_finite:
            faults.append(f"{named}: pose has a number that is not finite: {obstacle.pose}")
        if obstacle.name in linkage or obstacle.name == WORLD:
            faults.append(f"{named}: the name is taken by {'the ground' if obstacle.name == WORLD else 'a body'}")
    faults += [
        f"obstacle name '{name}' is used {count} times; names must be unique"
        for name, count in names.items()
        if count > 1
    ]
    for pair in linkage.ignore_contact:
        faults += [
            f"ignore_contact names '{name}', which is neither a body nor an obstacle"
            for name in pair
            if name not in linkage and name not in names and name != WORLD
        ]
    return faults


def _seen_once(shape: Shape, seen: dict[int, list[str]]) -> list[str]:
    """Faults of a shape; shapes shared by many bodies are checked once."""
    if id(shape) not in seen:
        seen[id(shape)] = shape.faults()
        return seen[id(shape)]
    return []


def _reaches(bodies: list[Body]) -> FloatArray:
    """How far each body reaches from its joint: to the joints it carries, or as far as it stands from its own [m]."""
    away = np.array([math.hypot(*body.placement.xyz) for body in bodies])
    reach = away.copy()
    index = {body.name: i for i, body in enumerate(bodies)}
    for body, distance in zip(bodies, away.tolist(), strict=True):
        parent = index.get(body.parent)
        if parent is not None and distance > reach[parent]:
            reach[parent] = distance
    return reach


def _suspicious_inertias(inertias: list[Inertia], reach: FloatArray) -> IntArray:
    """Bodies whose inertia may be unphysical, found for all at once; `Inertia.faults` has the last word."""
    n = len(inertias)
    numbers = np.fromiter(
        chain.from_iterable((i.mass, *i.com, *i.moments) for i in inertias), dtype=float, count=10 * n
    ).reshape(n, 10)
    bad = ~(np.abs(numbers) <= TOO_LARGE).all(axis=1)
    bad |= (numbers[:, 0] < 0) | ((numbers[:, 0] == 0) & numbers[:, 4:].any(axis=1))
    sound = numbers[~bad]
    moments = sound[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)
    low, middle, high = _principal_moments(moments).T
    length = np.maximum(np.maximum(np.linalg.norm(sound[:, 1:4], axis=1), reach[~bad]), SHORTEST)
    size = np.maximum(high, sound[:, 0] * length**2)
    bad[~bad] = (low < -NEGATIVE_TOLERANCE * size) | (high - low - middle > TRIANGLE_TOLERANCE * size)
    return np.flatnonzero(bad)


def _principal_moments(moments: FloatArray) -> FloatArray:
    """Eigenvalues of (m, 3, 3) matrices, ascending, shape (m, 3); most are diagonal, which needs no solver."""
    principal = np.sort(np.diagonal(moments, axis1=1, axis2=2), axis=1)
    mixed = moments[:, 0, 1:].any(axis=1) | (moments[:, 1, 2] != 0)
    if mixed.any():
        principal[mixed] = np.linalg.eigvalsh(moments[mixed])
    return principal


def placement_table(placements: list[Pose]) -> FloatArray:
    n = len(placements)
    numbers = chain.from_iterable((*pose.rotation, *pose.xyz) for pose in placements)
    return np.fromiter(numbers, dtype=float, count=12 * n).reshape(n, 12)
