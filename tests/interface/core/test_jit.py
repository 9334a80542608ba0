"""How kernels are compiled: their subroutines, the stamp of their cache, and what happens without Numba's private parts."""

import importlib
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching, codegen, config
from tests.helpers.compiled_elsewhere import assert_same_results, environment, run_every_kernel

import linkwork
from linkwork.core import jit, kernel_cache, numba_patches
from linkwork.core.numba_patches import pipelines
from linkwork.errors import LinkworkWarning

PACKAGE = Path(linkwork.__file__).parent
DECORATORS = ("@kernel", "@routine", "@inlined")


# ------------------------------------------------------------------------------------------------------------------- cache


@pytest.mark.parametrize("rest", [b"", b"damaged", b"cbuiltins\nNotThere\n."])
def test_an_index_that_cannot_be_read_is_as_none(rest, monkeypatch, tmp_path):
    """Damaged, or of types that have other names since: the kernel is compiled anew and kept again."""
    monkeypatch.setattr(kernel_cache, "locators", lambda: [_Here])
    monkeypatch.setattr(_Here, "folder", tmp_path, raising=False)
    monkeypatch.setattr(kernel_cache, "load_shipped", lambda *given: None)
    first = jit.kernel(_doubled)
    assert first(2.0) == 4.0
    (index,) = tmp_path.glob("*.nbi")
    kept = index.read_bytes()
    version = pickle.dumps(pickle.loads(kept), protocol=-1)
    index.write_bytes(version + rest)
    again = jit.kernel(_doubled)
    assert again(2.0) == 4.0
    assert index.read_bytes() == kept


def _doubled(x):
    return 2.0 * x


class _Here(caching._CacheLocator):
    """Keeps compiled code in a folder of the test."""

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls()

    def get_cache_path(self):
        return str(self.folder)

    def get_source_stamp(self):
        return 0

    def get_disambiguator(self):
        return "here"

    def ensure_cache_path(self):
        self.folder.mkdir(exist_ok=True)


