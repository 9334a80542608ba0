"""Comments give each array of a bundle its shape: numbers in them are those of the arrays that simulations work on."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.helpers.contact_setups import chain

import linkwork as lw
from linkwork.adaptive.dynamics.reduced.reduced import Reduced
from linkwork.adaptive.workspace import Run
from linkwork.simulation.constrained.constraints import Constraints
from linkwork.simulation.contact_step.arrays import ContactArrays
from linkwork.simulation.moving import Moving

FIELD = re.compile(r"    (\w+):")
SHAPE = re.compile(r"#\s+\(([^()]*,[^()]*)\)")  # of numbers and symbols, with a comma at least


def shapes_of(source: str) -> dict[str, str]:
    """What the comment on each field of a class begins with in parentheses: in its own line, below it or right above."""
    found: dict[str, str] = {}
    field, above = "", []
    for line in source.splitlines():
        if line.startswith("    #"):
            above.append(line)
            continue
        if named := FIELD.match(line):
            field = named.group(1)
            if above and (shape := SHAPE.match(above[0].strip())):
                found[field] = shape.group(1)
        above = []
        if field and (shape := SHAPE.search(line)):
            found.setdefault(field, shape.group(1))
    return found


def is_met(extent: str, size: int, constants: Any) -> bool:
    """Whether an array is as large as `extent` says: 6, COLUMNS, 48 k; a symbol may be anything."""
    if extent.isdigit():
        return size == int(extent)
    if re.fullmatch(r"[A-Z][A-Z0-9_]+", extent):
        return size == getattr(constants, extent)
    if times := re.fullmatch(r"(\d+) ?[a-zA-Z]+", extent):
        return size % int(times.group(1)) == 0
    return True


def faults(bundle: Any) -> Iterator[str]:
    """Fields whose arrays are not as their comments say. Where there is nothing, an array has no rows."""
    kind = type(bundle)
    constants = importlib.import_module(kind.__module__)
    for field, shape in shapes_of(inspect.getsource(kind)).items():
        array = getattr(bundle, field)
        said = [extent.strip() for extent in shape.split(",") if extent.strip()]
        sizes = list(zip(said, array.shape, strict=False))[array.shape[0] == 0 :]
        if len(said) != array.ndim or not all(is_met(extent, size, constants) for extent, size in sizes):
            yield f"{kind.__name__}.{field}: the comment says ({shape}), the array is {array.shape}"


def bundles(sim: Any) -> Iterator[Any]:
    """All that the kernels of a simulation read."""
    view = sim.view
    if view.moving is not None:
        yield from (view.moving, view.constraints)
    if view.contact is not None:
        yield from view.contact.bundles
    if view.tree is not None:
        yield from (view.tree.plan, view.tree.mechanism, view.tree.coefficients, view.tree.run)
    if view.region is not None:
        yield view.region.reduced


@pytest.fixture(scope="module")
def model():
    """A chain on a table, closed by the world."""
    linkage = chain(4)
    linkage.add_loop(lw.Spherical(), "link_3", "world", (lw.Pose((0.1, 0, 0)), lw.Pose((0.4, 0, 0))))
    return linkage.compile()


MAKE = {
    "full": lambda model, state: lw.FullDynamics(model, state, contact=lw.Contact()),
    "midpoint": lambda model, state: lw.FullDynamics(model, state, integrator="implicit_midpoint"),
    "adaptive": lambda model, state: lw.AdaptiveDynamics(model, state, tolerance=1e-2, contact=lw.Contact()),
    "quasi-statics": lambda model, state: lw.QuasiStatics(model, state),
}
IN = {
    "full": {Moving, Constraints, ContactArrays},
    "midpoint": {Moving, Constraints},
    "adaptive": {Moving, Constraints, ContactArrays, Run, Reduced},
    "quasi-statics": {Run},
}


@pytest.mark.parametrize("kind", MAKE)
def test_comments_say_how_large_arrays_are(model, kind):
    found = list(bundles(MAKE[kind](model, model.neutral())))
    assert IN[kind] <= set(map(type, found))
    wrong = [fault for bundle in found for fault in faults(bundle)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", [Moving, Constraints, ContactArrays, Run, Reduced])
def test_fields_have_shapes(kind):
    assert len(shapes_of(inspect.getsource(kind))) > 0.7 * len(kind._fields)


OLD = """
class Old(NamedTuple):
    motor: Float2  # (nv, 4)
    turns: Int1  # (9,) steps, and updates between them
    # (3, ROWS) in a comment above
    # of two lines
    saved: Float2
    last: (
        Int1  # (N,) below it
    )
    # other words (3,)
    B: Float1  # (48 k,)
    weight: Float1  # of joints (dynamics)
"""


def test_shapes_are_read():
    assert shapes_of(OLD) == {"motor": "nv, 4", "turns": "9,", "saved": "3, ROWS", "last": "N,", "B": "48 k,"}


@pytest.mark.parametrize(
    ("extent", "size", "met"),
    [("4", 5, False), ("9", 12, False), ("12", 12, True), ("nv", 7, True), ("48 k", 96, True), ("48 k", 95, False),
     ("MOST", 4, True), ("MOST", 3, False)],
)  # fmt: skip
def test_a_wrong_number_is_seen(extent, size, met):
    assert is_met(extent, size, type("Constants", (), {"MOST": 4})) is met
