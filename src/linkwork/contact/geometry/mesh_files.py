"""Triangles of mesh files, and whether they close a volume: STL, binary and text, and OBJ by itself; all formats that
trimesh reads (extra `viewer`) by that, in metres where the file names its unit (COLLADA).
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.files import checked_file, checked_zip
from linkwork.core.messages.extras import needed
from linkwork.errors import FormatError, ModelError

LARGEST = 1e100  # [m] corners farther out have no squares
FLAT = 1e-5  # thickness of a mesh, in its size, that counts as none: files in single precision are rough by 1e-7
STL_HEADER = 84  # bytes before the first triangle of a binary file
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_triangles(path: str | Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> FloatArray:
    """Corners of all triangles of a file [m], shape (m, 3, 3)."""
    file = Path(path)
    try:
        data = checked_file(file).read_bytes()
    except FormatError as error:
        if "://" in str(path):
            raise FormatError(
                f"mesh '{path}' is not a path; name the file itself. (lw.load finds package://... of robots' files.)"
            ) from None
        raise FormatError(f"mesh {error}") from None
    except OSError as error:
        raise FormatError(f"mesh '{file}' cannot be read: {error.strerror or error}.") from None
    suffix = file.suffix.lower()
    if suffix == ".stl":
        corners = _stl(data, file)
    elif suffix == ".obj":
        corners = _obj(data, file)
    else:
        points, faces = read_any_mesh(file, f"mesh '{file}': a file that is neither .stl nor .obj")
        corners = points[faces]
    with np.errstate(over="ignore"):  # what does not fit is refused below
        corners = corners * np.asarray(scale, dtype=float)
    if not len(corners):
        raise FormatError(f"mesh '{file}' holds no triangle.")
    if not np.isfinite(corners).all():
        raise FormatError(f"mesh '{file}' has a corner that is not finite.")
    if np.abs(corners).max() > LARGEST:
        raise FormatError(f"mesh '{file}' reaches farther than {LARGEST:g} m; check its unit and scale.")
    return corners


def _stl(data: bytes, file: Path) -> FloatArray:
    count = int.from_bytes(data[80:84], "little") if len(data) >= STL_HEADER else -1
    if count >= 0 and len(data) == STL_HEADER + count * STL_TRIANGLE.itemsize:
        return np.frombuffer(data, STL_TRIANGLE, count, STL_HEADER)["corners"].astype(float)
    if not data.lstrip().startswith(b"solid"):
        raise FormatError(f"mesh '{file}' is neither a text nor a whole binary STL file.")
    words = data.split()
    at = [i for i, word in enumerate(words) if word == b"vertex"]
    try:
        numbers = np.array([[float(x) for x in words[i + 1 : i + 4]] for i in at], dtype=float)
        return numbers.reshape(-1, 3, 3)
    except ValueError:
        raise FormatError(
            f"mesh '{file}': a vertex of the text STL file is not three numbers, or a facet not three."
        ) from None


def _obj(data: bytes, file: Path) -> FloatArray:
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        word, *rest = line.split() or [""]
        try:
            if word == "v":
                x, y, z = rest[:3]  # weights and colours may follow
                points.append([float(x), float(y), float(z)])
            elif word == "f":
                corners = [int(item.split("/")[0]) for item in rest]
                corners = [c - 1 if c > 0 else len(points) + c for c in corners]
                if min(corners) < 0 or max(corners) >= len(points) or len(corners) < 3:
                    raise ValueError
                faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
        except ValueError:
            raise FormatError(f"{file}:{number}: '{line.strip()}' is not a vertex or face of an OBJ file.") from None
    return np.array(points, dtype=float).reshape(-1, 3)[np.array(faces, dtype=np.int64).reshape(-1, 3)]


def merged_corners(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct points (v, 3) and triangles (m, 3) that refer to them; points nearer than rounding of a file are one."""
    size = np.ptp(corners.reshape(-1, 3), axis=0).max()
    grid = np.round(corners.reshape(-1, 3) / (1e-6 * size if size > 0 else 1.0))
    _, first, index = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    return corners.reshape(-1, 3)[first], index.reshape(-1, 3).astype(np.int64)


