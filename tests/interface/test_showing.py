"""What objects show of themselves: every public class has a text that says something, and a table for notebooks."""

import inspect
import re

import numpy as np
import pytest

import linkwork as lw
from linkwork.core.describe import line_of_attributes, table_of_attributes

ROOMS = {"lw": lw, "lw.haptics": lw.haptics, "lw.molecules": lw.molecules, "lw.gpu": lw.gpu}
CLASSES = {
    f"{room}.{name}": getattr(module, name)
    for room, module in ROOMS.items()
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
ADDRESS = re.compile(r"object at 0x|function .* at 0x|0x[0-9a-f]{6,}")


def is_shown(cls):
    """Errors have their message, and protocols have no instances of their own."""
    return not issubclass(cls, BaseException) and not getattr(cls, "_is_protocol", False)


@pytest.mark.parametrize("name", sorted(name for name, cls in CLASSES.items() if is_shown(cls)))
def test_every_class_shows_itself(name):
    cls = CLASSES[name]
    assert cls.__repr__ is not object.__repr__, f"{name} has no text of its own"
    assert callable(getattr(cls, "_repr_html_", None)), f"{name} has no table for notebooks"


def things():
    """One of nearly every public class that a linkage, a simulation or a query gives."""
    linkage = lw.library.chain(4)
    model = linkage.compile()
    state = model.random_state(1)
    shape, pose, inertia = lw.Sphere(0.1), lw.Pose(xyz=(0, 0, 1)), lw.Inertia(1.0, (0, 0, 0), (1, 1, 1))
    joints = [lw.Fixed(), lw.Free(), lw.Spherical(), lw.Revolute((0, 0, 1)), lw.Prismatic((0, 0, 1)), lw.Planar()]
    sims = [lw.FullDynamics(model, state), lw.AdaptiveDynamics(model, state), lw.QuasiStatics(model, model.state())]
    reports = [sims[0].step(1e-3), sims[1].step(1e-3), sims[2].solve()]
    loads = lw.Loads(model)
    sweep = lw.Sweep(lambda x: x, {"x": [1.0, 2.0]})
    fourbar = lw.library.four_bar()
    yield from [linkage, model, state, shape, pose, inertia, *joints, *sims, *reports, loads, sweep]
    yield from [lw.energy(model, state), lw.momentum(model, state), lw.Response(model, state), lw.Collisions(model)]
    yield from [lw.settle(model, model.state()), lw.Contact(), lw.Plane(), lw.Langevin(300.0, 1.0)]
    yield from [lw.Scene.read("snake_robot"), lw.Box((1, 1, 1)), lw.Capsule(0.1, 1.0), lw.Cylinder(0.1, 1.0)]
    yield from fourbar.loops
    yield from [lw.haptics.CouplingSettings(), lw.haptics.RecordedMotion([0.0, 1.0], np.zeros((2, 3)))]


def test_what_they_show_says_something():
    seen = set()
    for thing in things():
        seen.add(type(thing).__name__)
        for text in (repr(thing), thing._repr_html_()):
            assert not ADDRESS.search(text), f"{type(thing).__name__}: {text}"
        assert type(thing).__name__ in repr(thing) or len(repr(thing)) > len(type(thing).__name__)
        assert thing._repr_html_().startswith("<div")
    assert len(seen) >= 25


def test_attributes_are_shortened():
    class Thing:
        def __init__(self):
            self.small, self.large, self.text = np.arange(3.0), np.zeros((4, 5)), "<b>" * 100
            self.hidden_object, self.many, self._private = object(), list(range(100)), 1

    line, table = line_of_attributes(Thing()), table_of_attributes(Thing())
    assert "small=[0., 1., 2.]" in line
    assert "array of shape (4, 5)" in line
    assert "100 entries" in line
    assert "hidden_object" not in line
    assert "_private" not in line
    assert "<b>" not in table.removeprefix("<div><b>")  # text, never markup
    assert len(line) < 300
