"""Folders of sweeps, and meshes and shapes: made hostile from a seed, as the other borders."""

from __future__ import annotations

import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.ensemble.journal import JOURNAL
from linkwork.ensemble.plan import PLAN, POINTS
from linkwork.record.checksums import document_sum

from .values import changed_bytes, changed_text, odd_value

SHAPES = {
    "Box": {"size": (1.0, 1.0, 1.0)},
    "Sphere": {"radius": 1.0},
    "Capsule": {"radius": 1.0, "length": 1.0},
    "Cylinder": {"radius": 1.0, "length": 1.0},
    "HeightField": {"heights": ((0.0, 0.0), (0.0, 0.0)), "size": (1.0, 1.0)},
    "Plane": {},
}
SURFACE = ("placement", "friction", "restitution", "group", "mask", "visual_only", "owner")


RUNS = 3  # of the sweep
# Files of meshes by suffix: a tetrahedron.
CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
ROBOT = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="FILE" scale="1 1 1"/></geometry></collision></link></robot>"""


def twice(x: float) -> float:
    return 2.0 * x


@cache
def swept(folder: Path) -> Path:
    out = folder / "sweep"
    lw.Sweep(twice, {"x": [0.5, 1.5, 2.5]}).run(out, workers=0, progress=False)
    return out


def table_of(folder: Path) -> str:
    table = lw.SweepTable(folder)
    return repr([len(lw.Sweep.of(folder)), table.columns, *table.rows(), table.timings()])


def results_of(folder: Path) -> str:
    """Parameters and results of all runs, and how they ended."""
    return repr(list(lw.SweepTable(folder).rows()))


def sweep_folder(rng: random.Random, folder: Path) -> bool:
    """One file changed, exchanged, lost, or rewritten with a right checksum; whether the sweep still says the same."""
    path = folder / "damaged_sweep"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(swept(folder), path)
    name, kind = rng.choice((PLAN, POINTS, JOURNAL)), rng.randrange(6)
    file = path / name
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.write_bytes((path / rng.choice((PLAN, POINTS, JOURNAL))).read_bytes())
    elif kind == 2 and name != POINTS:
        first, *others = [file.read_text()] if name == PLAN else file.read_text().splitlines()
        document = {key: value for key, value in json.loads(first).items() if key != "sum"}
        document[rng.choice(sorted(document))] = rng.choice([None, True, -1, 1.5, 10**400, "x", [], [[]], {}, ["run"]])
        file.write_text("\n".join([json.dumps({**document, "sum": document_sum(document)}), *others]) + "\n")
        table_of(path)
        return True  # whatever it says was written so
    else:
        file.write_bytes(changed_bytes(file.read_bytes(), rng))
    if rng.random() < 0.3:  # going on with it: what is missing is run, and nothing else is believed
        lw.Sweep(twice, {"x": [0.5, 1.5, 2.5]}).run(path, workers=0, progress=False, resume=True)
        return len(lw.SweepTable(path)) == RUNS and results_of(path) == results_of(swept(folder))
    found = table_of(path)
    lost = name == JOURNAL and len(lw.SweepTable(path)) < RUNS  # runs that are not in it count as not done
    return lost or found == table_of(swept(folder))


def mesh_or_shape(rng: random.Random, folder: Path) -> Any:
    """A shape with an odd argument, or a mesh whose file was changed, on a body or in the world: its distance."""
    on_body = rng.random() < 0.5
    if rng.random() < 0.5:
        path = mesh_file(rng, folder)
        if rng.random() < 0.2:
            return robot_with(path, rng)
        shape: Any = lw.Mesh(str(path))
    else:
        kind = rng.choice(sorted(SHAPES))
        arguments: dict[str, Any] = dict(SHAPES[kind])
        arguments[rng.choice((*arguments, *SURFACE))] = odd_value(rng)
        shape = getattr(lw, kind)(**arguments)
    linkage = lw.Linkage("case")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    if on_body:
        linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[shape])
    else:
        linkage.add_obstacle("thing", shape)
    model = linkage.compile()
    found = lw.clearance(model, model.random_state(rng.randrange(100)))
    return None if found is None else found.distance


def mesh_file(rng: random.Random, folder: Path) -> Path:
    """A changed mesh in one of the formats, or one near a plane or a line, or what is not a file of that kind."""
    suffix = rng.choice((".obj", ".obj", ".stl", ".stl", ".ply", ".off", ".dae", ".glb", ".3mf", ".gz"))
    path = folder / f"case{suffix}"
    if rng.random() < 0.3:
        points = np.array([[rng.gauss(0, 1) * 10.0 ** rng.uniform(-18, 0) for _ in range(3)] for _ in range(8)])
        faces = [tuple(rng.randrange(8) for _ in range(3)) for _ in range(12)]
        data = mesh_bytes(suffix, points.tolist(), faces)
    else:
        data = mesh_bytes(suffix, CORNERS, FACES)
        if b"\0" not in data and rng.random() < 0.7:
            data = changed_text(data.decode(), rng).encode("utf-8", "surrogatepass")
        else:
            data = changed_bytes(data, rng)
    path.write_bytes(data)
    return path


def mesh_bytes(suffix: str, points: Any, faces: Any) -> bytes:
    """A mesh as a file of some format; of those that are not written here, text that is none."""
    rows = [" ".join(map(repr, p)) for p in points]
    if suffix == ".stl":
        if len(points) == 4:
            corners = np.array([[points[k] for k in face] for face in faces], dtype="<f4")
            body = b"".join(bytes(12) + triangle.tobytes() + bytes(2) for triangle in corners)
            return bytes(80) + len(faces).to_bytes(4, "little") + body
        loops = "\n".join(
            "facet normal 0 0 0\nouter loop\n" + "\n".join(f"vertex {rows[k]}" for k in f) + "\nendloop\nendfacet"
            for f in faces
        )
        return f"solid x\n{loops}\nendsolid x\n".encode()
    if suffix == ".off":
        return "\n".join(
            ["OFF", f"{len(rows)} {len(faces)} 0", *rows, *(f"3 {a} {b} {c}" for a, b, c in faces), ""]
        ).encode()
    if suffix == ".ply":
        head = (
            f"ply\nformat ascii 1.0\nelement vertex {len(rows)}\nproperty float x\nproperty float y\nproperty float z\n"
        )
        head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header"
        return "\n".join([head, *rows, *(f"3 {a} {b} {c}" for a, b, c in faces), ""]).encode()
    lines = [*(f"v {row}" for row in rows), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces), ""]
    return "\n".join(lines).encode()


def robot_with(mesh: Path, rng: random.Random) -> Any:
    """A robot whose file names a mesh, or one that is not there."""
    path = mesh.with_suffix(".urdf")
    name = rng.choice((mesh.name, mesh.name, "none.stl", "package://nowhere/x.stl", "/dev/zero", "..", ""))
    path.write_text(ROBOT.replace("FILE", name))
    missing = rng.choice(("skip", "capsule", "error", "warn", odd_value(rng)))
    model = lw.load(path, missing_meshes=missing).compile()
    found = lw.clearance(model, model.neutral())
    return None if found is None else found.distance
