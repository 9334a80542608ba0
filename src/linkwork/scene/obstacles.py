"""From the tables [contact] and [[obstacle]] of a scene to settings of contact and shapes in the world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwork.contact.settings import LAWS, Contact
from linkwork.errors import LinkworkError
from linkwork.model.friction import Friction
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key, Keys
from linkwork.scene.reading.faults import Faults
from linkwork.spatial.pose import Pose

MOST_COPIES = 1_000_000  # of an obstacle: more take minutes to place
SHAPES: dict[str, tuple[str, ...]] = {  # and the keys that each needs
    "plane": (),
    "box": ("size",),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "mesh": ("file",),
    "height_field": ("heights", "size"),
}
EDGES = {"box": 3, "height_field": 2}  # numbers in the size of a shape

CONTACT: Keys = {
    "friction": Key(
        must_be.friction, "Coulomb's coefficient, of shapes without their own; or a table, see lw.Friction"
    ),
    "restitution": Key(
        must_be.number(0.0, 1.0), "part of the approach speed that is kept, of shapes without their own"
    ),
    "law": Key(must_be.choice(*LAWS), "how contacts are solved: all together, or impact by impact"),
    "tolerance": Key(must_be.number(0.0, 1.0, above=True), "residual of the solve, relative to the largest impulse"),
    "max_sweeps": Key(must_be.integer(1), "where the solve gives up"),
    "margin": Key(must_be.number(0.0, above=True), "distance below which bodies count as touching", "m"),
    "correction": Key(must_be.number(0.0, 1.0), "part of a penetration that one step takes back"),
    "rest_speed": Key(must_be.number(0.0), "approach slower than this does not bounce", "m/s"),
    "self_contact": Key(must_be.boolean, "whether bodies of the model touch each other"),
    "continuous": Key(must_be.boolean, "whether fast bodies are followed between steps"),
    "ignore": Key(must_be.anything, "pairs of names of bodies or obstacles that never touch"),
}
OBSTACLE: Keys = {
    "name": Key(must_be.text, "of the obstacle; copies get a number behind it", required=True),
    "shape": Key(must_be.choice(*SHAPES), "what stands there", required=True),
    "size": Key(must_be.vector(3, 2), "edges of a box, or extent of a height field along x and y", "m"),
    "radius": Key(must_be.number(0.0, above=True), "of a sphere, capsule or cylinder", "m"),
    "length": Key(must_be.number(0.0, above=True), "of a capsule's or cylinder's straight part, along z", "m"),
    "file": Key(must_be.text, "of a mesh, from the scene's folder"),
    "heights": Key(must_be.grid, "of a height field: rows along y, of columns along x", "m"),
    "xyz": Key(must_be.vector(3), "where it stands", "m", default=[0.0, 0.0, 0.0]),
    "rpy": Key(must_be.vector(3), "how it is turned: roll, pitch, yaw", "rad", default=[0.0, 0.0, 0.0]),
    "copies": Key(must_be.integer(1, MOST_COPIES), "how many of it stand in a row", default=1),
    "spacing": Key(must_be.vector(3), "from one copy to the next", "m", default=[1.0, 0.0, 0.0]),
    "friction": Key(must_be.friction, "of this obstacle; a number, or a table, see lw.Friction"),
    "restitution": Key(must_be.number(0.0, 1.0), "of this obstacle"),
}


def contact_of(scene: Mapping[str, Any], faults: Faults) -> Contact | None:
    """Settings of the table [contact]; None where a scene has none."""
    if scene.get("contact") is None:
        return None
    try:
        return Contact(**scene["contact"])
    except LinkworkError as error:
        faults.add(("contact",), str(error))
        return None


def add_obstacles(linkage: Linkage, scene: Mapping[str, Any], folder: Path, faults: Faults) -> None:
    """Puts every [[obstacle]] into the world of a linkage."""
    for k, table in enumerate(scene["obstacle"]):
        shape = _shape(table, folder, ("obstacle", k), faults)
        if shape is None or "name" not in table:
            continue
        for copy in range(table["copies"]):
            name = table["name"] if table["copies"] == 1 else f"{table['name']}_{copy}"
            xyz = tuple(float(x + copy * d) for x, d in zip(table["xyz"], table["spacing"], strict=True))
            linkage.add_obstacle(name, shape, Pose(xyz, rpy=tuple(table["rpy"])))


def _shape(table: Mapping[str, Any], folder: Path, path: tuple[str, int], faults: Faults) -> Shape | None:
    kind = table.get("shape")
    if kind is None:
        return None
    missing = [key for key in SHAPES[kind] if key not in table]
    if missing:
        faults.add(path, f"a {kind} needs '{missing[0]}': {OBSTACLE[missing[0]].meaning}.")
        return None
    if kind in EDGES and len(table["size"]) != EDGES[kind]:
        faults.add((*path, "size"), f"the size of a {kind} is {EDGES[kind]} numbers, not {len(table['size'])}.")
        return None
    more = {key: table[key] for key in ("friction", "restitution") if key in table}
    try:
        more["friction"] = Friction.of(more.get("friction"))
    except LinkworkError as error:
        faults.add((*path, "friction"), str(error))
        return None
    if kind == "plane":
        return Plane(**more)
    if kind == "box":
        return Box(tuple(table["size"]), **more)
    if kind == "sphere":
        return Sphere(table["radius"], **more)
    if kind == "mesh":
        return Mesh(str(folder / table["file"]), **more)
    if kind == "height_field":
        return HeightField(table["heights"], tuple(table["size"]), **more)
    return (Capsule if kind == "capsule" else Cylinder)(table["radius"], table["length"], **more)
