"""File → Linkage. What a file says that Linkwork cannot keep is listed in the linkage's `warnings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.errors import FormatError
from linkwork.importers.xml_tree import root_tag
from linkwork.model.linkage import Linkage

SUFFIXES = ".urdf, .xml, .mjcf, .bvh or .asf"


def load_file(path: str | Path, **options: Any) -> Linkage:
    """Reads a linkage from a file, by its suffix: .urdf (URDF), .xml or .mjcf (MJCF, or URDF if its root is <robot>),
    .bvh and .asf (motion capture; the recorded motion is the linkage's `motion`).

    options: for URDF `floating` and `strict`, see `importers.urdf.load_urdf`; MJCF takes none; for motion capture `unit`,
    `mass`, `masses` and more, see `importers.bvh.load_bvh` and `importers.asf.load_asf`.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if file.is_dir():
        raise FormatError(f"{path}: this is a directory; give a file ending in {SUFFIXES}.")
    if suffix not in (".urdf", ".xml", ".mjcf", ".bvh", ".asf"):
        if suffix in (".pdb", ".ent", ".cif", ".mmcif"):
            raise FormatError(f"{path}: structures of molecules are read by lw.molecules.load.")
        what = f"the suffix '{file.suffix}'" if suffix else "a name without suffix"
        raise FormatError(f"{path}: {what} tells no known format; Linkwork reads {SUFFIXES}.")
    if not file.exists():
        raise FormatError(f"{path}: there is no such file (current directory: {Path.cwd()}).")
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
    if suffix == ".urdf" or root_tag(path) == "robot":
        from linkwork.importers.urdf.reader import load_urdf

        return load_urdf(
            path, **_known(options, ("floating", "strict"), path, "a URDF file takes floating= and strict=")
        )
    from linkwork.importers.mjcf.reader import load_mjcf

    return load_mjcf(path, **_known(options, (), path, "an MJCF file takes none; its own joints say what floats"))


def _known(options: dict[str, Any], names: tuple[str, ...], path: str | Path, hint: str) -> dict[str, Any]:
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"{path}: there is no option {', '.join(map(repr, unknown))}; {hint}.")
    return options


__all__ = ["load_file"]
