"""Compiled code that cannot be seen: it stays within its arrays, its cache is never stale, and it says when it compiles."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError
from tests.helpers.compiled_elsewhere import assert_same_results, environment, run_every_kernel

import linkwork as lw
from linkwork.core import jit
from linkwork.core.content import drawn_on
from linkwork.core.jit import kernel
from linkwork.core.messages import notice
from linkwork.core.messages.notice import TEXT
from linkwork.spatial.simd import prefetch, splat, vload, vstore


def package() -> Path:
    return Path(lw.__file__).parent


def test_every_kernel_stays_within_its_arrays(tmp_path):
    """Every kernel of the package runs with bounds checking compiled in, and gives what the unchecked code gives."""
    found = run_every_kernel(tmp_path, NUMBA_BOUNDSCHECK="1", NUMBA_OPT="0")  # checked code need not be fast
    assert found["settings"]["bounds checked"]
    # No exceptions: whoever adds a kernel adds a line that calls it to tests/helpers/kernel_parts.
    assert found["never compiled"] == []
    assert_same_results(found["results"])


STRAYS = """
import numpy as np
from linkwork.core.jit import inlined, kernel
from linkwork.spatial.lane_moves import load_row, store_row
from linkwork.spatial.simd import prefetch, splat, vload, vstore, vsum

@inlined
def second(a):
    return a[1]

@kernel
def number(a, i):
    return second(a[i:])

@kernel
def load(a, i):
    return vsum(vload(a, i))

@kernel
def store(a, i):
    vstore(a, i, splat(1.0))

@kernel
def ask(a, i):
    prefetch(a, i)

@kernel
def load_one_row(a, i):
    return vsum(load_row(a, i))

@kernel
def store_one_row(a, i):
    store_row(a, i, splat(1.0))

@kernel
def entry(a, i):
    return a[i] + a[-1]  # a constant may count from the end

@kernel
def put(a, i):
    a[i] = 1.0

@kernel
def corner(a, i):
    return a[i, 1]

def square(a, i):
    return corner(a.reshape(4, 4), i)

def caught(function, i, shape=16):
    try:
        function(np.zeros(shape), i)
    except IndexError:
        return True
    return False

print([caught(number, i) for i in (14, 15)])
for function in (load, store):
    print([caught(function, i) for i in (-1, 0, 8, 9, 16)])
for function in (load_one_row, store_one_row):
    print([caught(function, i, (2, 8)) for i in (-1, 0, 1, 2)], [caught(function, 0, (2, k)) for k in (7, 9)])
for function in (ask, entry, put):
    print([caught(function, i) for i in (-1, 0, 15, 16)])
