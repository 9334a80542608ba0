"""The tables of a compiled model as fields of records (`algebra.rows`): what `layout` gives by number, by name."""

from linkwork.algebra.spatial import Inertia, Pose, Screw

TREE = {"parent": int, "kind": int, "q": int, "v": int, "freedoms": int, "first_screw": int}
BODY = {"rest": Pose, "inertia": Inertia, "screw": Screw, "_": float}
