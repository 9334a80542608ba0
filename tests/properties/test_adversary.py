"""The short form of `linkwork bench adversary`: hostile inputs with a fixed seed, none of which may get through."""

from __future__ import annotations

import inspect
import queue
import sys

import pytest
from benchmarks import adversary
from benchmarks.adversary.borders import REFUSED, TAKEN, try_case
from benchmarks.adversary.calls import CALLS, NO_BORDER
from tests.helpers import proteins

import linkwork as lw

SEED = 1
CASES = {"files": 150, "api": 800, "arguments": 800, "checkpoints": 200, "recordings": 8, "commands": 60, "molecules": 120,
         "sweeps": 150, "shapes": 250, "threads": 40, "contact": 12, "devices": 120}  # fmt: skip


@pytest.mark.parametrize("border", CASES)
def test_nothing_hostile_gets_through(border):
    if border in ("recordings", "api", "arguments"):
        pytest.importorskip("zarr", reason="recordings need the extra record")
    if border == "molecules":
        proteins.need_packages()
    found = {number: try_case(border, SEED, number) for number in range(CASES[border])}
    assert {number: what for number, what in found.items() if what not in (TAKEN, REFUSED)} == {}


COMPUTING = "print(1, flush=True)\nwhile True: pass"
WAITING = "import time\nprint(1, flush=True)\ntime.sleep(60)"


@pytest.mark.parametrize("program", [COMPUTING, WAITING])
def test_what_does_not_come_back_is_found_by_its_processor_time_or_its_silence(program, monkeypatch):
    monkeypatch.setattr(adversary, "WAITING", 1.0)
    watched = adversary.Watched([sys.executable, "-c", program])
    try:
        assert watched.next_line(30.0) == "1\n"
        with pytest.raises(queue.Empty):
            watched.next_line(0.2)
    finally:
        watched.end()


def test_what_ends_is_distinguished_from_what_hangs():
    watched = adversary.Watched([sys.executable, "-c", "print(1)"])
    assert [watched.next_line(30.0), watched.next_line(30.0)] == ["1\n", None]
    watched.end()


def is_result(kind: type) -> bool:
    """What Linkwork makes and nobody else does: errors, reports and named tuples."""
    return issubclass(kind, BaseException | tuple | lw.Report) or "Report" in kind.__name__ or kind is lw.ContactPoint


def test_every_public_function_and_class_has_a_place_in_the_campaign():
    public = {name: getattr(lw, name) for name in lw.__all__}
    borders = {name for name, x in public.items() if inspect.isfunction(x) or (inspect.isclass(x) and not is_result(x))}
    assert borders - set(CALLS) - NO_BORDER == set()
    assert NO_BORDER & set(CALLS) == set()


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        (lw.FullDynamics, "full"),
        (lw.AdaptiveDynamics, "adaptive"),
        (lw.QuasiStatics, "quasi"),
        (lw.Loads, "loads"),
        (lw.Response, "response"),
        (lw.Linkage, "linkage"),
        (lw.Model, "humanoid"),
        (lw.Recording, "recording"),
        (lw.Collisions, "collisions"),
        (lw.Pose, "pose"),
        (lw.Inertia, "inertia"),
    ],
)
def test_every_public_method_that_takes_something_has_a_place_in_the_campaign(kind, subject):
    methods = {name: f for name, f in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    taking = {name for name, method in methods.items() if len(inspect.signature(method).parameters) > 1}
    known = {name.partition(".")[2] for name in CALLS if name.startswith(f"{subject}.")}
    assert taking - known - MEANT_FOR_OTHERS.get(kind, set()) == set()


MEANT_FOR_OTHERS = {lw.Loads: {"advance"}}  # what loads of no simulation inherit and refuse