def without_slivers(corners: FloatArray) -> FloatArray:
    """Triangles that have an area; there may be none."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.ptp(corners.reshape(-1, 3), axis=0).max()
    return corners[np.linalg.norm(normal, axis=1) > 1e-14 * size * size]


def closed_faults(corners: FloatArray) -> list[str]:
    """Why triangles do not enclose a volume: holes, edges that turn both ways, no volume, inside out."""
    _, triangles = merged_corners(corners)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    n = int(edges.max(initial=0)) + 1
    forward = np.sort(edges[:, 0] * n + edges[:, 1])
    backward = np.sort(edges[:, 1] * n + edges[:, 0])
    if forward.shape != backward.shape or (forward != backward).any():
        open_edges = len(np.setxor1d(forward, backward))
        return [
            f"is not closed: {max(open_edges, 1)} edges have no matching neighbour (holes, or faces turned the wrong way)"
        ]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    size = np.ptp(corners.reshape(-1, 3), axis=0).max()
    if abs(volume) <= 1e-12 * size**3:
        return ["encloses no volume"]
    return ["is turned inside out: its faces point inward"] if volume < 0 else []


def hull_corners(corners: FloatArray, what: str) -> FloatArray:
    """Vertices of the convex hull of a mesh, by Coal (extra `contact`)."""
    coal = needed(
        "coal",
        f"{what}: the hull of a moving mesh needs Coal; install it with: pip install '.[contact]', "
        "or give the body simple shapes.",
    )
    points, triangles = merged_corners(corners)
    centre, size = points.mean(axis=0), np.ptp(points, axis=0).max()
    thick = thickness(points)
    if not thick > FLAT * size:
        raise ModelError(
            f"{what} is flat: it is {thick:.3g} m thick and {size:.3g} m long, and what moves must enclose a volume. Give "
            "the mesh a thickness, or the body simple shapes such as a thin lw.Box."
        )
    points = (points - centre) / size  # the tolerances of the hull are made for numbers about 1
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(triangles), len(points))
    vertices, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in points:
        vertices.append(point)
    for triangle in triangles.tolist():
        faces.append(coal.Triangle(*triangle))
    model.addSubModel(vertices, faces)
    model.endModel()
    try:
        model.buildConvexHull(True, "Qt")
    except Exception as error:  # what Qhull has against points is not of one kind
        raise ModelError(f"{what}: the mesh has no convex hull ({error}). Mend it, or use simple shapes.") from None
    hull = model.convex
    found = np.array([hull.point(i) for i in range(hull.num_points)], dtype=float).reshape(-1, 3)
    return found * size + centre


def thickness(points: FloatArray) -> float:
    """The height of a large tetrahedron of the points over its base [m]: about the least width of their hull.

    Its edge leads to the farthest point, its base to the point farthest from that line.
    """
    from_first = points - points[0]
    far = from_first[np.argmax(np.einsum("ij,ij->i", from_first, from_first))]
    length = float(np.linalg.norm(far))
    if length == 0.0:
        return 0.0
    beside = from_first - np.outer(from_first @ far / length, far / length)
    wide = beside[np.argmax(np.einsum("ij,ij->i", beside, beside))]
    width = float(np.linalg.norm(wide))
    if not width > FLAT * length:
        return width
    normal = np.cross(far / length, wide / width)
    return float(np.abs(from_first @ normal).max())


ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".zst", ".zae")
LONGEST_HEADER = 100_000  # bytes of a COLLADA file in which its unit stands


def read_any_mesh(path: str | Path, purpose: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points (v, 3) [m] and triangles (m, 3) of a mesh file. purpose: what needs it, at the start of an error.

    Axes stay as they are in the file, whatever it says is up: that is what robot descriptions mean.
    """
    trimesh = needed("trimesh", f"{purpose} needs trimesh; install it with: pip install '.[viewer]'")
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
    """What is packed may be larger without end than the file: only 3MF, which lists the sizes of its parts, is read."""
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
