"""Files an MJCF model names that are not there: MuJoCo refuses such a model, though its motion may not depend on them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from linkwork.core.files import checked_file
from linkwork.errors import FormatError
from linkwork.importers.report import Report

MARKER_RADIUS = 1e-3  # [m]; stands in for a missing mesh so that MuJoCo still works out its placement


class MissingMeshes(NamedTuple):
    """Geoms whose mesh is absent, as (geom of the specification, mesh file, scale)."""

    geoms: list[tuple[Any, str, tuple[float, float, float]]]


def mesh_file(spec: Any, mesh: Any) -> str:
    """The mesh's file, from the directory of the model file."""
    file = Path(mesh.file).name if spec.strippath else mesh.file
    return (Path(mesh.compiler.meshdir) / file).as_posix()


def replace_missing_assets(mujoco: Any, spec: Any, report: Report) -> MissingMeshes:
    """Takes absent meshes, height fields, skins and textures out of the specification, each with a note.

    A body whose mass or inertia would come from an absent mesh is a fault.
    """
    folder = Path(spec.modelfiledir)
    _drop_textures(spec, folder, report)
    _refuse_endless_files(spec, folder, report)
    absent = {
        m.name or Path(m.file).stem: m for m in spec.meshes if m.file and not (folder / mesh_file(spec, m)).exists()
    }
    fields = {
        f.name or Path(f.file).stem: f for f in spec.hfields if f.file and not _found(folder, spec.meshdir, f.file)
    }
    geoms: list[tuple[Any, str, tuple[float, float, float]]] = []
    for geom in list(spec.geoms):
        if geom.meshname in absent:
            mesh = absent[geom.meshname]
            x, y, z = map(float, mesh.scale)
            geoms.append((geom, mesh_file(spec, mesh), (x, y, z)))
            _check_inertia(mujoco, spec, geom, mesh.file, report)
            _make_marker(mujoco, geom)
        elif geom.hfieldname in fields:
            spec.delete(geom)
    for skin in [s for s in spec.skins if s.file and not _found(folder, spec.meshdir, s.file)]:
        report.note(_line(skin), f"skin file '{skin.file}' is absent", "left out", group="skin")
        spec.delete(skin)
    for name, asset in [*absent.items(), *fields.items()]:
        kind = "mesh" if name in absent else "height field"
        reason = "its collision shapes are kept by file name" if kind == "mesh" else "left out"
        report.note(_line(asset), f"{kind} file '{asset.file}' is absent", reason, group=kind)
        spec.delete(asset)
    return MissingMeshes(geoms)


def _refuse_endless_files(spec: Any, folder: Path, report: Report) -> None:
    """Devices, pipes and files beyond the limit, which MuJoCo would read to their end."""
    named = [(mesh, folder / mesh_file(spec, mesh)) for mesh in spec.meshes if mesh.file]
    named += [(one, folder / spec.meshdir / one.file) for one in (*spec.hfields, *spec.skins) if one.file]
    for texture in spec.textures:
        files = [file for file in (texture.file, *texture.cubefiles) if file]
        named += [(texture, folder / spec.texturedir / file) for file in files]
    for asset, file in named:
        if file.exists():
            try:
                checked_file(file)
            except FormatError as error:
                report.fault(_line(asset), str(error))
    report.raise_faults()


def _found(folder: Path, directory: str, file: str) -> bool:
    return (folder / directory / file).exists()


def _drop_textures(spec: Any, folder: Path, report: Report) -> None:
    for texture in list(spec.textures):
        files = [texture.file, *texture.cubefiles]
        absent = [file for file in files if file and not _found(folder, spec.texturedir, file)]
        if absent:
            report.note(_line(texture), f"texture file '{absent[0]}' is absent", "left out", group="texture")
            for material in spec.materials:
                material.textures = ["" if name == texture.name else name for name in material.textures]
            spec.delete(texture)


def _check_inertia(mujoco: Any, spec: Any, geom: Any, file: str, report: Report) -> None:
    body = geom.parent
    if not _moves(body):
        return  # what stands on the ground needs no inertia
    from_geoms = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    low, high = spec.compiler.inertiagrouprange
    weighs = low <= geom.group <= high and (geom.density > 0.0 if math.isnan(geom.mass) else geom.mass > 0.0)
    if weighs and body.name != "world" and (from_geoms or not body.explicitinertial):
        report.fault(
            _line(geom),
            f"body '{body.name}' takes its inertia from the mesh file '{file}', which is absent. Add the file, or give the "
            "body an <inertial>.",
        )


def _moves(body: Any) -> bool:
    """Whether a joint stands anywhere between a body and the world."""
    while body is not None and body.name != "world":
        if len(body.joints):
            return True
        body = body.parent
    return False


def _make_marker(mujoco: Any, geom: Any) -> None:
    geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
    geom.size = [MARKER_RADIUS, 0.0, 0.0]
    geom.mass = 0.0
    geom.meshname = ""


def _line(element: Any) -> int:
    words = str(element.info).split()
    return int(words[-1]) if words and words[-1].isdigit() else 0