def test_the_stamp_covers_every_file_a_kernel_draws_on():
    name = "linkwork.dynamics.aba"
    stamped = {entry[0] for entry in kernel_cache.source_stamp(name)}
    drawn = (
        "dynamics/aba.py",
        "model/kernels/joint_kernels.py",
        "spatial/rotations.py",
        "core/jit.py",
        "model/layout.py",
    )
    for part in drawn:
        assert str(Path(part)) in stamped
    assert not any(entry.startswith(("cli", "scene", "importers")) for entry in stamped)
    holders = [
        ".".join(("linkwork", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in PACKAGE.rglob("*.py")
        if any(line.startswith(DECORATORS) for line in path.read_text(encoding="utf-8").splitlines())
    ]
    assert len(holders) > 30
    for module in holders:  # all subroutines of kernels that a module uses are in files its stamp covers
        loaded = vars(importlib.import_module(module)).values()
        used = {x.py_func.__module__ for x in loaded if hasattr(x, "py_func")}
        files = {entry[0] for entry in kernel_cache.source_stamp(module)}
        assert all(str(Path(*m.split(".")[1:]).with_suffix(".py")) in files for m in used if m.startswith("linkwork"))


@pytest.mark.parametrize("setting", ["bounds", "linking"])
def test_the_stamp_differs_between_settings(setting, monkeypatch):
    """Numba itself would run unchecked code from its cache when bounds are to be checked."""
    monkeypatch.setattr(config, "BOUNDSCHECK", None)
    monkeypatch.delenv(numba_patches.SWITCH, raising=False)
    before = kernel_cache.kernel_stamp("linkwork.dynamics.aba")
    if setting == "bounds":
        monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    else:
        monkeypatch.setenv(numba_patches.SWITCH, "none")
    assert kernel_cache.kernel_stamp("linkwork.dynamics.aba") != before


def test_sources_edited_while_a_process_runs_are_kept_out_of_its_cache(monkeypatch):
    """What it compiles is the code that it imported; the stamp would be that of the edited file."""
    function = kernel_cache.KernelCache.__init__
    assert not isinstance(kernel_cache.KernelCache(function).files, caching.NullCache)
    newest = max(changed for *_, changed in kernel_cache.kernel_stamp(function.__module__))
    monkeypatch.setattr(kernel_cache, "BEGAN", newest - 1)
    assert isinstance(kernel_cache.KernelCache(function).files, caching.NullCache)
    monkeypatch.setattr(kernel_cache.time, "time_ns", lambda: newest - 1)  # a file from the future, by this clock
    assert not kernel_cache.is_edited((("file.py", 1, newest),))


def plus_one(x):
    return x + 1.0


class ForgetfulImpl(caching.CompileResultCacheImpl):
    """A Numba that asks for the stamp before ours is in place."""


def without_locator(impl, function):
    raise AttributeError("_locator")


@pytest.mark.parametrize("change", ["another stamp", "no locator", "no cache file"])
def test_a_numba_with_another_cache_gets_none(change, monkeypatch):
    """Stale code would be worse than slow code."""
    if change == "another stamp":
        monkeypatch.setattr(kernel_cache._StampedCache, "_impl_class", ForgetfulImpl)
    elif change == "no locator":
        monkeypatch.setattr(kernel_cache._StampedImpl, "__init__", without_locator)
    else:
        monkeypatch.setattr(caching, "IndexDataCacheFile", lambda **settings: object())
    compiled = jit.kernel(plus_one)
    try:
        with pytest.warns(LinkworkWarning, match="keeps compiled code otherwise"):
            assert compiled(1.0) == 2.0
        with pytest.warns(LinkworkWarning, match="keeps compiled code otherwise"):
            assert isinstance(kernel_cache.KernelCache(plus_one).files, caching.NullCache)
    finally:
        jit.kernels.remove(compiled)


# ----------------------------------------------------------------------------------------------------------------- linking


@pytest.fixture
def fresh_trial():
    """The trial is made once per process; here it is made anew, and forgotten afterwards."""
    numba_patches.patches_work.cache_clear()
    yield
    numba_patches.patches_work.cache_clear()


EXPECTED = [3.0, 3.0, 4.0, 5.0, 5.0, 0.0, 1.0, 2.0]


def compiled_subroutines():
    """Results of two subroutines in a kernel and from Python, and whether they were compiled for linking only."""

    @jit.inlined
    def double(x):
        return 2.0 * x

    @jit.routine
    def fill(a, x):
        for k in range(a.shape[0]):
            a[k] = double(x) + k

    def run(a, x):
        fill(a, x)
        return double(x)

    compiled = jit.compiled(run, allocates=False)
    a = np.zeros(3)
    found = [compiled(a, 1.5), *a.tolist(), double(2.5)]
    fill(a, 0.0)
    entry_points = [result.entry_point for subroutine in (double, fill) for result in subroutine.overloads.values()]
    return [*found, *a.tolist()], [entry.__name__ == "clear" for entry in entry_points]


def test_subroutines_are_linked_into_kernels(fresh_trial):
    """With the Numba of this environment, and without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinkworkWarning)
        found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [True, True]


def test_linking_can_be_switched_off(monkeypatch):
    monkeypatch.setenv(numba_patches.SWITCH, "none")
    found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [False, False]


def two_for_all(inlined, routine, kernel):
    return [1.0] if kernel is numba_patches.as_written else [2.0]


@pytest.mark.parametrize("change", ["a name is gone", "another finalization", "another class", "another result"])
def test_another_numba_compiles_subroutines_its_own_way(change, monkeypatch, fresh_trial):
    """Whatever of the private parts changes: one warning, and the same results."""
    if change == "a name is gone":
        monkeypatch.delattr(codegen.CPUCodeLibrary, "_optimize_final_module")
    elif change == "another finalization":
        # A private name of Numba's, which the exchanged parts work with: what if it does something else?
        monkeypatch.setattr(pipelines.SubroutineLibrary, "finalize", lambda library: library._raise_if_finalized(1))
    elif change == "another class":
        monkeypatch.setattr(pipelines._TrialSubroutine, "define_pipelines", lambda self: [])
    else:
        monkeypatch.setattr(numba_patches, "run_trial", two_for_all)
    with pytest.warns(LinkworkWarning, match="is not as Linkwork's quick way of compiling knows it"):
        assert not numba_patches.patches_work()
    monkeypatch.undo()  # the answer stays for the rest of the process, and nothing is said again
    found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [False, False]


def test_kernels_count_no_references():
    """Numba's private option for it does what it is used for."""

    def total(a):
        jit.keep_out_of_line()
        return a.sum()

    def tail(a, n):
        return total_of(a[n:])

    for allocates in (False, True):
        total_of = jit.routine(total, allocates=allocates)
        compiled = jit.compiled(tail, allocates=allocates)
        assert compiled(np.ones(3), 1) == 2.0
        body = compiled.inspect_llvm(compiled.signatures[0]).split("define ")[
            1
        ]  # the function, not its entry from Python
        assert ("NRT_" in body) is allocates


def test_a_subroutine_that_fails_is_heard_through_subroutines_that_call_it():
    """An error raised in a subroutine that is called by a subroutine reaches Python."""

    @jit.inlined
    def third(a, k):
        if k > 2:
            raise ValueError("only three")
        return a[k]

    @jit.routine
    def twice(a, k):
        jit.keep_out_of_line()
        return 2.0 * third(a, k)

    @jit.inlined
    def safe(a):
        return (a[0], a[1] + 1.0)

    def run(a, k):
        x, y = safe(a)
        return x + y + twice(a, k)

    compiled = jit.kernel(run)
    try:
        a = np.array([1.0, 2.0, 3.0])
        assert compiled(a, 2) == 10.0
        with pytest.raises(ValueError, match="only three"):
            compiled(a, 3)
    finally:
        jit.kernels.remove(compiled)


@pytest.mark.parametrize("patches", ["none", "linking", "operators"])
def test_every_part_of_numba_can_be_left_as_it_is(patches, tmp_path):
    """The algorithms that all else rests on, and steps, with the parts of Numba that are named exchanged and no others."""
    parts = ("vector_algorithms",) if patches != "none" else ("vector_algorithms", "one_full_step")
    # How much LLVM optimizes is another question, and most of the time: plain Numba optimizes a subroutine in every caller.
    found = run_every_kernel(tmp_path, *parts, LINKWORK_NUMBA_PATCHES=patches, NUMBA_OPT="1")
    assert_same_results(found["results"], *parts)


def test_an_operator_keeps_its_code_where_options_differ():
    """Signatures of operators are remembered per options of the compilation; their code is that of these options."""

    def scaled(a, x):
        return (a * x)[0] + a[0] ** 2

    made = [jit.kernel(scaled, allocates=True), jit.kernel(lambda a, x: a[0] * x + a[0] ** 2)]
    try:
        a = np.array([3.0, 4.0])
        assert [kernel(a, 2.0) for kernel in (*made, made[0])] == [15.0, 15.0, 15.0]
        assert made[0](a, 2) == 15.0  # an integer factor is another operator of the same name
    finally:
        for kernel in made:
            jit.kernels.remove(kernel)


# -------------------------------------------------------------------------------------------------------------------- bits


def test_a_routine_kept_out_of_line_is_called():
    """In every kernel, so that nothing around it can change how its products and sums are fused."""

    @jit.routine
    def times_and_plus(a, x):
        jit.keep_out_of_line()
        a[0] = a[1] * x + a[2]

    @jit.routine
    def copied(a, x):
        a[0] = a[1] * x + a[2]

    def one(a, x):
        times_and_plus(a, x)
        copied(a, x)
        return a[0] * x + 1.0

    compiled = jit.compiled(one, allocates=False)
    assert compiled(np.array([0.0, 2.0, 3.0]), 2.0) == 15.0
    calls = [line for line in compiled.inspect_llvm(compiled.signatures[0]).splitlines() if "call " in line]
    assert any("times_and_plus" in line for line in calls)
    assert not any("copied" in line for line in calls)


def test_a_routine_stays_a_routine_where_an_inlined_subroutine_is_the_first_to_use_it():
    """Numba hands the wish to be inlined on to whatever is compiled within; a routine says that it has no such wish."""

    @jit.routine
    def fill(a):
        jit.keep_out_of_line()
        a[0] = 2.0

    @jit.inlined
    def through(a):
        fill(a)

    @jit.kernel
    def run(a):
        through(a)

    a = np.zeros(1)
    run(a)
    assert a[0] == 2.0


def test_kernels_run_without_compiling(tmp_path):
    """With Numba switched off, for coverage and debugging, decorators leave functions as they are."""
    code = "import linkwork as lw; print(lw.library.chain(3).compile().n_bodies)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path, NUMBA_DISABLE_JIT="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr
