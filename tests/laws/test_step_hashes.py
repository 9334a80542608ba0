"""Steps are the same bits however they are called: many at once, one by one, with a checkpoint in between.

`tests.helpers.step_hashes` holds every way to make steps; as a script it shows that a change of the code changes none of
their results. Here some of them, and that the hashes would show it.
"""

import numpy as np
import pytest
from tests.helpers import step_hashes
from tests.helpers.step_hashes import CASES, STEPS, digest, hashes, lines

import linkwork as lw

SOME = [
    ("full", "open", "semi_implicit_euler"),
    ("full", "open", "variational"),
    ("few active", "open", "semi_implicit_euler"),
    ("full", "loop", "semi_implicit_euler"),
    ("full", "field", "kick_drift_kick"),
    ("full", "motors", "semi_implicit_euler"),
]


@pytest.mark.parametrize(("kind", "what", "integrator"), SOME)
def test_steps_at_once_and_one_by_one(kind, what, integrator):
    at_once, one_by_one = hashes(kind, what, integrator), hashes(kind, what, integrator, at_once=1)
    for name in ("state", "efforts", "state_after"):
        assert at_once[name] == one_by_one[name], name


def test_a_hash_shows_the_last_bit():
    x = np.array([1.0, 2.0])
    assert digest({"x": x}) == digest({"x": x.copy()})
    assert digest({"x": x}) != digest({"x": np.nextafter(x, 3.0)})
    assert digest({"x": x}) != digest({"y": x})
    assert digest({"x": x}) != digest({"x": x.reshape(2, 1)})


def test_what_is_refused_is_a_line_too(monkeypatch):
    monkeypatch.setattr(step_hashes, "CASES", {"contact": CASES["contact"]})
    (line,) = lines(["/ implicit_euler / full"])
    assert line.startswith("contact / implicit_euler / full: StateError contact does not work")
    assert STEPS > 1
    with pytest.raises(lw.StateError):
        hashes("full", "contact", "implicit_euler")
