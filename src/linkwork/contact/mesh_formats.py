"""Mesh files in any format that trimesh reads (extra `viewer`), in metres where the file names its unit (COLLADA)."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.files import checked_file, checked_zip
from linkwork.errors import FormatError, MissingExtraError

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".zst", ".zae")
LONGEST_HEADER = 100_000  # bytes of a COLLADA file in which its unit stands


def read_any_mesh(path: str | Path, purpose: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points (v, 3) [m] and triangles (m, 3) of a mesh file. purpose: what needs it, at the start of an error.

    Axes stay as they are in the file, whatever it says is up: that is what robot descriptions mean.
    """
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError(f"{purpose} needs trimesh; install it with: pip install '.[viewer]'") from None
    file = checked_file(path)
    refuse_archive(file)
    try:
        mesh: Any = trimesh.load(str(path), force="mesh")
    except Exception as error:  # trimesh and its readers raise what they like, for damaged and unknown files alike
        raise FormatError(f"mesh '{file}' cannot be read: {error}") from error
    points, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    points = points * _unit_of(file)
    if not len(faces) or not np.isfinite(points).all():
        raise FormatError(f"mesh '{file}' holds no triangles, or points that are not finite.")
    return points, faces


def refuse_archive(file: Path) -> None:
    """What is packed may be larger without end than the file: only 3MF, which tells the sizes of its parts, is read."""
    if file.suffix.lower() in ARCHIVES:
        raise FormatError(f"mesh '{file}' is an archive; unpack it first.")
    if file.suffix.lower() == ".3mf":
        checked_zip(file)


def _unit_of(file: Path) -> float:
    """The length [m] of a file's unit; 1 for formats that do not name one."""
    if file.suffix.lower() != ".dae":
        return 1.0
    named = re.search(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']+)[\"']", file.read_bytes()[:LONGEST_HEADER])
    try:
        unit = float(named[1]) if named else 1.0
    except ValueError:
        return 1.0
    return unit if math.isfinite(unit) and unit > 0.0 else 1.0
