"""Meshes that a robot's file names and that are not there: left out, replaced by capsules, or refused.

By default such a shape is kept by the name of its file. It touches nothing, and whatever needs it says so in a warning.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.core.checks import shown
from linkwork.core.messages.describe import quoted
from linkwork.errors import FormatError
from linkwork.model.inertia import Inertia
from linkwork.model.linkage import Body, Linkage
from linkwork.model.shapes import Capsule, Mesh, Shape
from linkwork.spatial.pose import Pose

CHOICES = ("skip", "capsule", "error")
NAMED = 6  # files that a message names
ADVICE = "put the files where their names say (package://NAME/... is looked for above the file and in ROS_PACKAGE_PATH)"


def settle_missing_meshes(linkage: Linkage, how: str | None, source: str) -> None:
    """how: "skip" takes the shapes out, "capsule" puts a capsule where the mass of the body lies, "error" refuses the file;
    None keeps them by name."""
    if how is None:
        return
    if not isinstance(how, str) or how not in CHOICES:
        raise FormatError(f"{source}: missing_meshes must be 'skip', 'capsule' or 'error', not {shown(how)}.")
    lacking = [body for body in linkage if any(map(is_missing, body.shapes))]
    if not lacking:
        return
    files = sorted(
        {shape.file for body in lacking for shape in body.shapes if isinstance(shape, Mesh) and shape.missing}
    )
    if how == "error":
        raise FormatError(
            f"{source}: {len(files)} mesh files are absent: {quoted(files, len(files), NAMED)}; {ADVICE}, or "
            "load with missing_meshes='skip' or 'capsule'."
        )
    for body in lacking:
        linkage.edit_body(body.name, shapes=_without(body) if how == "skip" else _with_capsule(body))
    stand_in = (
        "left out" if how == "skip" else "a capsule where the mass of its body lies stands for each that can touch"
    )
    linkage.warnings.append(f"{source}: {len(files)} mesh files are absent: {stand_in}")


def is_missing(shape: Shape) -> bool:
    return isinstance(shape, Mesh) and shape.missing


def _without(body: Body) -> tuple[Shape, ...]:
    return tuple(shape for shape in body.shapes if not is_missing(shape))


def _with_capsule(body: Body) -> tuple[Shape, ...]:
    """One capsule for all meshes of a body that could touch, with the surface of the first; drawn ones are left out."""
    lost = [shape for shape in body.shapes if is_missing(shape) and not shape.visual_only]
    capsule = capsule_of(body.inertia) if lost else None
    if capsule is None:
        return _without(body)
    surface = {name: getattr(lost[0], name) for name in ("friction", "restitution", "group", "mask")}
    return (*_without(body), replace(capsule, **surface))


def capsule_of(inertia: Inertia) -> Capsule | None:
    """The capsule around the ellipsoid of even density that has an inertia; None where that has no extent.

    Its half axes follow from the principal moments: a² = 5 (I_b + I_c - I_a) / (2 m). The capsule is as long as the longest
    of them, and as thick as the other two are on average.
    """
    mass = float(inertia.mass)
    if not mass > 0.0:
        return None
    moments, axes = np.linalg.eigh(inertia.matrix)
    square = 2.5 * (moments.sum() - 2.0 * moments) / mass
    half = np.sqrt(np.maximum(square, 0.0))  # the smallest moment comes first: the longest half axis
    radius = float(np.sqrt(half[1] * half[2]))
    if not radius > 0.0 or not np.isfinite(half).all():
        return None
    turned = np.column_stack([axes[:, 1], axes[:, 2], axes[:, 0]])  # z along the longest
    if np.linalg.det(turned) < 0.0:
        turned[:, 0] *= -1.0
    pose = Pose(inertia.com, matrix=turned)
    least = 1e-3 * radius  # a capsule has some length
    return Capsule(radius, max(2.0 * (float(half[0]) - radius), least), placement=pose)
