"""Kernels that kernels call by their addresses: results, types, errors, and that copies of simulations hold no address."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numba import types
from tests.helpers.compiled_elsewhere import environment
from tests.helpers.contact_setups import chain

import linkwork as lw
from linkwork.core import jit
from linkwork.core.calls import TABLE, address_of, caller

CALLS = """
import numpy as np
from numba import types
from linkwork.core.calls import TABLE, address_of, caller
from linkwork.core.jit import kernel

SIGNATURE = types.UniTuple(types.int64, 2)(TABLE, types.float64, types.int64)
call = caller(SIGNATURE)

@kernel
def entry(table, h, k):
    return table[k], int(2.0 * h)

@kernel
def total(table, address, n):
    a, b = 0, 0
    for k in range(n):
        x, y = call(address, (table, 1.5, k))
        a += x
        b += y
    return a, b

table, address = np.arange(1, 5), address_of(entry, SIGNATURE)
print(total(table, address, 4), sum(entry.stats.cache_hits.values()))
try:
    total(table, address, 9)
except IndexError as error:
    print(error)
"""
SUMS = "(10, 12)"


def run(tmp_path, **settings: str) -> list[str]:
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(tmp_path / "cache", **settings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("patches", ["linking,operators", "none"])
def test_a_kernel_calls_another_one_compiled_or_from_the_cache(tmp_path, patches):
    first, again = (run(tmp_path, LINKWORK_NUMBA_PATCHES=patches) for _ in range(2))
    assert first[0] == f"{SUMS} 0"
    assert again[0] == f"{SUMS} 1"


def test_what_the_called_kernel_raises_is_raised_in_the_caller(tmp_path):
    assert run(tmp_path, NUMBA_BOUNDSCHECK="1") == [f"{SUMS} 0", "index is out of bounds"]


def test_a_kernel_with_another_result_is_refused():
    def half(table, h):
        return 0.5 * h

    compiled = jit.kernel(half)
    try:
        assert address_of(compiled, types.float64(TABLE, types.float64)) != 0
        with pytest.raises(TypeError, match="half returns float64, not int64"):
            address_of(compiled, types.int64(TABLE, types.float64))
    finally:
        jit.kernels.remove(compiled)


def test_an_address_needs_as_many_arguments_as_its_signature():
    call = caller(types.float64(TABLE, types.float64))

    def wrong(table, address):
        return call(address, (table,))

    compiled = jit.compiled(wrong, allocates=False)
    with pytest.raises(ValueError, match="zip"):
        compiled(np.zeros(1, dtype=np.int64), 0)


def falling(**options):
    model = chain(3).compile()
    return lw.FullDynamics(model, model.neutral(), contact=lw.Contact(), **options)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational"])
def test_copies_and_checkpoints_hold_no_address(integrator):
    sim = falling(integrator=integrator)
    assert not sim.view.contact.arrays.calls.any()  # nothing is compiled before the first step
    sim.step(1e-3, 3)
    addresses = [address for address in sim.view.contact.arrays.calls.tolist() if address != 0]
    assert len(addresses) == 5 - (integrator == "semi_implicit_euler")
    stored = pickle.dumps(sim)
    for address in addresses:
        assert int(address).to_bytes(8, "little") not in stored
    others = copy.deepcopy(sim), pickle.loads(stored)
    sim.step(1e-3, 3)
    for other in others:
        assert not other.view.contact.arrays.calls.any()
        other.step(1e-3, 3)
        assert np.array_equal(sim.state.q, other.state.q)
        assert np.array_equal(sim.state.v, other.state.v)
