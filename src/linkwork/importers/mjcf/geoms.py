"""Geoms of a compiled MuJoCo model as shapes: those that can collide, with friction and bits, and those for display."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.importers.mjcf.assets import MissingMeshes, mesh_file
from linkwork.importers.report import Report
from linkwork.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.spatial.pose import Pose


def geom_shapes(mujoco: Any, spec: Any, model: Any, missing: MissingMeshes, report: Report) -> dict[int, list[Shape]]:
    """Shapes by body index (0: the world). Geoms that cannot collide are for display only."""
    absent = {geom.id: (file, scale) for geom, file, scale in missing.geoms if geom.id >= 0}
    lines = {geom.id: int(geom.info.split()[-1]) if geom.info else 0 for geom in spec.geoms}
    paired = {int(g) for g in (*model.pair_geom1, *model.pair_geom2)}
    contact_is_off = bool(int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CONTACT))
    shapes: dict[int, list[Shape]] = {}
    for g in range(model.ngeom):
        line = lines.get(g, 0)
        collides = bool(model.geom_contype[g] or model.geom_conaffinity[g] or g in paired) and not contact_is_off
        here = Pose(model.geom_pos[g], quaternion=model.geom_quat[g])
        shape: Shape | None
        if g in absent:
            file, scale = absent[g]
            shape = Mesh(file, scale, placement=here)  # its path stays empty: the file is absent
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
                "friction": float(model.geom_friction[g][0]),  # sliding; spinning and rolling have no place here
                "group": int(model.geom_contype[g]),
                "mask": int(model.geom_conaffinity[g]),
            }
        shapes.setdefault(int(model.geom_bodyid[g]), []).append(replace(shape, **surface))
    return shapes


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
    if kind == geom.mjGEOM_MESH:
        return _mesh(spec, model, int(model.geom_dataid[g]), here)
    return None


def _mesh(spec: Any, model: Any, m: int, here: Pose) -> Shape | None:
    mesh = next((mesh for mesh in spec.meshes if mesh.id == m), None)
    if mesh is None or not mesh.file:
        return None
    # MuJoCo moves a mesh to its centre of mass and principal axes; undo that, since the file is kept as it is.
    centred = Pose(model.mesh_pos[m], quaternion=model.mesh_quat[m])
    x, y, z = map(float, np.asarray(mesh.scale))
    file = mesh_file(spec, mesh)
    path = (Path(spec.modelfiledir) / file).absolute()
    return Mesh(file, (x, y, z), str(path) if path.is_file() else "", placement=here @ centred.inverse())
