"""File → Linkage. What a file says that Linkwork cannot keep is listed in the linkage's `warnings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.errors import FormatError
from linkwork.importers.xml_tree import root_tag
from linkwork.model.linkage import Linkage

SUFFIXES = ".urdf, .xml or .mjcf"


def load_file(path: str | Path, **options: Any) -> Linkage:
    """Reads a linkage from a file, by its suffix: .urdf (URDF), .xml or .mjcf (MJCF, or URDF if its root is <robot>).

    options: for URDF `floating` and `strict`, see `importers.urdf.load_urdf`; MJCF takes none.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if file.is_dir():
        raise FormatError(f"{path}: this is a directory; give a file ending in {SUFFIXES}.")
    if suffix not in (".urdf", ".xml", ".mjcf"):
        what = f"the suffix '{file.suffix}'" if suffix else "a name without suffix"
        raise FormatError(f"{path}: {what} tells no known format; Linkwork reads {SUFFIXES}.")
    if not file.exists():
        raise FormatError(f"{path}: there is no such file (current directory: {Path.cwd()}).")
    # Importers are loaded when used, so that one format never pays for another's dependencies.
    if suffix == ".urdf" or root_tag(path) == "robot":
        from linkwork.importers.urdf import load_urdf

        return load_urdf(
            path, **_known(options, ("floating", "strict"), path, "a URDF file takes floating= and strict=")
        )
    from linkwork.importers.mjcf import load_mjcf

    return load_mjcf(path, **_known(options, (), path, "an MJCF file takes none; its own joints say what floats"))


def _known(options: dict[str, Any], names: tuple[str, ...], path: str | Path, hint: str) -> dict[str, Any]:
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"{path}: there is no option {', '.join(map(repr, unknown))}; {hint}.")
    return options


__all__ = ["load_file"]
