"""Where the mesh a file names lies: beside the file, in the package it belongs to, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit


def find_mesh(name: str, beside: Path) -> str:
    """The absolute path of a mesh file named in a robot's file, or "" when it is not there.

    name: a plain path (from the robot's folder), file://..., or package://PACKAGE/PATH and model://PACKAGE/PATH, which are
    looked for in the folders above the robot's file and in those of ROS_PACKAGE_PATH.
    """
    scheme, rest = _split(name)
    if scheme == "file":
        candidates = [Path(rest)]
    elif scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        candidates = [
            *(up / package / inside for up in beside.absolute().parents),
            *(up / inside for up in beside.absolute().parents if up.name == package),
            *(
                Path(folder) / package / inside
                for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(":")
                if folder
            ),
        ]
    elif scheme:
        return ""
    else:
        candidates = [beside.absolute().parent / rest]
    for candidate in candidates:
        try:
            if candidate.is_file():
                return str(candidate)
        except (OSError, ValueError):
            return ""
    return ""


def _split(name: str) -> tuple[str, str]:
    scheme, separator, rest = name.partition("://")
    if not separator:
        return "", name
    if scheme.lower() == "file":
        return "file", unquote(urlsplit(name).path)
    return scheme.lower(), rest