print([caught(square, i) for i in (-1, 0, 3, 4)])
"""


def test_bounds_checking_finds_kernels_that_stray(tmp_path):
    """The leg above is worth something: the same setting catches numbers and vectors one beyond either end,
    and indices that count from the end, which unchecked code takes for places before the array."""
    script = tmp_path / "stray.py"
    script.write_text(STRAYS)
    result = subprocess.run(
        [sys.executable, str(script)],
        env=environment(tmp_path / "cache", NUMBA_BOUNDSCHECK="1"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    vectors = str([True, False, False, True, True])
    ends = str([True, False, False, True])
    rows = [f"{ends} {[True, True]}"] * 2  # rows beyond, and rows of seven or nine
    expected = [str([False, True]), vectors, vectors, *rows, *4 * [ends]]
    assert result.stdout.splitlines() == expected, result.stderr


@kernel
def load_first(a):
    vload(a, 0)


@kernel
def store_first(a):
    vstore(a, 0, splat(0.0))


@kernel
def store_number(a):
    vstore(a, 0, 1.0)


@kernel
def load_at_half(a):
    vload(a, 0.5)


@kernel
def ask_for_first(a):
    prefetch(a, 0)


def read_only(a):
    a.setflags(write=False)
    return a


@pytest.mark.parametrize(
    ("stray", "array"),
    [
        (load_first, np.zeros(8, dtype=np.float32)),
        (load_first, np.zeros(8, dtype=np.int64)),
        (load_first, np.zeros((2, 8))),
        (load_first, np.zeros(16)[::2]),
        (store_first, np.zeros(8, dtype=np.int64)),
        (store_first, np.zeros((2, 8))),
        (store_first, np.zeros(16)[::2]),
        (store_first, read_only(np.zeros(8))),
        (store_number, np.zeros(8)),
        (load_at_half, np.zeros(8)),
        (ask_for_first, np.zeros(8, dtype=np.int64)),
        (ask_for_first, np.zeros((8, 2)).T),
    ],
    ids=lambda x: x.__name__ if callable(x) else f"{x.dtype}{list(x.strides)}",
)
def test_vectors_refuse_other_arrays_when_they_compile(stray, array):
    with pytest.raises(TypingError):
        stray(array)


# ------------------------------------------------------------------------------------------------------------------- cache

COMPILE_ONE = """
import numpy as np
from linkwork.model.compile.order import FEW, depth_first_order, order_depth_first
depth_first_order(np.arange(-1, FEW))
stats = order_depth_first.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def hits_and_misses(env) -> tuple[int, int]:
    result = subprocess.run(
        [sys.executable, "-c", COMPILE_ONE], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.replace(TEXT, "").strip() == ""  # one small kernel: reported by slow machines only
    hits, misses = map(int, result.stdout.split())
    return hits, misses


def test_a_kernel_is_compiled_anew_where_its_own_code_changes_and_nowhere_else(tmp_path):
    """`order_depth_first`: comments and lines of its file, subroutines of others and messages leave what was compiled."""
    copy = tmp_path / "source" / "linkwork"
    shutil.copytree(package(), copy, ignore=shutil.ignore_patterns("__pycache__"))
    env = environment(tmp_path / "cache", copy.parent)
    assert hits_and_misses(env) == (0, 1)
    assert hits_and_misses(env) == (1, 0)

    def edit(name, before, after):
        text = (copy / name).read_text(encoding="utf-8")
        assert before in text
        (copy / name).write_text(text.replace(before, after, 1), encoding="utf-8")

    edit("spatial/rotations.py", "a[1] * b[2] - ", "a[1] * b[2] + ")
    edit("errors.py", "class LinkworkWarning", "NEW = 1\n\n\nclass LinkworkWarning")
    edit("model/compile/order.py", "@kernel\n", "# a thought\n\n\n@kernel\n")
    assert hits_and_misses(env) == (1, 0)
    edit("model/compile/order.py", "order[count] = i", "order[count] = i + 0")
    assert hits_and_misses(env) == (0, 1)
    edit("model/compile/order.py", "order[count] = i + 0", "order[count] = i")
    assert hits_and_misses(env) == (1, 0)  # the code of before is still there
    edit("core/jit.py", '"nsz", ', "")  # how anything is compiled
    assert hits_and_misses(env) == (0, 1)


def test_a_kernel_draws_on_everything_that_is_compiled_into_it():
    """What it calls is found over any number of files; what it does not call is not, though it stands beside it."""
    from linkwork.simulation.stepping.trees import euler

    modules = {name.rpartition(".")[0] for kernel in kernels_in(euler) for name in drawn_on(kernel.py_func)}
    assert {"linkwork.dynamics.aba", "linkwork.spatial.vectors", "linkwork.spatial.rotations"} <= modules
    assert not {x for x in modules if x.startswith(("linkwork.adaptive", "linkwork.full", "linkwork.errors"))}


@pytest.mark.parametrize(
    ("module", "apart"),
    [
        ("adaptive.dynamics.with_contact", ("contact.broad_phase", "contact.narrow_phase", "contact.near_world")),
        (
            "simulation.contact_step.driver",
            ("simulation.constrained.loop_forces", "loops.forces", "contact.near_world"),
        ),
        ("simulation.stepping.loops.euler", ("simulation.constrained.loop_forces", "loops.forces")),
    ],
)
def test_a_kernel_does_not_draw_on_those_that_it_calls_by_their_address(module, apart):
    """The search, and forces of loops, are kernels of their own; who measures how far bodies went does not search."""
    found = kernels_in(importlib.import_module(f"linkwork.{module}"))
    assert found
    modules = {name.split(".<locals>")[0].rpartition(".")[0] for kernel in found for name in drawn_on(kernel.py_func)}
    assert f"linkwork.{module}" in modules
    for other in apart:
        importlib.import_module(f"linkwork.{other}")
        assert f"linkwork.{other}" not in modules


def kernels_in(module):
    return [x for x in vars(module).values() if x in jit.kernels and x.py_func.__module__ == module.__name__]


# ------------------------------------------------------------------------------------------------------------ announcement


SLOWLY = """
import sys, time
from linkwork.core.messages import notice
notice.PATIENCE = float(sys.argv[2])
for seconds in (0.0, float(sys.argv[1]), 0.3):  # the third is not reported again
    with notice.notice_of_compiling():
        time.sleep(seconds)
"""


@pytest.mark.parametrize(("seconds", "patience", "times"), [(0.0, 0.05, 1), (0.5, 0.05, 1), (0.5, 1e6, 0)])
def test_long_compilation_is_reported_once_and_a_short_one_is_not(seconds, patience, times):
    """Wherever standard error goes: a terminal, a notebook, a file. patience: [s] what takes longer is reported."""
    done = subprocess.run(
        [sys.executable, "-c", SLOWLY, str(seconds), str(patience)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == times * (TEXT + "\n")
    assert "kept for later runs" in TEXT


SERIES = """
import time
from linkwork.core.messages import notice
notice.PATIENCE = 0.05
for k in (1, 2, 3):
    with notice.part_of_series(k, 3, f"part {k}"), notice.notice_of_compiling():
        time.sleep(0.0 if k == 2 else 0.5)
"""


def test_kernels_of_a_series_are_numbered():
    done = subprocess.run([sys.executable, "-c", SERIES], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.splitlines() == [TEXT, "linkwork: kernel 1 of 3: part 1", "linkwork: kernel 3 of 3: part 3"]


def test_compilations_of_more_than_two_seconds_are_reported():
    """As promised in the docs."""
    assert notice.PATIENCE == 2.0  # [s]


def test_quick_compilation_is_silent(tmp_path):
    assert hits_and_misses(environment(tmp_path)) == (0, 1)  # which also checks that nothing was written
