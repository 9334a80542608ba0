"""How kernels are compiled: pieces of them, the stamp of their cache, and what happens without Numba's private parts."""

from pathlib import Path

import numba
import numpy as np
import pytest

import linkwork
from linkwork import jit

PACKAGE = Path(linkwork.__file__).parent
DECORATORS = ("@kernel", "@routine", "@inlined")


def test_rooms_the_stamp_leaves_out_hold_no_kernels():
    """An edit there does not retire compiled kernels; one that held a piece of a kernel would go on as it was."""
    left_out = [path for path in PACKAGE.rglob("*.py") if str(path.relative_to(PACKAGE)).startswith(jit.KERNEL_FREE)]
    assert left_out
    for path in left_out:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(DECORATORS)]
        assert not lines, f"{path.name} holds a kernel"


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
