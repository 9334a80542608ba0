"""The tables of a linkage in device memory: what `tables.cuh` reads, field by field."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.levels import Levels
from linkwork.model import layout
from linkwork.model.model import Model

NUMBERS = (
    "bodies", "slots", "freedoms", "batch", "inertia_batch", "gravity_batch", "has_wrenches", "depths", "root",
    "coordinates", "strands", "strand_length",
    "q_entry", "q_sample", "v_entry", "v_sample", "effort_entry", "effort_sample",
)  # fmt: skip
BODY_INDICES = ("number", "kind", "q0", "v0", "dof", "screw0", "keeps_force")
SLOT_INDICES = ("node", "left", "right", "index", "level_first", "strand_slot", "strand_body")
DEPTH_INDICES = ("depth_first", "by_depth", "parent", "child_first", "child")
CONSTANTS = ("placement", "screw", "column", "screws", "passive", "rest", "inertia", "phi", "gravity")
TAKEN = ("from_q", "from_v", "from_effort")
STATE = ("q", "v", "effort", "wrenches", "qdd")
OF_BODIES = ("pose", "rate", "twist", "force", "total", "world", "energy", "moved")
OF_SLOTS = ("top", "bottom", "cross", "keep", "input")
OF_GRADIENTS = (
    "weights", "mu", "acceleration", "virtual_twist", "passed", "momentum", "twisted", "through",
    "by_q", "by_v", "by_stiffness", "by_inertia", "by_gravity",
)  # fmt: skip
POINTERS = (
    *BODY_INDICES, *SLOT_INDICES, *DEPTH_INDICES, *CONSTANTS, *TAKEN, *STATE, *OF_BODIES, *OF_SLOTS,
    "pivots", "articulated", *OF_GRADIENTS, "status",
)  # fmt: skip


class Tables(ctypes.Structure):
    """The struct of `tables.cuh`; pointers are addresses in the memory of the device."""

    _fields_ = [
        *((name, ctypes.c_longlong) for name in NUMBERS),
        ("h", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in POINTERS),
    ]


# Numbers of each item that the sweeps compute: the rows of the tables.
ROWS_OF_BODY = {"pose": 12, "rate": 6, "twist": 6, "force": 6}
PIVOT_ROWS = 13  # of each joint in a strand
ROWS_OF_SLOT = {"top": 27, "bottom": 27, "cross": 36, "keep": 27, "input": 12}


def body_tables(model: Model, order: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Integers and constants of the bodies, in the order of the device; floats in float64."""
    tree, body, screws, dof, rest, _ = model.arrays
    tree, body = tree[order], body[order]
    axis, slide, center = (body[:, k : k + 3] for k in (layout.AXIS, layout.SLIDE, layout.CENTER))
    column = np.concatenate([axis, slide + np.cross(center, axis)], axis=1)
    column[tree[:, layout.KIND] != layout.HELICAL] = 0.0
    names = {"kind": layout.KIND, "q0": layout.Q, "v0": layout.V, "dof": layout.DOF, "screw0": layout.SCREW}
    tables: dict[str, NDArray[Any]] = {name: tree[:, k].astype(np.int32) for name, k in names.items()}
    # A compound of one screw is a joint of one freedom whose motion subspace does not depend on q.
    single = np.flatnonzero((tree[:, layout.KIND] == layout.COMPOUND) & (tree[:, layout.DOF] == 1))
    for i in single.tolist():
        a, s, c = screws[tree[i, layout.SCREW]].reshape(3, 3)
        column[i] = [*a, *(s + np.cross(c, a))]
    placement = np.arange(layout.ROTATION, layout.POSITION + 3)
    tables |= {
        "number": order.astype(np.int32),
        "placement": np.ascontiguousarray(body[:, placement].T),
        "screw": np.ascontiguousarray(np.concatenate([axis, slide, center], axis=1).T),
        "column": np.ascontiguousarray(column.T),
        "screws": np.ascontiguousarray(screws),
        "passive": np.ascontiguousarray(dof[:, [layout.DAMPING, layout.STIFFNESS, layout.ARMATURE]].T),
        "rest": np.ascontiguousarray(rest),
        "inertia": np.ascontiguousarray(body[:, layout.INERTIA : layout.INERTIA + 10].T),
    }
    return tables


def slot_tables(levels: Levels) -> dict[str, NDArray[np.int32]]:
    return {
        "node": levels.code,
        "left": levels.left,
        "right": levels.right,
        "index": levels.body,
        "level_first": levels.first.astype(np.int32),
        "strand_slot": levels.strand_slot,
        "strand_body": np.ascontiguousarray(levels.strand_body),
    }


def depth_tables(parent: NDArray[np.int64], place: NDArray[np.int64]) -> dict[str, NDArray[np.int32]]:
    """The tree by depth, in the order of the device: bodies of each depth, and the children of each body."""
    n = parent.size
    depth = np.zeros(n, dtype=np.int64)
    for i, above in enumerate(parent.tolist()):
        depth[i] = 0 if above < 0 else depth[above] + 1
    by_depth = place[np.argsort(depth, kind="stable")]
    first = np.append(0, np.cumsum(np.bincount(depth))) if n else np.zeros(1)
    parent_here = np.empty(n, dtype=np.int64)
    parent_here[place] = np.where(parent >= 0, place[parent], -1) if n else -1
    inner = np.flatnonzero(parent_here >= 0)
    child = inner[np.argsort(parent_here[inner], kind="stable")]
    child_first = np.append(0, np.cumsum(np.bincount(parent_here[inner], minlength=n)))
    found = {
        "depth_first": first,
        "by_depth": by_depth,
        "parent": parent_here,
        "child_first": child_first,
        "child": child,
    }
    return {name: np.ascontiguousarray(array, dtype=np.int32) for name, array in found.items()}
