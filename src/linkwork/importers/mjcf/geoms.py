"""Geoms of a compiled MuJoCo model as shapes: those that can collide, with friction and bits, and those for display."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.importers.mjcf.assets import MissingMeshes, mesh_file
from linkwork.importers.report import Report
from linkwork.model.friction import Friction
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from linkwork.spatial.pose import Pose

Obstacles = list[tuple[str, Shape]]  # names and shapes, placed in the world


def geom_shapes(
    mujoco: Any, spec: Any, model: Any, missing: MissingMeshes, report: Report
) -> tuple[dict[int, list[Shape]], Obstacles]:
    """Shapes by body index (0: the world), and planes and height fields, which stand in the world, as obstacles.

    Geoms that cannot collide are for display only.
    """
    absent = {geom.id: (file, scale) for geom, file, scale in missing.geoms if geom.id >= 0}
    lines = {geom.id: int(geom.info.split()[-1]) if geom.info else 0 for geom in spec.geoms}
    paired = {int(g) for g in (*model.pair_geom1, *model.pair_geom2)}
    contact_is_off = bool(int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CONTACT))
    shapes: dict[int, list[Shape]] = {}
    obstacles: Obstacles = []
    for g in range(model.ngeom):
        line = lines.get(g, 0)
        collides = bool(model.geom_contype[g] or model.geom_conaffinity[g] or g in paired) and not contact_is_off
        here = Pose(model.geom_pos[g], quaternion=model.geom_quat[g])
        shape: Shape | None
        if g in absent:
            file, scale = absent[g]
            shape = Mesh(file, scale, placement=here, missing=True)
        else:
            shape = _shape(mujoco, spec, model, g, here)
        if shape is None:
            kind = mujoco.mjtGeom(int(model.geom_type[g])).name.removeprefix("mjGEOM_").lower()
            body = model.body(int(model.geom_bodyid[g])).name or "without name"
            report.note(line, f"{kind} geom of body '{body}'", "a shape Linkwork does not have; not kept", group=kind)
            continue
        surface: dict[str, Any] = {"visual_only": True}
        if collides:
            surface = {
                "friction": _friction(int(model.geom_condim[g]), *model.geom_friction[g].tolist()),
                "group": int(model.geom_contype[g]),
                "mask": int(model.geom_conaffinity[g]),
            }
        if isinstance(shape, Plane | HeightField):
            if collides:
                placed = _place_of_body(model, int(model.geom_bodyid[g])) @ shape.placement
                obstacles.append((model.geom(g).name, replace(shape, **surface, placement=placed)))
            continue
        shapes.setdefault(int(model.geom_bodyid[g]), []).append(replace(shape, **surface))
    _note_materials(model, shapes, obstacles, report)
    return shapes, obstacles


def _place_of_body(model: Any, body: int) -> Pose:
    """In the world, of a body that is welded to it through all its parents: planes and height fields stand on such."""
    placed = Pose()
    while body > 0:
        placed = Pose(model.body_pos[body], quaternion=model.body_quat[body]) @ placed
        body = int(model.body_parentid[body])
    return placed


def _note_materials(model: Any, shapes: dict[int, list[Shape]], obstacles: Obstacles, report: Report) -> None:
    """What a file says of contact beyond sliding friction, groups and excludes."""
    touching = [shape for body in shapes.values() for shape in body if not shape.visual_only]
    frictions = {shape.friction for shape in (*touching, *(shape for _, shape in obstacles))}
    if len(frictions) > 1:
        report.note(0, "frictions", "a pair has their geometric mean here, the larger one in MuJoCo", group="friction")
    if (model.geom_condim == 4).any():
        report.note(0, "spinning friction (condim 4)", "not kept; sliding friction is", group="condim")
    if (model.geom_condim == 6).any():
        what = "spinning friction beside rolling friction (condim 6)"
        report.note(0, what, "taken as that of a patch which rolls so: sliding times rolling friction", group="condim")


def _friction(condim: int, sliding: float, _spinning: float, rolling: float) -> float | Friction:
    """One dimension of contact is the normal alone; six are those of a patch."""
    if condim == 1:
        return 0.0
    return Friction(sliding, patch=rolling) if condim == 6 and rolling > 0.0 else sliding


def obstacle_names(obstacles: Obstacles, taken: set[str]) -> list[str]:
    """Names of the file, or what they are; each once."""
    names = []
    for given, shape in obstacles:
        wish = given or ("plane" if isinstance(shape, Plane) else "height_field")
        name, number = wish, 1
        while name in taken:
            number += 1
            name = f"{wish}_{number}"
        taken.add(name)
        names.append(name)
    return names


def ignored_pairs(model: Any, names: list[str]) -> list[tuple[str, str]]:
    """Pairs of bodies that <exclude> takes out of contact."""
    pairs = []
    for signature in model.exclude_signature:
        first, second = int(signature) >> 16, int(signature) & 0xFFFF
        if first < model.nbody and second < model.nbody:
            pairs.append((names[first], names[second]))
    return pairs


def _shape(mujoco: Any, spec: Any, model: Any, g: int, here: Pose) -> Shape | None:
    kind = model.geom_type[g]
    a, b, c = map(float, model.geom_size[g])
    geom = mujoco.mjtGeom
    if kind == geom.mjGEOM_SPHERE:
        return Sphere(a, placement=here)
    if kind == geom.mjGEOM_CAPSULE:
        return Capsule(a, 2.0 * b, placement=here)  # MuJoCo gives half lengths and half edges
    if kind == geom.mjGEOM_CYLINDER:
        return Cylinder(a, 2.0 * b, placement=here)
    if kind == geom.mjGEOM_BOX:
        return Box((2.0 * a, 2.0 * b, 2.0 * c), placement=here)
    if kind == geom.mjGEOM_PLANE:
        return Plane(placement=here)
    if kind == geom.mjGEOM_HFIELD:
        return _height_field(model, int(model.geom_dataid[g]), here)
    if kind == geom.mjGEOM_MESH:
        return _mesh(spec, model, int(model.geom_dataid[g]), here)
    return None


def _height_field(model: Any, f: int, here: Pose) -> Shape:
    rows, columns, start = int(model.hfield_nrow[f]), int(model.hfield_ncol[f]), int(model.hfield_adr[f])
    x, y, top, _ = map(float, model.hfield_size[f])
    heights = top * np.reshape(model.hfield_data[start : start + rows * columns], (rows, columns)).astype(float)
    return HeightField(heights.tolist(), (2.0 * x, 2.0 * y), placement=here)


def _mesh(spec: Any, model: Any, m: int, here: Pose) -> Shape | None:
    mesh = next((mesh for mesh in spec.meshes if mesh.id == m), None)
    if mesh is None or not mesh.file:
        return None
    # MuJoCo moves a mesh to its centre of mass and principal axes; undo that, since the file is kept as it is.
    centred = Pose(model.mesh_pos[m], quaternion=model.mesh_quat[m])
    x, y, z = map(float, np.asarray(mesh.scale))
    file = mesh_file(spec, mesh)
    path = (Path(spec.modelfiledir) / file).absolute()
    found = str(path) if path.is_file() else ""
    return Mesh(file, (x, y, z), found, placement=here @ centred.inverse(), missing=not found)
