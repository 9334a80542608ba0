"""The short form of `linkwork bench adversary`: hostile inputs with a fixed seed, none of which may get through."""

from __future__ import annotations

import pytest
from benchmarks.adversary.borders import REFUSED, TAKEN, try_case
from tests.helpers import proteins

SEED = 1
CASES = {"checkpoints": 200, "recordings": 8, "molecules": 120}


@pytest.mark.parametrize("border", CASES)
def test_nothing_hostile_gets_through(border):
    if border == "recordings":
        pytest.importorskip("zarr", reason="recordings need the extra record")
    if border == "molecules":
        proteins.need_packages()
    found = {number: try_case(border, SEED, number) for number in range(CASES[border])}
    assert {number: what for number, what in found.items() if what not in (TAKEN, REFUSED)} == {}
