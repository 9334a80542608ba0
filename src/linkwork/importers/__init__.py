"""File → Linkage. What a file says that Linkwork cannot keep is listed in the linkage's `warnings`."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

from linkwork.core.files import checked_file
from linkwork.errors import FormatError
from linkwork.importers.missing_meshes import settle_missing_meshes
from linkwork.importers.xml_tree import root_tag
from linkwork.model.linkage import Linkage

SUFFIXES = ".urdf, .xml, .mjcf, .bvh or .asf"
READ = (".urdf", ".xml", ".mjcf", ".bvh", ".asf")
_SDF = (
    "this is SDF (Gazebo), which Linkwork does not read. Convert it to URDF or MJCF first, for instance with "
    "`gz sdf -p model.sdf` and sdformat_mjcf, or load the robot's own URDF."
)
_USD = "this is USD, which Linkwork does not read. Export the robot as URDF or MJCF."
FOREIGN = {
    ".sdf": _SDF, ".world": _SDF, ".usd": _USD, ".usda": _USD, ".usdz": _USD,
    ".xacro": "this is a xacro macro file; expand it first: xacro in.xacro > out.urdf.",
}  # fmt: skip


def _is_folder(path: str | PurePath) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def load_file(path: str | Path, **options: Any) -> Linkage:
    """Reads a linkage from a file, by its suffix: .urdf (URDF), .xml or .mjcf (MJCF, or URDF if its root is <robot>),
    .bvh and .asf (motion capture; the recorded motion is the linkage's `motion`).

    options: for URDF and MJCF `missing_meshes`, what becomes of meshes that are not there: "skip" leaves them out,
    "capsule" takes a capsule where the mass of the body lies, "error" refuses the file; by default they are kept by name,
    touch nothing, and a warning names them where they are needed. For URDF also `floating`, `strict` and `repair`, see
    `importers.urdf.reader.load_urdf`; for motion capture `unit`, `mass`, `masses` and more, see
    `importers.mocap.bvh.load_bvh` and `importers.mocap.asf.load_asf`.
    """
    suffix = PurePath(path).suffix.lower() if isinstance(path, str | PurePath) else ""
    if suffix in (".sdf", ".world", ".xacro", ".usd", ".usda", ".usdz"):
        raise FormatError(f"{path}: {FOREIGN[suffix]}")
    if suffix in (".pdb", ".ent", ".cif", ".mmcif"):
        raise FormatError(f"{path}: structures of molecules are read by lw.molecules.load.")
    if suffix not in READ and isinstance(path, str | PurePath) and not _is_folder(path):
        what = f"the suffix '{suffix}'" if suffix else "a name without suffix"
        raise FormatError(f"{path}: {what} tells no known format; Linkwork reads {SUFFIXES}.")
    checked_file(path)
    # Importers are loaded when used, so that one format never pays for another's dependencies.
    if suffix == ".bvh":
        from linkwork.importers.mocap.bvh import load_bvh

        names: tuple[str, ...] = ("unit", "up", "mass", "masses")
        return load_bvh(path, **_known(options, names, path, "a BVH file takes unit=, up=, mass= and masses="))
    if suffix == ".asf":
        from linkwork.importers.mocap.asf import load_asf

        names = ("motion", "frame_time", "unit", "mass", "masses")
        hint = "an ASF file takes motion= (the AMC file), frame_time=, unit=, mass= and masses="
        return load_asf(path, **_known(options, names, path, hint))
    if root_tag(path) in ("sdf", "gazebo"):
        raise FormatError(f"{path}: {_SDF}")
    missing_meshes = options.pop("missing_meshes", None)
    if suffix == ".urdf" or root_tag(path) == "robot":
        from linkwork.importers.urdf.reader import load_urdf

        hint = "a URDF file takes floating=, strict=, repair= and missing_meshes="
        linkage = load_urdf(path, **_known(options, ("floating", "strict", "repair"), path, hint))
    else:
        from linkwork.importers.mjcf.reader import load_mjcf

        hint = "an MJCF file takes missing_meshes=; its own joints say what floats"
        linkage = load_mjcf(path, **_known(options, (), path, hint))
    settle_missing_meshes(linkage, missing_meshes, str(path))
    return linkage


def _known(options: dict[str, Any], names: tuple[str, ...], path: str | Path, hint: str) -> dict[str, Any]:
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"{path}: there is no option {', '.join(map(repr, unknown))}; {hint}.")
    return options


__all__ = ["load_file"]
