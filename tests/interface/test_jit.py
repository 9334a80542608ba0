"""How kernels are compiled: pieces of them, the stamp of their cache, and what happens without Numba's private parts."""

import importlib
from pathlib import Path

import numba
import numpy as np
import pytest

import linkwork
from linkwork.core import jit

PACKAGE = Path(linkwork.__file__).parent
DECORATORS = ("@kernel", "@routine", "@inlined")


def test_the_stamp_covers_every_file_a_kernel_draws_on():
    name = "linkwork.dynamics.aba"
    stamped = {entry[0] for entry in jit._source_stamp(name)}
    for part in ("dynamics/aba.py", "model/joint_kernels.py", "spatial/rotations.py", "core/jit.py", "model/layout.py"):
        assert str(Path(part)) in stamped
    assert not any(entry.startswith(("cli", "scene", "importers")) for entry in stamped)
    holders = [
        ".".join(("linkwork", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in PACKAGE.rglob("*.py")
        if any(line.startswith(DECORATORS) for line in path.read_text(encoding="utf-8").splitlines())
    ]
    assert len(holders) > 30
    for module in holders:  # all pieces of kernels that a module uses are in files its stamp covers
        loaded = vars(importlib.import_module(module)).values()
        used = {x.py_func.__module__ for x in loaded if hasattr(x, "py_func")}
        files = {entry[0] for entry in jit._source_stamp(module)}
        assert all(str(Path(*m.split(".")[1:]).with_suffix(".py")) in files for m in used if m.startswith("linkwork"))


@pytest.fixture(params=["linked", "plain"])
def piece(request, monkeypatch):
    """The decorators as they are, and as they would be with a Numba that lacks what linking needs."""
    if request.param == "plain":
        monkeypatch.setattr(jit, "pieces_can_be_linked", lambda: False)
    elif not jit.pieces_can_be_linked():
        pytest.skip(reason="this Numba does not have what linking pieces needs")
    return jit.routine, jit.inlined


def test_pieces_work_in_kernels_and_from_python(piece):
    routine, inlined = piece

    @inlined
    def double(x):
        return 2.0 * x

    @routine
    def fill(a, x):
        for k in range(a.shape[0]):
            a[k] = double(x) + k

    @numba.njit
    def kernel(a, x):
        fill(a, x)
        return double(x)

    a = np.zeros(3)
    assert kernel(a, 1.5) == 3.0
    assert a.tolist() == [3.0, 4.0, 5.0]
    assert double(2.5) == 5.0
    fill(a, 0.0)
    assert a.tolist() == [0.0, 1.0, 2.0]
